//! Fills a stored table that no other session can see yet.
//!
//! No statement's atomicity depends on which entities go together, so they are written as fast as the store takes them:
//! collected in key order and handed over in windows, one of which is written while the next one is collected.

use std::collections::BTreeMap;
use std::sync::Arc;

use tablegate_store::model::{Entity, EntityKey, TableName};
use tablegate_store::table::{Batch, CommitError, NewEntities, Operation, Rejection};
use tablegate_types::error::{SqlError, SqlResult};

use super::held_back_space::HeldBackSpace;
use super::in_flight::{Columns, Egt, Failure, InFlight};
use super::window::{BYTES_MAX, OPERATIONS_MAX};
use crate::batches::pack;
use crate::place::{StoredTable, Stores};
use crate::progress::{Report, Shown};

/// Writes entities into a new stored table.
pub(crate) struct TableLoader {
    table: TableName,
    buffer: BTreeMap<EntityKey, Operation>,
    buffered_bytes: usize,
    in_flight: InFlight,
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
    pub(crate) fn new(
        stores: &Stores,
        table: &StoredTable,
        space: &Arc<HeldBackSpace>,
        report: Report,
    ) -> SqlResult<Self> {
        let mut in_flight = InFlight::new(stores.at(table.place)?.clone());
        in_flight.set_unseen(table.name.clone(), space);
        Ok(Self {
            in_flight,
            table: table.name.clone(),
            buffer: BTreeMap::new(),
            buffered_bytes: 0,
            report: Some(report),
            shown: None,
        })
    }

    /// Takes an entity; writes what was collected when that is enough.
    ///
    /// # Errors
    /// What the entity's limits or the store refuse.
    pub(crate) async fn push(&mut self, entity: Entity) -> Result<(), LoadError> {
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

    /// Takes many at once; false where they have to be pushed one by one.
    ///
    /// # Errors
    /// As [`TableLoader::push`].
    pub(crate) async fn push_new(&mut self, entities: Option<NewEntities>) -> Result<bool, LoadError> {
        let Some(entities) = entities.filter(|_| self.in_flight.takes_columns()) else { return Ok(false) };
        self.flush().await?;
        self.show();
        let positions = (0..entities.len() as u64).collect();
        self.in_flight.send_columns(Columns { window: entities.into(), positions, locks: None }).await;
        if self.in_flight.has_stopped() {
            self.in_flight.drain().await.map_err(failed)?;
        }
        Ok(true)
    }

    /// Writes what is left.
    ///
    /// # Errors
    /// As [`TableLoader::push`].
    pub(crate) async fn finish(mut self) -> Result<(), LoadError> {
        self.flush().await?;
        self.in_flight.drain().await.map_err(failed)
    }

    fn show(&mut self) {
        if let Some(report) = self.report.take() {
            self.shown = Some(report.begin(self.in_flight.tally()));
        }
    }

    async fn flush(&mut self) -> Result<(), LoadError> {
        self.buffered_bytes = 0;
        let batches = pack(&self.table, std::mem::take(&mut self.buffer).into_values().map(Ok))?;
        if batches.is_empty() {
            return Ok(());
        }
        if batches.len() > 1 {
            self.show();
        }
        self.in_flight.send(batches.into_iter().map(as_egt).collect()).await;
        if self.in_flight.has_stopped() { self.in_flight.drain().await.map_err(failed) } else { Ok(()) }
    }
}

/// The rows of a new table have no order that anybody is told of.
fn as_egt(batch: Batch) -> Egt {
    Egt { positions: (0..batch.operations().len() as u64).collect(), batch, locks: None }
}

fn failed(failure: Failure) -> LoadError {
    match failure.error {
        CommitError::Rejected { key, reason: Rejection::EntityExists, .. } => LoadError::Duplicate(key),
        // Where nobody else writes, an entity is refused for no other reason.
        other => LoadError::Other(other.in_group(0).into()),
    }
}
