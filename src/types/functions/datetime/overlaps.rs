//! `(a, b) OVERLAPS (c, d)`: whether two spans of time have a moment in common.
//!
//! A span is two ends in any order, or a start and a length. It includes its start but not its end, unless both are one.
//! An end may be NULL: the answer is then known only where the other end decides.

use arrow::array::{ArrayRef, ArrowPrimitiveType, BooleanArray};
use arrow::datatypes::{IntervalMonthDayNanoType, Time64MicrosecondType, TimestampMicrosecondType};

use super::interval::Parts;
use crate::calendar::MICROS_PER_DAY;
use crate::error::SqlResult;
use crate::functions::call::Call;
use crate::functions::signature::Overload;
use crate::functions::signature::Type::{Bool, Interval, Time, Timestamp, Timestamptz};
use crate::sql_type::SqlType;

pub(super) const FUNCTIONS: &[Overload] = &[
    Overload::new("overlaps", &[Time, Time, Time, Time], Bool, times).of_nulls(),
    Overload::new("overlaps", &[Time, Time, Time, Interval], Bool, times).of_nulls(),
    Overload::new("overlaps", &[Time, Interval, Time, Time], Bool, times).of_nulls(),
    Overload::new("overlaps", &[Time, Interval, Time, Interval], Bool, times).of_nulls(),
    Overload::new("overlaps", &[Timestamp, Timestamp, Timestamp, Timestamp], Bool, timestamps).of_nulls(),
    Overload::new("overlaps", &[Timestamp, Timestamp, Timestamp, Interval], Bool, timestamps).of_nulls(),
    Overload::new("overlaps", &[Timestamp, Interval, Timestamp, Timestamp], Bool, timestamps).of_nulls(),
    Overload::new("overlaps", &[Timestamp, Interval, Timestamp, Interval], Bool, timestamps).of_nulls(),
    Overload::new("overlaps", &[Timestamptz, Timestamptz, Timestamptz, Timestamptz], Bool, moments).of_nulls(),
    Overload::new("overlaps", &[Timestamptz, Timestamptz, Timestamptz, Interval], Bool, moments).of_nulls().stable(),
    Overload::new("overlaps", &[Timestamptz, Interval, Timestamptz, Timestamptz], Bool, moments).of_nulls().stable(),
    Overload::new("overlaps", &[Timestamptz, Interval, Timestamptz, Interval], Bool, moments).of_nulls().stable(),
];

fn times(call: &Call) -> SqlResult<ArrayRef> {
    spans::<Time64MicrosecondType>(call, |start, length| Ok((start + length.micros).rem_euclid(MICROS_PER_DAY)))
}

fn timestamps(call: &Call) -> SqlResult<ArrayRef> {
    spans::<TimestampMicrosecondType>(call, |start, length| length.added_to(start))
}

fn moments(call: &Call) -> SqlResult<ArrayRef> {
    let zone = call.style().zone;
    spans::<TimestampMicrosecondType>(call, |start, length| length.added_in(zone, start))
}

fn spans<T: ArrowPrimitiveType<Native = i64>>(
    call: &Call,
    end: impl Fn(i64, Parts) -> SqlResult<i64>,
) -> SqlResult<ArrayRef> {
    let (first, second) = (call.primitive::<T>(0)?, call.primitive::<T>(2)?);
    let end_of = |index: usize, start: Option<i64>, row: usize| -> SqlResult<Option<i64>> {
        if call.arguments[index].sql_type == SqlType::Interval {
            let length = call.primitive::<IntervalMonthDayNanoType>(index)?.get(row);
            return start.zip(length).map(|(start, length)| end(start, Parts::of(length))).transpose();
        }
        Ok(call.primitive::<T>(index)?.get(row))
    };
    let overlap = |row: usize| -> SqlResult<Option<bool>> {
        let (a, b) = (first.get(row), second.get(row));
        Ok(overlaps((a, end_of(1, a, row)?), (b, end_of(3, b, row)?)))
    };
    let values: BooleanArray = (0..call.rows).map(overlap).collect::<SqlResult<_>>()?;
    Ok(std::sync::Arc::new(values))
}

type Span = (Option<i64>, Option<i64>);

/// The lesser end first; the known one when the other is NULL.
fn ordered(span: Span) -> Option<(i64, Option<i64>)> {
    match span {
        (None, None) => None,
        (Some(one), None) | (None, Some(one)) => Some((one, None)),
        (Some(a), Some(b)) => Some((a.min(b), Some(a.max(b)))),
    }
}

fn overlaps(first: Span, second: Span) -> Option<bool> {
    let (first, second) = (ordered(first)?, ordered(second)?);
    let (earlier, later) = if first.0 <= second.0 { (first, second) } else { (second, first) };
    if earlier.0 == later.0 {
        // Both include their start.
        return (earlier.1.is_some() && later.1.is_some()).then_some(true);
    }
    match earlier.1 {
        Some(end) if later.0 < end => Some(true),
        None => None,
        // It ends before the other one begins, unless that has another end that is not known.
        Some(_) => later.1.map(|_| false),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spans_include_their_start_only() {
        let span = |a, b| (Some(a), Some(b));
        assert_eq!(overlaps(span(1, 3), span(2, 4)), Some(true));
        assert_eq!(overlaps(span(3, 1), span(4, 2)), Some(true));
        assert_eq!(overlaps(span(1, 2), span(2, 3)), Some(false));
        assert_eq!(overlaps(span(2, 2), span(2, 3)), Some(true));
        assert_eq!(overlaps((Some(1), None), span(2, 3)), None);
        assert_eq!(overlaps(span(1, 5), (Some(2), None)), Some(true));
    }
}
