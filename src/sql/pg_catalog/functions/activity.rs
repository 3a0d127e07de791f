//! Functions about other sessions: stopping what they do, and who waits for whom.

use std::sync::Arc;

use arrow::datatypes::FieldRef;
use tablegate_types::error::{ErrorKind, Notice, SqlError, SqlResult};
use tablegate_types::sql_type::SqlType;

use super::{Definition, FunctionContext, argument, boolean, int4, text};
use crate::activity::Activity;
use crate::pg_catalog::cells::Cell;

pub(super) const FUNCTIONS: &[Definition] = &[
    Definition::new("pg_cancel_backend", boolean, cancel).volatile(),
    Definition::new("pg_terminate_backend", boolean, terminate).volatile(),
    Definition::new("pg_blocking_pids", numbers, |context, arguments| {
        let process = process(arguments);
        Ok(Cell::numbers(process.map(|process| context.handles.locks.blocking(process)).unwrap_or_default()))
    })
    .volatile(),
    Definition::new(
        "statement_statistics_reset",
        |_| SqlType::Void,
        |context, _| {
            if !context.login.role.sees_others() {
                let message = "permission denied for function statement_statistics_reset";
                return Err(SqlError::new(ErrorKind::InsufficientPrivilege, message));
            }
            context.handles.statistics.reset();
            Ok(Cell::text(""))
        },
    )
    .volatile(),
    Definition::new("inet_client_addr", text, |context, _| {
        Ok(own(context).and_then(|own| own.address).map(|address| address.ip().to_string()).into())
    }),
    Definition::new("inet_client_port", int4, |context, _| {
        Ok(own(context).and_then(|own| own.address).map(|address| i32::from(address.port())).into())
    }),
];

fn numbers(_: &[FieldRef]) -> SqlType {
    SqlType::Array(Box::new(SqlType::Int4))
}

fn own(context: &FunctionContext) -> Option<Arc<Activity>> {
    context.handles.sessions.get(context.login.process)
}

fn process(arguments: &[Cell]) -> Option<i32> {
    argument(arguments, 0).as_int().and_then(|process| i32::try_from(process).ok())
}

/// The session that is meant; `None`, with a warning, when there is none.
fn other(context: &FunctionContext, arguments: &[Cell], verb: &str) -> SqlResult<Option<Arc<Activity>>> {
    let Some(process) = process(arguments) else { return Ok(None) };
    let Some(activity) = context.handles.sessions.get(process) else {
        let message = format!("PID {process} is not a PostgreSQL server process");
        context.handles.notices.add(Notice::warning(message));
        return Ok(None);
    };
    if activity.user != *context.user && !context.login.role.sees_others() {
        let message = format!("must be a member of the role whose {verb} or member of pg_signal_backend");
        return Err(SqlError::new(ErrorKind::InsufficientPrivilege, message));
    }
    Ok(Some(activity))
}

fn cancel(context: &FunctionContext, arguments: &[Cell]) -> SqlResult<Cell> {
    let activity = other(context, arguments, "query is being canceled")?;
    if let Some(activity) = &activity {
        activity.cancel();
    }
    Ok(activity.is_some().into())
}

/// Without waiting for it.
fn terminate(context: &FunctionContext, arguments: &[Cell]) -> SqlResult<Cell> {
    let activity = other(context, arguments, "process is being terminated")?;
    if let Some(activity) = &activity {
        if argument(arguments, 1).as_int().is_some_and(|patience| patience != 0) {
            return Err(SqlError::not_supported("pg_terminate_backend with a timeout")
                .with_hint("Call it without, and look into pg_stat_activity."));
        }
        activity.terminate();
    }
    Ok(activity.is_some().into())
}
