//! A projection over the results of calls. It is computed where the calls are made, because the engine would spread it
//! over its threads: that would lose the order of the rows and compute it for later rows too early.

use std::fmt;
use std::sync::Arc;

use datafusion::common::Result;
use datafusion::common::tree_node::TreeNodeRecursion;
use datafusion::execution::{SendableRecordBatchStream, TaskContext};
use datafusion::physical_expr::{Distribution, PhysicalExpr};
use datafusion::physical_plan::metrics::MetricsSet;
use datafusion::physical_plan::projection::ProjectionExec;
use datafusion::physical_plan::{
    DisplayAs, DisplayFormatType, ExecutionPlan, InputDistributionRequirements, PlanProperties,
};

use crate::one_input::one_input;

/// A projection whose rows come in one stream.
#[derive(Debug)]
pub(super) struct OutputsExec {
    projection: ProjectionExec,
}

impl OutputsExec {
    pub(super) fn new(projection: ProjectionExec) -> Self {
        Self { projection }
    }

    /// The projection that a node is, in either form.
    pub(super) fn projection_of(node: &Arc<dyn ExecutionPlan>) -> Option<&ProjectionExec> {
        node.downcast_ref::<Self>().map(|outputs| &outputs.projection).or_else(|| node.downcast_ref())
    }

    /// The same over another input.
    fn over(&self, input: Arc<dyn ExecutionPlan>) -> Result<Self> {
        ProjectionExec::try_new(self.projection.expr().to_vec(), input).map(Self::new)
    }
}

impl DisplayAs for OutputsExec {
    fn fmt_as(&self, format: DisplayFormatType, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.projection.fmt_as(format, f)
    }
}

impl ExecutionPlan for OutputsExec {
    fn name(&self) -> &'static str {
        "OutputsExec"
    }

    fn properties(&self) -> &Arc<PlanProperties> {
        self.projection.properties()
    }

    fn children(&self) -> Vec<&Arc<dyn ExecutionPlan>> {
        self.projection.children()
    }

    fn input_distribution_requirements(&self) -> InputDistributionRequirements {
        InputDistributionRequirements::new(vec![Distribution::SinglePartition])
    }

    fn maintains_input_order(&self) -> Vec<bool> {
        vec![true]
    }

    fn apply_expressions(
        &self,
        f: &mut dyn FnMut(&Arc<dyn PhysicalExpr>) -> Result<TreeNodeRecursion>,
    ) -> Result<TreeNodeRecursion> {
        self.projection.apply_expressions(f)
    }

    one_input!();

    fn execute(&self, partition: usize, context: Arc<TaskContext>) -> Result<SendableRecordBatchStream> {
        self.projection.execute(partition, context)
    }

    fn metrics(&self) -> Option<MetricsSet> {
        self.projection.metrics()
    }
}
