//! A sorted map by entity key whose past can be held at little cost.
//!
//! A transaction's own reads see what it had written when the statement began, and a savepoint keeps what was there
//! when it was made. Both would be copies of everything. Here changes go into a small map on top of runs that never
//! change again; a reader that needs an earlier state shares the runs of that state. Runs grow by merging neighbours of
//! about one size, so there are few of them and each entry is moved a logarithmic number of times.

use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::Arc;

use tablegate_store::model::EntityKey;
use tablegate_store::table::{Direction, KeyRange};

use super::stretch::Stretch;

/// Entries in key order; `None` takes back what an older run has.
type Run<V> = Vec<(EntityKey, Option<V>)>;

/// The map, as it is now.
#[derive(Debug)]
pub(crate) struct Layers<V> {
    recent: BTreeMap<EntityKey, Option<V>>,
    settled: Moment<V>,
}

/// The map as it was at one moment.
#[derive(Debug)]
pub(crate) struct Moment<V> {
    /// Oldest, and longest, first.
    runs: Arc<Vec<Arc<Run<V>>>>,
}

impl<V> Default for Layers<V> {
    fn default() -> Self {
        Self { recent: BTreeMap::new(), settled: Moment { runs: Arc::default() } }
    }
}

impl<V> Default for Moment<V> {
    fn default() -> Self {
        Self { runs: Arc::default() }
    }
}

impl<V> Clone for Moment<V> {
    fn clone(&self) -> Self {
        Self { runs: Arc::clone(&self.runs) }
    }
}

impl<V: Clone> Layers<V> {
    pub(crate) fn get(&self, key: &EntityKey) -> Option<&V> {
        match self.recent.get(key) {
            Some(entry) => entry.as_ref(),
            None => self.settled.get(key),
        }
    }

    pub(crate) fn insert(&mut self, key: EntityKey, value: V) {
        self.recent.insert(key, Some(value));
    }

    pub(crate) fn remove(&mut self, key: &EntityKey) {
        if self.settled.get(key).is_some() {
            self.recent.insert(key.clone(), None);
        } else {
            self.recent.remove(key);
        }
    }

    /// Whether nothing is in it. Asked for each row of a block, so nothing is copied unless all that is recent was taken back.
    pub(crate) fn is_empty(&self) -> bool {
        if self.recent.values().any(Option::is_some) {
            return false;
        }
        match self.recent.is_empty() {
            true => self.settled.iter().next().is_none(),
            false => self.moment().iter().next().is_none(),
        }
    }

    /// Moves recent changes into the runs, where moments are shared.
    pub(crate) fn settle(&mut self) {
        if !self.recent.is_empty() {
            let run = std::mem::take(&mut self.recent).into_iter().collect();
            self.settled.push(run);
        }
    }

    /// Whether nothing was ever in it.
    pub(crate) fn is_untouched(&self) -> bool {
        self.recent.is_empty() && self.settled.runs.is_empty()
    }

    /// Everything, in key order. Nothing is copied that no moment shares.
    pub(crate) fn into_entries(mut self) -> impl Iterator<Item = (EntityKey, V)> {
        self.settle();
        self.settled.into_run().into_iter().filter_map(|(key, entry)| Some((key, entry?)))
    }

    /// This moment. Cheap where nothing changed since the map was settled.
    pub(crate) fn moment(&self) -> Moment<V> {
        let mut moment = self.settled.clone();
        if !self.recent.is_empty() {
            moment.push(self.recent.iter().map(|(key, entry)| (key.clone(), entry.clone())).collect());
        }
        moment
    }

    /// The map as it was at a moment, to go on from there.
    pub(crate) fn at(moment: &Moment<V>) -> Self {
        Self { recent: BTreeMap::new(), settled: moment.clone() }
    }
}

impl<V: Clone> Moment<V> {
    /// Adds entries that are in key order.
    pub(crate) fn add(&mut self, entries: Vec<(EntityKey, V)>) {
        self.push(entries.into_iter().map(|(key, value)| (key, Some(value))).collect());
    }

    /// What this one and a newer one hold together.
    pub(crate) fn with(&self, newer: &Self) -> Self {
        Self { runs: Arc::new(self.runs.iter().chain(&*newer.runs).cloned().collect()) }
    }

    pub(crate) fn get(&self, key: &EntityKey) -> Option<&V> {
        self.runs.iter().rev().find_map(|run| {
            // Keys that come in their order are behind all runs.
            let (first, last) = (run.first()?, run.last()?);
            if *key < first.0 || last.0 < *key {
                return None;
            }
            let at = run.binary_search_by(|(k, _)| k.cmp(key)).ok()?;
            run.get(at).map(|(_, entry)| entry.as_ref())
        })?
    }

    /// Everything, in key order.
    pub(crate) fn iter(&self) -> Entries<V> {
        self.range(&[KeyRange::all()], Direction::Forward)
    }

    /// The entries in ranges that are ascending and disjoint by partition, in the order of a scan.
    pub(crate) fn range(&self, ranges: &[KeyRange], direction: Direction) -> Entries<V> {
        let stretches = Stretch::to_come(ranges, direction);
        Entries { runs: Arc::clone(&self.runs), direction, stretches, rows: None, left: Vec::new() }
    }

    /// At least as many as there are entries in the ranges.
    pub(crate) fn count_at_most(&self, ranges: &[KeyRange]) -> usize {
        let in_runs = |stretch: Stretch| self.runs.iter().map(|run| bounds(&stretch, run).len()).sum::<usize>();
        ranges.iter().flat_map(Stretch::of).map(in_runs).sum()
    }

    /// All runs as one.
    fn into_run(self) -> Run<V> {
        let mut runs = Arc::unwrap_or_clone(self.runs);
        let mut all = runs.pop().unwrap_or_default();
        // The shortest ones first: so no entry is moved often.
        while let Some(older) = runs.pop() {
            all = Arc::new(merged(older, all, runs.is_empty()));
        }
        Arc::unwrap_or_clone(all)
    }

    fn push(&mut self, run: Run<V>) {
        let runs = Arc::make_mut(&mut self.runs);
        runs.push(Arc::new(run));
        while let [.., older, newer] = runs.as_slice()
            && older.len() < 2 * newer.len()
        {
            let is_oldest = runs.len() == 2;
            if let (Some(newer), Some(older)) = (runs.pop(), runs.pop()) {
                runs.push(Arc::new(merged(older, newer, is_oldest)));
            }
        }
    }
}

/// Where a stretch lies in a run.
fn bounds<V>(stretch: &Stretch, run: &Run<V>) -> Range<usize> {
    stretch.bounds(run.len(), |at| run[at].0.as_pair())
}

/// Two runs as one. In the oldest run there is nothing to take back.
fn merged<V: Clone>(older: Arc<Run<V>>, newer: Arc<Run<V>>, is_oldest: bool) -> Run<V> {
    let mut run = Vec::with_capacity(older.len() + newer.len());
    let mut older = Arc::unwrap_or_clone(older).into_iter().peekable();
    for (key, entry) in Arc::unwrap_or_clone(newer) {
        while let Some(before) = older.next_if(|(k, _)| *k < key) {
            run.push(before);
        }
        older.next_if(|(k, _)| *k == key);
        if entry.is_some() || !is_oldest {
            run.push((key, entry));
        }
    }
    run.extend(older);
    run
}

/// Entries of a moment, in the order of a scan.
#[derive(Debug)]
pub(crate) struct Entries<V> {
    runs: Arc<Vec<Arc<Run<V>>>>,
    direction: Direction,
    /// Those to come, the next one last.
    stretches: Vec<Stretch>,
    /// The stretch that is read now.
    rows: Option<Stretch>,
    /// What is left of it in each run.
    left: Vec<Range<usize>>,
}

impl<V: Clone> Iterator for Entries<V> {
    type Item = (EntityKey, V);

    fn next(&mut self) -> Option<(EntityKey, V)> {
        loop {
            let Some((key, entry)) = self.next_entry() else {
                let stretch = self.stretches.pop()?;
                self.left = self.runs.iter().map(|run| bounds(&stretch, run)).collect();
                self.rows = Some(stretch);
                continue;
            };
            if let Some(value) = entry
                && self.rows.as_ref().is_some_and(|stretch| stretch.holds(key.row.as_str()))
            {
                return Some((key, value));
            }
        }
    }
}

impl<V: Clone> Entries<V> {
    /// The next key of the stretch, with what the newest run has of it.
    fn next_entry(&mut self) -> Option<(EntityKey, Option<V>)> {
        let mut next: Option<&(EntityKey, Option<V>)> = None;
        for (run, left) in self.runs.iter().zip(&self.left) {
            let Some(head) = self.head(run, left) else { continue };
            let is_first = next.is_none_or(|next| match self.direction {
                Direction::Forward => head.0 <= next.0,
                Direction::Reverse => head.0 >= next.0,
            });
            if is_first {
                next = Some(head);
            }
        }
        let next = next?.clone();
        for (run, left) in self.runs.iter().zip(&mut self.left) {
            let is_same = match self.direction {
                Direction::Forward => left.start < left.end && run[left.start].0 == next.0,
                Direction::Reverse => left.start < left.end && run[left.end - 1].0 == next.0,
            };
            match self.direction {
                Direction::Forward => left.start += usize::from(is_same),
                Direction::Reverse => left.end -= usize::from(is_same),
            }
        }
        Some(next)
    }

    fn head<'r>(&self, run: &'r Run<V>, left: &Range<usize>) -> Option<&'r (EntityKey, Option<V>)> {
        let at = match self.direction {
            Direction::Forward => left.start,
            Direction::Reverse => left.end.checked_sub(1)?,
        };
        if left.is_empty() { None } else { run.get(at) }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use tablegate_store::model::Span;

    use super::*;

    fn key(n: u8) -> EntityKey {
        EntityKey::parse(&format!("p{}", n / 10), &format!("r{}", n % 10)).unwrap()
    }

    fn span(from: u8, to: u8, prefix: &str) -> Span {
        use tablegate_store::model::Cut;
        Span { from: Cut::Before(format!("{prefix}{from}").into()), to: Cut::After(format!("{prefix}{to}").into()) }
    }

    #[derive(Debug, Clone)]
    enum Step {
        Insert(u8, u32),
        Remove(u8),
        Settle,
    }

    fn step() -> impl Strategy<Value = Step> {
        prop_oneof![
            4 => (0u8..100, any::<u32>()).prop_map(|(k, v)| Step::Insert(k, v)),
            2 => (0u8..100).prop_map(Step::Remove),
            1 => Just(Step::Settle),
        ]
    }

    fn ranges() -> impl Strategy<Value = Vec<KeyRange>> {
        let spans = (0u8..10, 0u8..10).prop_map(|(a, b)| (a.min(b), a.max(b)));
        let rows = prop::collection::vec(spans, 1..3).prop_map(|mut spans| {
            spans.sort_unstable();
            spans.dedup_by(|b, a| b.0 <= a.1);
            spans.iter().map(|(a, b)| span(*a, *b, "r")).collect::<Arc<[Span]>>()
        });
        (0u8..10, 0u8..10, rows).prop_map(|(a, b, rows)| {
            let (low, high) = (a.min(b), a.max(b));
            let point = KeyRange { partitions: Span::point(format!("p{low}")), rows: Arc::clone(&rows) };
            if low == high { vec![point] } else { vec![point, KeyRange { partitions: span(low + 1, high, "p"), rows }] }
        })
    }

    proptest! {
        #[test]
        fn it_is_a_map_whose_past_stays(steps in prop::collection::vec(step(), 0..200), ranges in ranges()) {
            let mut layers = Layers::default();
            let mut model: BTreeMap<EntityKey, u32> = BTreeMap::new();
            let mut past = Vec::new();
            for step in steps {
                match step {
                    Step::Insert(k, v) => {
                        layers.insert(key(k), v);
                        model.insert(key(k), v);
                    }
                    Step::Remove(k) => {
                        layers.remove(&key(k));
                        model.remove(&key(k));
                    }
                    Step::Settle => {
                        layers.settle();
                        past.push((layers.moment(), model.clone()));
                    }
                }
                prop_assert_eq!(layers.is_empty(), model.is_empty());
            }
            past.push((layers.moment(), model.clone()));
            for n in 0..100 {
                prop_assert_eq!(layers.get(&key(n)), model.get(&key(n)));
            }
            for (moment, model) in &past {
                let all: Vec<_> = moment.iter().collect();
                let expected: Vec<_> = model.iter().map(|(k, v)| (k.clone(), *v)).collect();
                prop_assert_eq!(all, expected);
                let covered = |key: &EntityKey| ranges.iter().any(|range| {
                    range.partitions.contains(key.partition.as_str())
                        && range.rows.iter().any(|rows| rows.contains(key.row.as_str()))
                });
                let expected: Vec<_> = model.iter().filter(|(k, _)| covered(k)).map(|(k, v)| (k.clone(), *v)).collect();
                let mut reverse: Vec<_> = moment.range(&ranges, Direction::Reverse).collect();
                reverse.reverse();
                prop_assert!(moment.count_at_most(&ranges) >= expected.len());
                prop_assert_eq!(&moment.range(&ranges, Direction::Forward).collect::<Vec<_>>(), &expected);
                prop_assert_eq!(reverse, expected);
            }
            if let Some((moment, model)) = past.first() {
                let mut again = Layers::at(moment);
                again.remove(&key(0));
                again.insert(key(1), 7);
                prop_assert_eq!(again.get(&key(0)), None);
                prop_assert_eq!(again.get(&key(1)), Some(&7));
                prop_assert_eq!(moment.iter().count(), model.len());
            }
        }
    }

    #[test]
    fn runs_stay_few_and_merging_cheap() {
        let mut layers = Layers::default();
        let mut past = Vec::new();
        for n in 0..10_000u32 {
            layers.insert(EntityKey::parse("p", &format!("{n:05}")).unwrap(), n);
            layers.settle();
            past.push(layers.moment());
        }
        assert!(layers.settled.runs.len() <= 15, "{} runs", layers.settled.runs.len());
        assert_eq!(past[4_999].iter().count(), 5_000);
    }
}
