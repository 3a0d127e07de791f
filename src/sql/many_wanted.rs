//! Sorts of which very many rows are wanted: `ORDER BY x OFFSET 1000000 LIMIT 10`.
//!
//! Of a few rows the engine keeps a heap of those that are first so far. One of very many rows is moved about in memory for each row
//! that enters it, which takes longer than to sort all rows and to leave out those behind.

use std::sync::Arc;

use datafusion::common::Result;
use datafusion::common::config::ConfigOptions;
use datafusion::common::tree_node::{Transformed, TransformedResult, TreeNode};
use datafusion::physical_optimizer::PhysicalOptimizerRule;
use datafusion::physical_plan::sorts::sort::SortExec;

use crate::empty_rows::as_many_as;
use crate::passing::Plan;

/// So many rows are kept in a heap: of 2.4 million rows a heap of 100,000 is faster than a sort of all, one of a million takes five
/// times as long.
const HEAP_ROWS_MAX: usize = 100_000;

/// The rule behind the engine's own, which puts limits into sorts.
#[derive(Debug)]
pub(crate) struct SortsOfManyRows;

impl PhysicalOptimizerRule for SortsOfManyRows {
    fn optimize(&self, plan: Plan, _config: &ConfigOptions) -> Result<Plan> {
        plan.transform_up(|node| {
            let Some(sort) = node.downcast_ref::<SortExec>() else { return Ok(Transformed::no(node)) };
            if sort.fetch().is_none_or(|fetch| fetch <= HEAP_ROWS_MAX) {
                return Ok(Transformed::no(node));
            }
            let all = SortExec::new(sort.expr().clone(), Arc::clone(sort.input()));
            let all = Arc::new(all.with_preserve_partitioning(sort.preserve_partitioning()));
            Ok(Transformed::yes(as_many_as(sort, all)))
        })
        .data()
    }

    fn name(&self) -> &'static str {
        "sorts_of_many_rows"
    }

    fn schema_check(&self) -> bool {
        true
    }
}
