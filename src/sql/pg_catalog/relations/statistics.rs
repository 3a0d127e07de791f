//! The statistics of the database, its tables, indexes and sequences. What is counted is since the server began.

use super::Rows;
use crate::catalog::DATABASE;
use crate::pg_catalog::cells::Cell;
use crate::pg_catalog::functions::FunctionContext;
use crate::statistics::Changes;

/// `pg_stat_user_tables`: rows as the store estimates them, and what was written.
pub(super) fn written_tables(context: &FunctionContext, rows: &mut Rows) {
    for table in &context.objects.tables {
        let size = context.sizes.of_table(table.oid).unwrap_or_default();
        let changes = context.handles.commits.of_table(&table.stored).unwrap_or_default();
        rows.push_counters([
            ("relid", table.oid.into()),
            ("schemaname", table.schema_name.as_str().into()),
            ("relname", table.name.as_str().into()),
            ("n_tup_ins", inserted(&changes)),
            ("n_tup_upd", Cell::count(changes.updated.get())),
            ("n_tup_del", Cell::count(changes.deleted.get())),
            ("n_live_tup", Cell::count(size.entities)),
        ]);
    }
}

/// `pg_stat_database`, of the one there is.
pub(super) fn database(context: &FunctionContext, rows: &mut Rows) {
    let (handles, counters) = (&context.handles, &context.handles.counters);
    let (changes, sessions) = (&handles.commits.all, handles.sessions.counts());
    let backends = i32::try_from(sessions.values().sum::<usize>()).unwrap_or(i32::MAX);
    rows.push_counters([
        ("datid", DATABASE.into()),
        ("datname", (*context.database).into()),
        ("numbackends", backends.into()),
        ("xact_commit", Cell::count(counters.commits.get())),
        ("xact_rollback", Cell::count(counters.rollbacks.get())),
        ("tup_returned", Cell::count(counters.scanned.get())),
        ("tup_fetched", Cell::count(counters.returned.get())),
        ("tup_inserted", inserted(changes)),
        ("tup_updated", Cell::count(changes.updated.get())),
        ("tup_deleted", Cell::count(changes.deleted.get())),
        ("deadlocks", Cell::count(handles.locks.figures().deadlocks)),
        ("stats_reset", handles.sessions.started().into()),
    ]);
}

/// `pg_stat_bgwriter`, `pg_stat_archiver` and `pg_stat_wal`: there are no checkpoints, no shared buffers and no archive, which is a
/// row of zeros since the start.
pub(super) fn nothing_done(context: &FunctionContext, rows: &mut Rows) {
    rows.push_counters([("stats_reset", context.handles.sessions.started().into())]);
}

/// Upserts are counted as what they are written as: INSERT.
fn inserted(changes: &Changes) -> Cell {
    Cell::count(changes.inserted.get().saturating_add(changes.upserted.get()))
}

pub(super) fn tables(context: &FunctionContext, rows: &mut Rows) {
    for table in &context.objects.tables {
        rows.push_counters([
            ("relid", table.oid.into()),
            ("schemaname", table.schema_name.as_str().into()),
            ("relname", table.name.as_str().into()),
        ]);
    }
}

pub(super) fn indexes(context: &FunctionContext, rows: &mut Rows) {
    for index in context.objects.indexes() {
        let table = index.table();
        rows.push_counters([
            ("relid", table.oid.into()),
            ("indexrelid", index.oid().into()),
            ("schemaname", table.schema_name.as_str().into()),
            ("relname", table.name.as_str().into()),
            ("indexrelname", index.name().into()),
        ]);
    }
}

pub(super) fn sequences(context: &FunctionContext, rows: &mut Rows) {
    for sequence in &context.objects.sequences {
        rows.push_counters([
            ("relid", sequence.oid.into()),
            ("schemaname", sequence.place.schema().into_owned().into()),
            ("relname", sequence.name.as_str().into()),
        ]);
    }
}
