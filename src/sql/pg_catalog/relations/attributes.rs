//! `pg_attribute` and `pg_attrdef`: columns and their defaults.

use tablegate_types::oid::{modifier as type_modifier, oid as type_oid};
use tablegate_types::sql_type::SqlType;

use super::Rows;
use crate::pg_catalog::built_ins::type_by_oid;
use crate::pg_catalog::constraints::TableIndex;
use crate::pg_catalog::functions::FunctionContext;
use crate::pg_catalog::objects::{default_oid, has_key, key_numbers, visible_columns};
use crate::pg_catalog::{deparse, layout};
use crate::relation::RelationColumn;

pub(super) fn attributes(context: &FunctionContext, rows: &mut Rows) {
    for table in &context.objects.tables {
        let key = if has_key(table) { key_numbers(table) } else { Vec::new() };
        for (number, column) in visible_columns(table) {
            push(
                rows,
                &Attribute {
                    collation: column.collation,
                    not_null: column.not_null || key.contains(&number),
                    has_default: column.default.is_some() || column.generated.is_some(),
                    identity: identity(column),
                    generated: if column.generated.is_some() { "s" } else { "" },
                    ..Attribute::of(table.oid, number, &column.name, &column.sql_type)
                },
            );
        }
        for number in table.dropped_columns.iter() {
            push_dropped(rows, table.oid, *number);
        }
        for index in TableIndex::of_table(table) {
            let shape = index.shape();
            for (position, number) in (1..).zip(index.columns()) {
                if let Some((_, column)) = visible_columns(table).find(|(n, _)| *n == number) {
                    push(rows, &Attribute::of(index.oid(), position, &column.name, &column.sql_type));
                    continue;
                }
                let at = usize::try_from(position - 1).unwrap_or(0);
                if let Some(expression) = shape.as_ref().and_then(|shape| shape.columns.get(at)) {
                    let attribute = Attribute {
                        type_oid: expression.type_oid.unwrap_or(type_oid(&SqlType::Text)),
                        ..Attribute::of(index.oid(), position, &expression.label, &SqlType::Text)
                    };
                    push(rows, &attribute);
                }
            }
        }
    }
    for sequence in &context.objects.sequences {
        let columns = [("last_value", SqlType::Int8), ("log_cnt", SqlType::Int8), ("is_called", SqlType::Bool)];
        for (number, (name, sql_type)) in (1..).zip(&columns) {
            push(rows, &Attribute { not_null: true, ..Attribute::of(sequence.oid, number, name, sql_type) });
        }
    }
    for view in &context.objects.views {
        let columns = view.typed_columns().unwrap_or_default();
        for (number, ((name, sql_type), kept)) in (1..).zip(columns.iter().zip(&view.columns)) {
            let plain = Attribute::of(view.oid, number, name, sql_type);
            push(rows, &Attribute { collation: kept.collation, ..plain });
        }
    }
}

/// The columns of the system relations, which are the same in every database.
pub(super) fn system_attributes(rows: &mut Rows) {
    for layout in layout::all() {
        for (number, column) in (1..).zip(&layout.columns) {
            let attribute = Attribute {
                type_oid: column.type_oid,
                modifier: -1,
                not_null: column.not_null,
                collation: column.collation,
                ..Attribute::of(layout.oid, number, column.name, &column.sql_type)
            };
            push(rows, &attribute);
        }
    }
}

/// As `attidentity` has it.
fn identity(column: &RelationColumn) -> &'static str {
    match &column.identity {
        None => "",
        Some(identity) if identity.always => "a",
        Some(_) => "d",
    }
}

pub(super) fn defaults(context: &FunctionContext, rows: &mut Rows) {
    for table in &context.objects.tables {
        for (number, column) in visible_columns(table) {
            if let Some(source) = deparse::value_source(table, column) {
                rows.push([
                    ("oid", default_oid(table, number).into()),
                    ("adrelid", table.oid.into()),
                    ("adnum", number.into()),
                    ("adbin", source.into()),
                ]);
            }
        }
    }
}

struct Attribute<'a> {
    relation: u32,
    number: i32,
    name: &'a str,
    type_oid: u32,
    modifier: i32,
    dimensions: i32,
    /// Where it is not the type's.
    collation: Option<u32>,
    not_null: bool,
    has_default: bool,
    identity: &'a str,
    generated: &'a str,
}

impl<'a> Attribute<'a> {
    /// A plain column.
    fn of(relation: u32, number: i32, name: &'a str, sql_type: &'a SqlType) -> Self {
        Self {
            relation,
            number,
            name,
            type_oid: type_oid(sql_type),
            modifier: type_modifier(sql_type),
            dimensions: i32::from(matches!(sql_type, SqlType::Array(_))),
            collation: None,
            not_null: false,
            has_default: false,
            identity: "",
            generated: "",
        }
    }
}

/// The number of a column that was dropped is not another's: tools count the columns, and look for one of each number.
fn push_dropped(rows: &mut Rows, relation: u32, number: i32) {
    rows.push([
        ("attrelid", relation.into()),
        ("attname", format!("........pg.dropped.{number}........").into()),
        ("attlen", (-1).into()),
        ("attnum", number.into()),
        ("attcacheoff", (-1).into()),
        ("atttypmod", (-1).into()),
        ("attalign", "i".into()),
        ("attstorage", "x".into()),
        ("attisdropped", true.into()),
        ("attislocal", true.into()),
    ]);
}

fn push(rows: &mut Rows, attribute: &Attribute<'_>) {
    let known = type_by_oid(attribute.type_oid);
    let collation = attribute.collation.or(known.map(|t| t.collation)).unwrap_or(0);
    rows.push([
        ("attrelid", attribute.relation.into()),
        ("attname", attribute.name.into()),
        ("atttypid", attribute.type_oid.into()),
        ("attstattarget", (-1).into()),
        ("attlen", known.map_or(-1, |t| t.length).into()),
        ("attnum", attribute.number.into()),
        ("attndims", attribute.dimensions.into()),
        ("attcacheoff", (-1).into()),
        ("atttypmod", attribute.modifier.into()),
        ("attbyval", known.is_some_and(|t| t.by_value).into()),
        ("attalign", known.map_or("d", |t| t.align).into()),
        ("attstorage", known.map_or("x", |t| t.storage).into()),
        ("attnotnull", attribute.not_null.into()),
        ("atthasdef", attribute.has_default.into()),
        ("attidentity", attribute.identity.into()),
        ("attgenerated", attribute.generated.into()),
        ("attislocal", true.into()),
        ("attcollation", collation.into()),
    ]);
}
