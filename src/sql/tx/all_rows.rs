//! All rows of a table, which one statement removes at once.

use tablegate_store::model::{ETag, EdmDateTime, EntityKeys};
use tablegate_store::table::{KnownChange, KnownEntities};

use crate::observe::Footprint;
use crate::relation::Relation;

/// How many they are, and what removing them one by one comes to, where that is kept.
#[derive(Debug)]
pub(crate) struct AllRows {
    pub(super) count: usize,
    pub(super) by_one: Option<ByOne>,
}

/// What they are when they are removed one by one.
#[derive(Debug)]
pub(super) struct ByOne {
    pub egts: usize,
    pub footprint: Footprint,
}

impl AllRows {
    pub(crate) fn new(keeps_footprint: bool) -> Self {
        let by_one = keeps_footprint.then(|| ByOne { egts: 0, footprint: Footprint::new() });
        Self { count: 0, by_one }
    }

    pub(crate) fn count(&self) -> usize {
        self.count
    }

    /// Whether it has to be said which rows they are: see [`AllRows::add`].
    pub(crate) fn asks_which(&self) -> bool {
        self.by_one.is_some()
    }

    pub(crate) fn add_count(&mut self, rows: usize) {
        self.count += rows;
    }

    /// Adds rows by their keys. False where it cannot be told of them together what removing them comes to.
    pub(crate) fn add(&mut self, relation: &Relation, keys: EntityKeys) -> bool {
        self.count += keys.len();
        let Some(ByOne { egts, footprint }) = &mut self.by_one else { return true };
        // Which version each is in matters for the length of its text alone, by a few digits: the longest.
        let versions = vec![ETag::of_timestamp(EdmDateTime::MAX); keys.len()];
        let Some(removed) = KnownEntities::new(&relation.stored, keys, versions, KnownChange::Delete) else {
            return false;
        };
        *egts += removed.transactions();
        footprint.add_rows(relation, removed.keys(), &removed.operations_bytes());
        true
    }
}
