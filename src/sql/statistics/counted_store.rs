//! A store whose commits are counted: all of them, the gateway's own among them.
//!
//! What a commit costs is the store's; counting it here costs a look-up of its table and some additions.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, RwLock};

use async_trait::async_trait;
use tablegate_store::model::TableName;
use tablegate_store::table::{
    Batch, CommitError, EntityWindow, GroupError, KnownChange, NewEntities, Operation, Refusals, Rejection, StagedRows,
    StoreError, StoreLayer, TableStore, WindowOutcome, WriteGroup, Written,
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
    pub(crate) fn rejected(&self) -> Vec<(&'static str, u64)> {
        REJECTIONS.into_iter().zip(self.rejected.iter().map(Counter::get)).collect()
    }

    /// What was written into a table.
    pub(crate) fn of_table(&self, table: &StoredTable) -> Option<Arc<Changes>> {
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

    fn add_outcome(&self, tallies: &[Tally], outcome: &WindowOutcome) {
        let mut committed: Vec<Tally> = Vec::new();
        for (tally, outcome) in tallies.iter().zip(outcome) {
            match (outcome, committed.last_mut()) {
                // Nearly all of a window is of one table.
                (Ok(_), Some(last)) if last.table == tally.table => last.merge(tally),
                (Ok(_), _) => committed.push(tally.clone()),
                (Err(error), _) => self.add_error(error),
            }
        }
        committed.iter().for_each(|tally| self.add(tally));
    }

    fn add_group(&self, tallies: &[Tally], error: Option<&GroupError>) {
        match error {
            None => tallies.iter().for_each(|tally| self.add(tally)),
            Some(GroupError::Rejected { reason, .. }) => self.add_rejected(*reason),
            Some(GroupError::DuplicateKey { .. } | GroupError::NotEmpty { .. } | GroupError::Store(_)) => {
                self.failed.add_one();
            }
        }
    }

    fn add_error(&self, error: &CommitError) {
        match error {
            CommitError::Rejected { reason, .. } => self.add_rejected(*reason),
            CommitError::Store(_) => self.failed.add_one(),
        }
    }

    fn add_rejected(&self, reason: Rejection) {
        if let Some(counter) = self.rejected.get(place(reason)) {
            counter.add_one();
        }
    }

    fn add(&self, tally: &Tally) {
        self.egts.add(tally.egts);
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

/// What batches of one table are to do, told before they are handed over.
#[derive(Clone)]
struct Tally {
    table: StoredTable,
    egts: u64,
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
        Self { table: StoredTable::new(place, batch.table().clone()), egts: 1, operations }
    }

    fn of_window(place: Place, window: &EntityWindow) -> Self {
        let rows = window.keys().len() as u64;
        let operations = match window {
            EntityWindow::New(_) => [rows, 0, 0, 0],
            EntityWindow::Known(known) => match known.change() {
                KnownChange::Merge(_) => [0, rows, 0, 0],
                KnownChange::Delete => [0, 0, rows, 0],
            },
        };
        let table = StoredTable::new(place, window.table().clone());
        Self { table, egts: window.transactions() as u64, operations }
    }

    /// New rows: so many transactions, and so many entities.
    fn of_new(place: Place, table: &TableName, (egts, rows): (usize, usize)) -> Self {
        Self { table: StoredTable::new(place, table.clone()), egts: egts as u64, operations: [rows as u64, 0, 0, 0] }
    }

    /// Takes what another one counted, of the same table.
    fn merge(&mut self, other: &Self) {
        self.egts += other.egts;
        self.operations.iter_mut().zip(other.operations).for_each(|(here, more)| *here += more);
    }
}

/// Counts for a store what it commits.
pub(crate) struct CountedStore {
    place: Place,
    store: Arc<dyn TableStore>,
    commits: Arc<Commits>,
}

impl CountedStore {
    pub(crate) fn new(place: Place, store: Arc<dyn TableStore>, commits: Arc<Commits>) -> Self {
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
            Err(error) => self.commits.add_error(error),
        }
        committed
    }

    async fn commit_window(&self, batches: Vec<Batch>) -> WindowOutcome {
        let tallies: Vec<Tally> = batches.iter().map(|batch| Tally::of(self.place, batch)).collect();
        let outcome = self.store.commit_window(batches).await;
        self.commits.add_outcome(&tallies, &outcome);
        outcome
    }

    async fn insert_window(&self, entities: NewEntities) -> Refusals {
        let mut tally = Tally::of_new(self.place, entities.table(), (entities.transactions(), entities.len()));
        let sizes: Vec<u64> =
            (0..entities.transactions()).map(|index| entities.transaction(index).len() as u64).collect();
        let outcome = self.store.insert_window(entities).await;
        for (index, error) in &outcome {
            tally.egts -= 1;
            tally.operations[0] -= sizes.get(*index).copied().unwrap_or_default();
            self.commits.add_error(error);
        }
        if tally.egts > 0 {
            self.commits.add(&tally);
        }
        outcome
    }

    async fn commit_group(&self, batches: Vec<Batch>) -> Result<Vec<Vec<Written>>, GroupError> {
        let tallies: Vec<Tally> = batches.iter().map(|batch| Tally::of(self.place, batch)).collect();
        let committed = self.store.commit_group(batches).await;
        self.commits.add_group(&tallies, committed.as_ref().err());
        committed
    }

    async fn clear(&self, table: &TableName, unchanged_since: u64) -> Result<Option<u64>, StoreError> {
        let cleared = self.store.clear(table, unchanged_since).await?;
        if let Some(rows) = cleared {
            let table = StoredTable::new(self.place, table.clone());
            self.commits.add(&Tally { table, egts: 1, operations: [0, 0, rows, 0] });
        }
        Ok(cleared)
    }

    async fn stage(&self, table: &TableName) -> Result<Option<Box<dyn StagedRows>>, StoreError> {
        let Some(rows) = self.store.stage(table).await? else { return Ok(None) };
        let (table, commits) = (StoredTable::new(self.place, table.clone()), self.commits.clone());
        Ok(Some(Box::new(CountedRows { rows, table, commits, written: Mutex::default() })))
    }

    async fn write_group(&self, group: WriteGroup) -> Result<(), GroupError> {
        let of_windows = group.windows.iter().map(|window| Tally::of_window(self.place, window));
        let of_batches = group.batches.iter().map(|batch| Tally::of(self.place, batch));
        let of_staged = group.staged.iter().map(|sealed| Tally::of_new(self.place, &sealed.table, sealed.extent));
        let tallies: Vec<Tally> = of_windows.chain(of_batches).chain(of_staged).collect();
        let committed = self.store.write_group(group).await;
        self.commits.add_group(&tallies, committed.as_ref().err());
        committed
    }
}

/// Counts staged rows once they are in their table.
struct CountedRows {
    rows: Box<dyn StagedRows>,
    table: StoredTable,
    commits: Arc<Commits>,
    /// The transactions and rows that were written ahead.
    written: Mutex<(usize, usize)>,
}

impl CountedRows {
    fn count(&self, egts: usize, rows: usize) {
        self.commits.add(&Tally::of_new(self.table.place, &self.table.name, (egts, rows)));
    }

    fn written(&self) -> MutexGuard<'_, (usize, usize)> {
        self.written.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[async_trait]
impl StagedRows for CountedRows {
    async fn write(&self, entities: NewEntities) -> Result<(), StoreError> {
        let (egts, rows) = (entities.transactions(), entities.len());
        self.rows.write(entities).await?;
        let mut written = self.written();
        *written = (written.0 + egts, written.1 + rows);
        Ok(())
    }

    async fn rest(&self) -> Result<(), StoreError> {
        self.rows.rest().await
    }

    async fn first_known(&self, entities: &NewEntities) -> Result<Option<usize>, StoreError> {
        self.rows.first_known(entities).await
    }

    async fn publish(&self) -> Result<bool, StoreError> {
        let is_published = self.rows.publish().await?;
        if is_published {
            let (egts, rows) = std::mem::take(&mut *self.written());
            self.count(egts, rows);
        }
        Ok(is_published)
    }

    async fn seal(&self) -> Result<u32, StoreError> {
        self.rows.seal().await
    }

    async fn insert(&self, committed: &(dyn Fn(usize, usize) + Send + Sync)) -> Result<(), CommitError> {
        let count = |egts: usize, rows: usize| {
            self.count(egts, rows);
            committed(egts, rows);
        };
        let inserted = self.rows.insert(&count).await;
        if let Err(error) = &inserted {
            self.commits.add_error(error);
        }
        inserted
    }
}
