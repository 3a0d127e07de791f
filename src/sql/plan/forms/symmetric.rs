//! BETWEEN SYMMETRIC, whose bounds may stand either way round.

use sqlparser::ast::{BinaryOperator, Expr, Value};

use crate::syntax::binary;
use crate::syntax::dialect::respell::SYMMETRIC;

/// Makes two conditions of a BETWEEN that is marked as symmetric; other expressions stay as they are.
pub(in crate::plan) fn expand(expr: &mut Expr) {
    let Expr::Between { expr: subject, negated, low, high } = expr else { return };
    if !take_marker(low) {
        return;
    }
    let between = |low: &Expr, high: &Expr| Expr::Between {
        expr: subject.clone(),
        negated: *negated,
        low: Box::new(low.clone()),
        high: Box::new(high.clone()),
    };
    let op = if *negated { BinaryOperator::And } else { BinaryOperator::Or };
    *expr = binary(between(low, high), op, between(high, low));
}

/// Takes the marker off the bound, on whose left side it stands.
fn take_marker(bound: &mut Expr) -> bool {
    let Expr::BinaryOp { left, right, .. } = bound else { return false };
    if matches!(left.as_ref(), Expr::Identifier(ident) if ident.value == SYMMETRIC) {
        let rest = std::mem::replace(right.as_mut(), Expr::Value(Value::Null.into()));
        *bound = rest;
        return true;
    }
    take_marker(left)
}
