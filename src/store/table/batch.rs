//! Entity group transactions: a [`Batch`] is the proof that the service would take it as one.
//!
//! One table, one partition, 1 to 100 operations, each entity once, a `$batch` body under 4 MiB, every entity within
//! the service's limits. All of it is checked as operations are pushed, so that the caller that collects them learns at
//! once which one breaks a rule.

use std::collections::HashSet;

use thiserror::Error;

use super::payload;
use crate::model::limits::{EGT_MAX_BYTES, EGT_MAX_OPERATIONS};
use crate::model::{ETag, Entity, EntityKey, PartitionKey, Properties, PropertyError, RowKey, TableName};

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

    /// The key, and the properties that it writes.
    pub fn into_parts(self) -> (EntityKey, Properties) {
        match self {
            Operation::Delete(key, _) => (key, Properties::new()),
            Operation::Insert(entity)
            | Operation::Merge(entity, _)
            | Operation::Replace(entity, _)
            | Operation::InsertOrMerge(entity)
            | Operation::InsertOrReplace(entity) => (entity.key, entity.properties),
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
    bytes_at_most: usize,
}

impl Batch {
    pub fn builder(table: TableName) -> BatchBuilder {
        let bytes_at_most = payload::ENVELOPE_BYTES;
        let (operations, rows, counted) = (Vec::new(), None, None);
        BatchBuilder { table, operations, rows, bytes_at_most, counted, bytes_end: EGT_MAX_BYTES }
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

    /// Exact length of the `$batch` body this would be, in bytes: counted each time.
    pub fn payload_bytes(&self) -> usize {
        payload_bytes(&self.table, &self.operations)
    }

    /// Never less than [`Batch::payload_bytes`], several times as much at worst, and known.
    pub fn payload_bytes_at_most(&self) -> usize {
        self.bytes_at_most
    }
}

/// Of a body with an operation more.
struct Length {
    at_most: usize,
    /// Exactly, where it has to be counted.
    counted: Option<usize>,
}

/// Collects operations while they fit one entity group transaction.
#[derive(Debug)]
pub struct BatchBuilder {
    table: TableName,
    operations: Vec<Operation>,
    /// Kept once they do not ascend any more.
    rows: Option<HashSet<RowKey>>,
    /// Counting exactly costs as much as writing the body, so it begins only when this says that it could be too long.
    bytes_at_most: usize,
    counted: Option<usize>,
    /// The body has to be smaller.
    bytes_end: usize,
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
            Ok(length) => {
                (self.bytes_at_most, self.counted) = (length.at_most, length.counted);
                self.note_row(&operation.key().row);
                if self.operations.is_empty() {
                    // Where each row is a partition of its own there is no second one.
                    self.operations.reserve_exact(1);
                }
                self.operations.push(operation);
                Ok(())
            }
            Err(error) => Err((operation, error)),
        }
    }

    fn check(&self, operation: &Operation) -> Result<Length, BatchError> {
        let key = operation.key();
        if let Some(first) = self.operations.first()
            && first.key().partition != key.partition
        {
            return Err(BatchError::OtherPartition {
                held: first.key().partition.clone(),
                asked: key.partition.clone(),
            });
        }
        if self.holds_row(&key.row) {
            return Err(BatchError::DuplicateEntity(key.clone()));
        }
        if let Some(entity) = operation.entity() {
            entity.check().map_err(|source| BatchError::Entity { key: key.clone(), source })?;
        }
        if self.operations.len() == EGT_MAX_OPERATIONS {
            return Err(BatchError::TooManyOperations);
        }
        let at_most = self.bytes_at_most + payload::operation_bytes_at_most(&self.table, operation);
        if self.counted.is_none() && at_most < self.bytes_end {
            return Ok(Length { at_most, counted: None });
        }
        let before = self.counted.unwrap_or_else(|| payload_bytes(&self.table, &self.operations));
        let bytes = before + payload::operation_bytes(&self.table, operation);
        if bytes >= self.bytes_end {
            return Err(BatchError::TooLarge { bytes });
        }
        Ok(Length { at_most, counted: Some(bytes) })
    }

    fn holds_row(&self, row: &RowKey) -> bool {
        match (&self.rows, self.operations.last()) {
            (Some(rows), _) => rows.contains(row),
            (None, Some(last)) if *row <= last.key().row => self.operations.iter().any(|o| o.key().row == *row),
            (None, _) => false,
        }
    }

    fn note_row(&mut self, row: &RowKey) {
        match (&mut self.rows, self.operations.last()) {
            (Some(rows), _) => drop(rows.insert(row.clone())),
            (None, Some(last)) if *row < last.key().row => {
                let rows = self.operations.iter().map(|operation| &operation.key().row).chain([row]);
                self.rows = Some(rows.cloned().collect());
            }
            (None, _) => {}
        }
    }

    /// Whether an operation on this key is of another partition than those that are here.
    pub fn is_of_another_partition(&self, key: &EntityKey) -> bool {
        self.operations.first().is_some_and(|first| first.key().partition != key.partition)
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
        Ok(Batch { table: self.table, operations: self.operations, bytes_at_most: self.bytes_at_most })
    }
}

/// Packs operations, those of a partition one after the other, into as few batches as they fit.
///
/// # Errors
/// When an entity breaks a limit, and the first error among the operations.
pub fn pack<E: From<BatchError>>(
    table: &TableName,
    operations: impl Iterator<Item = Result<Operation, E>>,
) -> Result<Vec<Batch>, E> {
    let mut batches = Vec::new();
    let mut builder = Batch::builder(table.clone());
    for operation in operations {
        let operation = operation?;
        if builder.is_of_another_partition(operation.key()) {
            let full = std::mem::replace(&mut builder, Batch::builder(table.clone()));
            batches.push(full.build()?);
        }
        let Err((operation, error)) = builder.push(operation) else { continue };
        if builder.is_empty() {
            return Err(error.into());
        }
        let full = std::mem::replace(&mut builder, Batch::builder(table.clone()));
        batches.push(full.build()?);
        builder.push(operation).map_err(|(_, error)| error)?;
    }
    if !builder.is_empty() {
        batches.push(builder.build()?);
    }
    Ok(batches)
}

fn payload_bytes(table: &TableName, operations: &[Operation]) -> usize {
    let bytes = operations.iter().map(|operation| payload::operation_bytes(table, operation));
    payload::ENVELOPE_BYTES + bytes.sum::<usize>()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::limits::{BINARY_MAX_BYTES, CUSTOM_PROPERTIES_MAX};
    use crate::model::{EdmValue, Properties, PropertyName, ValueError};

    fn table() -> TableName {
        TableName::parse("Orders").unwrap()
    }

    fn insert(partition: &str, row: &str) -> Operation {
        insert_with(row, partition, Properties::new())
    }

    fn insert_with(row: &str, partition: &str, properties: Properties) -> Operation {
        Operation::Insert(Entity::new(EntityKey::parse(partition, row).unwrap(), properties))
    }

    fn one_property(value: EdmValue) -> Properties {
        [(PropertyName::parse("a").unwrap(), value)].into_iter().collect()
    }

    fn push_error(builder: &mut BatchBuilder, operation: Operation) -> BatchError {
        let (returned, error) = builder.push(operation.clone()).unwrap_err();
        assert_eq!(returned, operation);
        error
    }

    #[test]
    fn a_hundred_operations_fit_and_no_more() {
        let mut builder = Batch::builder(table());
        for row in 0..100 {
            builder.push(insert("p", &row.to_string())).unwrap();
        }
        assert_eq!(push_error(&mut builder, insert("p", "100")), BatchError::TooManyOperations);
        assert_eq!(builder.build().unwrap().operations().len(), 100);
    }

    #[test]
    fn a_refused_operation_leaves_the_rest() {
        let mut builder = Batch::builder(table());
        builder.push(insert("p", "1")).unwrap();
        let bytes = builder.bytes_at_most;
        push_error(&mut builder, insert("q", "2"));
        assert_eq!((builder.len(), builder.bytes_at_most), (1, bytes));
        builder.push(insert("p", "2")).unwrap();
    }

    #[test]
    fn another_partition_is_refused() {
        let mut builder = Batch::builder(table());
        builder.push(insert("p", "1")).unwrap();
        let (held, asked) = (PartitionKey::parse("p").unwrap(), PartitionKey::parse("P").unwrap());
        assert_eq!(push_error(&mut builder, insert("P", "2")), BatchError::OtherPartition { held, asked });
    }

    #[test]
    fn a_second_operation_on_an_entity_is_refused() {
        let mut builder = Batch::builder(table());
        let key = EntityKey::parse("p", "1").unwrap();
        builder.push(insert("p", "1")).unwrap();
        let delete = Operation::Delete(key.clone(), IfMatch::Any);
        assert_eq!(push_error(&mut builder, delete), BatchError::DuplicateEntity(key));
    }

    #[test]
    fn no_operation_is_no_batch() {
        assert_eq!(Batch::builder(table()).build(), Err(BatchError::Empty));
    }

    /// Whatever the body's length, whether it was counted before or not.
    #[test]
    fn a_body_of_exactly_the_bound_is_refused() {
        let operations = || (0..20).map(|row| insert_with(&row.to_string(), "p", one_property(EdmValue::Int32(row))));
        let lengths: Vec<usize> =
            (1..=20).map(|count| payload_bytes(&table(), &operations().take(count).collect::<Vec<_>>())).collect();
        for bytes_end in lengths[0]..=lengths[19] + 1 {
            let mut builder = BatchBuilder { bytes_end, ..Batch::builder(table()) };
            let fit = lengths.iter().filter(|length| **length < bytes_end).count();
            for (index, operation) in operations().enumerate() {
                match index < fit {
                    true => builder.push(operation).unwrap(),
                    false => {
                        let bytes = lengths[fit];
                        if index == fit {
                            assert_eq!(push_error(&mut builder, operation), BatchError::TooLarge { bytes });
                        }
                    }
                }
            }
            assert_eq!(builder.len(), fit, "under {bytes_end}");
        }
        assert_eq!(Batch::builder(table()).bytes_end, 4_194_304);
    }

    #[test]
    fn the_body_is_smaller_than_four_mebibytes() {
        let mut builder = Batch::builder(table());
        // 46 entities of 64 KiB binaries are about 4 MiB in base64; the last one, of text, meets the limit exactly.
        let big = one_property(EdmValue::Binary(vec![0; BINARY_MAX_BYTES].into()));
        let exact = |builder: &BatchBuilder| payload_bytes(&builder.table, &builder.operations);
        while exact(&builder) < EGT_MAX_BYTES - 120_000 {
            let row = builder.len().to_string();
            builder.push(insert_with(&row, "p", big.clone())).unwrap();
        }
        let text = |units: usize| {
            let half = |n| EdmValue::string("x".repeat(n));
            let names = ["a", "b", "c", "d"].map(|name| PropertyName::parse(name).unwrap());
            let values = [20_000, 20_000, 20_000, units].map(half);
            insert_with("last", "p", names.into_iter().zip(values).collect())
        };
        let with_ten_thousand = exact(&builder) + payload::operation_bytes(&table(), &text(10_000));
        let units_at_limit = 10_000 + EGT_MAX_BYTES - with_ten_thousand;
        assert_eq!(push_error(&mut builder, text(units_at_limit)), BatchError::TooLarge { bytes: EGT_MAX_BYTES });
        builder.push(text(units_at_limit - 1)).unwrap();
        assert_eq!(builder.build().unwrap().payload_bytes(), EGT_MAX_BYTES - 1);
    }

    #[test]
    fn an_entity_beyond_a_limit_is_refused_with_its_key() {
        let key = EntityKey::parse("p", "r").unwrap();
        let many = |count: usize| {
            let named = |i| (PropertyName::parse(&format!("p{i}")).unwrap(), EdmValue::Int32(1));
            insert_with("r", "p", (0..count).map(named).collect())
        };
        assert!(Batch::single(table(), many(CUSTOM_PROPERTIES_MAX)).is_ok());
        assert_eq!(
            Batch::single(table(), many(CUSTOM_PROPERTIES_MAX + 1)),
            Err(BatchError::Entity { key: key.clone(), source: PropertyError::TooMany { count: 253 } })
        );
        let text = |units| insert_with("r", "p", one_property(EdmValue::string("x".repeat(units))));
        assert!(Batch::single(table(), text(32_768)).is_ok());
        let name = PropertyName::parse("a").unwrap();
        let source = PropertyError::Value { name, source: ValueError::StringTooLong { units: 32_769 } };
        assert_eq!(Batch::single(table(), text(32_769)), Err(BatchError::Entity { key, source }));
    }
}
