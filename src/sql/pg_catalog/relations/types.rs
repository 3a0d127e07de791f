//! `pg_type` with what belongs to it: the functions types refer to, collations, operator classes.

use super::Rows;
use super::classes::BTREE;
use crate::sql::pg_catalog::built_ins;
use crate::sql::pg_catalog::cells::Cell;
use crate::sql::pg_catalog::functions::FunctionContext;
use crate::sql::pg_catalog::objects::{self, OWNER, PG_CATALOG, PUBLIC, row_array_oid, row_type_oid};

pub(super) fn types(context: &FunctionContext, rows: &mut Rows) {
    for row in built_ins::types() {
        let word = |i: usize| Cell::text(row.words.get(i).copied().unwrap_or_default());
        let flag = |i: usize| Cell::Bool(row.words.get(i) == Some(&"t"));
        let number = |i: usize| Cell::Int(row.words.get(i).and_then(|w| w.parse().ok()).unwrap_or(0));
        rows.push([
            ("oid", row.oid.into()),
            ("typname", row.name.into()),
            ("typnamespace", PG_CATALOG.into()),
            ("typowner", OWNER.into()),
            ("typlen", number(2)),
            ("typbyval", flag(3)),
            ("typtype", word(4)),
            ("typcategory", word(5)),
            ("typispreferred", flag(6)),
            ("typisdefined", true.into()),
            ("typdelim", word(7)),
            ("typsubscript", word(8)),
            ("typelem", number(9)),
            ("typarray", number(10)),
            ("typinput", word(11)),
            ("typoutput", word(12)),
            ("typreceive", word(13)),
            ("typsend", word(14)),
            ("typmodin", word(15)),
            ("typmodout", word(16)),
            ("typanalyze", if row.is_array() { "array_typanalyze" } else { "-" }.into()),
            ("typalign", word(17)),
            ("typstorage", word(18)),
            ("typtypmod", (-1).into()),
            ("typcollation", number(19)),
        ]);
    }
    row_types(context, rows);
}

/// Every table has a type of its rows, and that type an array.
fn row_types(context: &FunctionContext, rows: &mut Rows) {
    for table in &context.objects.tables {
        let schema = context.objects.schema_oid(&table.schema_name).unwrap_or(PUBLIC);
        let (row, array) = (row_type_oid(table), row_array_oid(table));
        let array_name = format!("_{}", table.name);
        for (oid, name, is_array) in [(row, &table.name, false), (array, &array_name, true)] {
            let family = if is_array { "array" } else { "record" };
            let function = |end: &str| Cell::text(format!("{family}_{end}"));
            rows.push([
                ("oid", oid.into()),
                ("typname", name.as_str().into()),
                ("typnamespace", schema.into()),
                ("typowner", OWNER.into()),
                ("typlen", (-1).into()),
                ("typtype", if is_array { "b" } else { "c" }.into()),
                ("typcategory", if is_array { "A" } else { "C" }.into()),
                ("typisdefined", true.into()),
                ("typdelim", ",".into()),
                ("typrelid", if is_array { 0 } else { table.oid }.into()),
                ("typsubscript", if is_array { "array_subscript_handler" } else { "-" }.into()),
                ("typelem", if is_array { row } else { 0 }.into()),
                ("typarray", if is_array { 0 } else { array }.into()),
                ("typinput", function("in")),
                ("typoutput", function("out")),
                ("typreceive", function("recv")),
                ("typsend", function("send")),
                ("typalign", "d".into()),
                ("typstorage", "x".into()),
                ("typtypmod", (-1).into()),
            ]);
        }
    }
}

/// Only the functions that types and access methods refer to: clients look those up.
pub(super) fn functions(_context: &FunctionContext, rows: &mut Rows) {
    const INTERNAL: u32 = 12;
    for (oid, name) in built_ins::functions() {
        rows.push([
            ("oid", oid.into()),
            ("proname", name.into()),
            ("pronamespace", PG_CATALOG.into()),
            ("proowner", OWNER.into()),
            ("prolang", INTERNAL.into()),
            ("procost", 1.into()),
            ("prokind", "f".into()),
            ("proisstrict", true.into()),
            ("provolatile", "i".into()),
            ("proparallel", "s".into()),
            ("prosrc", name.into()),
        ]);
    }
}

pub(super) fn collations(_context: &FunctionContext, rows: &mut Rows) {
    let rows_of = [
        (objects::DEFAULT_COLLATION, "default", "d", None),
        (950, "C", "c", Some("C")),
        (951, "POSIX", "c", Some("POSIX")),
    ];
    for (oid, name, provider, locale) in rows_of {
        rows.push([
            ("oid", oid.into()),
            ("collname", name.into()),
            ("collnamespace", PG_CATALOG.into()),
            ("collowner", OWNER.into()),
            ("collprovider", provider.into()),
            ("collisdeterministic", true.into()),
            ("collencoding", (-1).into()),
            ("collcollate", locale.into()),
            ("collctype", locale.into()),
        ]);
    }
}

/// The class in which a key column of this type is ordered; 0 for a type that cannot be a key.
pub(super) fn operator_class(type_oid: u32) -> u32 {
    let type_oid = if type_oid == 1043 { 25 } else { type_oid };
    OPERATOR_CLASSES.iter().find(|(_, _, _, input)| *input == type_oid).map_or(0, |(oid, ..)| *oid)
}

pub(super) fn operator_classes(_context: &FunctionContext, rows: &mut Rows) {
    for (oid, name, family, input) in OPERATOR_CLASSES {
        rows.push([
            ("oid", (*oid).into()),
            ("opcmethod", BTREE.into()),
            ("opcname", (*name).into()),
            ("opcnamespace", PG_CATALOG.into()),
            ("opcowner", OWNER.into()),
            ("opcfamily", (*family).into()),
            ("opcintype", (*input).into()),
            ("opcdefault", true.into()),
        ]);
    }
}

/// The default B-tree classes: OID, name, family, type.
const OPERATOR_CLASSES: &[(u32, &str, u32, u32)] = &[
    (10_003, "bool_ops", 424, 16),
    (10_004, "bpchar_ops", 426, 1042),
    (10_006, "bytea_ops", 428, 17),
    (10_007, "char_ops", 429, 18),
    (3122, "date_ops", 434, 1082),
    (10_012, "float4_ops", 1970, 700),
    (3123, "float8_ops", 1970, 701),
    (1979, "int2_ops", 1976, 21),
    (1978, "int4_ops", 1976, 23),
    (3124, "int8_ops", 1976, 20),
    (10_022, "interval_ops", 1982, 1186),
    (10_028, "name_ops", 1994, 19),
    (3125, "numeric_ops", 1988, 1700),
    (1981, "oid_ops", 1989, 26),
    (3126, "text_ops", 1994, 25),
    (10_038, "time_ops", 1996, 1083),
    (3127, "timestamptz_ops", 434, 1184),
    (3128, "timestamp_ops", 434, 1114),
    (10_065, "uuid_ops", 2968, 2950),
    (10_088, "jsonb_ops", 4033, 3802),
];
