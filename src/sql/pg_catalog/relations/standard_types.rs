//! `information_schema` about types: domains, elements of arrays, collations, and what generated columns are made of.

use tablegate_types::built_in::RecordedFile;
use tablegate_types::oid::oid as type_oid;
use tablegate_types::sql_type::SqlType;

use super::Rows;
use super::information_schema::TypeFacts;
use crate::pg_catalog::built_ins::type_by_oid;
use crate::pg_catalog::deparse;
use crate::pg_catalog::functions::FunctionContext;
use crate::pg_catalog::layout::DOMAINS;
use crate::pg_catalog::objects::visible_columns;

/// Only `information_schema` has domains.
pub(super) fn domains(context: &FunctionContext, rows: &mut Rows) {
    for (name, _, base) in &*DOMAINS {
        let facts = TypeFacts::of(base);
        let is_text = matches!(base, SqlType::Name | SqlType::Varchar(_));
        rows.push([
            ("domain_catalog", (*context.database).into()),
            ("domain_schema", "information_schema".into()),
            ("domain_name", (*name).into()),
            ("data_type", facts.name.into()),
            ("character_maximum_length", facts.characters.into()),
            ("character_octet_length", facts.octets.into()),
            ("collation_catalog", is_text.then_some(&*context.database).into()),
            ("collation_schema", is_text.then_some("pg_catalog").into()),
            ("collation_name", is_text.then_some("C").into()),
            ("numeric_precision", facts.precision.into()),
            ("numeric_precision_radix", facts.radix.into()),
            ("numeric_scale", facts.scale.into()),
            ("datetime_precision", facts.datetime.into()),
            ("domain_default", (*name == "time_stamp").then_some("CURRENT_TIMESTAMP(2)").into()),
            ("udt_catalog", (*context.database).into()),
            ("udt_schema", "pg_catalog".into()),
            ("udt_name", type_by_oid(type_oid(base)).map(|t| t.name).into()),
            ("dtd_identifier", "1".into()),
        ]);
    }
}

pub(super) fn element_types(context: &FunctionContext, rows: &mut Rows) {
    for table in &context.objects.tables {
        for (number, column) in visible_columns(table) {
            let SqlType::Array(item) = &column.sql_type else { continue };
            rows.push([
                ("object_catalog", (*context.database).into()),
                ("object_schema", table.schema_name.as_str().into()),
                ("object_name", table.name.as_str().into()),
                ("object_type", "TABLE".into()),
                ("collection_type_identifier", number.to_string().into()),
                ("data_type", TypeFacts::of(item).name.into()),
                ("udt_catalog", (*context.database).into()),
                ("udt_schema", "pg_catalog".into()),
                ("udt_name", type_by_oid(type_oid(item)).map(|t| t.name).into()),
                ("dtd_identifier", format!("a{number}").into()),
            ]);
        }
    }
}

pub(super) fn collations(context: &FunctionContext, rows: &mut Rows) {
    for name in collation_names() {
        rows.push([
            ("collation_catalog", (*context.database).into()),
            ("collation_schema", "pg_catalog".into()),
            ("collation_name", name.into()),
            ("pad_attribute", "NO PAD".into()),
        ]);
    }
}

pub(super) fn collation_character_sets(context: &FunctionContext, rows: &mut Rows) {
    for name in collation_names() {
        rows.push([
            ("collation_catalog", (*context.database).into()),
            ("collation_schema", "pg_catalog".into()),
            ("collation_name", name.into()),
            ("character_set_name", "UTF8".into()),
        ]);
    }
}

fn collation_names() -> Vec<&'static str> {
    let Some(file) = RecordedFile::of("pg_collation") else { return Vec::new() };
    let name = file.position("collname");
    file.rows().filter_map(|row| row.get(name?).copied()).collect()
}

/// Which columns generated ones are made of.
pub(super) fn column_sources(context: &FunctionContext, rows: &mut Rows) {
    for table in &context.objects.tables {
        for (_, generated) in visible_columns(table).filter(|(_, column)| column.generated.is_some()) {
            let Some(source) = deparse::value_source(table, generated) else { continue };
            for number in deparse::columns_in(table, &source) {
                let Some((_, column)) = visible_columns(table).find(|(n, _)| *n == number) else { continue };
                rows.push([
                    ("table_catalog", (*context.database).into()),
                    ("table_schema", table.schema_name.as_str().into()),
                    ("table_name", table.name.as_str().into()),
                    ("column_name", column.name.as_str().into()),
                    ("dependent_column", generated.name.as_str().into()),
                ]);
            }
        }
    }
}
