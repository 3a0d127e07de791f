//! Sorts of rows that have no columns: `row_number() OVER (ORDER BY (SELECT 1))` asks nothing of a table but how many rows it has.
//!
//! Such rows are all alike, so they are sorted however they come. The engine would fail to put batches of them together.

use std::sync::Arc;

use datafusion::common::Result;
use datafusion::common::config::ConfigOptions;
use datafusion::common::tree_node::{Transformed, TransformedResult, TreeNode};
use datafusion::physical_optimizer::PhysicalOptimizerRule;
use datafusion::physical_plan::coalesce_partitions::CoalescePartitionsExec;
use datafusion::physical_plan::limit::{GlobalLimitExec, LocalLimitExec};
use datafusion::physical_plan::sorts::sort::SortExec;
use datafusion::physical_plan::sorts::sort_preserving_merge::SortPreservingMergeExec;

use crate::passing::Plan;

/// The rule behind the engine's last one, which asks for the sorts that it takes out.
#[derive(Debug)]
pub(crate) struct SortsOfEmptyRows;

impl PhysicalOptimizerRule for SortsOfEmptyRows {
    fn optimize(&self, plan: Plan, _config: &ConfigOptions) -> Result<Plan> {
        plan.transform_up(|node| {
            if !node.schema().fields().is_empty() {
                return Ok(Transformed::no(node));
            }
            if let Some(sort) = node.downcast_ref::<SortExec>() {
                return Ok(Transformed::yes(as_many_as(sort, Arc::clone(sort.input()))));
            }
            let Some(merge) = node.downcast_ref::<SortPreservingMergeExec>() else { return Ok(Transformed::no(node)) };
            let merged = CoalescePartitionsExec::new(Arc::clone(merge.input())).with_fetch(merge.fetch());
            Ok(Transformed::yes(Arc::new(merged) as Plan))
        })
        .data()
    }

    fn name(&self) -> &'static str {
        "sorts_of_empty_rows"
    }

    fn schema_check(&self) -> bool {
        true
    }
}

/// As many rows of a plan as a sort gives.
pub(crate) fn as_many_as(sort: &SortExec, input: Plan) -> Plan {
    match sort.fetch() {
        None => input,
        Some(fetch) if sort.preserve_partitioning() => Arc::new(LocalLimitExec::new(input, fetch)),
        Some(fetch) => Arc::new(GlobalLimitExec::new(input, 0, Some(fetch))),
    }
}
