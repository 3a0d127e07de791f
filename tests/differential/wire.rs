//! A client that asks many statements in one write, and keeps of each answer what the comparison needs.
//!
//! It speaks the simple query protocol through the driver's own message types: RowDescription names the result types,
//! and values are as each server prints them.

use std::io::{ErrorKind, Read, Write};
use std::net::{SocketAddr, TcpStream};

use bytes::BytesMut;
use fallible_iterator::FallibleIterator;
use postgres_protocol::message::backend::{ErrorFields, Message};
use postgres_protocol::message::frontend;

use crate::support::PATIENCE;

/// A column of a result.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Column {
    pub name: String,
    pub oid: u32,
    pub typmod: i32,
}

/// The values of a row, as printed.
pub(super) type Row = Vec<Option<String>>;

/// What a server answers to a statement.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Answer {
    Done {
        columns: Vec<Column>,
        rows: Vec<Row>,
        /// As `INSERT 0 3`.
        tag: String,
    },
    Error {
        code: String,
        message: String,
        /// The character of the statement that it points to.
        position: Option<u32>,
    },
    /// The connection broke, or nothing came.
    Lost(String),
}

/// One connection.
#[derive(Debug)]
pub(super) struct Client {
    address: SocketAddr,
    user: String,
    stream: TcpStream,
    unread: BytesMut,
}

/// Settings that the two servers must share for answers to be equal.
const SESSION: &str = "SET TimeZone = 'UTC'; SET statement_timeout = '60s'; SET client_min_messages = 'error'";

impl Client {
    pub(super) fn connect(address: SocketAddr, user: &str) -> std::io::Result<Self> {
        let stream = TcpStream::connect(address)?;
        stream.set_nodelay(true)?;
        stream.set_read_timeout(Some(PATIENCE))?;
        let mut client = Self { address, user: user.to_owned(), stream, unread: BytesMut::new() };
        let mut bytes = BytesMut::new();
        // What can be planned once for all constants is, so that the short ways are compared too.
        let mode = ("plan_cache_mode", "force_generic_plan");
        frontend::startup_message([("user", user), ("database", "postgres"), mode], &mut bytes)?;
        client.stream.write_all(&bytes)?;
        client.answer()?;
        match client.ask(SESSION) {
            Answer::Done { .. } => Ok(client),
            other => Err(std::io::Error::other(format!("the session cannot be set up: {other:?}"))),
        }
    }

    /// The answer to one statement.
    pub(super) fn ask(&mut self, sql: &str) -> Answer {
        self.ask_all(&[sql.to_owned()]).pop().expect("an answer for each statement")
    }

    /// The answers to statements sent together, each a query of its own.
    pub(super) fn ask_all(&mut self, statements: &[String]) -> Vec<Answer> {
        let mut bytes = BytesMut::new();
        for statement in statements {
            frontend::query(statement, &mut bytes).expect("statements hold no NUL");
        }
        let mut answers = Vec::with_capacity(statements.len());
        let mut broken = self.stream.write_all(&bytes).err();
        while answers.len() < statements.len() {
            let answer = match broken.take() {
                Some(error) => Err(error),
                None => self.answer(),
            };
            match answer {
                Ok(answer) => answers.push(answer),
                Err(error) => {
                    answers.push(Answer::Lost(lost(&error)));
                    *self = Self::connect(self.address, &self.user).expect("the server takes another connection");
                    let rest = answers.len();
                    answers.extend(self.ask_all(&statements[rest..]));
                }
            }
        }
        answers
    }

    /// What comes until ReadyForQuery.
    fn answer(&mut self) -> std::io::Result<Answer> {
        let (mut columns, mut rows, mut last_tag) = (Vec::new(), Vec::new(), String::new());
        let mut failure = None;
        loop {
            match self.message()? {
                Message::RowDescription(body) => {
                    let described = body.fields().map(|field| {
                        let name = field.name().to_owned();
                        Ok(Column { name, oid: field.type_oid(), typmod: field.type_modifier() })
                    });
                    columns = described.collect()?;
                    rows.clear();
                }
                Message::DataRow(body) => {
                    let cells = body.ranges().map(|range| {
                        Ok(range.map(|range| String::from_utf8_lossy(&body.buffer()[range]).into_owned()))
                    });
                    rows.push(cells.collect()?);
                }
                Message::CommandComplete(body) => body.tag()?.clone_into(&mut last_tag),
                Message::ErrorResponse(body) => failure = Some(error(body.fields())?),
                Message::ReadyForQuery(_) => {
                    return Ok(failure.unwrap_or(Answer::Done { columns, rows, tag: last_tag }));
                }
                _ => {}
            }
        }
    }

    fn message(&mut self) -> std::io::Result<Message> {
        loop {
            if let Some(message) = Message::parse(&mut self.unread)? {
                return Ok(message);
            }
            let mut buffer = [0; 16 * 1024];
            let count = self.stream.read(&mut buffer)?;
            if count == 0 {
                return Err(ErrorKind::UnexpectedEof.into());
            }
            self.unread.extend_from_slice(&buffer[..count]);
        }
    }
}

fn lost(error: &std::io::Error) -> String {
    match error.kind() {
        ErrorKind::WouldBlock | ErrorKind::TimedOut => format!("no answer within {PATIENCE:?}"),
        kind => format!("the connection broke: {kind:?}"),
    }
}

fn error(mut fields: ErrorFields<'_>) -> std::io::Result<Answer> {
    let (mut code, mut message, mut position) = (String::new(), String::new(), None);
    while let Some(field) = fields.next()? {
        match field.type_() {
            b'C' => code = String::from_utf8_lossy(field.value_bytes()).into_owned(),
            b'M' => message = String::from_utf8_lossy(field.value_bytes()).into_owned(),
            b'P' => position = std::str::from_utf8(field.value_bytes()).ok().and_then(|text| text.parse().ok()),
            _ => {}
        }
    }
    Ok(Answer::Error { code, message, position })
}
