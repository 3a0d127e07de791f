//! Fills a stored table that no other session can see yet.
//!
//! No statement's atomicity depends on which entities go together, so they are written as fast as the store takes them:
//! many entity group transactions in one durable write where it promises groups, many at a time elsewhere.

use std::collections::BTreeMap;
use std::sync::Arc;

use tablegate_store::model::{Entity, EntityKey, TableName};
use tablegate_store::table::{Batch, CommitError, GroupError, Operation, Rejection, StoreError, TableStore};
use tablegate_types::error::{SqlError, SqlResult};
use tokio::task::JoinHandle;

use super::in_flight::{Egt, Failure, InFlight};
use super::window::{BYTES_MAX, OPERATIONS_MAX};
use crate::batches::pack;
use crate::place::{StoredTable, Stores};
use crate::progress::{Report, Shown};

/// Writes entities into a new stored table.
pub(crate) struct TableLoader {
    store: Arc<dyn TableStore>,
    table: TableName,
    buffer: BTreeMap<EntityKey, Operation>,
    buffered_bytes: usize,
    in_flight: InFlight,
    /// The group that is being written, while the next one is collected.
    group: Option<JoinHandle<Result<(), GroupError>>>,
    report: Option<Report>,
    shown: Option<Shown>,
}

/// Why entities were not written.
pub(crate) enum LoadError {
    /// Two of them have this key.
    Duplicate(EntityKey),
    Other(Box<SqlError>),
}

impl From<Box<SqlError>> for LoadError {
    fn from(error: Box<SqlError>) -> Self {
        LoadError::Other(error)
    }
}

impl TableLoader {
    /// Shows how far it is, once it is more than one EGT.
    ///
    /// # Errors
    /// 0A000 for a table of a place without a store.
    pub fn new(stores: &Stores, table: &StoredTable, report: Report) -> SqlResult<Self> {
        let store = stores.at(table.place)?.clone();
        Ok(Self {
            in_flight: InFlight::new(store.clone()),
            store,
            table: table.name.clone(),
            buffer: BTreeMap::new(),
            buffered_bytes: 0,
            group: None,
            report: Some(report),
            shown: None,
        })
    }

    /// Takes an entity; writes what was collected when that is enough.
    ///
    /// # Errors
    /// What the entity's limits or the store refuse.
    pub async fn push(&mut self, entity: Entity) -> Result<(), LoadError> {
        entity.check().map_err(|error| LoadError::Other(error.into()))?;
        if self.buffer.len() >= OPERATIONS_MAX || self.buffered_bytes >= BYTES_MAX {
            self.flush().await?;
        }
        let key = entity.key.clone();
        self.buffered_bytes += entity.stored_size();
        if self.buffer.insert(key.clone(), Operation::Insert(entity)).is_some() {
            return Err(LoadError::Duplicate(key));
        }
        Ok(())
    }

    /// Writes what is left.
    ///
    /// # Errors
    /// As [`TableLoader::push`].
    pub async fn finish(mut self) -> Result<(), LoadError> {
        self.flush().await?;
        self.group_written().await?;
        self.in_flight.drain().await.map_err(failed)
    }

    async fn flush(&mut self) -> Result<(), LoadError> {
        self.buffered_bytes = 0;
        let batches = pack(&self.table, std::mem::take(&mut self.buffer).into_values().map(Ok))?;
        if batches.is_empty() {
            return Ok(());
        }
        if batches.len() > 1
            && let Some(report) = self.report.take()
        {
            self.shown = Some(report.begin(self.in_flight.tally()));
        }
        if self.store.promises().atomic_groups {
            self.group_written().await?;
            self.group = Some(self.write_group(batches));
            return Ok(());
        }
        self.in_flight.send(batches.into_iter().map(as_egt).collect()).await;
        if self.in_flight.has_stopped() { self.in_flight.drain().await.map_err(failed) } else { Ok(()) }
    }

    fn write_group(&self, batches: Vec<Batch>) -> JoinHandle<Result<(), GroupError>> {
        let (store, tally) = (self.store.clone(), self.in_flight.tally().clone());
        tokio::spawn(async move {
            let written = store.commit_group(batches).await?;
            written.iter().for_each(|batch| tally.add(batch.len()));
            Ok(())
        })
    }

    async fn group_written(&mut self) -> Result<(), LoadError> {
        let Some(group) = self.group.take() else { return Ok(()) };
        let ended_early = |_| Err(StoreError::OutcomeUnknown("the task that commits ended early".to_owned()).into());
        group.await.unwrap_or_else(ended_early).map_err(refused)
    }
}

/// The rows of a new table have no order that anybody is told of.
fn as_egt(batch: Batch) -> Egt {
    Egt { positions: (0..batch.operations().len() as u64).collect(), batch, locks: None }
}

fn failed(failure: Failure) -> LoadError {
    let error: CommitError = failure.error;
    refused(error.in_group(0))
}

fn refused(error: GroupError) -> LoadError {
    match error {
        GroupError::Rejected { key, reason: Rejection::EntityExists, .. } => LoadError::Duplicate(key),
        other => LoadError::Other(other.into()),
    }
}
