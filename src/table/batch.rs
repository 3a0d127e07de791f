//! Entity group transactions: a [`Batch`] is the proof that the service would take it as one.
//!
//! One table, one partition, 1 to 100 operations, each entity once, a `$batch` body under 4 MiB, every entity within
//! the service's limits. All of it is checked as operations are pushed, so that whoever collects them learns at once
//! which one breaks a rule.

use std::collections::HashSet;

use thiserror::Error;

use super::payload;
use crate::model::limits::{EGT_MAX_BYTES, EGT_MAX_OPERATIONS};
use crate::model::{ETag, Entity, EntityKey, PartitionKey, PropertyError, RowKey, TableName};

/// The precondition of an operation on an entity that must exist.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum IfMatch {
    /// Any version (`If-Match: *`).
    Any,
    /// Exactly this version.
    ETag(ETag),
}

/// One write, with its precondition: absent (Insert), a version, or explicitly any.
#[derive(Debug, Clone, PartialEq)]
pub enum Operation {
    /// Writes an entity that must not exist.
    Insert(Entity),
    /// Sets the given properties of an entity that must exist; others stay.
    Merge(Entity, IfMatch),
    /// Makes an entity that must exist exactly this one.
    Replace(Entity, IfMatch),
    /// Sets the given properties; creates the entity when it is not there.
    InsertOrMerge(Entity),
    /// Makes the entity exactly this one; creates it when it is not there.
    InsertOrReplace(Entity),
    /// Removes an entity that must exist.
    Delete(EntityKey, IfMatch),
}

impl Operation {
    pub fn key(&self) -> &EntityKey {
        match self {
            Operation::Delete(key, _) => key,
            Operation::Insert(entity)
            | Operation::Merge(entity, _)
            | Operation::Replace(entity, _)
            | Operation::InsertOrMerge(entity)
            | Operation::InsertOrReplace(entity) => &entity.key,
        }
    }

    pub fn entity(&self) -> Option<&Entity> {
        match self {
            Operation::Delete(..) => None,
            Operation::Insert(entity)
            | Operation::Merge(entity, _)
            | Operation::Replace(entity, _)
            | Operation::InsertOrMerge(entity)
            | Operation::InsertOrReplace(entity) => Some(entity),
        }
    }
}

/// Which rule of entity group transactions, or which limit of entities, an operation would break.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum BatchError {
    #[error("an entity group transaction has one partition: it holds {held:?}, the operation is on {asked:?}")]
    OtherPartition { held: PartitionKey, asked: PartitionKey },
    #[error("an entity group transaction touches each entity once: {0} occurs twice")]
    DuplicateEntity(EntityKey),
    #[error("an entity group transaction has at most {EGT_MAX_OPERATIONS} operations")]
    TooManyOperations,
    #[error("the body of an entity group transaction must be smaller than {EGT_MAX_BYTES} bytes, this one has {bytes}")]
    TooLarge { bytes: usize },
    #[error("entity {key}: {source}")]
    Entity { key: EntityKey, source: PropertyError },
    #[error("an entity group transaction has at least one operation")]
    Empty,
}

/// A legal entity group transaction.
#[derive(Debug, Clone, PartialEq)]
pub struct Batch {
    table: TableName,
    operations: Vec<Operation>,
    payload_bytes: usize,
}

impl Batch {
    pub fn builder(table: TableName) -> BatchBuilder {
        BatchBuilder { table, operations: Vec::new(), rows: HashSet::new(), payload_bytes: payload::ENVELOPE_BYTES }
    }

    /// A batch of one operation.
    ///
    /// # Errors
    /// [`BatchError`] when the entity breaks a limit.
    pub fn single(table: TableName, operation: Operation) -> Result<Self, BatchError> {
        let mut builder = Batch::builder(table);
        builder.push(operation).map_err(|(_, error)| error)?;
        builder.build()
    }

    pub fn table(&self) -> &TableName {
        &self.table
    }

    pub fn partition(&self) -> &PartitionKey {
        // `build` refuses an empty batch.
        &self.operations[0].key().partition
    }

    pub fn operations(&self) -> &[Operation] {
        &self.operations
    }

    pub fn into_operations(self) -> Vec<Operation> {
        self.operations
    }

    /// Exact length of the `$batch` body this would be, in bytes.
    pub fn payload_bytes(&self) -> usize {
        self.payload_bytes
    }
}

/// Collects operations while they fit one entity group transaction.
#[derive(Debug)]
pub struct BatchBuilder {
    table: TableName,
    operations: Vec<Operation>,
    rows: HashSet<RowKey>,
    payload_bytes: usize,
}

impl BatchBuilder {
    /// Takes the operation, or hands it back with the rule it would break; what was collected before stays.
    ///
    /// # Errors
    /// [`BatchError`], every variant but `Empty`.
    #[expect(
        clippy::result_large_err,
        reason = "the operation goes back to the caller, who puts it into the next batch"
    )]
    pub fn push(&mut self, operation: Operation) -> Result<(), (Operation, BatchError)> {
        match self.check(&operation) {
            Ok(payload_bytes) => {
                self.payload_bytes = payload_bytes;
                self.rows.insert(operation.key().row.clone());
                self.operations.push(operation);
                Ok(())
            }
            Err(error) => Err((operation, error)),
        }
    }

    fn check(&self, operation: &Operation) -> Result<usize, BatchError> {
        let key = operation.key();
        if let Some(first) = self.operations.first()
            && first.key().partition != key.partition
        {
            return Err(BatchError::OtherPartition {
                held: first.key().partition.clone(),
                asked: key.partition.clone(),
            });
        }
        if self.rows.contains(&key.row) {
            return Err(BatchError::DuplicateEntity(key.clone()));
        }
        if let Some(entity) = operation.entity() {
            entity.check().map_err(|source| BatchError::Entity { key: key.clone(), source })?;
        }
        if self.operations.len() == EGT_MAX_OPERATIONS {
            return Err(BatchError::TooManyOperations);
        }
        let bytes = self.payload_bytes + payload::operation_bytes(&self.table, operation);
        if bytes >= EGT_MAX_BYTES { Err(BatchError::TooLarge { bytes }) } else { Ok(bytes) }
    }

    pub fn len(&self) -> usize {
        self.operations.len()
    }

    pub fn is_empty(&self) -> bool {
        self.operations.is_empty()
    }

    /// # Errors
    /// [`BatchError::Empty`].
    pub fn build(self) -> Result<Batch, BatchError> {
        if self.operations.is_empty() {
            return Err(BatchError::Empty);
        }
        Ok(Batch { table: self.table, operations: self.operations, payload_bytes: self.payload_bytes })
    }
}
