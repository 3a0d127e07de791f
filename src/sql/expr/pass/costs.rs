//! The order in which the parts of a condition are computed: the cheap ones first.
//!
//! PostgreSQL's planner sorts what WHERE, HAVING and ON join by AND by what it costs, and leaves those that cost the same as
//! they are written. So `1 / a > 0 AND a <> 0` never divides by zero: the second part is cheaper. Where nothing can
//! fail the order is not seen, and it stays.

use datafusion::common::Result;
use datafusion::common::tree_node::{TreeNode, TreeNodeRecursion};
use datafusion::logical_expr::expr::ScalarFunction;
use datafusion::logical_expr::{BinaryExpr, Expr, Operator, Volatility};

use super::chains::{flatten, joined};
use super::predicate::may_fail;
use crate::expr::kernels;

/// What a call of a function costs. PostgreSQL's unit is half of it: of the items of a list it counts one half.
const CALL: usize = 2;
/// What a sub-query costs: more than any other expression.
const QUERY: usize = 1_000_000;
/// From so many items on PostgreSQL looks a value up by its hash.
const HASHED_LIST: usize = 9;

/// A condition with its parts in the order in which PostgreSQL would compute them.
pub(super) fn cheapest_first(condition: Expr) -> Result<Expr> {
    if !matches!(condition, Expr::BinaryExpr(BinaryExpr { op: Operator::And, .. })) || !may_fail(&condition) {
        return Ok(condition);
    }
    let mut parts = Vec::new();
    flatten(condition.clone(), Operator::And, &mut parts);
    let mut costs = parts.iter().map(cost).collect::<Result<Vec<_>>>()?.into_iter();
    let mut parts: Vec<(usize, Expr)> = parts.into_iter().map(|part| (costs.next().unwrap_or(0), part)).collect();
    parts.sort_by_key(|(cost, _)| *cost);
    Ok(joined(parts.into_iter().map(|(_, part)| part).collect(), Operator::And).unwrap_or(condition))
}

fn cost(expr: &Expr) -> Result<usize> {
    let mut cost = 0_usize;
    expr.apply(|part| {
        cost = cost.saturating_add(own_cost(part));
        Ok(TreeNodeRecursion::Continue)
    })?;
    Ok(cost)
}

/// What the expression costs besides its operands.
fn own_cost(expr: &Expr) -> usize {
    match expr {
        Expr::BinaryExpr(binary) if matches!(binary.op, Operator::And | Operator::Or) => 0,
        // The bounds of BETWEEN are two parts to PostgreSQL.
        Expr::BinaryExpr(_) | Expr::Between(_) | Expr::Like(_) | Expr::SimilarTo(_) | Expr::Negative(_) => CALL,
        Expr::InList(list) if list.list.len() < HASHED_LIST => list.list.len(),
        Expr::InList(_) => 2 * CALL,
        Expr::ScalarFunction(call) if is_constant(call) => 0,
        Expr::ScalarFunction(call) => match kernels::kernel_of(&call.func) {
            Some(kernel) if kernel.name == kernels::RELABEL.name => 0,
            // Out of one type's text and into the other's.
            Some(kernel) if kernel.name == kernels::CAST.name => 2 * CALL,
            _ => CALL * function_cost(call.func.name()),
        },
        Expr::ScalarSubquery(_) | Expr::Exists(_) | Expr::InSubquery(_) | Expr::SetComparison(_) => QUERY,
        _ => 0,
    }
}

/// Whether it is a call of literals alone, the same for all rows, which is computed once. Its arguments are not looked into: chains
/// of calls are long.
fn is_constant(call: &ScalarFunction) -> bool {
    let is_literal = |argument: &Expr| matches!(argument, Expr::Literal(..));
    call.func.signature().volatility != Volatility::Volatile
        && !call.args.is_empty()
        && call.args.iter().all(is_literal)
}

/// `procost` of the functions that have another than 1.
fn function_cost(name: &str) -> usize {
    match name {
        "has_any_column_privilege" | "pg_relation_is_updatable" | "pg_column_is_updatable" => 10,
        _ if name.ends_with("_is_visible") => 10,
        "obj_description" | "col_description" | "shobj_description" => 100,
        _ => 1,
    }
}

#[cfg(test)]
mod tests {
    use datafusion::prelude::{col, lit};

    use super::*;
    use crate::expr::kernels::{CAST, Computation};
    use crate::expr::typed::ValueType;

    fn ordered(condition: Expr) -> String {
        cheapest_first(condition).unwrap().to_string()
    }

    #[test]
    fn a_part_that_may_fail_waits_for_cheaper_ones() {
        let cast = || Computation::call(&CAST, None, ValueType::boolean(), vec![col("f")]);
        assert_eq!(ordered(cast().and(col("a").eq(lit(1)))), "a = Int32(1) AND cast(f)");
        assert_eq!(ordered(col("a").eq(lit(1)).and(cast())), "a = Int32(1) AND cast(f)");
        // Of the same cost: as it is written.
        assert_eq!(ordered(cast().and(cast().is_null())), "cast(f) AND cast(f) IS NULL");
        let items = (0..5).map(lit).collect();
        assert_eq!(ordered(cast().and(col("a").in_list(items, false))).split(" AND ").next(), Some("cast(f)"));
    }

    #[test]
    fn what_cannot_fail_stays_as_it_is_written() {
        let condition = col("a").like(lit("x")).and(col("b"));
        assert_eq!(cheapest_first(condition.clone()).unwrap(), condition);
    }
}
