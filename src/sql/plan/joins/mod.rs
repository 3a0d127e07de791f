//! The order in which a query's tables are joined: not the one they are written in, but the one that leaves few rows.
//!
//! Inner joins with the conditions around them are a [`group`]: a set of tables and of conditions over them. How many rows a
//! table, a filter and a join leave is guessed in [`facts`], from what the stores know of their tables and from which
//! columns are keys; [`order`] looks for the cheapest tree. Keys and foreign keys need not be declared as such: two columns
//! that are compared have no more values than the one of them that is a key.

mod facts;
mod group;
mod order;

use datafusion::common::Result;
use datafusion::common::tree_node::{Transformed, TreeNode, TreeNodeRecursion};
use datafusion::logical_expr::LogicalPlan;

use self::group::Group;

/// The plan with its inner joins in a good order.
///
/// # Errors
/// XX000 if the new plan is not valid, which would be a defect here.
pub(super) fn ordered(plan: LogicalPlan) -> Result<LogicalPlan> {
    if has_inner_joins(&plan)? { arranged(plan) } else { Ok(plan) }
}

fn has_inner_joins(plan: &LogicalPlan) -> Result<bool> {
    let mut found = false;
    plan.apply_with_subqueries(|node| {
        found |= group::is_group(node);
        Ok(if found { TreeNodeRecursion::Stop } else { TreeNodeRecursion::Continue })
    })?;
    Ok(found)
}

fn arranged(plan: LogicalPlan) -> Result<LogicalPlan> {
    if group::is_group(&plan) && group::may_be_moved(&plan)? {
        return Group::of(plan)?.arranged();
    }
    let plan = plan.map_subqueries(|sub| Ok(Transformed::yes(arranged(sub)?)))?.data;
    Ok(plan.map_children(|child| Ok(Transformed::yes(arranged(child)?)))?.data)
}
