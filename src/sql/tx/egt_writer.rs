//! Commits operations as the entity group transactions they fit into.
//!
//! Used outside blocks: what fits one EGT is atomic, what does not becomes several, in key order, each atomic. Several
//! are in flight at once so that they share the store's fsync; how many were committed is counted for the NOTICE and,
//! when one fails, for the error's DETAIL. With [`Claims`], the rows are locked in key order just before they are
//! committed, and free again when they are.

use std::collections::BTreeMap;
use std::sync::Arc;

use futures::stream::{FuturesUnordered, StreamExt};

use super::claims::{Claims, Found, changed_since_snapshot};
use super::locks::{Mark, RowStrength};
use crate::model::{ETag, EntityKey, TableName};
use crate::sql::error::{ErrorKind, SqlError, SqlResult};
use crate::sql::observe::Footprint;
use crate::sql::relation::Relation;
use crate::table::{
    Batch, BatchBuilder, CommitError, IfMatch, Operation, Rejection, StoreError, TableStore, Written, payload,
};

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
    /// The locks of a statement on its own.
    claims: Option<Claims>,
    /// Those it began with: they stay to its end.
    outset: Mark,
}

impl EgtWriter {
    pub fn new(store: Arc<dyn TableStore>, relation: Arc<Relation>) -> Self {
        let committed = EgtCount::default();
        Self {
            store,
            relation,
            buffer: BTreeMap::new(),
            buffered_bytes: 0,
            committed,
            written: None,
            footprint: None,
            claims: None,
            outset: Mark::default(),
        }
    }

    /// Locks the rows it writes.
    #[must_use]
    pub fn with_claims(mut self, claims: Claims) -> Self {
        self.outset = claims.mark();
        self.claims = Some(claims);
        self
    }

    pub fn claims(&self) -> Option<&Claims> {
        self.claims.as_ref()
    }

    pub fn claims_mut(&mut self) -> Option<&mut Claims> {
        self.claims.as_mut()
    }

    pub fn into_claims(self) -> Option<Claims> {
        self.claims
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
        // ON CONFLICT has locked some of the rows already.
        let mark = self.claims.as_ref().map(Claims::mark).unwrap_or_default();
        let early = if mark > self.outset { operations.keys().cloned().collect() } else { Vec::new() };
        let unsure = self.lock(&operations).await?;
        let batches = pack(&self.relation.stored, operations.into_values().map(Ok))?;
        // A single one that has to fail does so before anything is committed. Of several, some would be.
        if batches.len() > 1 {
            self.compare(&unsure).await?;
        }
        if let Some(footprint) = &mut self.footprint {
            for batch in &batches {
                let bytes = batch.payload_bytes() - payload::ENVELOPE_BYTES;
                footprint.add(&self.relation, batch.partition(), batch.operations().len(), bytes);
            }
        }
        self.commit(batches).await?;
        if let Some(claims) = &mut self.claims {
            claims.held().release_to(mark);
            if !early.is_empty() {
                claims.held().release_rows_since(self.outset, |key| early.binary_search(key).is_ok());
            }
        }
        Ok(())
    }

    /// Locks the rows of these operations; gives those that may have changed since they were read.
    async fn lock(&mut self, operations: &BTreeMap<EntityKey, Operation>) -> SqlResult<Vec<(EntityKey, ETag)>> {
        let mut unsure = Vec::new();
        let Some(claims) = self.claims.as_mut().filter(|claims| claims.bind_everybody(self.relation.place())) else {
            return Ok(unsure);
        };
        for (key, operation) in operations {
            let (strength, version) = match operation {
                Operation::Merge(_, IfMatch::ETag(version)) | Operation::Replace(_, IfMatch::ETag(version)) => {
                    (RowStrength::NoKeyUpdate, Some(version))
                }
                Operation::Delete(_, IfMatch::ETag(version)) => (RowStrength::Update, Some(version)),
                _ => (RowStrength::Update, None),
            };
            let unchanged = claims.lock(&self.relation, key, strength).await?;
            if let Some(version) = version.filter(|_| !unchanged) {
                unsure.push((key.clone(), version.clone()));
            }
        }
        Ok(unsure)
    }

    /// # Errors
    /// 40001 when one of these rows is not in this version any more.
    async fn compare(&self, rows: &[(EntityKey, ETag)]) -> SqlResult<()> {
        let Some(claims) = &self.claims else { return Ok(()) };
        for (key, version) in rows {
            let found = claims.compare(&self.relation, key, version).await?;
            if found != Found::Unchanged {
                let error = changed_since_snapshot(&self.relation, key, found);
                return Err(with_committed(error, self.committed));
            }
        }
        Ok(())
    }

    async fn commit(&mut self, batches: Vec<Batch>) -> SqlResult<()> {
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
    if committed == EgtCount::default() {
        return error;
    }
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
