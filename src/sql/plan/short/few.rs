//! How many rows are a few: what is done with them takes about as long as handing them to other threads would.

use arrow::array::Array;
use arrow::compute::concat_batches;
use arrow::datatypes::SchemaRef;
use arrow::record_batch::RecordBatch;
use datafusion::common::Result;

use crate::plan::outputs::SHORT_ROWS;

/// All rows of a node together are no longer than this.
pub(super) const SHORT_BYTES: usize = 1 << 20;

/// Batches that are together a few rows.
#[derive(Default)]
pub(super) struct Few {
    batches: Vec<RecordBatch>,
    rows: usize,
    bytes: usize,
}

impl Few {
    /// Takes a batch; `false` where these are no longer a few rows.
    pub(super) fn take(&mut self, batch: RecordBatch) -> bool {
        self.rows += batch.num_rows();
        self.bytes += bytes_of(&batch);
        self.batches.push(batch);
        are_few(self.rows, self.bytes)
    }

    /// The rows as one batch.
    ///
    /// # Errors
    /// None are expected: all batches have these columns.
    pub(super) fn together(mut self, schema: &SchemaRef) -> Result<RecordBatch> {
        match self.batches.len() {
            1 => Ok(self.batches.remove(0)),
            _ => Ok(concat_batches(schema, &self.batches)?),
        }
    }
}

/// Whether so many rows, with so many bytes, are a few.
pub(super) fn are_few(rows: usize, bytes: usize) -> bool {
    rows <= SHORT_ROWS && bytes <= SHORT_BYTES
}

/// The bytes of the rows alone, of buffers that may be larger.
pub(super) fn bytes_of(rows: &RecordBatch) -> usize {
    let of_column = |column: &arrow::array::ArrayRef| column.to_data().get_slice_memory_size().unwrap_or(SHORT_BYTES);
    rows.columns().iter().map(of_column).sum()
}
