//! What PostgreSQL refuses while it reads a query, and DataFusion only when it is to run, or not at all.

use datafusion::common::tree_node::{TreeNode, TreeNodeRecursion};
use datafusion::error::DataFusionError;
use datafusion::logical_expr::{Expr, LogicalPlan};

use crate::sql::error::{ErrorKind, SqlError, SqlResult};

/// # Errors
/// 42P20 for a window function in a condition.
pub(super) fn check(plan: &LogicalPlan) -> SqlResult<()> {
    plan.apply_with_subqueries(|node| {
        if let LogicalPlan::Filter(filter) = node
            && filter.predicate.exists(|expr| Ok(matches!(expr, Expr::WindowFunction(_))))?
        {
            let over_groups = matches!(&*filter.input, LogicalPlan::Aggregate(_));
            let clause = if over_groups { "HAVING" } else { "WHERE" };
            let error = SqlError::new(ErrorKind::Windowing, format!("window functions are not allowed in {clause}"));
            return Err(DataFusionError::External(error));
        }
        Ok(TreeNodeRecursion::Continue)
    })?;
    Ok(())
}
