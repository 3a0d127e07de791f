//! Steps without threads of their own: a step is expected to have few rows, and to hand them to other threads takes longer than
//! to compute with them. What a step reads of other tables is read in parts as ever.

use std::sync::Arc;

use datafusion::common::Result;
use datafusion::common::config::ConfigOptions;
use datafusion::common::tree_node::{Transformed, TransformedResult, TreeNode};
use datafusion::physical_expr::Partitioning;
use datafusion::physical_optimizer::PhysicalOptimizerRule;
use datafusion::physical_plan::repartition::RepartitionExec;

use super::scan::WorkTableExec;
use crate::passing::Plan;

/// The rule. It comes behind those that deal rows out to threads.
#[derive(Debug)]
pub(crate) struct StepsInOnePart;

impl PhysicalOptimizerRule for StepsInOnePart {
    fn optimize(&self, plan: Plan, _config: &ConfigOptions) -> Result<Plan> {
        let undealt = |node: Plan| {
            let deals = node.downcast_ref::<RepartitionExec>().filter(|node| is_dealing(node.partitioning()));
            let input = deals.map(RepartitionExec::input).filter(|input| is_of_step(input)).map(Arc::clone);
            Ok(input.map_or(Transformed::no(node), Transformed::yes))
        };
        plan.transform_up(undealt).data()
    }

    fn name(&self) -> &'static str {
        "steps_in_one_part"
    }

    fn schema_check(&self) -> bool {
        true
    }
}

fn is_dealing(partitioning: &Partitioning) -> bool {
    matches!(partitioning, Partitioning::RoundRobinBatch(_))
}

/// Whether a plan's rows are made of those of the step before, row by row or all at once.
fn is_of_step(plan: &Plan) -> bool {
    if plan.is::<WorkTableExec>() {
        return true;
    }
    let children = plan.children();
    let [input] = children.as_slice() else { return false };
    is_of_step(input)
}
