//! Partitions of declarative partitioning: there are none, so no table has ancestors among them.

use sqlparser::ast::{BinaryOperator, Expr, Query, SelectItem, SetExpr, SetOperator};

use super::forms::{last_name, take};

/// Turns `x IN (SELECT pg_partition_ancestors(t) UNION ALL VALUES (t))`, as psql asks for the foreign keys to a table
/// and its ancestors, into `x = t`.
pub(super) fn expression(expr: &mut Expr) {
    let Expr::InSubquery { expr: left, subquery, negated: false } = expr else { return };
    let Some(table) = only_table(subquery) else { return };
    let (left, right) = (Box::new(take(left)), Box::new(take(table)));
    *expr = Expr::BinaryOp { left, op: BinaryOperator::Eq, right };
}

/// The one value of such a list.
fn only_table(query: &mut Query) -> Option<&mut Expr> {
    let SetExpr::SetOperation { op: SetOperator::Union, left, right, .. } = &mut *query.body else { return None };
    let (SetExpr::Select(select), SetExpr::Values(values)) = (&**left, &mut **right) else { return None };
    let [SelectItem::UnnamedExpr(Expr::Function(function))] = select.projection.as_slice() else { return None };
    let [row] = values.rows.as_mut_slice() else { return None };
    let [value] = row.content.as_mut_slice() else { return None };
    (last_name(&function.name) == "pg_partition_ancestors").then_some(value)
}
