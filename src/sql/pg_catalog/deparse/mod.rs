//! Kept expressions as PostgreSQL prints them.
//!
//! PostgreSQL keeps expressions as trees, in which every operator and literal has its type; here their source is kept.
//! With the table's columns it is read as PostgreSQL would ([`read`], [`typing`]) and printed in full ([`tree`]): that
//! text stands in the catalogue where PostgreSQL has the tree, and can be printed again in the pretty form.

mod constants;
mod index;
mod read;
mod tree;
mod typing;

use tablegate_types::oid::oid as type_oid;

pub(super) use self::index::IndexShape;
use self::read::Reader;
use super::objects::visible_columns;
use crate::catalog::{Sequence, called};
use crate::ddl::names_column;
use crate::relation::{Relation, RelationColumn};
use crate::syntax::parse_expression;

/// The default or generation expression of a column, printed in full.
pub(super) fn value_source(table: &Relation, column: &RelationColumn) -> Option<String> {
    let source = column.generated.as_ref().or(column.default.as_ref())?;
    Some(over_columns(table, source, Some(type_oid(&column.sql_type))))
}

/// A condition over the columns of a table, printed in full.
pub(super) fn condition(table: &Relation, source: &str) -> String {
    over_columns(table, source, Some(typing::BOOL))
}

/// The numbers of the columns that an expression over them names, in order.
pub(super) fn columns_in(table: &Relation, source: &str) -> Vec<i32> {
    let Ok(parsed) = parse_expression(source) else { return Vec::new() };
    let named = visible_columns(table).filter(|(_, column)| names_column(&parsed, &column.name));
    named.map(|(number, _)| number).collect()
}

/// Whether an expression, printed in full, takes values of the sequence.
pub(super) fn counts_with(printed: &str, sequence: &Sequence) -> bool {
    let name = called(sequence.place, &sequence.name);
    printed.contains(&format!("'{}'::regclass", name.replace('\'', "''")))
}

/// What was printed in full, so again or pretty: with only the parentheses that it needs.
pub(super) fn expression(text: &str, pretty: bool) -> String {
    // The parser does not know this form of TRIM's.
    match parse_expression(text).or_else(|_| parse_expression(&text.replace("TRIM(BOTH FROM ", "TRIM("))) {
        Ok(parsed) => Reader { columns: None }.read_as(&parsed, None).text(pretty),
        Err(_) => text.to_owned(),
    }
}

fn over_columns(table: &Relation, source: &str, wanted: Option<u32>) -> String {
    match parse_expression(source) {
        Ok(parsed) => reader_of(table).read_as(&parsed, wanted).text(false),
        Err(_) => source.to_owned(),
    }
}

fn reader_of(table: &Relation) -> Reader {
    let columns = table.columns.iter().map(|column| (column.name.clone(), type_oid(&column.sql_type)));
    Reader { columns: Some(columns.collect()) }
}

#[cfg(test)]
mod tests;
