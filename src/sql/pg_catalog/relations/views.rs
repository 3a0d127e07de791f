//! The convenient views of `pg_catalog`: `pg_tables`, `pg_views`, `pg_indexes`.

use super::Rows;
use crate::pg_catalog::constraints::TableIndex;
use crate::pg_catalog::functions::FunctionContext;
use crate::pg_catalog::layout;

pub(super) fn tables(context: &FunctionContext, rows: &mut Rows) {
    let with_foreign_keys = context.objects.with_foreign_keys();
    let user = context.objects.tables.iter().map(|t| {
        let has_indexes = TableIndex::of_table(t).next().is_some();
        (t.oid, t.schema_name.as_str(), t.name.as_str(), has_indexes, with_foreign_keys.contains(&t.oid))
    });
    let system = layout::all().iter().filter(|l| l.kind == "r").map(|l| (l.oid, l.schema, l.name, false, false));
    for (oid, schema, name, has_indexes, has_triggers) in user.chain(system) {
        rows.push([
            ("schemaname", schema.into()),
            ("tablename", name.into()),
            ("tableowner", context.granted.owner(oid).into()),
            ("hasindexes", has_indexes.into()),
            ("hasrules", false.into()),
            ("hastriggers", has_triggers.into()),
            ("rowsecurity", false.into()),
        ]);
    }
}

pub(super) fn views(context: &FunctionContext, rows: &mut Rows) {
    super::view_rows::views(context, rows);
    for view in layout::all().iter().filter(|l| l.kind == "v") {
        rows.push([
            ("schemaname", view.schema.into()),
            ("viewname", view.name.into()),
            ("viewowner", context.granted.owner(view.oid).into()),
            ("definition", "".into()),
        ]);
    }
}

pub(super) fn indexes(context: &FunctionContext, rows: &mut Rows) {
    for index in context.objects.indexes() {
        rows.push([
            ("schemaname", index.table().schema_name.as_str().into()),
            ("tablename", index.table().name.as_str().into()),
            ("indexname", index.name().into()),
            ("indexdef", index.definition(false).into()),
        ]);
    }
}
