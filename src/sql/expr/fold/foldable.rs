//! Finds the expressions that have constant parts to compute. Most have none, and are left as they are without being
//! taken apart.

use datafusion::common::Result;
use datafusion::common::tree_node::{TreeNode, TreeNodeRecursion};
use datafusion::logical_expr::expr::{AggregateFunction, ScalarFunction, WindowFunction};
use datafusion::logical_expr::{Expr, LogicalPlan, Operator};

use super::immutable::is_immutable;

/// Whether some expression of the plan has such a part.
pub(super) fn has_foldable_expression(plan: &LogicalPlan) -> Result<bool> {
    let mut found = false;
    plan.apply(|node| {
        node.apply_expressions(|expr| {
            found |= has_foldable_part(expr)?;
            Ok(if found { TreeNodeRecursion::Stop } else { TreeNodeRecursion::Continue })
        })
    })?;
    Ok(found)
}

/// Whether some part of the expression can be computed or skipped now. Once that is done, the parts around it may
/// become computable too.
pub(super) fn has_foldable_part(expr: &Expr) -> Result<bool> {
    expr.exists(|part| Ok(is_foldable(part)))
}

fn is_foldable(expr: &Expr) -> bool {
    match expr {
        Expr::BinaryExpr(binary) if matches!(binary.op, Operator::And | Operator::Or) => {
            is_constant(&binary.left) || is_constant(&binary.right)
        }
        Expr::Case(case) if case.expr.is_none() => case.when_then_expr.iter().any(|(when, _)| is_constant(when)),
        Expr::ScalarFunction(call) if is_coalesce(call) => call.args.iter().any(is_constant),
        Expr::AggregateFunction(AggregateFunction { params, .. }) => params.filter.as_deref().is_some_and(is_constant),
        Expr::WindowFunction(window) => {
            let WindowFunction { params, .. } = window.as_ref();
            params.filter.as_deref().is_some_and(is_constant)
        }
        Expr::ScalarSubquery(_) | Expr::Exists(_) | Expr::InSubquery(_) | Expr::SetComparison(_) => true,
        other => is_computable(other) || is_null(other),
    }
}

/// Whether all that the expression is computed from is constant.
pub(super) fn is_computable(expr: &Expr) -> bool {
    match expr {
        Expr::BinaryExpr(binary) => is_constant(&binary.left) && is_constant(&binary.right),
        Expr::ScalarFunction(call) => call.args.iter().all(is_constant) && is_immutable(call),
        Expr::Cast(cast) => is_constant(&cast.expr),
        Expr::Not(operand)
        | Expr::IsNull(operand)
        | Expr::IsNotNull(operand)
        | Expr::IsTrue(operand)
        | Expr::IsFalse(operand)
        | Expr::IsUnknown(operand)
        | Expr::IsNotTrue(operand)
        | Expr::IsNotFalse(operand)
        | Expr::IsNotUnknown(operand) => is_constant(operand),
        Expr::Like(like) => is_constant(&like.expr) && is_constant(&like.pattern),
        Expr::Between(between) => {
            [&between.expr, &between.low, &between.high].into_iter().all(|part| is_constant(part))
        }
        Expr::InList(within) => is_constant(&within.expr) && within.list.iter().all(is_constant),
        _ => false,
    }
}

/// Whether the expression is NULL because a part of it is.
pub(super) fn is_null(expr: &Expr) -> bool {
    match expr {
        Expr::BinaryExpr(binary) => match binary.op {
            Operator::And | Operator::Or | Operator::IsDistinctFrom | Operator::IsNotDistinctFrom => false,
            _ => is_constant_null(&binary.left) || is_constant_null(&binary.right),
        },
        Expr::ScalarFunction(call) => call.func.is_strict() && call.args.iter().any(is_constant_null),
        Expr::Like(like) => is_constant_null(&like.expr) || is_constant_null(&like.pattern),
        _ => false,
    }
}

pub(super) fn is_constant(expr: &Expr) -> bool {
    matches!(expr, Expr::Literal(..))
}

pub(super) fn is_constant_null(expr: &Expr) -> bool {
    matches!(expr, Expr::Literal(value, _) if value.is_null())
}

pub(crate) fn is_coalesce(call: &ScalarFunction) -> bool {
    call.func.name() == "coalesce"
}
