//! The node of a plan whose rows take turns with those of others.

use std::fmt;
use std::sync::Arc;

use datafusion::common::tree_node::TreeNodeRecursion;
use datafusion::common::{DataFusionError, Result, internal_err};
use datafusion::execution::{SendableRecordBatchStream, TaskContext};
use datafusion::physical_expr::PhysicalExpr;
use datafusion::physical_plan::stream::RecordBatchStreamAdapter;
use datafusion::physical_plan::{
    ChildrenPropertiesMode, DisplayAs, DisplayFormatType, ExecutionPlan, PlanProperties, ReplaceChildrenOptions,
};
use futures::StreamExt;
use tablegate_types::interrupt::Interrupt;

use super::stream::Turns;

/// Gives the rows of its input, as they are.
#[derive(Debug)]
pub(crate) struct TurnsExec {
    input: Arc<dyn ExecutionPlan>,
    interrupt: Interrupt,
}

impl TurnsExec {
    pub(super) fn new(input: Arc<dyn ExecutionPlan>, interrupt: Interrupt) -> Self {
        Self { input, interrupt }
    }
}

impl DisplayAs for TurnsExec {
    fn fmt_as(&self, _format: DisplayFormatType, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("TurnsExec")
    }
}

impl ExecutionPlan for TurnsExec {
    fn name(&self) -> &'static str {
        "TurnsExec"
    }

    fn properties(&self) -> &Arc<PlanProperties> {
        self.input.properties()
    }

    fn maintains_input_order(&self) -> Vec<bool> {
        vec![true]
    }

    fn children(&self) -> Vec<&Arc<dyn ExecutionPlan>> {
        vec![&self.input]
    }

    fn apply_expressions(
        &self,
        _f: &mut dyn FnMut(&Arc<dyn PhysicalExpr>) -> Result<TreeNodeRecursion>,
    ) -> Result<TreeNodeRecursion> {
        Ok(TreeNodeRecursion::Continue)
    }

    fn replace_children(
        self: Arc<Self>,
        mut children: Vec<Arc<dyn ExecutionPlan>>,
        _options: ReplaceChildrenOptions,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        match (children.pop(), children.is_empty()) {
            (Some(input), true) => Ok(Arc::new(Self::new(input, self.interrupt.clone()))),
            _ => internal_err!("rows that take turns have one input"),
        }
    }

    /// The trait asks for it still.
    fn with_new_children(self: Arc<Self>, children: Vec<Arc<dyn ExecutionPlan>>) -> Result<Arc<dyn ExecutionPlan>> {
        self.replace_children(children, ReplaceChildrenOptions::new(ChildrenPropertiesMode::Recompute))
    }

    fn execute(&self, partition: usize, context: Arc<TaskContext>) -> Result<SendableRecordBatchStream> {
        let rows = Turns::new(self.input.execute(partition, context)?);
        let interrupt = self.interrupt.clone();
        let part = interrupt.part();
        // Tasks of the engine's own go on until they next give way; here they meet an error instead.
        let rows = rows.map(move |batch| {
            // Dropped behind the rows, and so behind what they hold.
            let _held = &part;
            let batch = batch?;
            interrupt.check().map(|()| batch).map_err(|error| DataFusionError::External(error))
        });
        Ok(Box::pin(RecordBatchStreamAdapter::new(self.schema(), rows)))
    }
}
