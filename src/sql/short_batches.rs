//! Fewer rows at a time for an operator that makes many of each: a grouping by several sets of columns keeps each row once for each
//! of them before it looks at the memory.

use std::fmt;
use std::sync::Arc;

use arrow::record_batch::RecordBatch;
use datafusion::common::tree_node::TreeNodeRecursion;
use datafusion::common::{Result, internal_err};
use datafusion::execution::{SendableRecordBatchStream, TaskContext};
use datafusion::physical_expr::PhysicalExpr;
use datafusion::physical_plan::aggregates::AggregateExec;
use datafusion::physical_plan::execution_plan::{ChildrenPropertiesMode, ReplaceChildrenOptions};
use datafusion::physical_plan::stream::RecordBatchStreamAdapter;
use datafusion::physical_plan::{DisplayAs, DisplayFormatType, ExecutionPlan, PlanProperties};
use futures::{StreamExt, stream};

type Plan = Arc<dyn ExecutionPlan>;

/// Rows that the groupings of a batch have together, about.
const ROWS: usize = 8192;
/// The shortest batches.
const ROWS_LEAST: usize = 64;

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
    let rows = (ROWS / sets).max(ROWS_LEAST);
    let below = ShortBatchesExec { input: Arc::clone(aggregate.input()), rows };
    plan.replace_children(vec![Arc::new(below)], ReplaceChildrenOptions::new(ChildrenPropertiesMode::Keep))
}

/// Gives the rows of its input, so many at a time.
#[derive(Debug)]
pub(crate) struct ShortBatchesExec {
    input: Plan,
    rows: usize,
}

impl DisplayAs for ShortBatchesExec {
    fn fmt_as(&self, _format: DisplayFormatType, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("ShortBatchesExec")
    }
}

impl ExecutionPlan for ShortBatchesExec {
    fn name(&self) -> &'static str {
        "ShortBatchesExec"
    }

    fn properties(&self) -> &Arc<PlanProperties> {
        self.input.properties()
    }

    fn maintains_input_order(&self) -> Vec<bool> {
        vec![true]
    }

    fn children(&self) -> Vec<&Plan> {
        vec![&self.input]
    }

    fn apply_expressions(
        &self,
        _f: &mut dyn FnMut(&Arc<dyn PhysicalExpr>) -> Result<TreeNodeRecursion>,
    ) -> Result<TreeNodeRecursion> {
        Ok(TreeNodeRecursion::Continue)
    }

    fn replace_children(self: Arc<Self>, mut children: Vec<Plan>, _options: ReplaceChildrenOptions) -> Result<Plan> {
        match (children.pop(), children.is_empty()) {
            (Some(input), true) => Ok(Arc::new(Self { input, rows: self.rows })),
            _ => internal_err!("batches that are cut have one input"),
        }
    }

    /// The trait asks for it still.
    fn with_new_children(self: Arc<Self>, children: Vec<Plan>) -> Result<Plan> {
        self.replace_children(children, ReplaceChildrenOptions::new(ChildrenPropertiesMode::Recompute))
    }

    fn execute(&self, partition: usize, context: Arc<TaskContext>) -> Result<SendableRecordBatchStream> {
        let rows = self.rows;
        let batches = self.input.execute(partition, context)?.flat_map(move |batch| match batch {
            Ok(batch) => stream::iter(cut(&batch, rows).map(Ok).collect::<Vec<_>>()),
            failed => stream::iter(vec![failed]),
        });
        Ok(Box::pin(RecordBatchStreamAdapter::new(self.schema(), batches)))
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
