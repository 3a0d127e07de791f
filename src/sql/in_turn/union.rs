//! UNION ALL gives the rows of its queries one query after the other, as PostgreSQL does.
//!
//! SQL promises no order without ORDER BY, but `ARRAY(SELECT 1 UNION ALL SELECT 2)` is read as if it did. The engine runs
//! the queries side by side and takes their rows as they come; here they still run side by side, but are read in turn.

use std::fmt;
use std::sync::Arc;

use datafusion::common::Result;
use datafusion::common::tree_node::{Transformed, TreeNode};
use datafusion::execution::{SendableRecordBatchStream, TaskContext};
use datafusion::physical_expr::EquivalenceProperties;
use datafusion::physical_plan::aggregates::AggregateExec;
use datafusion::physical_plan::coalesce_partitions::CoalescePartitionsExec;
use datafusion::physical_plan::common::spawn_buffered;
use datafusion::physical_plan::limit::GlobalLimitExec;
use datafusion::physical_plan::repartition::RepartitionExec;
use datafusion::physical_plan::stream::RecordBatchStreamAdapter;
use datafusion::physical_plan::union::UnionExec;
use datafusion::physical_plan::{
    ChildrenPropertiesMode, DisplayAs, DisplayFormatType, ExecutionPlan, ExecutionPlanProperties, Partitioning,
    PlanProperties, ReplaceChildrenOptions,
};
use futures::{StreamExt, TryStreamExt, stream};

use crate::one_input::{no_expressions, one_input};

/// Batches that a query may be ahead of its turn.
const AHEAD: usize = 2;

/// The plan, in which the rows of each UNION ALL stay in the order of its queries until something else asks for another.
///
/// # Errors
/// XX000 if the new plan is not valid, which would be a defect here.
pub(crate) fn keep_order(plan: Arc<dyn ExecutionPlan>) -> Result<Arc<dyn ExecutionPlan>> {
    let plan = plan.transform_up(|plan| {
        let Some(merge) = plan.downcast_ref::<CoalescePartitionsExec>() else { return Ok(Transformed::no(plan)) };
        let Some(union) = union_of(merge.input())? else { return Ok(Transformed::no(plan)) };
        let in_turn: Arc<dyn ExecutionPlan> = Arc::new(InTurnExec::new(union));
        Ok(Transformed::yes(match merge.fetch() {
            Some(fetch) => Arc::new(GlobalLimitExec::new(in_turn, 0, Some(fetch))),
            None => in_turn,
        }))
    })?;
    // If the plan still has several partitions, the caller merges them.
    let plan = plan.data;
    if plan.output_partitioning().partition_count() > 1
        && let Some(union) = union_of(&plan)?
    {
        return Ok(Arc::new(InTurnExec::new(union)));
    }
    Ok(plan)
}

/// A plan whose parts are those of a union in their order, each worked on by itself; `None` for any other. What deals rows
/// out in between, to have more parts, is left out.
fn union_of(plan: &Arc<dyn ExecutionPlan>) -> Result<Option<Arc<dyn ExecutionPlan>>> {
    if plan.is::<UnionExec>() {
        return Ok(Some(plan.clone()));
    }
    let children = plan.children();
    let [child] = children.as_slice() else { return Ok(None) };
    if let Some(dealt) = plan.downcast_ref::<RepartitionExec>() {
        let is_dealt = matches!(dealt.partitioning(), Partitioning::RoundRobinBatch(_));
        return if is_dealt { union_of(child) } else { Ok(None) };
    }
    if plan.output_partitioning().partition_count() != child.output_partitioning().partition_count() {
        return Ok(None);
    }
    // A sum is the same in any order.
    if plan.downcast_ref::<AggregateExec>().is_some_and(|aggregate| !makes_a_list(aggregate)) {
        return Ok(None);
    }
    match union_of(child)? {
        Some(union) => {
            let options = ReplaceChildrenOptions::new(ChildrenPropertiesMode::Recompute);
            plan.clone().replace_children(vec![union], options).map(Some)
        }
        None => Ok(None),
    }
}

fn makes_a_list(aggregate: &AggregateExec) -> bool {
    aggregate.aggr_expr().iter().any(|expr| matches!(expr.fun().name(), "array_agg" | "string_agg"))
}

/// Gives the rows of all parts of its input, one part after the other.
#[derive(Debug)]
pub(super) struct InTurnExec {
    input: Arc<dyn ExecutionPlan>,
    /// A part begins when the one before has ended: they do what others must not come in between of.
    one_by_one: bool,
    properties: Arc<PlanProperties>,
}

impl InTurnExec {
    /// Of parts that run side by side.
    fn new(input: Arc<dyn ExecutionPlan>) -> Self {
        Self::made(input, false)
    }

    /// Of parts that each wait for the one before.
    pub(super) fn one_by_one(input: Arc<dyn ExecutionPlan>) -> Self {
        Self::made(input, true)
    }

    fn made(input: Arc<dyn ExecutionPlan>, one_by_one: bool) -> Self {
        let properties = PlanProperties::new(
            EquivalenceProperties::new(input.schema()),
            Partitioning::UnknownPartitioning(1),
            input.pipeline_behavior(),
            input.boundedness(),
        );
        Self { input, one_by_one, properties: Arc::new(properties) }
    }

    /// The same over another input.
    fn over(&self, input: Arc<dyn ExecutionPlan>) -> Result<Self> {
        Ok(Self::made(input, self.one_by_one))
    }
}

impl DisplayAs for InTurnExec {
    fn fmt_as(&self, _format: DisplayFormatType, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("InTurnExec")
    }
}

impl ExecutionPlan for InTurnExec {
    fn name(&self) -> &'static str {
        "InTurnExec"
    }

    fn properties(&self) -> &Arc<PlanProperties> {
        &self.properties
    }

    fn children(&self) -> Vec<&Arc<dyn ExecutionPlan>> {
        vec![&self.input]
    }

    no_expressions!();

    one_input!();

    fn execute(&self, _partition: usize, context: Arc<TaskContext>) -> Result<SendableRecordBatchStream> {
        let parts = 0..self.input.output_partitioning().partition_count();
        if self.one_by_one {
            let input = self.input.clone();
            let parts = stream::iter(parts).map(move |part| input.execute(part, context.clone()));
            return Ok(Box::pin(RecordBatchStreamAdapter::new(self.schema(), parts.try_flatten())));
        }
        let parts = parts.map(|part| Ok(spawn_buffered(self.input.execute(part, context.clone())?, AHEAD)));
        let parts = parts.collect::<Result<Vec<_>>>()?;
        Ok(Box::pin(RecordBatchStreamAdapter::new(self.schema(), stream::iter(parts).flatten())))
    }
}
