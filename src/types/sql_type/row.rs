//! The types of rows as values: what fields they have, and of which table they are.

use arrow::datatypes::{DataType, Field, Fields};
use serde::{Deserialize, Serialize};

use super::{SqlType, TYPE_KEY};

/// How the tag of a table's row type begins; its [`TableRow`] follows.
const TAG: &str = "row ";

/// The type of a row. A row of values is PostgreSQL's `record`, one of a table has a type of the table's own.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct RowType {
    /// Each says of its type what a column's field says; all may be NULL.
    pub fields: Fields,
    /// `None` for `record`.
    pub table: Option<TableRow>,
}

/// What `pg_type` has about the rows of a table.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct TableRow {
    pub oid: u32,
    /// Of an array of rows.
    pub array_oid: u32,
    /// The table's name, quoted where it must be.
    pub name: String,
}

impl RowType {
    /// The type of rows with these fields, which are of no table.
    pub fn of_fields(fields: &Fields) -> Self {
        Self { fields: fields.clone(), table: None }
    }

    /// The fields' own types, in order.
    pub fn types(&self) -> impl Iterator<Item = SqlType> + '_ {
        self.fields.iter().map(|field| SqlType::of_field(field))
    }

    pub(super) fn arrow(&self) -> DataType {
        DataType::Struct(self.fields.clone())
    }

    /// What a field's metadata says of a table's row type: its layout alone tells the fields.
    pub(super) fn tag(table: &TableRow) -> Option<String> {
        serde_json::to_string(table).ok().map(|text| format!("{TAG}{text}"))
    }

    /// The type of a tag, as yet without fields.
    pub(super) fn of_tag(tag: &str) -> Option<Self> {
        let table = serde_json::from_str(tag.strip_prefix(TAG)?).ok()?;
        Some(Self { fields: Fields::empty(), table: Some(table) })
    }
}

/// The field of a row that has values of another field, under its own name. Two of one type are equal.
pub fn row_field(name: &str, values: &Field) -> Field {
    let sql_type = SqlType::of_field(values);
    let field = Field::new(name, values.data_type().clone(), true);
    if SqlType::of_arrow(values.data_type()) == sql_type {
        return field;
    }
    field.with_metadata([(TYPE_KEY.to_owned(), sql_type.tag())].into())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_row_type_of_a_table_survives_in_its_field() {
        let fields: Fields = vec![
            row_field("id", &SqlType::Int4.field("x", false)),
            row_field("a \"b\"", &SqlType::Varchar(Some(3)).field("y", true)),
        ]
        .into();
        let table = TableRow { oid: 16_387, array_oid: 16_388, name: "\"Or[]ders\"".to_owned() };
        for table in [None, Some(table)] {
            let row = SqlType::Record(RowType { fields: fields.clone(), table });
            assert_eq!(SqlType::of_field(&row.field("r", true)), row);
            let rows = SqlType::Array(Box::new(row));
            assert_eq!(SqlType::of_field(&rows.field("r", true)), rows);
        }
    }
}
