//! UNION without ALL: rows that were there before are left out.

use arrow::array::{BooleanArray, BooleanBufferBuilder};
use arrow::compute::filter_record_batch;
use arrow::datatypes::SchemaRef;
use arrow::record_batch::RecordBatch;
use datafusion::common::Result;
use datafusion::execution::TaskContext;
use datafusion::execution::memory_pool::{MemoryConsumer, MemoryReservation};
use datafusion::physical_plan::aggregates::group_values::{GroupValues, new_group_values};
use datafusion::physical_plan::aggregates::order::GroupOrdering;

/// All rows so far, each once.
pub(super) struct Distinct {
    rows: Box<dyn GroupValues>,
    /// The number of each row of a batch: rows are numbered as they come.
    numbers: Vec<usize>,
    memory: MemoryReservation,
}

impl Distinct {
    pub(super) fn new(schema: SchemaRef, context: &TaskContext) -> Result<Self> {
        let rows = new_group_values(schema, &GroupOrdering::None)?;
        let memory = MemoryConsumer::new("rows of a recursion, each once").register(context.memory_pool());
        Ok(Self { rows, numbers: Vec::new(), memory })
    }

    /// The rows of the batch that were not there before.
    ///
    /// # Errors
    /// 53200 when there is no memory for them.
    pub(super) fn only_new(&mut self, batch: &RecordBatch) -> Result<RecordBatch> {
        let mut next = self.rows.len();
        self.numbers.clear();
        self.rows.intern(batch.columns(), &mut self.numbers)?;
        self.memory.try_resize(self.rows.size())?;
        let mut are_new = BooleanBufferBuilder::new(batch.num_rows());
        for number in &self.numbers {
            // A row that comes twice in the batch has its number the first time.
            let is_new = *number >= next;
            next += usize::from(is_new);
            are_new.append(is_new);
        }
        Ok(filter_record_batch(batch, &BooleanArray::new(are_new.finish(), None))?)
    }
}
