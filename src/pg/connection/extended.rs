//! The extended protocol: statements are parsed, bound, described and executed by separate messages, up to a Sync.

use std::sync::Arc;

use bytes::Bytes;
use pgwire::messages::PgWireBackendMessage;
use pgwire::messages::data::ParameterDescription;
use pgwire::messages::extendedquery::PortalSuspended;
use pgwire::messages::response::EmptyQueryResponse;
use tablegate_sql::outcome::{Outcome, ResultColumn};
use tablegate_sql::session::{NamedStatement, Position, Prepared};
use tablegate_types::error::{ErrorKind, SqlError, SqlResult};
use tablegate_types::oid;
use tablegate_types::sql_type::SqlType;

use super::{Connection, copy};
use crate::body;
use crate::error::Failure;
use crate::halt::Halt;
use crate::params::{self, Format};
use crate::portal::{Portal, PortalState};
use crate::rows::{self, Cursor};

/// Messages without a body.
const PARSE_COMPLETE: u8 = b'1';
const BIND_COMPLETE: u8 = b'2';
const CLOSE_COMPLETE: u8 = b'3';

/// Parse: plans a statement and keeps it under its name.
pub(super) async fn parse(connection: &mut Connection, body: Bytes) -> Result<(), Halt> {
    connection.arm_timeout();
    let message = body::parse(body)?;
    connection.session.show_running(&message.query);
    let name = message.name.unwrap_or_default();
    if name.is_empty() {
        connection.session.statements().remove("");
    } else {
        connection.session.statements().check_free(&name)?;
    }
    let declared: Vec<SqlType> = message.type_oids.iter().map(|oid| declared_type(*oid)).collect::<SqlResult<_>>()?;
    let prepared = match connection.session.planned_before(&message.query, &declared) {
        Ok(prepared) => Some(prepared),
        Err(text) => {
            let prepared = prepare(connection, &message.query, &declared).await?;
            if let Some(prepared) = &prepared {
                connection.session.remember(&text, prepared);
            }
            prepared
        }
    };
    let named = NamedStatement { prepared, declared_oids: message.type_oids };
    connection.session.keep_statement(name, named, &message.query)?;
    connection.outbox.send_bare(PARSE_COMPLETE);
    Ok(())
}

/// Plans the statement of a text, where it has one.
async fn prepare(connection: &mut Connection, text: &str, declared: &[SqlType]) -> Result<Option<Arc<Prepared>>, Halt> {
    let work = connection.session.many_rows(text, declared);
    if let Some(prepared) = connection.interrupts.guard(&mut connection.reader, work).await? {
        return Ok(Some(Arc::new(prepared)));
    }
    let mut statements = connection.interrupts.run(|| connection.session.parse(text))?.into_iter();
    let statement = statements.next();
    if statements.next().is_some() {
        let text = "cannot insert multiple commands into a prepared statement";
        return Err(SqlError::new(ErrorKind::Syntax, text).into());
    }
    Ok(match statement {
        Some(statement) => Some(Arc::new(connection.prepare(statement, declared).await?)),
        None => None,
    })
}

/// Bind: gives a statement's parameters their values.
pub(super) async fn bind(connection: &mut Connection, body: Bytes) -> Result<(), Halt> {
    connection.arm_timeout();
    let message = body::bind(body)?;
    let name = message.portal_name.unwrap_or_default();
    let statement_name = message.statement_name.unwrap_or_default();
    let statement = connection.session.statements().get(&statement_name)?;
    if !name.is_empty() && is_taken(connection, &name) {
        let text = format!("portal \"{name}\" already exists");
        return Err(SqlError::new(ErrorKind::DuplicateCursor, text).into());
    }
    let types = statement.prepared.as_ref().map_or(&[][..], |prepared| &prepared.parameters);
    let given = message.parameters.len();
    let codes = &message.parameter_format_codes;
    let formats = Format::spread(codes, given, || {
        format!("bind message has {} parameter formats but {given} parameters", codes.len())
    })?;
    if given != types.len() {
        return Err(Failure::protocol(format!(
            "bind message supplies {given} parameters, but prepared statement \"{statement_name}\" requires {}",
            types.len()
        ))
        .into());
    }
    let reading = connection.session.reading();
    let mut parameters = Vec::with_capacity(given);
    for (index, ((value, sql_type), format)) in message.parameters.iter().zip(types).zip(formats).enumerate() {
        parameters.push(params::decode(sql_type, format, value.as_deref(), index + 1, reading)?);
    }
    let columns = statement.prepared.as_ref().and_then(|prepared| prepared.columns.as_deref());
    let codes = &message.result_column_format_codes;
    let formats = match columns {
        Some(columns) => Format::spread(codes, columns.len(), || {
            format!("bind message has {} result formats but query has {} columns", codes.len(), columns.len())
        })?,
        None => Vec::new(),
    };
    let mut portal = Portal { statement, parameters, formats, state: PortalState::Ready };
    if !name.is_empty() {
        Box::pin(open_cursor(connection, &name, &mut portal)).await?;
    }
    connection.portals.insert(name, portal);
    connection.outbox.send_bare(BIND_COMPLETE);
    Ok(())
}

/// Describe: what a statement takes and gives, or what a portal gives.
pub(super) fn describe(connection: &mut Connection, body: Bytes) -> Result<(), Halt> {
    connection.arm_timeout();
    let message = body::describe(body)?;
    let name = message.name.unwrap_or_default();
    if message.target_type == b'S' {
        let statement = connection.session.statements().get(&name)?;
        let types = ParameterDescription::new(parameter_oids(&statement));
        connection.outbox.send(&PgWireBackendMessage::ParameterDescription(types));
        rows::describe(columns_of(&statement), std::iter::empty(), &mut connection.outbox)?;
    } else if let Some(portal) = connection.portals.get(&name) {
        let formats = portal.formats.iter().copied();
        rows::describe(columns_of(&portal.statement), formats, &mut connection.outbox)?;
    } else {
        let (columns, format) = cursor_of(connection, &name)?;
        rows::describe(Some(&columns), std::iter::repeat(format), &mut connection.outbox)?;
    }
    Ok(())
}

/// Execute: runs a portal, or goes on with it, for a number of rows.
pub(super) async fn execute(connection: &mut Connection, body: Bytes) -> Result<(), Halt> {
    connection.arm_timeout();
    let message = body::execute(body)?;
    let name = message.name.unwrap_or_default();
    // None for zero and below: all rows.
    let limit = u64::try_from(message.max_rows).ok().filter(|limit| *limit > 0);
    // While it runs it is not in the map: a portal that fails is gone.
    let Some(mut portal) = connection.portals.remove(&name) else {
        let (columns, format) = cursor_of(connection, &name)?;
        Box::pin(fetch(connection, &name, vec![format; columns.len()], limit)).await?;
        connection.interrupts.disarm();
        return Ok(());
    };
    let state = std::mem::replace(&mut portal.state, PortalState::Finished(None));
    let state = match state {
        PortalState::Ready => start(connection, &mut portal, limit).await?,
        PortalState::Cursor => {
            Box::pin(fetch(connection, &name, portal.formats.clone(), limit)).await?;
            PortalState::Cursor
        }
        PortalState::Suspended(cursor) => send_rows(connection, cursor, limit).await?,
        PortalState::Finished(Some(tag)) => {
            connection.complete(tag.complete(0));
            PortalState::Finished(Some(tag))
        }
        PortalState::Finished(None) => {
            let text = format!("portal \"{name}\" cannot be run");
            return Err(SqlError::new(ErrorKind::ObjectNotInState, text).into());
        }
    };
    portal.state = state;
    connection.portals.insert(name, portal);
    connection.interrupts.disarm();
    Ok(())
}

/// Close: forgets a statement or portal; it is no error if there is none.
pub(super) fn close(connection: &mut Connection, body: Bytes) -> Result<(), Halt> {
    let message = body::close(body)?;
    let name = message.name.unwrap_or_default();
    if message.target_type == b'S' {
        connection.session.statements().remove(&name);
    } else {
        connection.portals.remove(&name);
        connection.session.close_portal(&name);
    }
    connection.outbox.send_bare(CLOSE_COMPLETE);
    Ok(())
}

/// Sync: what the series has written is committed.
pub(super) async fn sync(connection: &mut Connection) -> Result<(), Halt> {
    connection.finish_implicit().await
}

/// Whether there is an open portal of this name. CLOSE may have ended it.
fn is_taken(connection: &Connection, name: &str) -> bool {
    match connection.portals.get(name) {
        Some(Portal { state: PortalState::Cursor, .. }) => connection.session.has_portal(name),
        Some(_) => true,
        None => false,
    }
}

/// Makes a cursor of a portal with a name, if it is a query's: statements may name it before it is executed.
async fn open_cursor(connection: &mut Connection, name: &str, portal: &mut Portal) -> Result<(), Halt> {
    let Some(prepared) = portal.statement.prepared.clone() else { return Ok(()) };
    if prepared.is_query() {
        let parameters = std::mem::take(&mut portal.parameters);
        connection.open_portal(name, &prepared, parameters).await?;
        portal.state = PortalState::Cursor;
    }
    Ok(())
}

/// The columns of a cursor that DECLARE made, and their format.
fn cursor_of(connection: &Connection, name: &str) -> SqlResult<(Arc<[ResultColumn]>, Format)> {
    let (columns, is_binary) = connection.session.portal_columns(name)?;
    Ok((columns, if is_binary { Format::Binary } else { Format::Text }))
}

/// Sends the next rows of a cursor.
async fn fetch(connection: &mut Connection, name: &str, formats: Vec<Format>, limit: Option<u64>) -> Result<(), Halt> {
    let rows = connection.session.fetch_portal(name, limit)?;
    let mut cursor = Cursor::new(&mut connection.session, rows, formats).await?;
    let sent = cursor.send(&mut connection.sending(), None).await?;
    if limit.is_some_and(|limit| sent.rows == limit) {
        connection.outbox.send(&PgWireBackendMessage::PortalSuspended(PortalSuspended::new()));
    } else {
        connection.complete(cursor.tag.complete(sent.rows));
    }
    Ok(())
}

async fn start(connection: &mut Connection, portal: &mut Portal, limit: Option<u64>) -> Result<PortalState, Halt> {
    let Some(prepared) = &portal.statement.prepared else {
        connection.outbox.send(&PgWireBackendMessage::EmptyQueryResponse(EmptyQueryResponse::new()));
        return Ok(PortalState::Ready);
    };
    connection.session.show_running(prepared.text());
    let position = position_now(connection);
    if limit.is_none()
        && let Some(single) = connection.execute_single(prepared, &portal.parameters, position).await?
    {
        let tag = connection.send_single(&single, &portal.formats)?;
        connection.complete(tag);
        return Ok(PortalState::Finished(Some(single.tag)));
    }
    let parameters = std::mem::take(&mut portal.parameters);
    let tag = match connection.execute(prepared, parameters, position).await? {
        Outcome::Rows(rows) => {
            let cursor = Box::new(Cursor::new(&mut connection.session, rows, portal.formats.clone()).await?);
            return send_rows(connection, cursor, limit).await;
        }
        Outcome::Done(tag) => tag,
        Outcome::CopyIn(start) => Box::pin(copy::receive(connection, &start, position_now)).await?,
        Outcome::CopyOut(out) => Box::pin(copy::send(connection, out)).await?,
    };
    connection.complete(tag);
    Ok(PortalState::Finished(None))
}

async fn send_rows(
    connection: &mut Connection,
    mut cursor: Box<Cursor>,
    limit: Option<u64>,
) -> Result<PortalState, Halt> {
    let sent = cursor.send(&mut connection.sending(), limit).await?;
    if sent.complete {
        let tag = cursor.tag;
        connection.complete(tag.complete(sent.rows));
        return Ok(PortalState::Finished(Some(tag)));
    }
    connection.outbox.send(&PgWireBackendMessage::PortalSuspended(PortalSuspended::new()));
    Ok(PortalState::Suspended(cursor))
}

/// A statement is the last of its implicit transaction when the client's next message is the Sync.
fn position_now(connection: &mut Connection) -> Position {
    if connection.reader.sync_is_next() { Position::Last } else { Position::MoreFollow }
}

fn columns_of(statement: &NamedStatement) -> Option<&[ResultColumn]> {
    statement.prepared.as_ref()?.columns.as_deref()
}

/// The type that a client declares for a parameter. What it calls a `bpchar` has no length of its own: what it stands beside says
/// what it is, as for one that is not declared.
fn declared_type(oid: u32) -> SqlResult<SqlType> {
    if oid == oid::BPCHAR_OID {
        return Ok(SqlType::Unknown);
    }
    oid::of_oid(oid).ok_or_else(|| SqlError::not_supported(format!("a parameter of the type with OID {oid}")))
}

/// Types of the parameters as the client is told them: what it declared, where it did, else what was found out.
fn parameter_oids(statement: &NamedStatement) -> Vec<u32> {
    let found = statement.prepared.as_ref().map_or(&[][..], |prepared| &prepared.parameters);
    let declared = statement.declared_oids.iter().copied().chain(std::iter::repeat(0));
    found
        .iter()
        .zip(declared)
        .map(|(found, declared)| if declared == 0 { oid::sent_oid(found) } else { declared })
        .collect()
}
