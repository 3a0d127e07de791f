//! The simple protocol: a text with any number of statements, each finished before the next is looked at.

use bytes::Bytes;
use pgwire::messages::PgWireBackendMessage;
use pgwire::messages::response::EmptyQueryResponse;
use tablegate_sql::outcome::{CommandTag, Outcome, Rows};
use tablegate_sql::session::{Position, Repeated, Statement};
use tablegate_types::error::{ErrorKind, SqlError};

use super::{Connection, copy};
use crate::body;
use crate::halt::Halt;
use crate::params::Format;
use crate::rows::{self, Cursor};

/// So often a statement is planned again whose tables are changed between its plan and its locks: a bound, so that a table
/// which is changed all the time cannot hold it up for ever.
const PLANNED_AGAIN_MAX: usize = 5;

/// Query.
pub(super) async fn query(connection: &mut Connection, body: Bytes) -> Result<(), Halt> {
    let text = body::query(body)?;
    connection.session.show_running(&text);
    connection.session.statements().remove("");
    connection.portals.remove("");
    if run_repeated(connection, &text).await? {
        return Ok(());
    }
    let statements = connection.interrupts.run(|| connection.session.parse(&text))?;
    if statements.is_empty() {
        connection.outbox.send(&PgWireBackendMessage::EmptyQueryResponse(EmptyQueryResponse::new()));
        return Ok(());
    }
    let mut statements = statements.into_iter().peekable();
    while let Some(statement) = statements.next() {
        let position = if statements.peek().is_some() { Position::MoreFollow } else { Position::Last };
        connection.interrupts.disarm();
        connection.arm_timeout();
        run(connection, statement, position).await?;
    }
    Ok(())
}

/// Runs a statement that came before with other constants; false where it has to be parsed and planned.
async fn run_repeated(connection: &mut Connection, text: &str) -> Result<bool, Halt> {
    connection.arm_timeout();
    let work = connection.session.repeated(text);
    let repeated = connection.interrupts.guard(&mut connection.reader, work).await?;
    let Some(Repeated { prepared, parameters }) = repeated else { return Ok(false) };
    if let Some(single) = connection.execute_single(&prepared, &parameters, Position::Last).await? {
        rows::check_width(Some(&single.columns))?;
        let formats = vec![Format::Text; single.columns.len()];
        rows::describe(Some(&single.columns), formats.iter().copied(), &mut connection.outbox)?;
        let tag = connection.send_single(&single, &formats)?;
        connection.finish_implicit().await?;
        connection.complete(tag);
        return Ok(true);
    }
    let outcome = match connection.execute(&prepared, parameters, Position::Last).await {
        // The catalogue has changed in this very moment.
        Err(Halt::Statement(failure)) if failure.is_plan_changed() => return Ok(false),
        outcome => outcome?,
    };
    finish(connection, outcome, Format::Text, Position::Last).await?;
    Ok(true)
}

async fn run(connection: &mut Connection, statement: Statement, position: Position) -> Result<(), Halt> {
    let mut prepared = connection.prepare(statement, &[]).await?;
    if !prepared.parameters.is_empty() {
        return Err(SqlError::new(ErrorKind::UndefinedParameter, "there is no parameter $1").into());
    }
    let format = if prepared.is_binary { Format::Binary } else { Format::Text };
    let mut outcome = connection.execute(&prepared, Vec::new(), position).await;
    for _ in 0..PLANNED_AGAIN_MAX {
        match outcome {
            // A table was changed while its lock was waited for. The client has not been told of any columns yet.
            Err(Halt::Statement(failure)) if failure.is_plan_changed() => {
                prepared = connection.prepare(prepared.statement().clone(), &[]).await?;
                outcome = connection.execute(&prepared, Vec::new(), position).await;
            }
            _ => break,
        }
    }
    finish(connection, outcome?, format, position).await
}

/// Sends what a statement gives, and says that it is complete.
async fn finish(connection: &mut Connection, outcome: Outcome, format: Format, position: Position) -> Result<(), Halt> {
    let tag = match outcome {
        Outcome::Rows(rows) => send_rows(connection, rows, format).await?,
        Outcome::Done(tag) => tag,
        Outcome::CopyIn(start) => Box::pin(copy::receive(connection, &start, |_| position)).await?,
        Outcome::CopyOut(out) => Box::pin(copy::send(connection, out)).await?,
    };
    if position == Position::Last {
        // The last statement is complete only when what came before it is committed too.
        connection.finish_implicit().await?;
    }
    connection.complete(tag);
    Ok(())
}

async fn send_rows(connection: &mut Connection, rows: Rows, format: Format) -> Result<CommandTag, Halt> {
    rows::check_width(Some(&rows.columns))?;
    let formats = vec![format; rows.columns.len()];
    rows::describe(Some(&rows.columns), formats.iter().copied(), &mut connection.outbox)?;
    let mut cursor = Cursor::new(&mut connection.session, rows, formats).await?;
    let sent = cursor.send(&mut connection.sending(), None).await?;
    Ok(cursor.tag.complete(sent.rows))
}
