//! A store in memory: the oracle that says what every other store must do.
//!
//! It is the simplest code that keeps the whole contract: sorted maps, shared by reference count between the store and
//! its readers and copied when a commit meets a reader. So it promises the most a store can promise, and the contract
//! suite can ask it anything. Nothing outlives the process.

mod commit;
mod reader;
mod scan;
mod table;

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use async_trait::async_trait;
use tablegate_store::model::{Clock, EdmDateTime, TableName};
use tablegate_store::table::{
    Batch, CommitError, GroupError, Parallelism, Promises, SnapshotScope, Stamps, StoreError, TableReader, TableStore,
    WindowOutcome, Written, check_disjoint,
};

use self::commit::PlannedBatch;
use self::reader::MemoryReader;
use self::table::Table;

/// Every table under its name, as one moment saw them.
type Tables = BTreeMap<TableName, Arc<Table>>;

/// A [`TableStore`] that lives as long as the process.
pub struct MemoryStore {
    clock: Arc<dyn Clock>,
    state: Mutex<State>,
}

struct State {
    tables: Arc<Tables>,
    /// The last Timestamp given out.
    last: EdmDateTime,
    /// How many commits there were.
    commit: u64,
}

impl MemoryStore {
    pub fn new(clock: Arc<dyn Clock>) -> Self {
        Self { clock, state: Mutex::new(State { tables: Arc::default(), last: EdmDateTime::MIN, commit: 0 }) }
    }

    fn stamps(&self, state: &State) -> Stamps<'_> {
        Stamps { clock: &*self.clock, last: state.last }
    }

    fn commit_now(&self, state: &mut State, batch: Batch) -> Result<Vec<Written>, CommitError> {
        let mut stamps = self.stamps(state);
        let planned = PlannedBatch::new(&state.tables, batch, &mut stamps)?;
        state.last = stamps.last;
        state.commit += 1;
        Ok(planned.apply(Arc::make_mut(&mut state.tables), state.commit))
    }

    /// A panic elsewhere cannot have left the state half-changed: what is checked is checked before the first change.
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[async_trait]
impl TableStore for MemoryStore {
    fn promises(&self) -> Promises {
        Promises {
            atomic_groups: true,
            ordered_scans: true,
            reverse_scans: true,
            snapshot: SnapshotScope::Store,
            sole_writer: true,
        }
    }

    fn parallelism(&self) -> Parallelism {
        Parallelism { windows: true, ..Parallelism::default() }
    }

    fn reader(&self) -> Arc<dyn TableReader> {
        let state = self.state();
        Arc::new(MemoryReader::new(state.tables.clone(), state.commit))
    }

    async fn create_table(&self, table: &TableName) -> Result<(), StoreError> {
        let mut state = self.state();
        if state.tables.contains_key(table) {
            return Err(StoreError::TableExists(table.clone()));
        }
        state.commit += 1;
        let new = Table::made_by(state.commit);
        Arc::make_mut(&mut state.tables).insert(table.clone(), Arc::new(new));
        Ok(())
    }

    async fn drop_table(&self, table: &TableName) -> Result<(), StoreError> {
        let mut state = self.state();
        if !state.tables.contains_key(table) {
            return Err(StoreError::TableMissing(table.clone()));
        }
        Arc::make_mut(&mut state.tables).remove(table);
        Ok(())
    }

    async fn commit(&self, batch: Batch) -> Result<Vec<Written>, CommitError> {
        self.commit_now(&mut self.state(), batch)
    }

    async fn commit_window(&self, batches: Vec<Batch>) -> WindowOutcome {
        let mut state = self.state();
        batches.into_iter().map(|batch| self.commit_now(&mut state, batch)).collect()
    }

    async fn commit_group(&self, batches: Vec<Batch>) -> Result<Vec<Vec<Written>>, GroupError> {
        check_disjoint(&batches)?;
        let mut state = self.state();
        let mut stamps = self.stamps(&state);
        let mut planned = Vec::with_capacity(batches.len());
        for (index, batch) in batches.into_iter().enumerate() {
            let batch = PlannedBatch::new(&state.tables, batch, &mut stamps);
            planned.push(batch.map_err(|error| error.in_group(index))?);
        }
        state.last = stamps.last;
        state.commit += 1;
        let State { tables, commit, .. } = &mut *state;
        let tables = Arc::make_mut(tables);
        Ok(planned.into_iter().map(|batch| batch.apply(tables, *commit)).collect())
    }

    async fn clear(&self, table: &TableName, unchanged_since: u64) -> Result<Option<u64>, StoreError> {
        let mut state = self.state();
        let State { tables, commit, .. } = &mut *state;
        let tables = Arc::make_mut(tables);
        let table = tables.get_mut(table).ok_or_else(|| StoreError::TableMissing(table.clone()))?;
        if table.changed() > unchanged_since {
            return Ok(None);
        }
        *commit += 1;
        let rows = table.size().entities;
        Arc::make_mut(table).clear(*commit);
        Ok(Some(rows))
    }

    async fn analyze(&self, table: &TableName) -> Result<(), StoreError> {
        let mut state = self.state();
        let tables = Arc::make_mut(&mut state.tables);
        let table = tables.get_mut(table).ok_or_else(|| StoreError::TableMissing(table.clone()))?;
        Arc::make_mut(table).analyze();
        Ok(())
    }
}

/// # Errors
/// [`StoreError::TableMissing`].
fn find<'a>(tables: &'a Tables, name: &TableName) -> Result<&'a Arc<Table>, StoreError> {
    tables.get(name).ok_or_else(|| StoreError::TableMissing(name.clone()))
}
