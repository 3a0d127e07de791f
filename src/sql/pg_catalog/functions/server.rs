//! Functions about the server: since when it runs, and what PostgreSQL's has besides: recovery, triggers, a log.

use arrow::datatypes::FieldRef;
use tablegate_types::error::{ErrorKind, SqlError, SqlResult};
use tablegate_types::sql_type::{CatalogType, SqlType};

use super::{Definition, FunctionContext, argument, boolean, int4, nothing, text};
use crate::pg_catalog::cells::Cell;

pub(super) const FUNCTIONS: &[Definition] = &[
    Definition::new("pg_postmaster_start_time", time, |c, _| Ok(c.handles.sessions.started().into())),
    // Configuration is read once, when the server starts.
    Definition::new("pg_conf_load_time", time, |c, _| Ok(c.handles.sessions.started().into())),
    // What is read again is so by itself, when its file changes.
    Definition::new("pg_reload_conf", boolean, |_, _| Ok(true.into())),
    Definition::new("pg_is_in_recovery", boolean, |_, _| Ok(false.into())),
    Definition::new("pg_is_wal_replay_paused", boolean, no_recovery),
    Definition::new("pg_last_wal_receive_lsn", place, nothing),
    Definition::new("pg_last_wal_replay_lsn", place, nothing),
    Definition::new("pg_last_xact_replay_timestamp", time, nothing),
    Definition::new("pg_export_snapshot", text, no_snapshot),
    Definition::new("pg_jit_available", boolean, |_, _| Ok(false.into())),
    Definition::new("pg_trigger_depth", int4, |_, _| Ok(0.into())),
    Definition::new("pg_current_logfile", text, nothing),
    Definition::new("pg_collation_actual_version", text, nothing),
    Definition::new("pg_partition_root", |_| SqlType::Regclass, nothing),
    Definition::new("row_security_active", boolean, row_security),
];

fn time(_: &[FieldRef]) -> SqlType {
    SqlType::Timestamptz
}

fn place(_: &[FieldRef]) -> SqlType {
    SqlType::Catalog(CatalogType::Lsn)
}

fn no_recovery(_: &FunctionContext, _: &[Cell]) -> SqlResult<Cell> {
    Err(SqlError::new(ErrorKind::ObjectNotInState, "recovery is not in progress")
        .with_hint("Recovery control functions can only be executed during recovery."))
}

fn no_snapshot(_: &FunctionContext, _: &[Cell]) -> SqlResult<Cell> {
    Err(SqlError::not_supported("pg_export_snapshot")
        .with_hint("Read in one REPEATABLE READ transaction; run pg_dump without --jobs."))
}

/// No table has policies.
///
/// # Errors
/// 42P01 for a name that is no relation.
fn row_security(context: &FunctionContext, arguments: &[Cell]) -> SqlResult<Cell> {
    super::sizes::relation(context, argument(arguments, 0)).map(|_| false.into())
}
