//! Which rows of a partition a frame has.

use std::ops::Range;

use arrow::array::{Array, ArrayRef, AsArray};
use arrow::compute::partition;
use arrow::datatypes::Int64Type;
use datafusion::common::Result;
use datafusion::error::DataFusionError;
use tablegate_types::error::{ErrorKind, SqlError};

/// Rows of the frame that are left out of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(in crate::expr) enum Exclusion {
    NoOthers,
    CurrentRow,
    /// The row and its peers, those that sort as it does.
    Group,
    /// Its peers without the row.
    Ties,
}

/// Bounds of a frame that are computed when the rows are there: numbers of rows, or of groups of peers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(in crate::expr) struct Bounds {
    pub counts_groups: bool,
    pub start: Bound,
    pub end: Bound,
}

/// One of them; its distance is an argument of the function.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(in crate::expr) enum Bound {
    Unbounded,
    CurrentRow,
    Preceding,
    Following,
}

impl Bounds {
    /// Arguments that hold distances.
    pub(super) fn distances(&self) -> usize {
        [self.start, self.end].into_iter().filter(|bound| bound.has_distance()).count()
    }
}

impl Bound {
    fn has_distance(self) -> bool {
        matches!(self, Bound::Preceding | Bound::Following)
    }
}

/// The groups of peers in a partition, in their order. Without an order all rows are one.
#[derive(Debug)]
pub(super) struct Peers {
    groups: Vec<Range<usize>>,
    /// The group that the current row is in. Rows are gone through from the first to the last.
    current: usize,
}

impl Peers {
    pub(super) fn of(keys: &[ArrayRef], rows: usize) -> Result<Self> {
        let groups = if keys.is_empty() { std::iter::once(0..rows).collect() } else { partition(keys)?.ranges() };
        Ok(Self { groups, current: 0 })
    }

    fn of_row(&mut self, row: usize) -> Range<usize> {
        while self.groups.get(self.current).is_some_and(|group| group.end <= row) {
            self.current += 1;
        }
        self.groups.get(self.current).cloned().unwrap_or(row..row + 1)
    }

    /// What EXCLUDE leaves of a frame: at most three pieces, in their order.
    pub(super) fn left_of(&mut self, frame: Range<usize>, exclusion: Exclusion, row: usize) -> [Range<usize>; 3] {
        let left_out = match exclusion {
            Exclusion::NoOthers => return [frame, 0..0, 0..0],
            Exclusion::CurrentRow => row..row + 1,
            Exclusion::Group | Exclusion::Ties => self.of_row(row),
        };
        let before = frame.start..frame.end.min(left_out.start);
        let after = frame.start.max(left_out.end)..frame.end;
        let is_kept = exclusion == Exclusion::Ties && frame.contains(&row);
        [before, if is_kept { row..row + 1 } else { 0..0 }, after]
    }

    /// The frame of a row by bounds that are computed.
    ///
    /// # Errors
    /// 22004, 22013 for distances that are none.
    pub(super) fn frame(&mut self, bounds: &Bounds, distances: &[ArrayRef], row: usize) -> Result<Range<usize>> {
        let rows = self.groups.last().map_or(0, |group| group.end);
        let mut distances = distances.iter().peekable();
        let mut distance = |bound: Bound, which: &str| match distances.next_if(|_| bound.has_distance()) {
            Some(values) => distance_of(values, row, which),
            None => Ok(0),
        };
        let (before, behind) = (distance(bounds.start, "starting")?, distance(bounds.end, "ending")?);
        if !bounds.counts_groups {
            let start = moved(bounds.start, row, before).unwrap_or(0);
            let end = match moved(bounds.end, row, behind) {
                Some(last) => last.checked_add(1).unwrap_or(rows),
                None if bounds.end == Bound::Unbounded => rows,
                None => 0,
            };
            return Ok(clamped(start, end, rows));
        }
        self.of_row(row);
        let first = moved(bounds.start, self.current, before).unwrap_or(0);
        let start = self.groups.get(first).map_or(rows, |group| group.start);
        let end = match moved(bounds.end, self.current, behind) {
            Some(last) => self.groups.get(last).map_or(rows, |group| group.end),
            None if bounds.end == Bound::Unbounded => rows,
            None => 0,
        };
        Ok(clamped(start, end, rows))
    }
}

/// So many rows or groups from here; `None` before the first one, and where there is no bound.
fn moved(bound: Bound, from: usize, distance: usize) -> Option<usize> {
    match bound {
        Bound::Unbounded => None,
        Bound::CurrentRow => Some(from),
        Bound::Preceding => from.checked_sub(distance),
        Bound::Following => Some(from.saturating_add(distance)),
    }
}

fn clamped(start: usize, end: usize, rows: usize) -> Range<usize> {
    let (start, end) = (start.min(rows), end.min(rows));
    start..end.max(start)
}

fn distance_of(values: &ArrayRef, row: usize, which: &str) -> Result<usize> {
    let refused = |kind, what: &str| {
        let message = format!("frame {which} offset must not be {what}");
        Err(DataFusionError::External(SqlError::new(kind, message)))
    };
    let values = values.as_primitive::<Int64Type>();
    if values.is_null(row) {
        return refused(ErrorKind::NullValueNotAllowed, "null");
    }
    match usize::try_from(values.value(row)) {
        Ok(distance) => Ok(distance),
        Err(_) => refused(ErrorKind::InvalidFrameOffset, "negative"),
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use arrow::array::{Int32Array, Int64Array};

    use super::*;

    /// Rows 0, 1, 1, 1, 2.
    fn peers() -> Peers {
        let keys: ArrayRef = Arc::new(Int32Array::from(vec![0, 1, 1, 1, 2]));
        Peers::of(&[keys], 5).unwrap()
    }

    fn left(exclusion: Exclusion, row: usize) -> Vec<usize> {
        peers().left_of(0..5, exclusion, row).into_iter().flatten().collect()
    }

    #[test]
    fn what_is_excluded_is_left_out() {
        assert_eq!(left(Exclusion::NoOthers, 2), [0, 1, 2, 3, 4]);
        assert_eq!(left(Exclusion::CurrentRow, 2), [0, 1, 3, 4]);
        assert_eq!(left(Exclusion::Group, 2), [0, 4]);
        assert_eq!(left(Exclusion::Ties, 2), [0, 2, 4]);
        // A row outside of its frame is not brought into it.
        let outside: Vec<usize> = peers().left_of(3..5, Exclusion::Ties, 2).into_iter().flatten().collect();
        assert_eq!(outside, [4]);
    }

    #[test]
    fn bounds_are_counted_in_rows_and_in_groups() {
        let distance: ArrayRef = Arc::new(Int64Array::from(vec![1; 5]));
        let frame = |counts_groups, start, end, row| {
            let bounds = Bounds { counts_groups, start, end };
            let distances = vec![distance.clone(); bounds.distances()];
            peers().frame(&bounds, &distances, row).unwrap()
        };
        assert_eq!(frame(false, Bound::Preceding, Bound::CurrentRow, 2), 1..3);
        assert_eq!(frame(false, Bound::Preceding, Bound::Following, 0), 0..2);
        assert_eq!(frame(false, Bound::Preceding, Bound::Preceding, 0), 0..0);
        assert_eq!(frame(false, Bound::CurrentRow, Bound::Unbounded, 3), 3..5);
        assert_eq!(frame(true, Bound::Preceding, Bound::CurrentRow, 2), 0..4);
        assert_eq!(frame(true, Bound::Following, Bound::Following, 2), 4..5);
        assert_eq!(frame(true, Bound::Following, Bound::Following, 4), 5..5);
    }
}
