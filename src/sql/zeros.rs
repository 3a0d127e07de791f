//! 0 and -0 in lists of IN, which are equal.
//!
//! The engine looks for the bits of a value among those of the items, and the two have different ones. Lists are what it makes of several
//! equalities, too, so this comes behind its rules: where one of the two is in a list, the other one is put beside it.

use datafusion::common::tree_node::{Transformed, TreeNode};
use datafusion::common::{Result, ScalarValue};
use datafusion::logical_expr::expr::InList;
use datafusion::logical_expr::expr_rewriter::NamePreserver;
use datafusion::logical_expr::{Expr, LogicalPlan, lit};
use datafusion::optimizer::{ApplyOrder, OptimizerConfig, OptimizerRule};

/// The rule.
#[derive(Debug)]
pub(crate) struct BothZeros;

impl OptimizerRule for BothZeros {
    fn name(&self) -> &'static str {
        "both_zeros"
    }

    fn apply_order(&self) -> Option<ApplyOrder> {
        Some(ApplyOrder::BottomUp)
    }

    fn rewrite(&self, plan: LogicalPlan, _config: &dyn OptimizerConfig) -> Result<Transformed<LogicalPlan>> {
        let names = NamePreserver::new(&plan);
        plan.map_expressions(|expr| {
            let name = names.save(&expr);
            Ok(with_both_zeros(expr)?.update_data(|expr| name.restore(expr)))
        })
    }
}

/// The expression, with both zeros in its lists that have one of them.
///
/// # Errors
/// None are expected: walking through an expression returns a `Result`, but nothing in it fails.
pub(crate) fn with_both_zeros(expr: Expr) -> Result<Transformed<Expr>> {
    expr.transform_up(|part| Ok(as_list_of_both(part)))
}

/// The same of one node of an expression.
pub(crate) fn as_list_of_both(part: Expr) -> Transformed<Expr> {
    let Expr::InList(mut list) = part else { return Transformed::no(part) };
    let zero = missing_zero(&list);
    let is_missing = zero.is_some();
    list.list.extend(zero);
    Transformed::new_transformed(Expr::InList(list), is_missing)
}

fn missing_zero(list: &InList) -> Option<Expr> {
    let other = list.list.iter().find_map(|item| match item {
        Expr::Literal(ScalarValue::Float32(Some(value)), _) if *value == 0.0 => Some(lit(-value)),
        Expr::Literal(ScalarValue::Float64(Some(value)), _) if *value == 0.0 => Some(lit(-value)),
        _ => None,
    })?;
    // Values of expressions are compared by their bits as well.
    (!list.list.contains(&other)).then_some(other)
}

#[cfg(test)]
mod tests {
    use datafusion::logical_expr::col;

    use super::*;

    #[test]
    fn the_other_zero_is_put_beside_the_one_that_is_there() {
        let told = |items: Vec<Expr>| with_both_zeros(col("a").in_list(items, true)).unwrap().data;
        assert_eq!(told(vec![lit(1.0), lit(0.0)]), col("a").in_list(vec![lit(1.0), lit(0.0), lit(-0.0)], true));
        assert_eq!(told(vec![lit(-0_f32)]), col("a").in_list(vec![lit(-0_f32), lit(0_f32)], true));
        for unchanged in [vec![lit(1.0), lit(2.0)], vec![lit(0.0), lit(-0.0)], vec![lit(0)]] {
            assert_eq!(told(unchanged.clone()), col("a").in_list(unchanged, true));
        }
    }
}
