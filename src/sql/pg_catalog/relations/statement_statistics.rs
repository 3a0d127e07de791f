//! `statement_statistics`: what statements cost, with the names that `pg_stat_statements` has for the same.

use super::Rows;
use crate::pg_catalog::cells::Cell;
use crate::pg_catalog::functions::FunctionContext;
use crate::statistics::Entry;

pub(super) fn statements(context: &FunctionContext, rows: &mut Rows) {
    let mut entries = context.handles.statistics.all();
    entries.sort_by(|one, other| other.sums.total.total_cmp(&one.sums.total));
    let is_seen = |entry: &Entry| *entry.user == *context.user || context.login.role.sees_others();
    for entry in entries {
        rows.push([
            ("usename", (*entry.user).into()),
            ("queryid", if is_seen(&entry) { entry.id.into() } else { Cell::Null }),
            ("query", if is_seen(&entry) { (*entry.text).into() } else { "<insufficient privilege>".into() }),
            ("plans", Cell::count(entry.sums.plans)),
            ("calls", Cell::count(entry.sums.calls)),
            ("total_exec_time", Cell::Float(entry.sums.total)),
            ("min_exec_time", Cell::Float(entry.sums.least)),
            ("max_exec_time", Cell::Float(entry.sums.most)),
            ("mean_exec_time", Cell::Float(entry.sums.mean())),
            ("stddev_exec_time", Cell::Float(entry.sums.deviation())),
            ("rows", Cell::count(entry.sums.rows)),
            ("entities_scanned", Cell::count(entry.sums.scanned)),
            ("entities_returned", Cell::count(entry.sums.returned)),
            ("egts", Cell::count(entry.sums.egts)),
            ("errors", Cell::count(entry.sums.errors)),
        ]);
    }
}
