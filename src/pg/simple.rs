//! The simple protocol: a text with any number of statements, each finished before the next is looked at.

use bytes::Bytes;
use pgwire::messages::PgWireBackendMessage;
use pgwire::messages::response::EmptyQueryResponse;

use super::connection::Connection;
use super::halt::Halt;
use super::params::Format;
use super::rows::{self, Cursor};
use super::{body, copy};
use crate::sql::error::{ErrorKind, SqlError};
use crate::sql::outcome::{CommandTag, Outcome, Rows};
use crate::sql::session::{Position, Statement};

/// Query.
pub(super) async fn query(connection: &mut Connection, body: Bytes) -> Result<(), Halt> {
    let text = body::query(body)?;
    connection.session.show_running(&text);
    connection.session.statements().remove("");
    connection.portals.remove("");
    let statements = connection.session.parse(&text)?;
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

async fn run(connection: &mut Connection, statement: Statement, position: Position) -> Result<(), Halt> {
    let prepared = connection.prepare(statement, &[]).await?;
    if !prepared.parameters.is_empty() {
        return Err(SqlError::new(ErrorKind::UndefinedParameter, "there is no parameter $1").into());
    }
    let format = if prepared.is_binary { Format::Binary } else { Format::Text };
    let tag = match connection.execute(&prepared, Vec::new(), position).await? {
        Outcome::Rows(rows) => send_rows(connection, rows, format).await?,
        Outcome::Done(tag) => tag,
        Outcome::CopyIn(start) => copy::receive(connection, &start, |_| position).await?,
        Outcome::CopyOut(out) => copy::send(connection, out).await?,
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
    connection.outbox.send(&rows::description(Some(&rows.columns), &formats));
    let mut cursor = Cursor::new(&mut connection.session, rows, formats).await?;
    let sent = cursor.send(&mut connection.sending(), None).await?;
    Ok(cursor.tag.complete(sent.rows))
}
