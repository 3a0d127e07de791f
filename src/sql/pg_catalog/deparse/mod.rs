//! Kept expressions as PostgreSQL prints them.
//!
//! PostgreSQL keeps expressions as trees; here their source is kept. It is bound over the table's columns as PostgreSQL would,
//! and printed: in full that text stands in the catalogue where PostgreSQL has the tree.

mod index;

use tablegate_bind::Usage;

pub(super) use self::index::IndexShape;
use super::constraints::TableIndex;
use super::objects::visible_columns;
use crate::catalog::{Sequence, called};
use crate::relation::{Relation, RelationColumn, RowScope};
use crate::syntax::parse_expression;

/// The default or generation expression of a column, printed in full.
pub(super) fn value_source(table: &Relation, column: &RelationColumn) -> Option<String> {
    value_text(table, column, false)
}

/// A condition over the columns of a table.
pub(super) fn condition(table: &Relation, source: &str, pretty: bool) -> String {
    let scope = RowScope::of(table);
    let bound =
        parse_expression(source).and_then(|parsed| parsed.bind_condition(&mut scope.binder(Usage::Check), "CHECK"));
    bound.map_or_else(|_| source.to_owned(), |bound| scope.text(&bound, pretty))
}

/// The numbers of the columns that an expression over them names, in order.
pub(super) fn columns_in(table: &Relation, source: &str) -> Vec<i32> {
    let scope = RowScope::of(table);
    let bound = parse_expression(source).and_then(|parsed| parsed.bind(&mut scope.binder(Usage::Check)));
    let named = bound.map(|bound| scope.columns_in(&bound)).unwrap_or_default();
    let is_named = |column: &RelationColumn| named.iter().any(|known| std::ptr::eq(*known, column));
    visible_columns(table).filter(|(_, column)| is_named(column)).map(|(number, _)| number).collect()
}

/// Whether an expression, printed in full, takes values of the sequence.
pub(super) fn counts_with(printed: &str, sequence: &Sequence) -> bool {
    // Most defaults take values of none.
    if !printed.contains("'::regclass") {
        return false;
    }
    let name = called(sequence.place, &sequence.name);
    printed.contains(&format!("'{}'::regclass", name.replace('\'', "''")))
}

/// What the catalogue has of an expression, so again or pretty: with only the parentheses that it needs. The pretty form is
/// that of the source, which the table has: what is printed would be read with other casts.
pub(super) fn expression(table: Option<&Relation>, printed: &str, pretty: bool) -> String {
    if !pretty {
        return printed.to_owned();
    }
    let of_table = table.and_then(|table| {
        let columns = table.columns.iter();
        let values = columns.filter(|column| value_text(table, column, false).is_some_and(|text| text == printed));
        let value = values.filter_map(|column| value_text(table, column, true)).next();
        let checks = || table.constraints.checks.iter().map(|check| check.expression.as_str());
        let check = || checks().find(|source| condition(table, source, false) == printed);
        let check = || check().map(|source| condition(table, source, true));
        let index =
            || TableIndex::of_table(table).filter_map(|index| index.shape()).find_map(|shape| shape.pretty(printed));
        value.or_else(check).or_else(index)
    });
    of_table.unwrap_or_else(|| printed.to_owned())
}

fn value_text(table: &Relation, column: &RelationColumn, pretty: bool) -> Option<String> {
    let (source, usage) = match (&column.generated, &column.default) {
        (Some(source), _) => (source, Usage::Generated),
        (None, Some(source)) => (source, Usage::Default),
        (None, None) => return None,
    };
    let scope = RowScope::of(table);
    let bound = parse_expression(source)
        .and_then(|parsed| parsed.bind_default(&mut scope.binder(usage), &column.name, RowScope::type_of(column)))
        .map(|bound| scope.text(&bound, pretty));
    Some(bound.unwrap_or_else(|_| source.clone()))
}

#[cfg(test)]
mod tests;
