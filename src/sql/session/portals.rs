//! Portals of the extended protocol that have a name: to FETCH, MOVE and CLOSE they are cursors, and cursors are portals.

use std::sync::Arc;

use datafusion::common::ScalarValue;
use futures::future::BoxFuture;
use tablegate_types::error::{ErrorKind, SqlError, SqlResult};

use super::prepare::Prepared;
use super::{Position, Session, TransactionStatus};
use crate::cursor::{Cursor, CursorRows, Origin, fetch};
use crate::outcome::{Outcome, ResultColumn, Rows, RowsTag};
use crate::statistics::OpenCursor;
use crate::syntax::Direction;

impl Session {
    /// Opens a cursor over a query with its parameters.
    ///
    /// # Errors
    /// 42P03 when there is one of this name; as [`Session::execute`].
    pub fn open_portal<'a>(
        &'a mut self,
        name: &'a str,
        prepared: &'a Prepared,
        parameters: Vec<ScalarValue>,
    ) -> BoxFuture<'a, SqlResult<()>> {
        Box::pin(async move {
            self.cursors.check_free(name)?;
            let Outcome::Rows(rows) = self.execute(prepared, parameters, Position::MoreFollow).await? else {
                return Err(SqlError::new(ErrorKind::Internal, "the query of a portal gave no rows"));
            };
            let source = CursorRows::new(rows.stream, None, self.kept_rows("rows of a portal"));
            let (counted, depth) = (OpenCursor::new(self.engine.counters()), self.transaction.savepoints());
            let cursor = Cursor::of_portal(self.origin(prepared), rows.columns, source, depth, counted);
            self.cursors.add(name.to_owned(), cursor);
            Ok(())
        })
    }

    /// Where a cursor comes from that a statement makes now.
    pub(super) fn origin(&self, prepared: &Prepared) -> Origin {
        Origin { statement: prepared.statement().whole_text().to_owned(), made: self.engine.now().unix_micros() }
    }

    /// The columns of an open cursor, and whether they go out in the binary format.
    ///
    /// # Errors
    /// 34000 when there is none.
    pub fn portal_columns(&self, name: &str) -> SqlResult<(Arc<[ResultColumn]>, bool)> {
        let cursor = self.cursors.get(name).map_err(|_unknown| no_portal(name))?;
        Ok((cursor.columns.clone(), cursor.binary))
    }

    /// The next rows of an open cursor, at most so many.
    ///
    /// # Errors
    /// 34000 when there is none, 25P02 in a failed transaction, 55006 while another statement reads it.
    pub fn fetch_portal(&self, name: &str, limit: Option<u64>) -> SqlResult<Rows> {
        if self.transaction_status() == TransactionStatus::Failed {
            return Err(super::aborted());
        }
        let cursor = self.cursors.get(name).map_err(|_unknown| no_portal(name))?;
        let stream = fetch(cursor.rows(name)?, Direction::Forward(limit));
        Ok(Rows { columns: cursor.columns.clone(), stream, tag: RowsTag::Select })
    }

    /// Closes a cursor, if there is one of this name.
    pub fn close_portal(&mut self, name: &str) {
        // To the protocol it is no error if there is none.
        let _ = self.cursors.close(name);
    }

    pub fn has_portal(&self, name: &str) -> bool {
        self.cursors.get(name).is_ok()
    }
}

fn no_portal(name: &str) -> Box<SqlError> {
    SqlError::new(ErrorKind::UndefinedCursor, format!("portal \"{name}\" does not exist"))
}
