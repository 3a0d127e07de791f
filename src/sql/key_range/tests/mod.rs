//! Key plans against brute force, and the plans of single statements.

mod brute_force;
mod points;
mod statements;

use std::sync::Arc;

use tablegate_store::model::{PropertyName, TableName};
use tablegate_store::table::ColumnType;
use tablegate_types::key_codec::{KeyCodec, KeyColumn, PartitionScheme};
use tablegate_types::sql_type::SqlType;

use crate::place::StoredTable;
use crate::relation::{ColumnSource, Relation, RelationColumn, RelationKind, derived_columns};

fn column(name: &str, sql_type: SqlType, source: ColumnSource) -> RelationColumn {
    let not_null = !matches!(source, ColumnSource::Property { .. });
    RelationColumn { not_null, ..RelationColumn::new(name, sql_type, source) }
}

fn property(name: &str) -> ColumnSource {
    ColumnSource::Property { name: PropertyName::parse(name).unwrap(), column_type: ColumnType::Int32 }
}

fn relation(kind: RelationKind, columns: Vec<RelationColumn>, codec: KeyCodec) -> Relation {
    let codec = Arc::new(codec);
    Relation {
        name: "t".to_owned(),
        schema_name: "public".to_owned(),
        stored: StoredTable::public(TableName::parse("ttt").unwrap()),
        oid: 1,
        kind,
        open: false,
        arrow_schema: Relation::schema_of(&columns),
        derived: derived_columns(&columns, &codec),
        columns,
        codec,
        generated_partition: None,
        constraints: Arc::default(),
        dropped_columns: Arc::new([]),
        comments: Arc::default(),
    }
}

/// PartitionKey, RowKey, and an integer property x.
fn raw() -> Relation {
    let columns = vec![
        column("PartitionKey", SqlType::Text, ColumnSource::PartitionKey),
        column("RowKey", SqlType::Text, ColumnSource::RowKey),
        column("x", SqlType::Int4, property("x")),
    ];
    relation(RelationKind::Found, columns, KeyCodec::raw())
}

/// These key columns, and an integer property x.
fn relational(keys: &[(&str, SqlType, bool)], scheme: PartitionScheme) -> Relation {
    let key_column = |(name, sql_type, descending): &(&str, SqlType, bool)| KeyColumn {
        name: (*name).to_owned(),
        sql_type: sql_type.clone(),
        descending: *descending,
    };
    let codec = KeyCodec::relational(keys.iter().map(key_column).collect(), scheme, false).unwrap();
    let mut columns: Vec<_> = keys
        .iter()
        .enumerate()
        .map(|(index, (name, sql_type, _))| column(name, sql_type.clone(), ColumnSource::KeyPart(index)))
        .collect();
    columns.push(column("x", SqlType::Int4, property("x")));
    relation(RelationKind::DeclaredRelational, columns, codec)
}
