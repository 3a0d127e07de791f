//! `pg_prepared_statements` and `pg_cursors`: the session's own.

use super::Rows;
use crate::pg_catalog::cells::Cell;
use crate::pg_catalog::functions::FunctionContext;

pub(super) fn prepared_statements(context: &FunctionContext, rows: &mut Rows) {
    for (name, shown) in context.handles.statements.all() {
        let types: Vec<String> = shown.parameters.iter().map(ToString::to_string).collect();
        rows.push([
            ("name", name.into()),
            ("statement", shown.text.as_str().into()),
            ("prepare_time", shown.prepared_at.into()),
            ("parameter_types", Cell::texts(&types)),
            ("from_sql", shown.from_sql.into()),
            ("generic_plans", 0.into()),
            ("custom_plans", 0.into()),
        ]);
    }
}

pub(super) fn cursors(context: &FunctionContext, rows: &mut Rows) {
    for cursor in context.cursors.iter() {
        rows.push([
            ("name", cursor.name.as_str().into()),
            ("statement", cursor.origin.statement.as_str().into()),
            ("is_holdable", cursor.is_holdable.into()),
            ("is_binary", cursor.is_binary.into()),
            ("is_scrollable", cursor.is_scrollable.into()),
            ("creation_time", cursor.origin.made.into()),
        ]);
    }
}
