//! `pg_prepared_statements`: the session's own.

use super::Rows;
use crate::sql::pg_catalog::cells::Cell;
use crate::sql::pg_catalog::functions::FunctionContext;

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
