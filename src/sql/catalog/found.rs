//! Tables without a declaration, and the undeclared part of open tables: columns made of what was observed.

use std::collections::HashSet;
use std::sync::Arc;

use tablegate_store::model::limits::{TABLE_NAME_MAX_CHARS, TABLE_NAME_MIN_CHARS};
use tablegate_store::table::ObservedSchema;
use tablegate_types::edm;
use tablegate_types::key_codec::KeyCodec;
use tablegate_types::sql_type::SqlType;
use xxhash_rust::xxh64::xxh64;

use super::declaration::{Declaration, DeclaredColumn, DeclaredKey, hidden_columns, system_column};
use super::{OIDS_PER_TABLE, oids};
use crate::place::StoredTable;
use crate::relation::{ColumnSource, Relation, RelationColumn, RelationKind, derived_columns};

/// OIDs of found tables start here, far above those handed out one after another.
pub(super) const FIRST_FOUND_OID: u32 = 1 << 31;
const FOUND_OID_BLOCKS: u64 = (u32::MAX - FIRST_FOUND_OID) as u64 / OIDS_PER_TABLE as u64;

/// An undeclared table: PartitionKey, RowKey, Timestamp, then every property in order of first sight.
pub(super) fn found_relation(stored: &StoredTable, schema: &ObservedSchema) -> Relation {
    let mut columns = vec![
        system_column("PartitionKey", SqlType::Text, ColumnSource::PartitionKey, false),
        system_column("RowKey", SqlType::Text, ColumnSource::RowKey, false),
        system_column("Timestamp", SqlType::Timestamptz, ColumnSource::Timestamp, false),
    ];
    columns.extend(schema.properties().iter().map(observed_column));
    columns.extend(hidden_columns(&columns));
    let codec = Arc::new(KeyCodec::raw());
    Relation {
        schema_name: stored.place.schema().into_owned(),
        name: stored.as_str().to_owned(),
        stored: stored.clone(),
        oid: found_oid(stored),
        kind: RelationKind::Found,
        open: true,
        arrow_schema: Relation::schema_of(&columns),
        derived: derived_columns(&columns, &codec),
        codec,
        generated_partition: None,
        columns,
        constraints: Arc::default(),
        dropped_columns: Arc::new([]),
        comments: Arc::default(),
    }
}

/// A declared open table with the properties its declaration does not name.
pub(super) fn open_relation(declared: &Relation, schema: &ObservedSchema) -> Relation {
    let known: HashSet<&str> = declared.columns.iter().filter_map(|c| Some(c.property()?.as_str())).collect();
    let names: HashSet<&str> = declared.columns.iter().map(|c| c.name.as_str()).collect();
    let undeclared = schema
        .properties()
        .iter()
        .filter(|p| !known.contains(p.name.as_str()) && !names.contains(p.name.as_str()))
        .map(observed_column);
    let visible = declared.columns.iter().take_while(|c| !c.hidden).count();
    let mut columns = declared.columns.clone();
    columns.splice(visible..visible, undeclared);
    declared.with_columns(columns)
}

/// A declaration of a found table, stored where it is. Its properties show as they did.
pub(super) fn declaration_of(found: &Relation) -> Declaration {
    let system = found.columns.iter().filter(|c| !c.hidden && !matches!(c.source, ColumnSource::Property { .. }));
    let columns = system.map(|column| {
        let not_null = matches!(column.source, ColumnSource::PartitionKey | ColumnSource::RowKey);
        DeclaredColumn { not_null, ..DeclaredColumn::new(&column.name, &column.sql_type) }
    });
    let mut declaration =
        Declaration::new(&found.name, &found.stored, found.oid, columns.collect(), DeclaredKey::Raw, true);
    declaration.place = found.place();
    declaration
}

/// Declares the columns that an open table shows besides its declared ones, as they are now.
pub(super) fn declare_all(declaration: &mut Declaration, relation: &Relation) {
    for column in relation.columns.iter().filter(|c| !c.hidden) {
        if let ColumnSource::Property { name, .. } = &column.source
            && declaration.columns.iter().all(|c| c.name != column.name)
        {
            let property = Some(name.as_str().to_owned());
            declaration
                .columns
                .push(DeclaredColumn { property, ..DeclaredColumn::new(&column.name, &column.sql_type) });
        }
    }
}

fn observed_column(property: &tablegate_store::table::ObservedProperty) -> RelationColumn {
    let sql_type = edm::sql_type_of(property.types);
    let column_type = edm::column_type(&sql_type);
    let source = ColumnSource::Property { name: property.name.clone(), column_type };
    RelationColumn { observed: Some(property.types), ..RelationColumn::new(property.name.as_str(), sql_type, source) }
}

/// A found table is not written down anywhere, so its OID is made of its name: stable across restarts and gateways.
pub(super) fn found_oid(stored: &StoredTable) -> u32 {
    let block = xxh64(stored.folded().as_bytes(), 0) % FOUND_OID_BLOCKS;
    oids::shown(stored.place, FIRST_FOUND_OID + u32::try_from(block).unwrap_or(0) * OIDS_PER_TABLE)
}

/// Whether an OID is one that [`found_oid`] makes.
pub(crate) fn is_found_oid(oid: u32) -> bool {
    oid >= FIRST_FOUND_OID
}

/// The legal table name that stands for a SQL name: `order_items` becomes `orderItems`. What is left over is padded
/// or cut to the service's lengths.
pub(crate) fn derived_table_name(sql_name: &str) -> String {
    let mut name = String::new();
    let mut raise_next = false;
    for c in sql_name.chars() {
        if c.is_ascii_alphanumeric() {
            name.push(if raise_next && !name.is_empty() { c.to_ascii_uppercase() } else { c });
            raise_next = false;
        } else {
            raise_next = true;
        }
    }
    if !name.starts_with(|c: char| c.is_ascii_alphabetic()) {
        name.insert_str(0, "table");
    }
    if name.len() < TABLE_NAME_MIN_CHARS || name.eq_ignore_ascii_case("tables") {
        name.push_str("Table");
    }
    name.truncate(TABLE_NAME_MAX_CHARS);
    name
}

/// Why a table cannot be stored under its own name.
pub(crate) fn why_another_name(name: &str) -> String {
    if name.chars().any(|c| !c.is_ascii_alphanumeric()) {
        return "the Table service allows letters and digits only".to_owned();
    }
    if !name.starts_with(|c: char| c.is_ascii_alphabetic()) {
        return "the Table service's names begin with a letter".to_owned();
    }
    if !(TABLE_NAME_MIN_CHARS..=TABLE_NAME_MAX_CHARS).contains(&name.len()) {
        return format!("the Table service's names have {TABLE_NAME_MIN_CHARS} to {TABLE_NAME_MAX_CHARS} characters");
    }
    "the Table service keeps that name for itself".to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;
    use tablegate_store::model::TableName;

    #[test]
    fn derived_names_are_legal() {
        for (sql, stored) in [
            ("order_items", "orderItems"),
            ("t", "tTable"),
            ("2024", "table2024"),
            ("größe", "grE"),
            ("tables", "tablesTable"),
            ("Orders", "Orders"),
            ("_", "table"),
        ] {
            assert_eq!(derived_table_name(sql), stored, "{sql}");
            assert!(TableName::parse(stored).is_ok());
        }
        assert!(TableName::parse(&derived_table_name(&"x_".repeat(200))).is_ok());
    }

    #[test]
    fn found_oids_ignore_case_and_leave_room() {
        let [a, b] = ["Orders", "orders"].map(|name| StoredTable::public(TableName::parse(name).unwrap()));
        assert_eq!(found_oid(&a), found_oid(&b));
        assert_eq!(found_oid(&a) % OIDS_PER_TABLE, 0);
    }
}
