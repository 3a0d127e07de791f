//! Commits operations as the entity group transactions they fit into.
//!
//! Used outside blocks: what fits one EGT is atomic, what does not becomes several, in key order, each atomic. Several
//! are in flight at once so that they share the store's fsync; how many were committed is counted for the NOTICE and,
//! when one fails, for the error's DETAIL.

use std::collections::BTreeMap;
use std::sync::Arc;

use futures::stream::{FuturesUnordered, StreamExt};

use crate::model::{EntityKey, TableName};
use crate::sql::error::{ErrorKind, SqlError, SqlResult};
use crate::sql::observe::Footprint;
use crate::sql::relation::Relation;
use crate::table::{Batch, BatchBuilder, CommitError, Operation, Rejection, StoreError, TableStore, Written, payload};

/// Operations collected before they are committed: enough to fill 100 EGTs, so that even scattered keys share them.
const BUFFERED_OPERATIONS: usize = 10_000;
/// Bytes of entities collected before they are committed.
const BUFFERED_BYTES: usize = 32 * 1024 * 1024;
/// EGTs handed to the store before the first answer is awaited.
const IN_FLIGHT: usize = 64;

/// What was committed so far.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct EgtCount {
    pub egts: u64,
    pub rows: u64,
}

/// Collects operations on one table and commits them.
pub(crate) struct EgtWriter {
    store: Arc<dyn TableStore>,
    relation: Arc<Relation>,
    buffer: BTreeMap<EntityKey, Operation>,
    buffered_bytes: usize,
    committed: EgtCount,
    /// The new versions, kept only when RETURNING asks for them.
    written: Option<BTreeMap<EntityKey, Written>>,
    /// What the statement writes, kept only for observe mode.
    footprint: Option<Footprint>,
}

impl EgtWriter {
    pub fn new(store: Arc<dyn TableStore>, relation: Arc<Relation>) -> Self {
        let committed = EgtCount::default();
        Self { store, relation, buffer: BTreeMap::new(), buffered_bytes: 0, committed, written: None, footprint: None }
    }

    /// Keeps the new version of every entity, for RETURNING.
    pub fn keep_versions(&mut self) {
        self.written = Some(BTreeMap::new());
    }

    /// Keeps the extent of what is written, for observe mode.
    pub fn keep_footprint(&mut self) {
        self.footprint = Some(Footprint::new());
    }

    /// Takes an operation; commits what was collected when the buffer is full or the key is in it already.
    ///
    /// # Errors
    /// The first commit that failed.
    pub async fn push(&mut self, operation: Operation) -> SqlResult<()> {
        // A key given twice fails before its first row is committed, so that a statement of one EGT stays atomic.
        let collected = self.buffer.get(operation.key());
        if matches!(operation, Operation::Insert(_)) && collected.is_some_and(|c| !matches!(c, Operation::Delete(..))) {
            return Err(self.relation.duplicate_key(operation.key()));
        }
        let full = self.buffer.len() >= BUFFERED_OPERATIONS || self.buffered_bytes >= BUFFERED_BYTES;
        if full || self.buffer.contains_key(operation.key()) {
            self.flush().await?;
        }
        self.buffered_bytes += operation.entity().map_or(0, crate::model::Entity::stored_size);
        self.buffer.insert(operation.key().clone(), operation);
        Ok(())
    }

    /// Commits what is left.
    ///
    /// # Errors
    /// The first commit that failed; DETAIL says how much was committed before.
    pub async fn finish(&mut self) -> SqlResult<BTreeMap<EntityKey, Written>> {
        self.flush().await?;
        Ok(self.written.take().unwrap_or_default())
    }

    /// What was committed so far.
    pub fn committed(&self) -> EgtCount {
        self.committed
    }

    /// The extent of what was handed to the store, where it is kept.
    pub fn take_footprint(&mut self) -> Option<Footprint> {
        self.footprint.take()
    }

    async fn flush(&mut self) -> SqlResult<()> {
        self.buffered_bytes = 0;
        let operations = std::mem::take(&mut self.buffer);
        let batches = pack(&self.relation.stored, operations.into_values().map(Ok))?;
        if let Some(footprint) = &mut self.footprint {
            for batch in &batches {
                let bytes = batch.payload_bytes() - payload::ENVELOPE_BYTES;
                footprint.add(&self.relation, batch.partition(), batch.operations().len(), bytes);
            }
        }
        let mut batches = batches.into_iter();
        let mut in_flight = FuturesUnordered::new();
        let mut failed: Option<Box<SqlError>> = None;
        loop {
            while failed.is_none()
                && in_flight.len() < IN_FLIGHT
                && let Some(batch) = batches.next()
            {
                in_flight.push(commit(self.store.clone(), batch));
            }
            match in_flight.next().await {
                None => break,
                Some(Ok(written)) => self.count(written),
                Some(Err(error)) => {
                    let error = commit_error(&self.relation, error);
                    failed.get_or_insert(error);
                }
            }
        }
        match failed {
            None => Ok(()),
            Some(error) if self.committed.egts == 0 => Err(error),
            Some(error) => Err(with_committed(error, self.committed)),
        }
    }

    fn count(&mut self, written: Vec<(EntityKey, Written)>) {
        self.committed.egts += 1;
        self.committed.rows += written.len() as u64;
        if let Some(versions) = &mut self.written {
            versions.extend(written);
        }
    }
}

async fn commit(store: Arc<dyn TableStore>, batch: Batch) -> Result<Vec<(EntityKey, Written)>, CommitError> {
    let keys: Vec<EntityKey> = batch.operations().iter().map(|o| o.key().clone()).collect();
    let written = store.commit(batch).await?;
    Ok(keys.into_iter().zip(written).collect())
}

/// Packs operations, given in key order, into as few EGTs as they fit.
///
/// # Errors
/// When an entity breaks a limit, and the first error among the operations.
pub(in crate::sql) fn pack(
    table: &TableName,
    operations: impl Iterator<Item = SqlResult<Operation>>,
) -> SqlResult<Vec<Batch>> {
    let mut batches = Vec::new();
    let mut builder = Batch::builder(table.clone());
    for operation in operations {
        let Err((operation, error)) = builder.push(operation?) else { continue };
        if builder.is_empty() {
            return Err(error.into());
        }
        let full: BatchBuilder = std::mem::replace(&mut builder, Batch::builder(table.clone()));
        batches.push(full.build()?);
        builder.push(operation).map_err(|(_, error)| error)?;
    }
    if !builder.is_empty() {
        batches.push(builder.build()?);
    }
    Ok(batches)
}

fn with_committed(mut error: Box<SqlError>, committed: EgtCount) -> Box<SqlError> {
    let note = format!(
        "The statement ran as several entity group transactions: {} of them with {} rows were committed before it failed.",
        committed.egts, committed.rows
    );
    error.detail = Some(match error.detail.take() {
        Some(detail) => format!("{detail} {note}"),
        None => note,
    });
    error
}

/// A commit's failure in SQL terms.
pub(crate) fn commit_error(relation: &Relation, error: CommitError) -> Box<SqlError> {
    match error {
        CommitError::Store(StoreError::TableMissing(_)) => {
            SqlError::new(ErrorKind::SerializationFailure, "could not serialize access due to concurrent DDL")
                .with_detail(format!("Table \"{}\" was dropped, emptied or rewritten meanwhile.", relation.name))
                .with_hint("Run the transaction again.")
        }
        CommitError::Store(error) => error.into(),
        CommitError::Rejected { key, reason, .. } => rejection(relation, &key, reason),
    }
}

fn rejection(relation: &Relation, key: &EntityKey, reason: Rejection) -> Box<SqlError> {
    match reason {
        Rejection::EntityExists => relation.duplicate_key(key),
        Rejection::EntityMissing | Rejection::ETagMismatch => {
            SqlError::new(ErrorKind::SerializationFailure, "could not serialize access due to concurrent update")
                .with_detail(format!("Entity {key} of table \"{}\": {reason}.", relation.name))
                .with_hint("Run the transaction again.")
        }
        Rejection::TooManyProperties { .. } => SqlError::new(ErrorKind::TooManyColumns, reason.to_string())
            .with_detail(format!("The entity is {key} of table \"{}\".", relation.name)),
        Rejection::EntityTooLarge { .. } => SqlError::new(ErrorKind::LimitExceeded, reason.to_string())
            .with_detail(format!("The entity is {key} of table \"{}\".", relation.name)),
    }
}
