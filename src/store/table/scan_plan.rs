//! What a store will do for a scan, for people to read before it does.

use super::KeyRange;

/// What a scan will cost, as far as it can be told beforehand.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ScanPlan {
    /// Entities that are looked up by their whole key.
    pub look_ups: usize,
    /// Ranges of keys that are read from one end to the other.
    pub range_reads: usize,
    /// Of a store that is asked over a network.
    pub remote: Option<RemotePlan>,
}

/// The requests to a remote store: one for each look-up, and for each range read one for each page it takes.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct RemotePlan {
    /// What the range reads ask for, in the store's own language: each once, in key order, and no more than a reader takes
    /// in. A range read that asks for all has none.
    pub filters: Vec<String>,
    /// Further ones.
    pub more_filters: usize,
    /// The properties that are asked for; `None` for all of them.
    pub select: Option<String>,
    /// Requests under way at once: of this scan, about one partition, in all.
    pub at_once: usize,
    pub at_once_in_partition: usize,
    pub at_once_in_all: usize,
    /// Everything is read before the first row comes out, since the store has no such order.
    pub reads_all_first: bool,
}

impl ScanPlan {
    /// The plan of a store that looks up what is a single key and reads every other range.
    pub fn of_ranges(ranges: &[KeyRange]) -> Self {
        let mut plan = Self::default();
        for range in ranges.iter().filter(|range| !range.partitions.is_empty()) {
            let is_partition = range.partitions.as_point().is_some();
            if !is_partition || range.has_all_rows() {
                plan.range_reads += usize::from(!range.rows.is_empty());
                continue;
            }
            for rows in range.rows.iter().filter(|rows| !rows.is_empty()) {
                match rows.as_point() {
                    Some(_) => plan.look_ups += 1,
                    None => plan.range_reads += 1,
                }
            }
        }
        plan
    }

    /// Adds what another scan will do.
    pub fn add(&mut self, other: Self) {
        self.look_ups += other.look_ups;
        self.range_reads += other.range_reads;
        let Some(theirs) = other.remote else { return };
        let Some(ours) = &mut self.remote else {
            self.remote = Some(theirs);
            return;
        };
        ours.more_filters += theirs.more_filters;
        ours.filters.extend(theirs.filters);
        ours.reads_all_first |= theirs.reads_all_first;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::Span;

    #[test]
    fn single_keys_are_looked_up_and_other_ranges_read() {
        let range = |partitions, rows: &[Span]| KeyRange { partitions, rows: rows.into() };
        let in_partition = range(Span::point("p"), &[Span::point("a"), Span::prefix("b"), Span::point("c")]);
        let over_partitions = range(Span::prefix("p"), &[Span::point("a"), Span::point("b")]);
        let plan = ScanPlan::of_ranges(&[in_partition, over_partitions, range(Span::point("q"), &[Span::ALL])]);
        assert_eq!((plan.look_ups, plan.range_reads), (2, 3));
        assert_eq!(ScanPlan::of_ranges(&[range(Span::ALL, &[])]), ScanPlan::default());
    }
}
