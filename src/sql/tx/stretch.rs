//! Ranges of keys, as they lie among keys that are in order.

use std::cmp::Ordering;
use std::ops::Range;
use std::sync::Arc;

use tablegate_store::model::Span;
use tablegate_store::table::{Direction, KeyRange};

/// Keys that lie together in the order: rows of one partition, or whole partitions.
#[derive(Debug)]
pub(super) struct Stretch {
    partitions: Span,
    /// Between these where there is one partition; in others what is left to check of each key.
    rows: Arc<[Span]>,
}

impl Stretch {
    pub(super) fn of(range: &KeyRange) -> Vec<Self> {
        let stretch = |rows: Arc<[Span]>| Self { partitions: range.partitions.clone(), rows };
        match range.partitions.as_point() {
            Some(_) => range.rows.iter().map(|span| stretch(Arc::new([span.clone()]))).collect(),
            None => vec![stretch(Arc::clone(&range.rows))],
        }
    }

    /// Those of ranges that are ascending and disjoint by partition, as a scan takes them from the end.
    pub(super) fn to_come(ranges: &[KeyRange], direction: Direction) -> Vec<Self> {
        let mut stretches: Vec<Self> = ranges.iter().flat_map(Self::of).collect();
        if direction == Direction::Forward {
            stretches.reverse();
        }
        stretches
    }

    /// Where it lies among so many keys, which ascend.
    pub(super) fn bounds<'k>(&self, keys: usize, key: impl Fn(usize) -> (&'k str, &'k str)) -> Range<usize> {
        let from = partition_point(0..keys, |at| self.compare(key(at)) == Ordering::Less);
        let to = partition_point(from..keys, |at| self.compare(key(at)) != Ordering::Greater);
        from..to
    }

    /// On which side of the stretch a key lies.
    fn compare(&self, (partition, row): (&str, &str)) -> Ordering {
        let side = side_of(&self.partitions, partition);
        match (&*self.rows, self.partitions.as_point()) {
            ([rows], Some(_)) => side.then_with(|| side_of(rows, row)),
            _ => side,
        }
    }

    /// Whether a key within the bounds, which has this RowKey, is one of its own.
    pub(super) fn holds(&self, row: &str) -> bool {
        self.rows.iter().any(|span| span.contains(row))
    }
}

fn side_of(span: &Span, text: &str) -> Ordering {
    if !span.from.is_before(text) {
        Ordering::Less
    } else if span.to.is_before(text) {
        Ordering::Greater
    } else {
        Ordering::Equal
    }
}

/// The first place that `is_before` is false of, which is true of all before it; the end where there is none.
pub(super) fn partition_point(places: Range<usize>, is_before: impl Fn(usize) -> bool) -> usize {
    let (mut from, mut to) = (places.start, places.end);
    while from < to {
        let middle = from + (to - from) / 2;
        if is_before(middle) {
            from = middle + 1;
        } else {
            to = middle;
        }
    }
    from
}
