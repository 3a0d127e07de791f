//! One client's session: its settings, its transaction, its statements.

use std::sync::Arc;

use datafusion::common::ScalarValue;
use datafusion::prelude::SessionContext;
use futures::StreamExt;

use super::error::{ErrorKind, Notice, SqlError, SqlResult};
use super::outcome::{CommandTag, Outcome, ResultColumn, Rows, RowsTag};
use super::types::SqlType;

/// What the server knows, shared by all sessions.
pub struct Engine {}

impl Engine {
    pub fn new() -> Arc<Self> {
        Arc::new(Self {})
    }
}

/// What the client said at start-up.
#[derive(Debug, Clone, Default)]
pub struct SessionOptions {
    pub user: String,
    pub database: String,
    /// Settings from the startup packet, `options=-c name=value` among them, in order.
    pub settings: Vec<(String, String)>,
}

/// The status byte of ReadyForQuery.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TransactionStatus {
    Idle,
    InBlock,
    Failed,
}

/// Where a statement stands in its implicit transaction (outside BEGIN).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Position {
    /// The last one before the client waits: what is pending commits inside `execute`.
    Last,
    /// More statements follow before the next Sync (or in the same simple query).
    MoreFollow,
}

/// One statement of a query text: parsed and classified, not planned.
pub struct Statement {
    pub text: String,
}

/// A planned statement.
pub struct Prepared {
    pub parameters: Vec<SqlType>,
    /// `None` when it returns no rows.
    pub columns: Option<Arc<[ResultColumn]>>,
    text: String,
}

pub struct Session {
    context: SessionContext,
}

impl Session {
    pub fn new(_engine: Arc<Engine>, _options: SessionOptions) -> SqlResult<Self> {
        Ok(Self { context: SessionContext::new() })
    }

    /// Splits a query text into its statements; none for an empty text.
    pub fn parse(&self, sql: &str) -> SqlResult<Vec<Statement>> {
        Ok(sql.split(';').filter(|s| !s.trim().is_empty()).map(|s| Statement { text: s.to_owned() }).collect())
    }

    /// Plans a statement. `declared` are the parameter types the client gave, `Unknown` where it left them open.
    /// In a failed transaction only COMMIT and ROLLBACK forms get through (25P02).
    pub async fn prepare(&mut self, statement: Statement, _declared: &[SqlType]) -> SqlResult<Prepared> {
        let frame = self.context.sql(&statement.text).await.map_err(internal)?;
        let columns = frame.schema().fields().iter().map(|f| ResultColumn {
            name: f.name().clone(),
            sql_type: SqlType::of_field(f),
            table_oid: 0,
            attribute: 0,
        });
        Ok(Prepared { parameters: vec![], columns: Some(columns.collect()), text: statement.text })
    }

    /// Runs a planned statement. Dropping the future or the returned rows cancels it; a commit already handed to the
    /// store runs to its end all the same.
    pub async fn execute(
        &mut self,
        prepared: &Prepared,
        _parameters: Vec<ScalarValue>,
        _position: Position,
    ) -> SqlResult<Outcome> {
        let frame = self.context.sql(&prepared.text).await.map_err(internal)?;
        let stream = frame.execute_stream().await.map_err(internal)?;
        let columns = prepared.columns.clone().unwrap_or_default();
        let stream = Box::pin(stream.map(|batch| batch.map_err(internal)));
        Ok(Outcome::Rows(Rows { columns, stream, tag: RowsTag::Select }))
    }

    /// A piece of COPY FROM STDIN input, cut anywhere.
    pub async fn copy_data(&mut self, _data: &[u8]) -> SqlResult<()> {
        Err(SqlError::not_supported("COPY"))
    }

    /// The input is complete: commits what is left.
    pub async fn copy_done(&mut self, _position: Position) -> SqlResult<CommandTag> {
        Err(SqlError::not_supported("COPY"))
    }

    /// The client gave up (CopyFail) or the input was bad: forgets what is not committed.
    pub fn copy_abort(&mut self) {}

    /// Sync, or the end of a simple query: commits an implicit transaction that is still open.
    pub async fn finish_implicit(&mut self) -> SqlResult<()> {
        Ok(())
    }

    /// An error went to the client: an implicit transaction is dropped, a block becomes failed.
    pub fn fail(&mut self) {}

    pub fn transaction_status(&self) -> TransactionStatus {
        TransactionStatus::Idle
    }

    /// NOTICEs and WARNINGs since the last call, in order, already filtered by client_min_messages.
    pub fn take_notices(&mut self) -> Vec<Notice> {
        Vec::new()
    }

    /// Settings to report as ParameterStatus since the last call; all reportable ones at the first call.
    pub fn take_parameter_changes(&mut self) -> Vec<(&'static str, String)> {
        Vec::new()
    }

    /// `statement_timeout` in force.
    pub fn statement_timeout(&self) -> Option<std::time::Duration> {
        None
    }
}

fn internal(error: datafusion::error::DataFusionError) -> Box<SqlError> {
    SqlError::new(ErrorKind::Internal, error.to_string())
}
