//! `ARRAY(query)` of a query that is more than the rows of its tables: set operations, DISTINCT, groups, LIMIT. The array is
//! an aggregate over it.

use sqlparser::ast::{
    Expr, OrderByExpr, OrderByKind, Query, Select, SelectItem, SetExpr, TableFactor, Value, ValueWithSpan, WindowSpec,
    WindowType,
};

use super::forms::{call, column_name};
use crate::expr::ITEMS_OF;
use crate::syntax::parse_expression;

/// The aggregate of the only column of a query, in the order of its rows.
pub(super) fn of_rows(mut query: Box<Query>) -> Expr {
    let order = match query.order_by.as_ref().map(|order| &order.kind) {
        Some(OrderByKind::Expressions(items)) => items.clone(),
        _ => Vec::new(),
    };
    let is_numbered = match &mut *query.body {
        SetExpr::Select(select) if select.distinct.is_none() && !order.is_empty() => number(select, &order),
        _ => false,
    };
    let (by, columns) = match order.first() {
        None => (String::new(), "\"item#\""),
        Some(_) if is_numbered => (" ORDER BY \"place#\"".to_owned(), "\"item#\", \"place#\""),
        // Of distinct rows, or those of a set operation, there is nothing else to order by.
        Some(first) => (format!(" ORDER BY \"item#\"{}", first.options), "\"item#\""),
    };
    let text = format!("(SELECT \"{ITEMS_OF}\"(\"item#\"{by}) AS \"array\" FROM (SELECT 1) AS \"rows#\" ({columns}))");
    let Ok(mut collected) = parse_expression(&text) else { return Expr::Subquery(query) };
    if let Expr::Subquery(outer) = &mut collected
        && let SetExpr::Select(select) = &mut *outer.body
        && let [from] = select.from.as_mut_slice()
        && let TableFactor::Derived { subquery, .. } = &mut from.relation
    {
        *subquery = query;
    }
    collected
}

/// Numbers the rows of a select in their order. What is ordered by position or label is ordered by the item.
fn number(select: &mut Select, order: &[OrderByExpr]) -> bool {
    let (item, label) = match select.projection.as_slice() {
        [SelectItem::UnnamedExpr(item)] => (item.clone(), None),
        [SelectItem::ExprWithAlias { expr, alias }] => (expr.clone(), Some(alias.value.clone())),
        _ => return false,
    };
    let order_by = order.iter().cloned().map(|mut by| {
        let is_position = matches!(&by.expr, Expr::Value(ValueWithSpan { value: Value::Number(..), .. }));
        let is_label = matches!(by.expr, Expr::Identifier(_)) && label.is_some() && column_name(&by.expr) == label;
        if is_position || is_label {
            by.expr = item.clone();
        }
        by
    });
    let window =
        WindowSpec { window_name: None, partition_by: Vec::new(), order_by: order_by.collect(), window_frame: None };
    let mut place = call("row_number", Vec::new());
    if let Expr::Function(function) = &mut place {
        function.over = Some(WindowType::WindowSpec(window));
    }
    select.projection.push(SelectItem::UnnamedExpr(place));
    true
}
