//! The types of tables' rows in `pg_type`, and the operator classes of keys.

use std::collections::HashMap;
use std::sync::LazyLock;

use super::Rows;
use super::classes::BTREE;
use crate::sql::pg_catalog::cells::Cell;
use crate::sql::pg_catalog::functions::FunctionContext;
use crate::sql::pg_catalog::objects::{PUBLIC, row_array_oid, row_type_oid};
use crate::sql::pg_catalog::recorded::RecordedFile;

/// Every table has a type of its rows, and that type an array.
pub(super) fn row_types(context: &FunctionContext, rows: &mut Rows) {
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
                ("typowner", context.granted.owner_oid(table.oid).into()),
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
                ("typanalyze", if is_array { "array_typanalyze" } else { "-" }.into()),
                ("typalign", "d".into()),
                ("typstorage", "x".into()),
                ("typtypmod", (-1).into()),
            ]);
        }
    }
}

/// The class in which a key column of this type is ordered; 0 for a type that cannot be a key.
pub(super) fn operator_class(type_oid: u32) -> u32 {
    // Text without a class of its own is ordered as text.
    let type_oid = if type_oid == 1043 { 25 } else { type_oid };
    DEFAULT_CLASSES.get(&type_oid).copied().unwrap_or(0)
}

/// The default B-tree class of each type, by the type's OID.
static DEFAULT_CLASSES: LazyLock<HashMap<u32, u32>> = LazyLock::new(|| {
    let Some(file) = RecordedFile::of("pg_opclass") else { return HashMap::new() };
    let columns = ["oid", "opcintype", "opcmethod", "opcdefault"].map(|column| file.position(column));
    let row = |row: Vec<&'static str>| {
        let [class, input, method, default] = columns.map(|at| at.and_then(|at| row.get(at).copied()));
        (default? == "t" && method?.parse() == Ok(BTREE)).then_some((input?.parse().ok()?, class?.parse().ok()?))
    };
    file.rows().filter_map(row).collect()
});
