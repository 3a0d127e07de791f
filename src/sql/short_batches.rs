//! Fewer rows at a time for an operator that makes many of each: a grouping by several sets of columns keeps each row once for each
//! of them before it looks at the memory.

use std::sync::Arc;

use arrow::record_batch::RecordBatch;
use datafusion::common::Result;
use datafusion::execution::TaskContext;
use datafusion::physical_plan::aggregates::AggregateExec;
use futures::{StreamExt, stream};

use crate::passing::{Batches, Passing, PassingExec, Plan};

/// Rows that the groupings of a batch have together, about.
const ROWS: usize = 8192;
/// The shortest batches: with fewer rows what is done once for a batch would cost more than what is done for its rows.
const ROWS_LEAST: usize = 64;
/// About how long a batch may be: as long as one of a scan.
pub(crate) const BATCH_BYTES: usize = 8 << 20;

/// How many rows of this length make a batch.
pub(crate) fn rows_of(row_bytes: usize) -> usize {
    (BATCH_BYTES / row_bytes.max(1)).max(ROWS_LEAST)
}

/// The plan, with shorter batches below its uppermost operator if that makes many rows of each.
///
/// # Errors
/// XX000 if the new plan is not valid, which would be a defect here.
pub(crate) fn with_short_batches(plan: Plan) -> Result<Plan> {
    let Some(aggregate) = plan.downcast_ref::<AggregateExec>() else { return Ok(plan) };
    let sets = aggregate.group_expr().groups().len();
    if sets < 2 {
        return Ok(plan);
    }
    PassingExec::below(plan, ShortBatches { rows: (ROWS / sets).max(ROWS_LEAST) })
}

/// So many rows are given at a time.
#[derive(Debug)]
struct ShortBatches {
    rows: usize,
}

impl Passing for ShortBatches {
    fn name(&self) -> &'static str {
        "ShortBatchesExec"
    }

    fn begin(&self, input: &Plan, partition: usize, context: Arc<TaskContext>) -> Result<Batches> {
        let rows = self.rows;
        let batches = input.execute(partition, context)?.flat_map(move |batch| match batch {
            Ok(batch) => stream::iter(cut(&batch, rows).map(Ok).collect::<Vec<_>>()),
            failed => stream::iter(vec![failed]),
        });
        Ok(batches.boxed())
    }
}

fn cut(batch: &RecordBatch, rows: usize) -> impl Iterator<Item = RecordBatch> {
    (0..batch.num_rows()).step_by(rows).map(move |first| batch.slice(first, rows.min(batch.num_rows() - first)))
}

#[cfg(test)]
mod tests {
    use arrow::array::{ArrayRef, Int32Array};
    use arrow::compute::concat_batches;

    use super::*;

    #[test]
    fn batches_are_cut_into_shorter_ones() {
        let numbers: ArrayRef = Arc::new(Int32Array::from_iter_values(0..10));
        let batch = RecordBatch::try_from_iter([("n", numbers)]).unwrap();
        let pieces: Vec<RecordBatch> = cut(&batch, 4).collect();
        assert_eq!(pieces.iter().map(RecordBatch::num_rows).collect::<Vec<_>>(), [4, 4, 2]);
        assert_eq!(concat_batches(&batch.schema(), &pieces).unwrap(), batch);
        assert_eq!(cut(&batch.slice(0, 0), 4).count(), 0);
    }
}
