//! A node of a plan that hands on the rows of its input, and does something on the way that who reads the plan need not know.

use std::fmt;
use std::sync::Arc;

use arrow::record_batch::RecordBatch;
use datafusion::common::{Result, internal_err};
use datafusion::execution::{SendableRecordBatchStream, TaskContext};
use datafusion::physical_plan::coalesce_partitions::CoalescePartitionsExec;
use datafusion::physical_plan::coop::CooperativeExec;
use datafusion::physical_plan::execution_plan::{ChildrenPropertiesMode, ReplaceChildrenOptions};
use datafusion::physical_plan::repartition::RepartitionExec;
use datafusion::physical_plan::sorts::sort::SortExec;
use datafusion::physical_plan::sorts::sort_preserving_merge::SortPreservingMergeExec;
use datafusion::physical_plan::stream::RecordBatchStreamAdapter;
use datafusion::physical_plan::{DisplayAs, DisplayFormatType, ExecutionPlan, PlanProperties};
use futures::stream::BoxStream;

use crate::one_input::{no_expressions, one_input};

pub(crate) type Plan = Arc<dyn ExecutionPlan>;
pub(crate) type Batches = BoxStream<'static, Result<RecordBatch>>;

/// What is done on the way. The columns, the partitions and the order of the rows stay.
pub(crate) trait Passing: fmt::Debug + Send + Sync + 'static {
    /// The name of the node.
    fn name(&self) -> &'static str;

    /// Begins with a partition of the input.
    ///
    /// # Errors
    /// Those of beginning with the input.
    fn begin(&self, input: &Plan, partition: usize, context: Arc<TaskContext>) -> Result<Batches>;
}

/// The node.
#[derive(Debug)]
pub(crate) struct PassingExec {
    input: Plan,
    passing: Arc<dyn Passing>,
}

impl PassingExec {
    /// What the plan gives.
    pub(crate) fn above(input: Plan, passing: impl Passing) -> Plan {
        Arc::new(Self { input, passing: Arc::new(passing) })
    }

    /// What the uppermost operator of the plan, which has one input, is given.
    ///
    /// # Errors
    /// XX000 if the new plan is not valid, which would be a defect here.
    pub(crate) fn below(plan: Plan, passing: impl Passing) -> Result<Plan> {
        let input = match plan.children().as_slice() {
            [input] => Arc::clone(input),
            _ => return internal_err!("an operator whose rows are passed to it has one input"),
        };
        with_children(plan, vec![Self::above(input, passing)])
    }

    /// The same over another input.
    fn over(&self, input: Plan) -> Result<Self> {
        Ok(Self { input, passing: Arc::clone(&self.passing) })
    }
}

/// A node over others that have the properties of those it had: its own stay.
///
/// # Errors
/// XX000 if the node does not take them, which would be a defect here.
pub(crate) fn with_children(plan: Plan, children: Vec<Plan>) -> Result<Plan> {
    plan.replace_children(children, ReplaceChildrenOptions::new(ChildrenPropertiesMode::Keep))
}

/// A node over others of whatever properties: its own are computed anew.
///
/// # Errors
/// XX000 if the node does not take them, which would be a defect here.
pub(crate) fn over_children(plan: Plan, children: Vec<Plan>) -> Result<Plan> {
    plan.replace_children(children, ReplaceChildrenOptions::new(ChildrenPropertiesMode::Recompute))
}

/// Whether a node gives the rows of its only input, each of them as it is.
pub(crate) fn passes_rows(plan: &Plan) -> bool {
    plan.is::<RepartitionExec>()
        || plan.is::<CoalescePartitionsExec>()
        || plan.is::<SortExec>()
        || plan.is::<SortPreservingMergeExec>()
        || plan.is::<CooperativeExec>()
}

impl DisplayAs for PassingExec {
    fn fmt_as(&self, _format: DisplayFormatType, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.passing.name())
    }
}

impl ExecutionPlan for PassingExec {
    fn name(&self) -> &str {
        self.passing.name()
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

    no_expressions!();

    one_input!();

    fn execute(&self, partition: usize, context: Arc<TaskContext>) -> Result<SendableRecordBatchStream> {
        let batches = self.passing.begin(&self.input, partition, context)?;
        Ok(Box::pin(RecordBatchStreamAdapter::new(self.schema(), batches)))
    }
}
