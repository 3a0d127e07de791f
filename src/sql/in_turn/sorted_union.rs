//! Queries under UNION ALL that are each sorted stay so in the parts of their union.
//!
//! The engine works out the order of a union from those of its queries, and loses it where one of them is sorted by a
//! constant or by two equal columns (`SELECT id, 'a' ... UNION ALL SELECT id, name ... ORDER BY 1, 2`). It would refuse its
//! own plan then. Here the union says what its parts are sorted by.

use std::fmt;
use std::sync::Arc;

use datafusion::common::Result;
use datafusion::common::config::ConfigOptions;
use datafusion::common::tree_node::{Transformed, TransformedResult, TreeNode};
use datafusion::execution::{SendableRecordBatchStream, TaskContext};
use datafusion::physical_expr::LexOrdering;
use datafusion::physical_optimizer::PhysicalOptimizerRule;
use datafusion::physical_plan::execution_plan::{ChildrenPropertiesMode, ReplaceChildrenOptions};
use datafusion::physical_plan::union::UnionExec;
use datafusion::physical_plan::{DisplayAs, DisplayFormatType, ExecutionPlan, ExecutionPlanProperties, PlanProperties};

use crate::one_input::{no_expressions, one_input};

/// The last rule but for the engine's own check of the plan.
#[derive(Debug)]
pub(crate) struct SortedUnions;

impl PhysicalOptimizerRule for SortedUnions {
    fn optimize(&self, plan: Arc<dyn ExecutionPlan>, _config: &ConfigOptions) -> Result<Arc<dyn ExecutionPlan>> {
        plan.transform_up(|node| match over_sorted_unions(&node)? {
            Some(children) => {
                let options = ReplaceChildrenOptions::new(ChildrenPropertiesMode::Recompute);
                Ok(Transformed::yes(node.replace_children(children, options)?))
            }
            None => Ok(Transformed::no(node)),
        })
        .data()
    }

    fn name(&self) -> &'static str {
        "sorted_unions"
    }

    fn schema_check(&self) -> bool {
        true
    }
}

/// The children of a node, where some are unions that only their parts show to be sorted as the node needs it.
fn over_sorted_unions(node: &Arc<dyn ExecutionPlan>) -> Result<Option<Vec<Arc<dyn ExecutionPlan>>>> {
    let mut found = false;
    let mut children = Vec::new();
    for (child, required) in node.children().into_iter().zip(node.required_input_ordering()) {
        let mut child = Arc::clone(child);
        if let Some(required) = required.filter(|_| child.is::<UnionExec>()) {
            let required = required.into_single();
            let is_sorted = |part: &Arc<dyn ExecutionPlan>| {
                part.equivalence_properties().ordering_satisfy_requirement(required.clone())
            };
            let mut parts_are_sorted = !is_sorted(&child)?;
            for part in child.children() {
                parts_are_sorted = parts_are_sorted && is_sorted(part)?;
            }
            if parts_are_sorted {
                found = true;
                child = Arc::new(SortedUnionExec::new(child, LexOrdering::from(required)));
            }
        }
        children.push(child);
    }
    Ok(found.then_some(children))
}

/// A union whose parts are each sorted so.
#[derive(Debug)]
struct SortedUnionExec {
    union: Arc<dyn ExecutionPlan>,
    order: LexOrdering,
    properties: Arc<PlanProperties>,
}

impl SortedUnionExec {
    fn new(union: Arc<dyn ExecutionPlan>, order: LexOrdering) -> Self {
        let mut known = union.equivalence_properties().clone();
        known.add_ordering(order.clone());
        let properties = PlanProperties::new(
            known,
            union.output_partitioning().clone(),
            union.pipeline_behavior(),
            union.boundedness(),
        );
        Self { union, order, properties: Arc::new(properties) }
    }

    /// The same over another input.
    fn over(&self, union: Arc<dyn ExecutionPlan>) -> Result<Self> {
        Ok(Self::new(union, self.order.clone()))
    }
}

impl DisplayAs for SortedUnionExec {
    fn fmt_as(&self, _format: DisplayFormatType, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("SortedUnionExec")
    }
}

impl ExecutionPlan for SortedUnionExec {
    fn name(&self) -> &'static str {
        "SortedUnionExec"
    }

    fn properties(&self) -> &Arc<PlanProperties> {
        &self.properties
    }

    fn children(&self) -> Vec<&Arc<dyn ExecutionPlan>> {
        vec![&self.union]
    }

    fn maintains_input_order(&self) -> Vec<bool> {
        vec![true]
    }

    no_expressions!();

    one_input!();

    fn execute(&self, partition: usize, context: Arc<TaskContext>) -> Result<SendableRecordBatchStream> {
        self.union.execute(partition, context)
    }
}
