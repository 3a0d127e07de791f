//! Merges of sorted rows that are no longer said to be sorted.
//!
//! Rows of one value are sorted by it, and the engine leaves out a sort where it knows that. When it takes a projection into a join or
//! a filter later on, it may forget what it knew, and refuses its own plan: `WHERE a.k = 3 AND a.n > (SELECT ..) ORDER BY a.k` over an
//! outer join. So what a merge asks of its input is made true again before the plan is checked.

use std::sync::Arc;

use datafusion::common::Result;
use datafusion::common::config::ConfigOptions;
use datafusion::common::tree_node::{Transformed, TransformedResult, TreeNode};
use datafusion::physical_optimizer::PhysicalOptimizerRule;
use datafusion::physical_plan::ExecutionPlanProperties;
use datafusion::physical_plan::sorts::sort::SortExec;
use datafusion::physical_plan::sorts::sort_preserving_merge::SortPreservingMergeExec;

use crate::passing::{Plan, with_children};

/// The rule before the engine's last one, which checks the plan.
#[derive(Debug)]
pub(crate) struct SortedMerges;

impl PhysicalOptimizerRule for SortedMerges {
    fn optimize(&self, plan: Plan, _config: &ConfigOptions) -> Result<Plan> {
        plan.transform_up(|node| {
            let Some(merge) = node.downcast_ref::<SortPreservingMergeExec>() else { return Ok(Transformed::no(node)) };
            if merge.input().equivalence_properties().ordering_satisfy(merge.expr().clone())? {
                return Ok(Transformed::no(node));
            }
            let sort = SortExec::new(merge.expr().clone(), Arc::clone(merge.input())).with_fetch(merge.fetch());
            let sort: Plan = Arc::new(sort.with_preserve_partitioning(true));
            with_children(node, vec![sort]).map(Transformed::yes)
        })
        .data()
    }

    fn name(&self) -> &'static str {
        "sorted_merges"
    }

    fn schema_check(&self) -> bool {
        true
    }
}
