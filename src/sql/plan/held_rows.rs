//! Rows in memory that a query is computed over, in the place of what it reads from: those that a change has written, and
//! those that it has met.

use std::sync::Arc;

use arrow::datatypes::{Field, Schema, SchemaRef};
use arrow::record_batch::{RecordBatch, RecordBatchOptions};
use datafusion::catalog::TableProvider;
use datafusion::datasource::MemTable;
use tablegate_types::error::SqlResult;

/// Rows, whose columns are some of the entries' of a query.
pub(crate) struct HeldRows {
    schema: SchemaRef,
    pub(super) batches: Vec<RecordBatch>,
    /// Of each column the entry, and its number among the entry's columns.
    pub(super) columns: Vec<(usize, usize)>,
}

impl HeldRows {
    /// Batches of rows of this schema, each of whose columns is a column of an entry.
    pub(crate) fn new(schema: &Schema, columns: Vec<(usize, usize)>, batches: Vec<RecordBatch>) -> Self {
        Self { schema: numbered(schema), batches, columns }
    }

    /// The rows as a table.
    ///
    /// # Errors
    /// XX000 for batches of other columns.
    pub(super) fn provider(&self) -> SqlResult<Arc<dyn TableProvider>> {
        rows_as(Arc::clone(&self.schema), self.batches.clone())
    }
}

/// Rows in memory, their columns as this schema has them.
///
/// # Errors
/// XX000 for batches of other columns.
pub(crate) fn rows_as(schema: SchemaRef, rows: Vec<RecordBatch>) -> SqlResult<Arc<dyn TableProvider>> {
    let rows = rows.iter().map(|rows| named(&schema, rows)).collect::<SqlResult<Vec<_>>>()?;
    Ok(Arc::new(MemTable::try_new(schema, vec![rows])?))
}

/// The rows with their columns as this schema has them.
///
/// # Errors
/// XX000 for columns of other types.
pub(super) fn named(schema: &SchemaRef, rows: &RecordBatch) -> SqlResult<RecordBatch> {
    let options = RecordBatchOptions::new().with_row_count(Some(rows.num_rows()));
    Ok(RecordBatch::try_new_with_options(Arc::clone(schema), rows.columns().to_vec(), &options)?)
}

/// The columns under their numbers: columns of several entries may have one name.
fn numbered(schema: &Schema) -> SchemaRef {
    let field = |(number, field): (usize, &Arc<Field>)| {
        field.as_ref().clone().with_name(number.to_string()).with_nullable(true)
    };
    Arc::new(Schema::new(schema.fields().iter().enumerate().map(field).collect::<Vec<_>>()))
}
