//! How a sequence counts. Pure: no store, no clock.

use tablegate_types::error::{ErrorKind, SqlError, SqlResult};

use crate::catalog::{Sequence, SequenceOptions, SequenceState};

/// Gives out one value; `None` when the sequence has come to its end.
pub(super) fn advance(options: &SequenceOptions, state: SequenceState) -> Option<SequenceState> {
    if !state.called {
        return Some(SequenceState { called: true, ..state });
    }
    let range = options.minimum..=options.maximum;
    let next = state.last.checked_add(options.increment).filter(|next| range.contains(next));
    let first_again = if options.increment > 0 { options.minimum } else { options.maximum };
    let last = next.or_else(|| options.cycle.then_some(first_again))?;
    Some(SequenceState { last, called: true })
}

/// Gives out up to `count` values: how many there were, and where that leaves the sequence.
pub(super) fn advance_by(options: &SequenceOptions, state: SequenceState, count: u64) -> (u64, SequenceState) {
    let mut after = state;
    for given in 0..count {
        match advance(options, after) {
            Some(next) => after = next,
            None => return (given, after),
        }
    }
    (count, after)
}

/// The sequence has come to its end (2200H).
pub(super) fn exhausted(name: &str, options: &SequenceOptions) -> Box<SqlError> {
    let (end, limit) = if options.increment > 0 { ("maximum", options.maximum) } else { ("minimum", options.minimum) };
    let message = format!("nextval: reached {end} value of sequence \"{name}\" ({limit})");
    SqlError::new(ErrorKind::SequenceLimit, message)
}

/// Whether setval may set the value.
///
/// # Errors
/// 22003 outside the sequence's bounds.
pub(super) fn check_within(sequence: &Sequence, value: i64) -> SqlResult<()> {
    let SequenceOptions { minimum, maximum, .. } = sequence.options;
    if (minimum..=maximum).contains(&value) {
        return Ok(());
    }
    let name = &sequence.name;
    let message = format!("setval: value {value} is out of bounds for sequence \"{name}\" ({minimum}..{maximum})");
    Err(SqlError::new(ErrorKind::NumericOutOfRange, message))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn options(increment: i64, minimum: i64, maximum: i64, cycle: bool) -> SequenceOptions {
        SequenceOptions { sql_type: "bigint".to_owned(), start: minimum, increment, minimum, maximum, cache: 1, cycle }
    }

    fn values(options: &SequenceOptions, start: i64, count: usize) -> Vec<i64> {
        let first = SequenceState { last: start, called: false };
        std::iter::successors(advance(options, first), |state| advance(options, *state))
            .map(|state| state.last)
            .take(count)
            .collect()
    }

    #[test]
    fn the_first_value_is_the_start() {
        assert_eq!(values(&options(1, 1, 10, false), 5, 3), [5, 6, 7]);
        assert_eq!(values(&options(-2, -10, -1, false), -1, 3), [-1, -3, -5]);
    }

    #[test]
    fn it_ends_at_its_limit_or_begins_again() {
        assert_eq!(values(&options(2, 1, 4, false), 1, 9), [1, 3]);
        assert_eq!(values(&options(2, 1, 4, true), 3, 3), [3, 1, 3]);
        assert_eq!(values(&options(-1, 1, 3, true), 2, 4), [2, 1, 3, 2]);
        assert_eq!(values(&options(1, 1, i64::MAX, false), i64::MAX, 2), [i64::MAX]);
        assert_eq!(values(&options(-1, i64::MIN, -1, false), i64::MIN, 2), [i64::MIN]);
    }

    #[test]
    fn a_block_ends_where_the_sequence_does() {
        let options = options(1, 1, 100, false);
        let start = SequenceState { last: 90, called: true };
        assert_eq!(advance_by(&options, start, 5), (5, SequenceState { last: 95, called: true }));
        assert_eq!(advance_by(&options, start, 64), (10, SequenceState { last: 100, called: true }));
        assert_eq!(advance_by(&options, SequenceState { last: 100, called: true }, 64).0, 0);
    }
}
