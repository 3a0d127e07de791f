//! The convenient views of `pg_catalog`: `pg_tables`, `pg_views`, `pg_indexes`.

use super::Rows;
use super::classes::has_triggers;
use crate::sql::pg_catalog::constraints::TableIndex;
use crate::sql::pg_catalog::functions::FunctionContext;
use crate::sql::pg_catalog::layout;

pub(super) fn tables(context: &FunctionContext, rows: &mut Rows) {
    let user = context.objects.tables.iter().map(|t| {
        (t.schema_name.as_str(), t.name.as_str(), TableIndex::of_table(t).next().is_some(), has_triggers(context, t))
    });
    let system = layout::all().iter().filter(|l| l.kind == "r").map(|l| (l.schema, l.name, false, false));
    for (schema, name, has_indexes, has_triggers) in user.chain(system) {
        rows.push([
            ("schemaname", schema.into()),
            ("tablename", name.into()),
            ("tableowner", (*context.user).into()),
            ("hasindexes", has_indexes.into()),
            ("hasrules", false.into()),
            ("hastriggers", has_triggers.into()),
            ("rowsecurity", false.into()),
        ]);
    }
}

/// Only the system has views.
pub(super) fn views(context: &FunctionContext, rows: &mut Rows) {
    for view in layout::all().iter().filter(|l| l.kind == "v") {
        rows.push([
            ("schemaname", view.schema.into()),
            ("viewname", view.name.into()),
            ("viewowner", (*context.user).into()),
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
