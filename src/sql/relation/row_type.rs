//! The type that the rows of a table have.

use tablegate_types::quoting::quote_ident;
use tablegate_types::sql_type::TableRow;

use super::Relation;

/// The type of a table's rows.
pub(crate) fn table_row(table: &Relation) -> TableRow {
    let (oid, array_oid) = (row_type_oid(table.oid), row_array_oid(table.oid));
    TableRow { oid, array_oid, name: quote_ident(&table.name) }
}

/// OID of the type of a table's or view's rows.
pub(crate) fn row_type_oid(relation: u32) -> u32 {
    relation.wrapping_add(3)
}

pub(crate) fn row_array_oid(relation: u32) -> u32 {
    relation.wrapping_add(4)
}
