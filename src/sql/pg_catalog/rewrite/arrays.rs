//! Arrays: `ARRAY(query)`, and names, which are arrays of characters.

use sqlparser::ast::{
    AccessExpr, BinaryOperator, Expr, Function, FunctionArgumentClause, FunctionArguments, GroupByExpr, Ident,
    OrderByExpr, OrderByKind, Query, Select, SelectItem, SetExpr, Subscript, TableFactor, Value, ValueWithSpan,
};
use tablegate_types::sql_type::SqlType;

use super::collection;
use super::forms::{arguments, call, column_name, last_name, literal, string, take};
use super::unreached::{is_empty_source, null_list};
use crate::expr::ITEMS_OF;
use crate::pg_catalog::layout;

/// `reads_system`: the query reads system relations, so it may be one of those that spread out the columns of keys.
pub(super) fn expression(expr: &mut Expr, reads_system: bool) {
    match expr {
        Expr::Function(function) if last_name(&function.name) == "array" => array_of_query(expr),
        Expr::CompoundFieldAccess { root, access_chain } if reads_system && is_name(root) => {
            if let [AccessExpr::Subscript(Subscript::Index { index })] = access_chain.as_mut_slice() {
                *expr = call("character of name", vec![take(root), take(index)]);
            }
        }
        _ => {}
    }
}

/// `ARRAY(SELECT x ... ORDER BY y)` is the aggregate of all x, and never NULL.
fn array_of_query(expr: &mut Expr) {
    let Expr::Function(Function { args, .. }) = expr else { return };
    let FunctionArguments::Subquery(query) = args else { return };
    let mut query = std::mem::replace(query, empty_query(query));
    if let Some(prefixed) = prefixed_items(&mut query) {
        *expr = prefixed;
        return;
    }
    if is_empty(&query) {
        *expr = call("catalog_list_or_empty", vec![null_list()]);
        return;
    }
    let collected = if aggregate(&mut query) { Expr::Subquery(query) } else { collection::of_rows(query) };
    *expr = call("catalog_list_or_empty", vec![collected]);
}

/// Whether the query has no rows whatever tables there are.
fn is_empty(query: &Query) -> bool {
    matches!(&*query.body, SetExpr::Select(select) if is_plain(select) && select.from.iter().any(is_empty_source))
}

/// A query to leave behind; it is dropped with the expression it stands in.
fn empty_query(of: &Query) -> Box<Query> {
    let mut empty = of.clone();
    empty.with = None;
    Box::new(empty)
}

/// `ARRAY(SELECT 'text' || x FROM unnest(list) x)`: every item with a text in front.
fn prefixed_items(query: &mut Query) -> Option<Expr> {
    let SetExpr::Select(select) = &mut *query.body else { return None };
    let [from] = select.from.as_mut_slice() else { return None };
    let TableFactor::Table { name, args: Some(args), alias: Some(alias), .. } = &mut from.relation else { return None };
    if last_name(name) != "unnest" || !from.joins.is_empty() || select.selection.is_some() {
        return None;
    }
    let [SelectItem::UnnamedExpr(item) | SelectItem::ExprWithAlias { expr: item, .. }] = select.projection.as_slice()
    else {
        return None;
    };
    let item_name = alias.columns.first().map_or(&alias.name, |c| &c.name).value.clone();
    let is_item = |expr: &Expr| column_name(expr).is_some_and(|n| n.eq_ignore_ascii_case(&item_name));
    let prefix = match item {
        Expr::BinaryOp { left, op: BinaryOperator::StringConcat, right } if is_item(right) => literal(left)?.to_owned(),
        other if is_item(other) => String::new(),
        _ => return None,
    };
    let mut call_of = call("unnest", Vec::new());
    if let Expr::Function(function) = &mut call_of
        && let FunctionArguments::List(list) = &mut function.args
    {
        list.args = std::mem::take(&mut args.args);
        let list = arguments(function).next().map(take)?;
        return Some(call("catalog_prefixed", vec![list, string(&prefix)]));
    }
    None
}

/// Makes the query's only column an aggregate of all its rows, where each is a row of its tables.
fn aggregate(query: &mut Query) -> bool {
    let SetExpr::Select(select) = &mut *query.body else { return false };
    if !is_plain(select) || query.limit_clause.is_some() || query.fetch.is_some() {
        return false;
    }
    let [SelectItem::UnnamedExpr(item) | SelectItem::ExprWithAlias { expr: item, .. }] =
        select.projection.as_mut_slice()
    else {
        return false;
    };
    let order = match query.order_by.take().map(|o| o.kind) {
        Some(OrderByKind::Expressions(items)) => items,
        _ => Vec::new(),
    };
    let order: Vec<OrderByExpr> = order
        .into_iter()
        .map(|mut by| {
            if matches!(&by.expr, Expr::Value(ValueWithSpan { value: Value::Number(n, _), .. }) if n == "1") {
                by.expr = item.clone();
            }
            by
        })
        .collect();
    let mut collected = call(ITEMS_OF, vec![take(item)]);
    if let Expr::Function(Function { args: FunctionArguments::List(list), .. }) = &mut collected
        && !order.is_empty()
    {
        list.clauses.push(FunctionArgumentClause::OrderBy(order));
    }
    *item = collected;
    if let [item @ SelectItem::UnnamedExpr(_)] = select.projection.as_mut_slice()
        && let SelectItem::UnnamedExpr(expr) = item
    {
        *item = SelectItem::ExprWithAlias { expr: take(expr), alias: Ident::with_quote('"', "array") };
    }
    true
}

/// Whether the query is one row per row of its tables.
fn is_plain(select: &Select) -> bool {
    let ungrouped = matches!(&select.group_by, GroupByExpr::Expressions(by, _) if by.is_empty());
    select.distinct.is_none() && ungrouped && select.having.is_none()
}

/// A name is an array of characters, which counts from 0.
fn is_name(expr: &Expr) -> bool {
    column_name(expr).is_some_and(|name| layout::has_column(&name, &SqlType::Name))
}
