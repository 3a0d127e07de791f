//! WHERE and HAVING whose expressions may be of other types than boolean: the planner would refuse them with another
//! message than PostgreSQL's.

use sqlparser::ast::{BinaryOperator, Expr, SetExpr, UnaryOperator};

use crate::expr::pending;
use crate::syntax::{call, take};

/// Lets conditions wait for their types that are not plainly boolean.
pub(super) fn keep_types(body: &mut SetExpr) {
    match body {
        SetExpr::Select(select) => {
            for (clause, condition) in [("WHERE", &mut select.selection), ("HAVING", &mut select.having)] {
                if let Some(condition) = condition.as_mut().filter(|condition| !is_plainly_boolean(condition)) {
                    *condition = call(&pending::truth_function(clause), vec![take(condition)]);
                }
            }
        }
        SetExpr::SetOperation { left, right, .. } => {
            keep_types(left);
            keep_types(right);
        }
        _ => {}
    }
}

fn is_plainly_boolean(condition: &Expr) -> bool {
    match condition {
        Expr::Nested(inner) => is_plainly_boolean(inner),
        Expr::BinaryOp { op, .. } => matches!(
            op,
            BinaryOperator::And
                | BinaryOperator::Or
                | BinaryOperator::Eq
                | BinaryOperator::NotEq
                | BinaryOperator::Lt
                | BinaryOperator::LtEq
                | BinaryOperator::Gt
                | BinaryOperator::GtEq
        ),
        Expr::UnaryOp { op, .. } => *op == UnaryOperator::Not,
        Expr::IsNull(_)
        | Expr::IsNotNull(_)
        | Expr::IsTrue(_)
        | Expr::IsNotTrue(_)
        | Expr::IsFalse(_)
        | Expr::IsNotFalse(_)
        | Expr::IsUnknown(_)
        | Expr::IsNotUnknown(_)
        | Expr::IsDistinctFrom(..)
        | Expr::IsNotDistinctFrom(..)
        | Expr::Like { .. }
        | Expr::ILike { .. }
        | Expr::SimilarTo { .. }
        | Expr::Between { .. }
        | Expr::InList { .. }
        | Expr::InSubquery { .. }
        | Expr::Exists { .. }
        | Expr::AnyOp { .. }
        | Expr::AllOp { .. } => true,
        _ => false,
    }
}
