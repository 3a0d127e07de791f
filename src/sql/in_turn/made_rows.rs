//! Rows that no table has, but a function or VALUES makes, come in the order in which they are made, as in PostgreSQL:
//! `nextval`, `row_number() OVER ()` and who reads them number them so.
//!
//! The engine would spread their batches over threads, and gather them as they come. That is left where nobody can tell:
//! below what sorts them, and below sums and counts.

use std::sync::Arc;

use datafusion::common::Result;
use datafusion::common::config::ConfigOptions;
use datafusion::common::tree_node::TreeNode;
use datafusion::physical_expr::Partitioning;
use datafusion::physical_optimizer::PhysicalOptimizerRule;
use datafusion::physical_plan::ExecutionPlan;
use datafusion::physical_plan::aggregates::AggregateExec;
use datafusion::physical_plan::repartition::RepartitionExec;
use datafusion::physical_plan::sorts::sort::SortExec;
use datafusion::physical_plan::windows::{BoundedWindowAggExec, WindowAggExec};

use crate::passing::over_children;
use crate::scan::EntityScanExec;

/// Aggregates of whatever order.
const UNORDERED: &[&str] = &["count", "sum", "min", "max", "avg"];

#[derive(Debug)]
pub(crate) struct MadeRowsInOrder;

impl PhysicalOptimizerRule for MadeRowsInOrder {
    fn optimize(&self, plan: Arc<dyn ExecutionPlan>, _config: &ConfigOptions) -> Result<Arc<dyn ExecutionPlan>> {
        Ok(kept_together(&plan, true)?.unwrap_or(plan))
    }

    fn name(&self) -> &'static str {
        "made_rows_in_order"
    }

    fn schema_check(&self) -> bool {
        true
    }
}

/// The plan without what spreads such rows, where their order is seen; `None` where it stays as it is.
fn kept_together(plan: &Arc<dyn ExecutionPlan>, order_is_seen: bool) -> Result<Option<Arc<dyn ExecutionPlan>>> {
    if order_is_seen
        && let Some(spread) = plan.downcast_ref::<RepartitionExec>()
        && matches!(spread.partitioning(), Partitioning::RoundRobinBatch(_))
        && is_made(spread.input())?
    {
        let input = spread.input();
        return Ok(Some(kept_together(input, true)?.unwrap_or_else(|| input.clone())));
    }
    let order_is_seen = is_seen_below(plan, order_is_seen);
    let mut children = Vec::new();
    let mut changes = false;
    for child in plan.children() {
        let kept = kept_together(child, order_is_seen)?;
        changes |= kept.is_some();
        children.push(kept.unwrap_or_else(|| child.clone()));
    }
    if !changes {
        return Ok(None);
    }
    over_children(plan.clone(), children).map(Some)
}

fn is_seen_below(plan: &Arc<dyn ExecutionPlan>, is_seen: bool) -> bool {
    if plan.is::<SortExec>() {
        return false;
    }
    if let Some(groups) = plan.downcast_ref::<AggregateExec>() {
        return !groups.aggr_expr().iter().all(|aggregate| UNORDERED.contains(&aggregate.fun().name()));
    }
    is_seen || plan.is::<WindowAggExec>() || plan.is::<BoundedWindowAggExec>()
}

/// Whether no table is read.
fn is_made(plan: &Arc<dyn ExecutionPlan>) -> Result<bool> {
    Ok(!plan.exists(|node| Ok(node.is::<EntityScanExec>()))?)
}
