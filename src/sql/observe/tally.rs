//! Counts of what happens again and again, by what tells one kind of it from another.
//!
//! They are kept in memory and written in the background, so that what is counted costs no write of its own.

use std::collections::HashMap;

use serde::Serialize;
use serde::de::DeserializeOwned;
use tablegate_store::model::Entity;
use tablegate_types::error::SqlResult;
use xxhash_rust::xxh64::xxh64;

use super::storage;

/// Kinds that are told apart; all others are one.
pub(super) const KINDS_MAX: usize = 1_000;

/// How often something of a kind happened.
pub(super) trait Counted: Clone + Serialize + DeserializeOwned {
    /// The partition of the counts in the gateway's own table. A later format gets another one.
    const PARTITION: &'static str;

    /// What tells its kind from others.
    fn kind(&self) -> String;

    /// The same count, as one of the kinds that are not told apart.
    fn of_others(self) -> Self;

    /// Counts what another count of the kind did: an earlier one of it, or a later one.
    fn add(&mut self, other: &Self);
}

/// All counts of a sort.
#[derive(Debug)]
pub(super) struct Tally<T>(HashMap<String, Kept<T>>);

#[derive(Debug)]
struct Kept<T> {
    count: T,
    /// Not written since it changed.
    is_dirty: bool,
}

impl<T> Default for Tally<T> {
    fn default() -> Self {
        Self(HashMap::new())
    }
}

impl<T: Counted> Tally<T> {
    /// Takes what was counted before, by an earlier process.
    pub(super) fn load(&mut self, counts: Vec<T>) {
        for count in counts {
            match self.0.get_mut(&count.kind()) {
                Some(kept) => kept.count.add(&count),
                None => _ = self.0.insert(count.kind(), Kept { count, is_dirty: false }),
            }
        }
    }

    /// Counts once more.
    pub(super) fn count(&mut self, one: T) {
        let mut kind = one.kind();
        let mut one = one;
        if !self.0.contains_key(&kind) && self.0.len() >= KINDS_MAX {
            one = one.of_others();
            kind = one.kind();
        }
        match self.0.get_mut(&kind) {
            Some(kept) => {
                kept.count.add(&one);
                kept.is_dirty = true;
            }
            None => _ = self.0.insert(kind, Kept { count: one, is_dirty: true }),
        }
    }

    /// All of them, by their kinds.
    pub(super) fn all(&self) -> Vec<T> {
        let mut kinds: Vec<(&String, &Kept<T>)> = self.0.iter().collect();
        kinds.sort_by_key(|(kind, _)| *kind);
        kinds.into_iter().map(|(_, kept)| kept.count.clone()).collect()
    }

    /// Whether some are not written yet.
    pub(super) fn has_changed(&self) -> bool {
        self.0.values().any(|kept| kept.is_dirty)
    }

    /// The entities of those that changed since the last time.
    ///
    /// # Errors
    /// None are expected: a count is plain data that fits into one entity.
    pub(super) fn take_changed(&mut self) -> SqlResult<Vec<Entity>> {
        let changed = self.0.iter_mut().filter(|(_, kept)| kept.is_dirty);
        changed
            .map(|(kind, kept)| {
                kept.is_dirty = false;
                let row = format!("{:016x}{:016x}", xxh64(kind.as_bytes(), 0), xxh64(kind.as_bytes(), 1));
                storage::entity(T::PARTITION, &row, &kept.count)
            })
            .collect()
    }

    /// They could not be written: they are to be, next time.
    pub(super) fn all_changed(&mut self) {
        self.0.values_mut().for_each(|kept| kept.is_dirty = true);
    }
}

#[cfg(test)]
mod tests {
    use serde::Deserialize;

    use super::*;

    #[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
    struct Times(String, u64);

    impl Counted for Times {
        const PARTITION: &'static str = "times";

        fn kind(&self) -> String {
            self.0.clone()
        }

        fn of_others(self) -> Self {
            Self("(others)".to_owned(), self.1)
        }

        fn add(&mut self, other: &Self) {
            self.1 += other.1;
        }
    }

    fn once(kind: &str) -> Times {
        Times(kind.to_owned(), 1)
    }

    #[test]
    fn only_changes_are_written_and_nothing_is_forgotten() {
        let mut tally = Tally::default();
        tally.count(once("a"));
        assert_eq!(tally.take_changed().unwrap().len(), 1);
        assert!(tally.take_changed().unwrap().is_empty());
        tally.all_changed();
        assert_eq!(tally.take_changed().unwrap().len(), 1);
        let mut later = Tally::default();
        later.count(once("a"));
        later.load(tally.all());
        later.count(once("a"));
        later.count(once("b"));
        assert_eq!(later.all(), [Times("a".to_owned(), 3), once("b")]);
    }

    #[test]
    fn there_are_as_many_as_the_bound_and_one() {
        let mut tally = Tally::default();
        for n in 0..KINDS_MAX + 50 {
            tally.count(once(&format!("kind{n}")));
        }
        let all = tally.all();
        assert_eq!(all.len(), KINDS_MAX + 1);
        assert!(all.contains(&Times("(others)".to_owned(), 50)));
    }
}
