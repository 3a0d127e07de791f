//! Queries that are put together from syntax: for what reads tables and has no statement of a client's behind it.

use sqlparser::ast::{Expr, Ident, ObjectName, Query, SelectItem, TableAlias, TableFactor, TableWithJoins};

use crate::syntax;

/// `SELECT items FROM from WHERE selection`.
pub(super) fn select(items: Vec<SelectItem>, from: Vec<TableWithJoins>, selection: Option<Expr>) -> Query {
    syntax::query_of(syntax::select(items, from, selection))
}

/// `alias."column" AS label`, with a label that no column can have.
pub(super) fn item(alias: &Ident, column: &str, label: usize) -> SelectItem {
    let expr = Expr::CompoundIdentifier(vec![alias.clone(), Ident::with_quote('"', column)]);
    labelled(expr, label)
}

/// `expr AS label`, with a label that no column can have.
pub(super) fn labelled(expr: Expr, label: usize) -> SelectItem {
    SelectItem::ExprWithAlias { expr, alias: Ident::with_quote('"', format!("\u{2}{label}")) }
}

/// `name AS alias` as a FROM item.
pub(super) fn table_as(name: ObjectName, alias: &Ident) -> TableWithJoins {
    let alias = TableAlias { explicit: true, name: alias.clone(), columns: Vec::new(), at: None };
    let relation = TableFactor::Table {
        name,
        alias: Some(alias),
        args: None,
        with_hints: Vec::new(),
        version: None,
        with_ordinality: false,
        partitions: Vec::new(),
        json_path: None,
        sample: None,
        index_hints: Vec::new(),
    };
    TableWithJoins { relation, joins: Vec::new() }
}
