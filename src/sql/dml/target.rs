//! The table a statement writes to, and the SELECT that finds the rows to change.

use std::sync::Arc;

use sqlparser::ast::{
    BinaryOperator, Expr, Ident, ObjectName, Query, SelectItem, Spanned, TableFactor, TableWithJoins, Value,
};
use tablegate_types::error::{ErrorKind, SqlError, SqlResult};

use super::recheck::TARGET;
use crate::plan::{Planner, numbered, resolve_column, schema_and_table};
use crate::relation::{ColumnSource, Relation, RelationColumn};
use crate::syntax;
use crate::syntax::{AtSpan, fold};

/// The relation a statement writes to.
///
/// # Errors
/// 42P01 when there is none, 42501 for a table of the system.
pub(crate) async fn find_target(planner: &Planner<'_>, name: &ObjectName) -> SqlResult<Arc<Relation>> {
    let (schema, table) = schema_and_table(name)?;
    if planner.system.knows(schema.as_deref(), &table) {
        let message = format!("permission denied: \"{table}\" is a system catalog");
        return Err(SqlError::new(ErrorKind::InsufficientPrivilege, message));
    }
    match planner.relation(schema.as_deref(), &table).await? {
        Some(relation) => Ok(relation),
        None if planner.sequence(schema.as_deref(), &table).is_some() => {
            Err(SqlError::new(ErrorKind::WrongObjectType, format!("\"{table}\" is not a table"))
                .with_hint("It is a sequence: use nextval, setval, ALTER SEQUENCE and DROP SEQUENCE."))
        }
        None if planner.view(schema.as_deref(), &table).is_some() => {
            Err(SqlError::new(ErrorKind::WrongObjectType, format!("\"{table}\" is not a table")))
        }
        None => {
            let message = format!("relation \"{table}\" does not exist");
            Err(SqlError::new(ErrorKind::UndefinedTable, message).at_span(name.span()))
        }
    }
}

/// The relation whose rows a statement changes; `change` is what it does, as messages name it.
///
/// # Errors
/// As [`find_target`]; 55000 for a view.
pub(super) async fn find_changed(planner: &Planner<'_>, name: &ObjectName, change: &str) -> SqlResult<Arc<Relation>> {
    let (schema, table) = schema_and_table(name)?;
    if planner.view(schema.as_deref(), &table).is_some() {
        return Err(SqlError::new(ErrorKind::ObjectNotInState, format!("cannot {change} view \"{table}\""))
            .with_detail("Views are not updatable here.")
            .with_hint("Change the rows of the table that the view reads."));
    }
    find_target(planner, name).await
}

/// The name and alias of the one table in `UPDATE t AS a` or `DELETE FROM t AS a`.
///
/// # Errors
/// 0A000 for joins and anything that is not a plain table.
pub(super) fn target_of(table: &TableWithJoins) -> SqlResult<(&ObjectName, Ident)> {
    if !table.joins.is_empty() {
        return Err(SqlError::not_supported("a join as the target of a change"));
    }
    target_table(&table.relation)
}

/// The one table of a statement, whose rows it locks, as FROM has it in the query that finds them.
pub(super) fn locked_target(table: &TableFactor, alias: &Ident) -> TableWithJoins {
    TableWithJoins { relation: numbered(table, alias, TARGET), joins: Vec::new() }
}

/// The same, of a table on its own.
///
/// # Errors
/// As [`target_of`]; 42601 for an alias that names columns.
pub(super) fn target_table(table: &TableFactor) -> SqlResult<(&ObjectName, Ident)> {
    let TableFactor::Table { name, alias, args: None, .. } = table else {
        return Err(SqlError::not_supported(format!("changing {table}")));
    };
    if alias.as_ref().is_some_and(|alias| !alias.columns.is_empty()) {
        return Err(SqlError::new(ErrorKind::Syntax, "syntax error at or near \"(\"")
            .with_detail("The alias of the table that is changed names no columns."));
    }
    let own = name.0.last().and_then(|p| p.as_ident()).map(fold).unwrap_or_default();
    let alias = alias.as_ref().map_or_else(|| Ident::with_quote('"', own), |a| a.name.clone());
    Ok((name, alias))
}

/// The column an identifier of an INSERT list or SET clause means; for open tables possibly a new one.
///
/// # Errors
/// 42703 for an unknown column of a declared table, 42602 or 42939 for a name no property can have.
pub(crate) fn target_column(relation: &Relation, ident: &Ident) -> SqlResult<TargetColumn> {
    let names: Vec<String> = relation.columns.iter().map(|c| c.name.clone()).collect();
    if let Some(stored) = resolve_column(names.iter(), ident)?
        && let Some((index, column)) = relation.column(stored)
    {
        return match column.source {
            ColumnSource::ETag => Err(SqlError::new(
                ErrorKind::InsufficientPrivilege,
                "column \"etag\" is made by the store and cannot be set",
            )),
            _ => Ok(TargetColumn::Known(index)),
        };
    }
    if !relation.open {
        return Err(undefined_column(relation, &fold(ident)).at_span(ident.span));
    }
    let name = tablegate_store::model::PropertyName::parse(&fold(ident))?;
    Ok(TargetColumn::New(name))
}

/// A column that the target does not have (42703).
pub(super) fn undefined_column(relation: &Relation, column: &str) -> Box<SqlError> {
    let message = format!("column \"{column}\" of relation \"{}\" does not exist", relation.name);
    SqlError::new(ErrorKind::UndefinedColumn, message)
}

/// A column a statement sets.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum TargetColumn {
    /// Index in the relation's columns.
    Known(usize),
    /// A property the table has not shown yet, typed by the expression.
    New(tablegate_store::model::PropertyName),
}

impl TargetColumn {
    pub(crate) fn column<'r>(&self, relation: &'r Relation) -> Option<&'r RelationColumn> {
        match self {
            TargetColumn::Known(index) => relation.columns.get(*index),
            TargetColumn::New(_) => None,
        }
    }

    pub(crate) fn name<'a>(&'a self, relation: &'a Relation) -> &'a str {
        match self {
            TargetColumn::Known(index) => &relation.columns[*index].name,
            TargetColumn::New(name) => name.as_str(),
        }
    }
}

/// `SELECT items FROM from WHERE selection`.
pub(super) fn select(items: Vec<SelectItem>, from: Vec<TableWithJoins>, selection: Option<Expr>) -> Query {
    syntax::query_of(syntax::select(items, from, selection))
}

/// `left = right`.
pub(super) fn equal(left: Expr, right: Expr) -> Expr {
    Expr::BinaryOp { left: Box::new(left), op: BinaryOperator::Eq, right: Box::new(right) }
}

/// `condition AND (other)`, or the other alone.
pub(super) fn and(condition: Option<Expr>, other: Expr) -> Expr {
    let Some(condition) = condition else { return other };
    let right = Box::new(Expr::Nested(Box::new(other)));
    Expr::BinaryOp { left: Box::new(condition), op: BinaryOperator::And, right }
}

/// The number 1 as a select item.
pub(super) fn one() -> SelectItem {
    SelectItem::UnnamedExpr(Expr::Value(Value::Number("1".to_owned(), false).into()))
}

/// `alias."column" AS label`, with a label that no column can have.
pub(super) fn item(alias: &Ident, column: &str, label: usize) -> SelectItem {
    let expr = Expr::CompoundIdentifier(vec![alias.clone(), Ident::with_quote('"', column)]);
    labelled(expr, label)
}

/// The key and the version of a table's row, with labels that no column can have.
pub(crate) fn key_items(alias: &Ident, table: usize) -> [SelectItem; 3] {
    let columns = ["PartitionKey", "RowKey", "etag"];
    std::array::from_fn(|index| item(alias, columns[index], KEY_LABELS + table * columns.len() + index))
}

/// Where the labels of [`key_items`] begin: above those of other items.
const KEY_LABELS: usize = 100_000;

/// `expr AS label`, with a label that no column can have.
pub(super) fn labelled(expr: Expr, label: usize) -> SelectItem {
    SelectItem::ExprWithAlias { expr, alias: Ident::with_quote('"', format!("\u{2}{label}")) }
}
