//! `statement_statistics`: what statements cost, with the names that `pg_stat_statements` has for the same.

use super::Rows;
use crate::login::Role;
use crate::pg_catalog::cells::Cell;
use crate::pg_catalog::functions::FunctionContext;
use crate::statistics::Entry;

pub(super) fn statements(context: &FunctionContext, rows: &mut Rows) {
    let mut entries = context.handles.statistics.all();
    entries.sort_by(|one, other| other.total.total_cmp(&one.total));
    let is_seen = |entry: &Entry| *entry.user == *context.user || context.login.role == Role::ReadWrite;
    for entry in entries {
        rows.push([
            ("usename", (*entry.user).into()),
            ("queryid", if is_seen(&entry) { entry.id.into() } else { Cell::Null }),
            ("query", if is_seen(&entry) { (*entry.text).into() } else { "<insufficient privilege>".into() }),
            ("calls", Cell::count(entry.calls)),
            ("total_exec_time", Cell::Float(entry.total)),
            ("min_exec_time", Cell::Float(entry.least)),
            ("max_exec_time", Cell::Float(entry.most)),
            ("mean_exec_time", Cell::Float(entry.mean())),
            ("stddev_exec_time", Cell::Float(entry.deviation())),
            ("rows", Cell::count(entry.rows)),
            ("entities_scanned", Cell::count(entry.scanned)),
            ("entities_returned", Cell::count(entry.returned)),
            ("egts", Cell::count(entry.egts)),
            ("errors", Cell::count(entry.errors)),
        ]);
    }
}
