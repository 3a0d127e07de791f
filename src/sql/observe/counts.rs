//! Counts: for each application and shape of its transactions, how many there were and how many fitted.
//!
//! They are kept in memory and written in the background, so that a transaction that fits costs no write of its own.

use std::collections::HashMap;

use serde::{Deserialize, Serialize};
use tablegate_store::model::Entity;
use tablegate_types::error::SqlResult;
use xxhash_rust::xxh64::xxh64;

use super::rule::Observed;
use super::seen::bounded;
use super::storage;
use super::violation::Outcome;

/// The partition of the counts in the gateway's own table. A later format gets another one.
pub(super) const PARTITION: &str = "count1";
/// Pairs of application and shape that are told apart; all others are one.
pub(super) const PAIRS_MAX: usize = 1_000;
/// The shape of those others.
const OTHERS: &str = "(others)";
/// Characters of a transaction's shape that are kept.
const SHAPE_MAX_CHARS: usize = 2_000;

/// The count of one application and shape.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct Count {
    pub application_name: String,
    /// The shapes of the writing statements, each once, in the order of their first run.
    pub shape: String,
    /// Committed, and one EGT at every step.
    pub fitted: u64,
    /// Committed, atomically, although a rule was broken.
    pub violating: u64,
    /// Statements outside a block that ran as several EGTs.
    pub split: u64,
    pub rolled_back: u64,
    /// Microseconds since 1970.
    pub first_seen: i64,
    pub last_seen: i64,
    /// Not written since it changed.
    #[serde(skip)]
    is_dirty: bool,
}

impl Count {
    pub(crate) fn transactions(&self) -> u64 {
        self.fitted + self.violating + self.split + self.rolled_back
    }

    fn new(application_name: String, shape: String, now: i64) -> Self {
        Self {
            application_name,
            shape,
            fitted: 0,
            violating: 0,
            split: 0,
            rolled_back: 0,
            first_seen: now,
            last_seen: now,
            is_dirty: false,
        }
    }

    fn to_entity(&self) -> SqlResult<Entity> {
        let text = format!("{}\0{}", self.application_name, self.shape);
        let row = format!("{:016x}{:016x}", xxh64(text.as_bytes(), 0), xxh64(text.as_bytes(), 1));
        storage::entity(PARTITION, &row, self)
    }
}

/// All counts.
#[derive(Debug, Default)]
pub(super) struct Counts(HashMap<(String, String), Count>);

impl Counts {
    /// Takes what was counted before, by an earlier process.
    pub(super) fn load(&mut self, counts: Vec<Count>) {
        for count in counts {
            self.0.insert((count.application_name.clone(), count.shape.clone()), count);
        }
    }

    /// Counts a transaction.
    pub(super) fn add(&mut self, application: &str, observed: &Observed, outcome: Outcome, now: i64) {
        let shapes: Vec<&str> = observed.statements().iter().map(|statement| statement.shape()).collect();
        let mut key = (application.to_owned(), bounded(&shapes.join("; "), SHAPE_MAX_CHARS));
        if !self.0.contains_key(&key) && self.0.len() >= PAIRS_MAX {
            key = (String::new(), OTHERS.to_owned());
        }
        let (application, shape) = key.clone();
        let count = self.0.entry(key).or_insert_with(|| Count::new(application, shape, now));
        let counter = match outcome {
            Outcome::Committed if observed.breaches().is_empty() => &mut count.fitted,
            Outcome::Committed => &mut count.violating,
            Outcome::Split | Outcome::Torn => &mut count.split,
            Outcome::RolledBack => &mut count.rolled_back,
        };
        *counter += 1;
        count.last_seen = now;
        count.is_dirty = true;
    }

    pub(super) fn all(&self) -> Vec<Count> {
        let mut counts: Vec<Count> = self.0.values().cloned().collect();
        counts.sort_by(|a, b| (&a.application_name, &a.shape).cmp(&(&b.application_name, &b.shape)));
        counts
    }

    /// The entities of those that changed since the last time.
    ///
    /// # Errors
    /// None are expected: a count is plain data that fits into one entity.
    pub(super) fn take_changed(&mut self) -> SqlResult<Vec<Entity>> {
        let changed = self.0.values_mut().filter(|count| count.is_dirty);
        changed
            .map(|count| {
                count.is_dirty = false;
                count.to_entity()
            })
            .collect()
    }

    /// They could not be written: they are to be, next time.
    pub(super) fn all_changed(&mut self) {
        self.0.values_mut().for_each(|count| count.is_dirty = true);
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::observe::{Rule, SeenStatement};

    fn observed(text: &str, rule: Option<Rule>) -> Observed {
        let statement = Arc::new(SeenStatement::new(text));
        let mut observed = Observed::default();
        observed.see(&statement);
        if let Some(rule) = rule {
            observed.broke(rule, &statement);
        }
        observed
    }

    #[test]
    fn every_end_has_its_count() {
        let mut counts = Counts::default();
        let broken = || observed("DELETE FROM t WHERE a = 1", Some(Rule::SecondPartition));
        counts.add("app", &observed("DELETE FROM t WHERE a = 2", None), Outcome::Committed, 1);
        counts.add("app", &broken(), Outcome::Committed, 2);
        counts.add("app", &broken(), Outcome::RolledBack, 3);
        counts.add("app", &broken(), Outcome::Split, 4);
        counts.add("app", &broken(), Outcome::Torn, 5);
        counts.add("other", &observed("DELETE FROM t", None), Outcome::Committed, 6);
        let all = counts.all();
        let told: Vec<_> = all.iter().map(|c| (c.fitted, c.violating, c.split, c.rolled_back)).collect();
        assert_eq!(told, [(1, 1, 2, 1), (1, 0, 0, 0)]);
        assert_eq!((all[0].transactions(), all[0].first_seen, all[0].last_seen), (5, 1, 5));
        assert_eq!(all[0].shape, "delete from t where a = ?");
    }

    #[test]
    fn only_changes_are_written_and_nothing_is_forgotten() {
        let mut counts = Counts::default();
        counts.add("app", &observed("DELETE FROM t", None), Outcome::Committed, 1);
        assert_eq!(counts.take_changed().unwrap().len(), 1);
        assert!(counts.take_changed().unwrap().is_empty());
        counts.all_changed();
        assert_eq!(counts.take_changed().unwrap().len(), 1);
        let mut later = Counts::default();
        later.load(counts.all());
        later.add("app", &observed("DELETE FROM t", None), Outcome::Committed, 2);
        assert_eq!((later.all()[0].fitted, later.all()[0].first_seen), (2, 1));
    }

    #[test]
    fn there_are_as_many_as_the_bound_and_one() {
        let mut counts = Counts::default();
        for n in 0..PAIRS_MAX + 50 {
            counts.add(&format!("app{n}"), &observed("DELETE FROM t", None), Outcome::Committed, 1);
        }
        let all = counts.all();
        assert_eq!(all.len(), PAIRS_MAX + 1);
        assert_eq!(all.iter().find(|c| c.shape == OTHERS).map(|c| c.fitted), Some(50));
    }
}
