//! A store whose commits are counted: all of them, the gateway's own among them.
//!
//! What a commit costs is the store's; counting it here costs a look-up of its table and some additions.

use std::collections::HashMap;
use std::sync::{Arc, PoisonError, RwLock};

use async_trait::async_trait;
use tablegate_store::model::TableName;
use tablegate_store::table::{
    Batch, CommitError, GroupError, Operation, Rejection, StoreError, StoreLayer, TableStore, Written,
};

use super::counter::Counter;
use crate::place::{Place, StoredTable};

/// What was committed since the store was opened.
#[derive(Debug, Default)]
pub(crate) struct Commits {
    pub egts: Counter,
    rejected: [Counter; REJECTIONS.len()],
    /// Batches that the store could not commit, for reasons of its own.
    pub failed: Counter,
    tables: RwLock<HashMap<StoredTable, Arc<Changes>>>,
    /// Of all tables, those among them that are gone.
    pub all: Changes,
}

/// What was written into a table since the store was opened.
#[derive(Debug, Default)]
pub(crate) struct Changes {
    pub inserted: Counter,
    pub updated: Counter,
    pub deleted: Counter,
    /// Inserted or updated: who wrote them did not care.
    pub upserted: Counter,
}

/// Why batches are rejected, as they are counted.
const REJECTIONS: [&str; 5] =
    ["entity_exists", "entity_missing", "etag_mismatch", "too_many_properties", "entity_too_large"];

fn place(reason: Rejection) -> usize {
    match reason {
        Rejection::EntityExists => 0,
        Rejection::EntityMissing => 1,
        Rejection::ETagMismatch => 2,
        Rejection::TooManyProperties { .. } => 3,
        Rejection::EntityTooLarge { .. } => 4,
    }
}

impl Commits {
    pub fn rejected(&self) -> Vec<(&'static str, u64)> {
        REJECTIONS.into_iter().zip(self.rejected.iter().map(Counter::get)).collect()
    }

    /// What was written into a table.
    pub fn of_table(&self, table: &StoredTable) -> Option<Arc<Changes>> {
        self.tables.read().unwrap_or_else(PoisonError::into_inner).get(table).cloned()
    }

    fn changes(&self, table: &StoredTable) -> Arc<Changes> {
        self.of_table(table).unwrap_or_else(|| {
            let mut tables = self.tables.write().unwrap_or_else(PoisonError::into_inner);
            tables.entry(table.clone()).or_default().clone()
        })
    }

    fn forget(&self, table: &StoredTable) {
        self.tables.write().unwrap_or_else(PoisonError::into_inner).remove(table);
    }

    fn add_rejected(&self, reason: Rejection) {
        if let Some(counter) = self.rejected.get(place(reason)) {
            counter.add_one();
        }
    }

    fn add(&self, tally: &Tally) {
        self.egts.add_one();
        self.all.add(tally);
        self.changes(&tally.table).add(tally);
    }
}

impl Changes {
    fn add(&self, tally: &Tally) {
        for (counter, n) in
            [&self.inserted, &self.updated, &self.deleted, &self.upserted].into_iter().zip(tally.operations)
        {
            if n > 0 {
                counter.add(n);
            }
        }
    }
}

/// What a batch is to do, told before it is handed over.
struct Tally {
    table: StoredTable,
    /// Inserts, updates, deletes, upserts.
    operations: [u64; 4],
}

impl Tally {
    fn of(place: Place, batch: &Batch) -> Self {
        let mut operations = [0; 4];
        for operation in batch.operations() {
            operations[match operation {
                Operation::Insert(_) => 0,
                Operation::Merge(..) | Operation::Replace(..) => 1,
                Operation::Delete(..) => 2,
                Operation::InsertOrMerge(_) | Operation::InsertOrReplace(_) => 3,
            }] += 1;
        }
        Self { table: StoredTable::new(place, batch.table().clone()), operations }
    }
}

/// Counts for a store what it commits.
pub(crate) struct CountedStore {
    place: Place,
    store: Arc<dyn TableStore>,
    commits: Arc<Commits>,
}

impl CountedStore {
    pub fn new(place: Place, store: Arc<dyn TableStore>, commits: Arc<Commits>) -> Self {
        Self { place, store, commits }
    }
}

#[async_trait]
impl StoreLayer for CountedStore {
    fn below(&self) -> &dyn TableStore {
        &*self.store
    }

    async fn drop_table(&self, table: &TableName) -> Result<(), StoreError> {
        self.store.drop_table(table).await?;
        self.commits.forget(&StoredTable::new(self.place, table.clone()));
        Ok(())
    }

    async fn commit(&self, batch: Batch) -> Result<Vec<Written>, CommitError> {
        let tally = Tally::of(self.place, &batch);
        let committed = self.store.commit(batch).await;
        match &committed {
            Ok(_) => self.commits.add(&tally),
            Err(CommitError::Rejected { reason, .. }) => self.commits.add_rejected(*reason),
            Err(CommitError::Store(_)) => self.commits.failed.add_one(),
        }
        committed
    }

    async fn commit_group(&self, batches: Vec<Batch>) -> Result<Vec<Vec<Written>>, GroupError> {
        let tallies: Vec<Tally> = batches.iter().map(|batch| Tally::of(self.place, batch)).collect();
        let committed = self.store.commit_group(batches).await;
        match &committed {
            Ok(_) => tallies.iter().for_each(|tally| self.commits.add(tally)),
            Err(GroupError::Rejected { reason, .. }) => self.commits.add_rejected(*reason),
            Err(GroupError::DuplicateKey { .. } | GroupError::Store(_)) => self.commits.failed.add_one(),
        }
        committed
    }
}
