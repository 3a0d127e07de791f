//! `pg_settings`: the session's settings as rows.

use super::Rows;
use crate::sql::pg_catalog::functions::FunctionContext;

pub(super) fn settings(context: &FunctionContext, rows: &mut Rows) {
    for (name, value) in &*context.settings {
        rows.push([
            ("name", name.as_str().into()),
            ("setting", value.as_str().into()),
            ("category", "Session".into()),
            ("short_desc", "".into()),
            ("context", "user".into()),
            ("vartype", "string".into()),
            ("source", "session".into()),
            ("boot_val", value.as_str().into()),
            ("reset_val", value.as_str().into()),
            ("pending_restart", false.into()),
        ]);
    }
}
