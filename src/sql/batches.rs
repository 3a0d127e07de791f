//! Batches that are not a plan's: keys out of columns, operations into entity group transactions.

use arrow::array::{AsArray, StringArray};
use arrow::record_batch::RecordBatch;
use tablegate_store::model::{EntityKey, EntityKeys, TableName};
use tablegate_store::table::{Batch, Operation};
use tablegate_types::error::{ErrorKind, SqlError, SqlResult};

/// The keys in the first two columns of a batch, PartitionKey and RowKey.
///
/// # Errors
/// XX000 when the columns are not text, and what the constructors of keys refuse.
pub(crate) fn keys_of_batch(batch: &RecordBatch) -> SqlResult<Vec<EntityKey>> {
    let (partitions, rows) = (text_column(batch, 0)?, text_column(batch, 1)?);
    (0..batch.num_rows()).map(|i| Ok(EntityKey::parse(partitions.value(i), rows.value(i))?)).collect()
}

/// The same, without an object for each.
///
/// # Errors
/// As [`keys_of_batch`].
pub(crate) fn all_keys_of_batch(batch: &RecordBatch) -> SqlResult<EntityKeys> {
    let (partitions, rows) = (text_column(batch, 0)?, text_column(batch, 1)?);
    let mut keys = EntityKeys::with_capacity(batch.num_rows());
    for row in 0..batch.num_rows() {
        keys.push(partitions.value(row), rows.value(row))?;
    }
    Ok(keys)
}

fn text_column(batch: &RecordBatch, index: usize) -> SqlResult<&StringArray> {
    let column = batch.column(index).as_string_opt::<i32>();
    column.ok_or_else(|| SqlError::new(ErrorKind::Internal, "a scan for keys did not give text columns"))
}

/// Packs operations, those of a partition one after the other, into as few EGTs as they fit.
///
/// # Errors
/// When an entity breaks a limit, and the first error among the operations.
pub(crate) fn pack(table: &TableName, operations: impl Iterator<Item = SqlResult<Operation>>) -> SqlResult<Vec<Batch>> {
    tablegate_store::table::pack(table, operations)
}
