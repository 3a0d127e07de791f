//! `information_schema`: the SQL standard's view of schemas, tables and columns.

use std::borrow::Cow;

use tablegate_types::oid::oid as type_oid;
use tablegate_types::privileges::ObjectKind;
use tablegate_types::sql_type::SqlType;

use super::Rows;
use crate::catalog::Sequence;
use crate::pg_catalog::built_ins::type_by_oid;
use crate::pg_catalog::functions::FunctionContext;
use crate::pg_catalog::objects::{has_key, key_numbers, visible_columns};
use crate::pg_catalog::{deparse, layout};
use crate::place::Place;
use crate::relation::RelationColumn;

/// Longest text, in bytes, as PostgreSQL states it.
const TEXT_OCTETS: u32 = 1 << 30;
const BYTES_PER_CHARACTER: u32 = 4;

pub(super) fn tables(context: &FunctionContext, rows: &mut Rows) {
    let shown = context.objects.tables.iter().filter(|t| context.granted.shows(ObjectKind::Table, t.oid));
    let kind = |place: Place, other| if place.is_temporary() { "LOCAL TEMPORARY" } else { other };
    let user =
        shown.map(|t| (Cow::from(t.schema_name.as_str()), t.name.as_str(), kind(t.place(), "BASE TABLE"), "YES"));
    let system = layout::all()
        .iter()
        .map(|l| (l.schema.into(), l.name, if l.kind == "r" { "BASE TABLE" } else { "VIEW" }, "NO"));
    let views = context.objects.views.iter().map(|v| (v.place.schema(), v.name.as_str(), kind(v.place, "VIEW"), "NO"));
    for (schema, name, kind, insertable) in user.chain(views).chain(system) {
        rows.push([
            ("table_catalog", (*context.database).into()),
            ("table_schema", schema.into_owned().into()),
            ("table_name", name.into()),
            ("table_type", kind.into()),
            ("is_insertable_into", insertable.into()),
            ("is_typed", "NO".into()),
        ]);
    }
}

pub(super) fn columns(context: &FunctionContext, rows: &mut Rows) {
    for table in context.objects.tables.iter().filter(|t| context.granted.shows(ObjectKind::Table, t.oid)) {
        let key = if has_key(table) { key_numbers(table) } else { Vec::new() };
        let of = Owner { schema: &table.schema_name, name: &table.name, is_view: false };
        for (number, column) in visible_columns(table) {
            let nullable = !column.not_null && !key.contains(&number);
            let source = deparse::value_source(table, column);
            push_column(context, rows, &of, number, column, nullable, source);
        }
    }
    for view in &context.objects.views {
        let of = Owner { schema: &view.place.schema(), name: &view.name, is_view: true };
        for (number, (name, sql_type)) in (1..).zip(view.typed_columns().unwrap_or_default()) {
            let source = crate::relation::ColumnSource::ETag;
            push_column(context, rows, &of, number, &RelationColumn::new(name, sql_type, source), true, None);
        }
    }
    for layout in layout::all() {
        let of = Owner { schema: layout.schema, name: layout.name, is_view: false };
        for (number, described) in (1..).zip(&layout.columns) {
            let source = crate::relation::ColumnSource::ETag;
            let column = RelationColumn::new(described.name, described.sql_type.clone(), source);
            push_column(context, rows, &of, number, &column, !described.not_null, None);
        }
    }
}

/// What a column is of.
struct Owner<'a> {
    schema: &'a str,
    name: &'a str,
    /// A view's columns are read only.
    is_view: bool,
}

fn push_column(
    context: &FunctionContext,
    rows: &mut Rows,
    of: &Owner<'_>,
    number: i32,
    column: &RelationColumn,
    nullable: bool,
    source: Option<String>,
) {
    let facts = TypeFacts::of(&column.sql_type);
    let (default, generated) = if column.generated.is_some() { (None, source) } else { (source, None) };
    let counter = column.identity.as_ref().and_then(|identity| {
        let is_its = |sequence: &Sequence| sequence.name == identity.sequence && sequence.place.schema() == of.schema;
        let sequence = context.objects.sequences.iter().find(|sequence| is_its(sequence));
        sequence.map(|sequence| &sequence.options)
    });
    let udt = type_by_oid(type_oid(&column.sql_type)).map_or("text", |t| t.name);
    rows.push([
        ("table_catalog", (*context.database).into()),
        ("table_schema", of.schema.into()),
        ("table_name", of.name.into()),
        ("column_name", column.name.as_str().into()),
        ("ordinal_position", number.into()),
        ("column_default", default.into()),
        ("is_nullable", if nullable { "YES" } else { "NO" }.into()),
        ("data_type", facts.name.into()),
        ("character_maximum_length", facts.characters.into()),
        ("character_octet_length", facts.octets.into()),
        ("numeric_precision", facts.precision.into()),
        ("numeric_precision_radix", facts.radix.into()),
        ("numeric_scale", facts.scale.into()),
        ("datetime_precision", facts.datetime.into()),
        ("udt_catalog", (*context.database).into()),
        ("udt_schema", "pg_catalog".into()),
        ("udt_name", udt.into()),
        ("dtd_identifier", number.to_string().into()),
        ("is_self_referencing", "NO".into()),
        ("is_identity", if column.identity.is_some() { "YES" } else { "NO" }.into()),
        (
            "identity_generation",
            column.identity.as_ref().map(|i| if i.always { "ALWAYS" } else { "BY DEFAULT" }).into(),
        ),
        ("identity_start", counter.map(|options| options.start.to_string()).into()),
        ("identity_increment", counter.map(|options| options.increment.to_string()).into()),
        ("identity_maximum", counter.map(|options| options.maximum.to_string()).into()),
        ("identity_minimum", counter.map(|options| options.minimum.to_string()).into()),
        ("identity_cycle", if counter.is_some_and(|options| options.cycle) { "YES" } else { "NO" }.into()),
        ("is_generated", if generated.is_some() { "ALWAYS" } else { "NEVER" }.into()),
        ("generation_expression", generated.into()),
        ("is_updatable", if of.is_view { "NO" } else { "YES" }.into()),
    ]);
}

/// What `information_schema.columns` says of a type.
pub(super) struct TypeFacts {
    pub name: String,
    pub characters: Option<u32>,
    pub octets: Option<u32>,
    pub precision: Option<i32>,
    pub radix: Option<i32>,
    pub scale: Option<i32>,
    pub datetime: Option<i32>,
}

impl TypeFacts {
    pub(super) fn of(sql_type: &SqlType) -> Self {
        let name = match &*sql_type.bare() {
            SqlType::Array(_) | SqlType::Int2Vector | SqlType::OidVector => "ARRAY".to_owned(),
            SqlType::Varchar(_) => "character varying".to_owned(),
            SqlType::Char(_) => "character".to_owned(),
            SqlType::Numeric(_) => "numeric".to_owned(),
            other => other.to_string(),
        };
        let mut facts =
            Self { name, characters: None, octets: None, precision: None, radix: None, scale: None, datetime: None };
        match sql_type {
            SqlType::Int2 => facts.binary(16, true),
            SqlType::Int4 => facts.binary(32, true),
            SqlType::Int8 => facts.binary(64, true),
            SqlType::Float4 => facts.binary(24, false),
            SqlType::Float8 => facts.binary(53, false),
            SqlType::Numeric(declared) => {
                facts.radix = Some(10);
                facts.precision = declared.map(|(p, _)| p.into());
                facts.scale = declared.map(|(_, s)| s.into());
            }
            SqlType::Text | SqlType::Varchar(None) => facts.octets = Some(TEXT_OCTETS),
            SqlType::Varchar(Some(n)) | SqlType::Char(n) => {
                facts.characters = Some(*n);
                facts.octets = Some(n.saturating_mul(BYTES_PER_CHARACTER));
            }
            SqlType::Date => facts.datetime = Some(0),
            SqlType::Time | SqlType::Timestamp | SqlType::Timestamptz | SqlType::Interval => facts.datetime = Some(6),
            SqlType::Limited(limits) => facts.datetime = Some(limits.kept_digits().into()),
            _ => {}
        }
        facts
    }

    fn binary(&mut self, bits: i32, exact: bool) {
        self.precision = Some(bits);
        self.radix = Some(2);
        self.scale = exact.then_some(0);
    }
}

pub(super) fn schemata(context: &FunctionContext, rows: &mut Rows) {
    for (oid, schema) in context.objects.schemas() {
        rows.push([
            ("catalog_name", (*context.database).into()),
            ("schema_name", schema.into()),
            ("schema_owner", context.granted.owner(oid).into()),
        ]);
    }
}

pub(super) fn catalog_name(context: &FunctionContext, rows: &mut Rows) {
    rows.push([("catalog_name", (*context.database).into())]);
}

pub(super) fn character_sets(context: &FunctionContext, rows: &mut Rows) {
    rows.push([
        ("character_set_name", "UTF8".into()),
        ("character_repertoire", "UCS".into()),
        ("form_of_use", "UTF8".into()),
        ("default_collate_catalog", (*context.database).into()),
        ("default_collate_schema", "pg_catalog".into()),
        ("default_collate_name", "C".into()),
    ]);
}
