//! A projection over the results of calls. It is computed where the calls are made, because the engine would spread it
//! over its threads: that would lose the order of the rows and compute it for later rows too early.

use std::fmt;
use std::sync::Arc;

use datafusion::common::tree_node::TreeNodeRecursion;
use datafusion::common::{Result, internal_err};
use datafusion::execution::{SendableRecordBatchStream, TaskContext};
use datafusion::physical_expr::{Distribution, PhysicalExpr};
use datafusion::physical_plan::execution_plan::{ChildrenPropertiesMode, ReplaceChildrenOptions};
use datafusion::physical_plan::metrics::MetricsSet;
use datafusion::physical_plan::projection::ProjectionExec;
use datafusion::physical_plan::{
    DisplayAs, DisplayFormatType, ExecutionPlan, InputDistributionRequirements, PlanProperties,
};

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

    fn replace_children(
        self: Arc<Self>,
        mut children: Vec<Arc<dyn ExecutionPlan>>,
        _options: ReplaceChildrenOptions,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        match (children.pop(), children.is_empty()) {
            (Some(input), true) => {
                let projection = ProjectionExec::try_new(self.projection.expr().to_vec(), input)?;
                Ok(Arc::new(Self::new(projection)))
            }
            _ => internal_err!("a projection has one input"),
        }
    }

    /// The trait asks for it still.
    fn with_new_children(self: Arc<Self>, children: Vec<Arc<dyn ExecutionPlan>>) -> Result<Arc<dyn ExecutionPlan>> {
        self.replace_children(children, ReplaceChildrenOptions::new(ChildrenPropertiesMode::Recompute))
    }

    fn execute(&self, partition: usize, context: Arc<TaskContext>) -> Result<SendableRecordBatchStream> {
        self.projection.execute(partition, context)
    }

    fn metrics(&self) -> Option<MetricsSet> {
        self.projection.metrics()
    }
}
