//! The view `column_origins`: where the type of each column comes from.
//!
//! A declared column has one row. An undeclared column has one for each EDM type that its property was seen with: the
//! `source` that showed it first (`sampled`, `scanned`, `written`, `analyzed`), how many `entities` had it so of those
//! that were `counted` at last, and when. A store through which every write goes keeps no sightings: there the source
//! is always `written`.

use tablegate_store::model::EdmType;
use tablegate_store::table::{SightingSource, Sightings};

use super::Rows;
use crate::pg_catalog::cells::Cell;
use crate::pg_catalog::functions::FunctionContext;
use crate::relation::{ColumnSource, Relation, RelationColumn, RelationKind};

pub(super) fn column_origins(context: &FunctionContext, rows: &mut Rows) {
    for table in &context.objects.tables {
        let sightings = context.origins.of_table(table.oid);
        for column in table.columns.iter().filter(|column| !column.hidden) {
            match (&column.source, column.observed) {
                (ColumnSource::Property { name, .. }, Some(types)) => {
                    for edm_type in types.iter() {
                        rows.push_all(described(table, column).chain(observed(name.as_str(), edm_type, &sightings)));
                    }
                }
                _ => rows.push_all(described(table, column).chain(given(table, column))),
            }
        }
    }
}

type Named = (&'static str, Cell);

fn described(table: &Relation, column: &RelationColumn) -> impl Iterator<Item = Named> {
    [
        ("table_schema", table.schema_name.as_str().into()),
        ("table_name", table.name.as_str().into()),
        ("column_name", column.name.as_str().into()),
        ("data_type", Cell::text(column.sql_type.to_string())),
    ]
    .into_iter()
}

/// What was declared, and what every entity has.
fn given(table: &Relation, column: &RelationColumn) -> impl Iterator<Item = Named> {
    let (property, edm_type) = match &column.source {
        ColumnSource::PartitionKey => (Some("PartitionKey"), Some(EdmType::String)),
        ColumnSource::RowKey => (Some("RowKey"), Some(EdmType::String)),
        ColumnSource::Timestamp => (Some("Timestamp"), Some(EdmType::DateTime)),
        ColumnSource::Property { name, column_type } => (Some(name.as_str()), Some(column_type.edm_type())),
        // Part of the keys, together with others.
        ColumnSource::KeyPart(_) | ColumnSource::ETag | ColumnSource::EdmTypeOf(_) => (None, None),
    };
    let source = if table.kind == RelationKind::Found { "system" } else { "declared" };
    let text = |text: Option<&str>| text.map_or(Cell::Null, Cell::text);
    [("source", source.into()), ("property", text(property)), ("edm_type", text(edm_type.map(EdmType::name)))]
        .into_iter()
}

fn observed(property: &str, edm_type: EdmType, sightings: &Sightings) -> impl Iterator<Item = Named> {
    let seen = sightings.of(property, edm_type);
    let counted = sightings.counted;
    let source = seen.map_or(SightingSource::Write, |seen| seen.source);
    [
        ("source", source.name().into()),
        ("property", Cell::text(property)),
        ("edm_type", edm_type.name().into()),
        ("entities", counted.and(seen).map(|seen| Cell::count(seen.entities)).into()),
        ("counted", counted.map(|counted| Cell::count(counted.entities)).into()),
        ("first_seen", seen.map_or(Cell::Null, |seen| Cell::Int(seen.first_seen.unix_micros()))),
        ("counted_at", counted.map_or(Cell::Null, |counted| Cell::Int(counted.at.unix_micros()))),
    ]
    .into_iter()
}
