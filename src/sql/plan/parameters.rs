//! Puts the values of parameters into their places in a plan.

use datafusion::common::metadata::ScalarAndMetadata;
use datafusion::common::tree_node::{Transformed, TreeNode};
use datafusion::common::{Result, internal_err};
use datafusion::logical_expr::expr_rewriter::NamePreserver;
use datafusion::logical_expr::{Expr, LogicalPlan};

/// The plan with the values of `$1` and those behind it. They have the types that the plan was made with, so that its columns stay as
/// they are.
///
/// # Errors
/// None are expected: there is a value for each parameter.
pub(super) fn with_values(plan: LogicalPlan, values: &[ScalarAndMetadata]) -> Result<LogicalPlan> {
    let replaced = plan.transform_up_with_subqueries(|node| {
        let names = NamePreserver::new(&node);
        let node = node.map_expressions(|expr| {
            if !expr.exists(|part| Ok(matches!(part, Expr::Placeholder(_))))? {
                return Ok(Transformed::no(expr));
            }
            let name = names.save(&expr);
            let expr = expr.transform_up(|part| {
                let Expr::Placeholder(placeholder) = &part else { return Ok(Transformed::no(part)) };
                let number = placeholder.id.strip_prefix('$').and_then(|number| number.parse::<usize>().ok());
                let value = number.and_then(|number| values.get(number.checked_sub(1)?));
                let Some(value) = value.cloned() else {
                    return internal_err!("there is no value of parameter {}", placeholder.id);
                };
                let (value, metadata) = value.into_inner();
                Ok(Transformed::yes(Expr::Literal(value, metadata)))
            })?;
            Ok(expr.update_data(|expr| name.restore(expr)))
        })?;
        match node.transformed {
            true => node.map_data(LogicalPlan::recompute_schema),
            false => Ok(node),
        }
    })?;
    Ok(replaced.data)
}
