//! One connection: simple queries out, text back as PostgreSQL prints it.
//!
//! NULL is `NULL`, an empty string `(empty)`, a line break `\n`. An error is `(SQLSTATE) message`, then its DETAIL and HINT
//! on lines of their own; `statement error (23505)` compares the code alone. The query `\notices` gives the notices
//! since it was last asked, one a row.

use std::fmt;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use async_trait::async_trait;
use futures::future::poll_fn;
use sqllogictest::{AsyncDB, DBOutput, DefaultColumnType};
use tokio::net::TcpStream;
use tokio_postgres::tls::NoTlsStream;
use tokio_postgres::{AsyncMessage, Config, Connection, NoTls, SimpleQueryMessage};

type Notices = Arc<Mutex<Vec<String>>>;

pub(super) struct Client {
    /// `None` once it is shut down.
    client: Option<tokio_postgres::Client>,
    notices: Notices,
}

/// What the server, or the connection to it, says is wrong.
#[derive(Debug)]
pub(super) struct ClientError {
    sqlstate: Option<String>,
    text: String,
}

impl Client {
    /// `options` are settings of the session, as in the start-up packet.
    pub(super) async fn connect(address: SocketAddr, options: &str) -> Result<Self, ClientError> {
        let stream = TcpStream::connect(address).await.map_err(|e| ClientError::of_connection(&e))?;
        let (client, connection) =
            Config::new().user("golden").dbname("tablegate").options(options).connect_raw(stream, NoTls).await?;
        let notices = Notices::default();
        tokio::spawn(receive(connection, notices.clone()));
        Ok(Self { client: Some(client), notices })
    }

    fn take_notices(&self) -> DBOutput<DefaultColumnType> {
        let notices = std::mem::take(&mut *self.notices.lock().expect("nobody panics with it"));
        let rows = notices.into_iter().map(|notice| vec![notice]).collect();
        DBOutput::Rows { types: vec![DefaultColumnType::Text], rows }
    }
}

#[async_trait]
impl AsyncDB for Client {
    type Error = ClientError;
    type ColumnType = DefaultColumnType;

    async fn run(&mut self, sql: &str) -> Result<DBOutput<DefaultColumnType>, ClientError> {
        if sql.trim() == "\\notices" {
            return Ok(self.take_notices());
        }
        let client = self.client.as_ref().expect("it is not shut down yet");
        Ok(output(client.simple_query(sql).await?))
    }

    async fn shutdown(&mut self) {
        self.client = None;
    }

    async fn sleep(duration: Duration) {
        tokio::time::sleep(duration).await;
    }

    fn error_sql_state(error: &ClientError) -> Option<String> {
        error.sqlstate.clone()
    }
}

/// The rows of a query text, or the count of its last statement.
fn output(messages: Vec<SimpleQueryMessage>) -> DBOutput<DefaultColumnType> {
    let mut rows = Vec::new();
    let mut width = None;
    let mut count = 0;
    for message in messages {
        match message {
            SimpleQueryMessage::RowDescription(columns) => {
                width = Some(columns.len());
                rows.clear();
            }
            SimpleQueryMessage::Row(row) if !is_of_remote_store(row.get(0)) => {
                rows.push((0..row.len()).map(|i| cell(row.get(i))).collect());
            }
            SimpleQueryMessage::CommandComplete(n) => count = n,
            _ => {}
        }
    }
    match width {
        Some(width) => DBOutput::Rows { types: vec![DefaultColumnType::Any; width], rows },
        None => DBOutput::StatementComplete(count),
    }
}

/// Whether it is a line of EXPLAIN that only a store over a network has: `tests/azure` holds those.
fn is_of_remote_store(value: Option<&str>) -> bool {
    const LINES: [&str; 3] = ["Planned Requests: ", "Query Filters: ", "Select: "];
    value.is_some_and(|value| LINES.iter().any(|line| value.trim_start().starts_with(line)))
}

fn cell(value: Option<&str>) -> String {
    match value {
        None => "NULL".to_owned(),
        Some("") => "(empty)".to_owned(),
        Some(text) => text.replace('\n', "\\n"),
    }
}

/// Drives the connection until it ends, and keeps what the server says meanwhile.
async fn receive(mut connection: Connection<TcpStream, NoTlsStream>, notices: Notices) {
    while let Some(Ok(message)) = poll_fn(|context| connection.poll_message(context)).await {
        if let AsyncMessage::Notice(notice) = message {
            let text = format!("{}: {}", notice.severity(), notice.message());
            notices.lock().expect("nobody panics with it").push(text);
        }
    }
}

impl ClientError {
    fn of_connection(error: &dyn fmt::Display) -> Self {
        Self { sqlstate: None, text: format!("connection failed: {error}") }
    }
}

impl From<tokio_postgres::Error> for ClientError {
    fn from(error: tokio_postgres::Error) -> Self {
        let Some(told) = error.as_db_error() else { return Self::of_connection(&error) };
        let mut text = format!("({}) {}", told.code().code(), told.message());
        for (name, extra) in [("DETAIL", told.detail()), ("HINT", told.hint())] {
            if let Some(extra) = extra {
                text.push_str(&format!("\n{name}: {extra}"));
            }
        }
        Self { sqlstate: Some(told.code().code().to_owned()), text }
    }
}

impl fmt::Display for ClientError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

impl std::error::Error for ClientError {}
