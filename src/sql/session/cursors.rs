//! DECLARE, FETCH, MOVE and CLOSE.

use datafusion::common::ScalarValue;
use futures::StreamExt;
use tablegate_types::error::{ErrorKind, SqlError, SqlResult};

use super::prepare::{Plan, Prepared};
use super::{Position, Session};
use crate::cursor::{Cursor, CursorRows, KeptBatches, fetch};
use crate::outcome::{CommandTag, Outcome, Rows, RowsTag};
use crate::statistics::OpenCursor;
use crate::syntax::{Command, CursorCommand, Declare, Fetch};

impl Session {
    /// Opens a cursor over a planned query.
    pub(super) async fn run_declare(
        &mut self,
        prepared: &Prepared,
        query: &Prepared,
        parameters: &[ScalarValue],
        position: Position,
    ) -> SqlResult<Outcome> {
        let Command::Cursor(CursorCommand::Declare(declare)) = &prepared.statement.command else {
            return Err(SqlError::new(ErrorKind::Internal, "a statement was planned as a DECLARE"));
        };
        let is_alone = position == Position::Last && !self.transaction.in_block();
        if is_alone && !declare.hold {
            let message = "DECLARE CURSOR can only be used in transaction blocks";
            return Err(SqlError::new(ErrorKind::NoActiveTransaction, message)
                .with_hint("Begin a transaction, or declare it WITH HOLD."));
        }
        self.cursors.check_free(&declare.name)?;
        if matches!(query.plan, Plan::Locking(_)) {
            check_locking(declare)?;
        }
        let Outcome::Rows(rows) = Box::pin(self.run(query, parameters, position)).await? else {
            return Err(SqlError::new(ErrorKind::Internal, "the query of a cursor gave no rows"));
        };
        let source = CursorRows::new(rows.stream, declare.scroll, self.kept_rows("rows of a cursor"));
        let (counted, depth) = (OpenCursor::new(self.engine.counters()), self.transaction.savepoints());
        let cursor = Cursor::new(declare, self.origin(prepared), rows.columns, source, depth, counted);
        self.cursors.add(declare.name.clone(), cursor);
        if is_alone && let Err(error) = self.cursors.hold().await {
            self.cursors.close(&declare.name)?;
            return Err(error);
        }
        Ok(Outcome::Done(CommandTag::Plain("DECLARE CURSOR")))
    }

    /// What a cursor keeps of its rows: none yet.
    pub(super) fn kept_rows(&self, purpose: &str) -> KeptBatches {
        let config = self.engine.config();
        KeptBatches::new(self.engine.memory(purpose), config.query_memory, config.spill_folder.clone())
    }

    pub(super) async fn run_cursor(&mut self, command: &CursorCommand) -> SqlResult<Outcome> {
        match command {
            CursorCommand::Declare(_) => {
                Err(SqlError::new(ErrorKind::Internal, "a statement with a plan was run without it"))
            }
            CursorCommand::Fetch(command) => self.run_fetch(command).await,
            CursorCommand::Close(None) => {
                self.cursors.close_all();
                Ok(Outcome::Done(CommandTag::Plain("CLOSE CURSOR ALL")))
            }
            CursorCommand::Close(Some(name)) => {
                self.cursors.close(name)?;
                Ok(Outcome::Done(CommandTag::Plain("CLOSE CURSOR")))
            }
        }
    }

    async fn run_fetch(&self, command: &Fetch) -> SqlResult<Outcome> {
        let cursor = self.cursors.get(&command.name)?;
        let mut stream = fetch(cursor.rows(&command.name)?, command.direction);
        if !command.moves {
            return Ok(Outcome::Rows(Rows { columns: cursor.columns.clone(), stream, tag: RowsTag::Fetch }));
        }
        let mut rows = 0;
        while let Some(batch) = stream.next().await {
            rows += batch?.num_rows() as u64;
        }
        Ok(Outcome::Done(CommandTag::Counted("MOVE", rows)))
    }
}

/// A cursor over locked rows can only go forward, and no further than its transaction.
fn check_locking(declare: &Declare) -> SqlResult<()> {
    let refused = |what: &str, must: &str| {
        let message = format!("DECLARE {what} ... FOR UPDATE/SHARE is not supported");
        Err(SqlError::new(ErrorKind::FeatureNotSupported, message)
            .with_detail(format!("{must} cursors must be READ ONLY.")))
    };
    if declare.hold {
        refused("CURSOR WITH HOLD", "Holdable")
    } else if declare.scroll == Some(true) {
        refused("SCROLL CURSOR", "Scrollable")
    } else {
        Ok(())
    }
}
