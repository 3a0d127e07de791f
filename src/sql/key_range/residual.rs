//! What is left to evaluate on a set of keys.

use datafusion::logical_expr::{Expr, Operator, binary_expr};
use tablegate_types::key_set::KeySet;

use super::analyze::{Analyzed, Shape};
use crate::syntax::balanced;

/// What a predicate comes down to.
enum Residue {
    /// For a filter, true is what counts: false and null are one.
    Constant(bool),
    Expr(Expr),
}

/// The expression that has the same rows as the predicate among those with keys in `keys`; `None` if that is all of
/// them.
pub(super) fn residual(predicate: &Analyzed, sources: &[Expr], keys: &KeySet) -> Option<Expr> {
    match residue(predicate, sources, keys, true) {
        Residue::Constant(true) => None,
        Residue::Constant(false) => Some(datafusion::logical_expr::lit(false)),
        Residue::Expr(expr) => Some(expr),
    }
}

/// `positive`: under an even number of NOTs, where null counts as false. Under an odd number it counts as true, as the
/// outer NOT must not let the row through.
fn residue(node: &Analyzed, sources: &[Expr], keys: &KeySet, positive: bool) -> Residue {
    let outcomes = &node.outcomes;
    let (may_hold, may_fail) = if positive {
        (!outcomes.yes.is_disjoint(keys), !outcomes.no.is_disjoint(keys) || !outcomes.null.is_disjoint(keys))
    } else {
        (!outcomes.yes.is_disjoint(keys) || !outcomes.null.is_disjoint(keys), !outcomes.no.is_disjoint(keys))
    };
    if !may_fail {
        return Residue::Constant(true);
    }
    if !may_hold {
        return Residue::Constant(false);
    }
    match &node.shape {
        Shape::And(parts) => chain(parts, sources, keys, positive, Operator::And),
        Shape::Or(parts) => chain(parts, sources, keys, positive, Operator::Or),
        Shape::Not(inner) => match residue(inner, sources, keys, !positive) {
            Residue::Constant(value) => Residue::Constant(!value),
            Residue::Expr(expr) => Residue::Expr(Expr::Not(Box::new(expr))),
        },
        Shape::Source(source) => match sources.get(*source) {
            Some(expr) => Residue::Expr(expr.clone()),
            None => Residue::Constant(positive),
        },
        Shape::Leaf => Residue::Constant(positive),
    }
}

fn chain(parts: &[Analyzed], sources: &[Expr], keys: &KeySet, positive: bool, operator: Operator) -> Residue {
    // What makes the others irrelevant: false in AND, true in OR.
    let decisive = operator == Operator::Or;
    let mut left = Vec::new();
    for part in parts {
        match residue(part, sources, keys, positive) {
            Residue::Constant(value) if value == decisive => return Residue::Constant(decisive),
            Residue::Constant(_) => {}
            Residue::Expr(expr) => left.push(expr),
        }
    }
    let joined = balanced(left, |left, right| binary_expr(left, operator, right));
    joined.map_or(Residue::Constant(!decisive), Residue::Expr)
}
