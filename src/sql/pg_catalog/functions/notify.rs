//! NOTIFY as a function, and what a session listens to.

use arrow::datatypes::FieldRef;
use tablegate_types::error::SqlResult;
use tablegate_types::sql_type::SqlType;

use super::{Definition, FunctionContext, argument};
use crate::pg_catalog::cells::Cell;

pub(super) const FUNCTIONS: &[Definition] = &[
    Definition::new("pg_notify", |_| SqlType::Void, notify).of_nulls().volatile(),
    // The rows of pg_listening_channels().
    Definition::new("listening_channels", texts, |c, _| Ok(Cell::texts(&c.handles.listener.channels()))),
    Definition::new(
        "pg_notification_queue_usage",
        |_| SqlType::Float8,
        |c, _| Ok(Cell::Float(c.handles.listener.usage())),
    )
    .volatile(),
];

fn notify(context: &FunctionContext, arguments: &[Cell]) -> SqlResult<Cell> {
    let channel = argument(arguments, 0).as_text().unwrap_or_default();
    let payload = argument(arguments, 1).as_text().unwrap_or_default();
    context.handles.listener.notify(&channel, &payload)?;
    Ok(Cell::text(""))
}

fn texts(_: &[FieldRef]) -> SqlType {
    SqlType::Array(Box::new(SqlType::Text))
}
