//! The types of the rows of tables and views in `pg_type`, and the operator classes of keys.

use std::collections::HashMap;
use std::sync::LazyLock;

use tablegate_types::built_in::{RecordedFile, routines};

use super::Rows;
use super::classes::BTREE;
use crate::catalog::PUBLIC;
use crate::pg_catalog::cells::Cell;
use crate::pg_catalog::functions::FunctionContext;

/// Every table and view has a type of its rows, and that type an array.
pub(super) fn row_types(context: &FunctionContext, rows: &mut Rows) {
    for row_type in context.objects.row_types() {
        let schema = context.objects.schema_oid(row_type.schema).unwrap_or(PUBLIC);
        let (row, array) = (row_type.oid(), row_type.array_oid());
        let array_name = format!("_{}", row_type.name);
        for (oid, name, is_array) in [(row, row_type.name, false), (array, array_name.as_str(), true)] {
            let family = if is_array { "array" } else { "record" };
            let function = |end: &str| Cell::from(routines::oid_of(&format!("{family}_{end}")));
            rows.push([
                ("oid", oid.into()),
                ("typname", name.into()),
                ("typnamespace", schema.into()),
                ("typowner", context.granted.owner_oid(row_type.relation).into()),
                ("typlen", (-1).into()),
                ("typtype", if is_array { "b" } else { "c" }.into()),
                ("typcategory", if is_array { "A" } else { "C" }.into()),
                ("typisdefined", true.into()),
                ("typdelim", ",".into()),
                ("typrelid", if is_array { 0 } else { row_type.relation }.into()),
                ("typsubscript", if is_array { routines::oid_of("array_subscript_handler") } else { 0 }.into()),
                ("typelem", if is_array { row } else { 0 }.into()),
                ("typarray", if is_array { 0 } else { array }.into()),
                ("typinput", function("in")),
                ("typoutput", function("out")),
                ("typreceive", function("recv")),
                ("typsend", function("send")),
                ("typanalyze", if is_array { routines::oid_of("array_typanalyze") } else { 0 }.into()),
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

/// The class of an access method that has this name.
pub(super) fn class_named(method: &str, name: &str) -> Option<u32> {
    let method = found_in("pg_am", [("amname", method)])?;
    found_in("pg_opclass", [("opcname", name), ("opcmethod", method)])?.parse().ok()
}

/// The number of the row of a recorded relation with these values.
fn found_in<const N: usize>(relation: &str, wanted: [(&str, &str); N]) -> Option<&'static str> {
    let file = RecordedFile::of(relation)?;
    let oid = file.position("oid")?;
    let places = wanted.map(|(column, value)| (file.position(column), value));
    let is_it = |row: &Vec<&'static str>| {
        places.iter().all(|(place, value)| place.is_some_and(|place| row.get(place) == Some(value)))
    };
    file.rows().find(is_it)?.get(oid).copied()
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
