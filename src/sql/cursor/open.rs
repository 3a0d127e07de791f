//! The open cursors of a session.

use std::collections::BTreeMap;
use std::sync::Arc;

use tablegate_types::error::{ErrorKind, SqlError, SqlResult};
use tokio::sync::{Mutex, OwnedMutexGuard};

use super::rows::CursorRows;
use crate::outcome::ResultColumn;
use crate::statistics::OpenCursor;
use crate::syntax::Declare;

/// Where a cursor comes from.
#[derive(Debug, Clone)]
pub(crate) struct Origin {
    /// The statement that made it.
    pub statement: String,
    /// When, in microseconds since 1970-01-01.
    pub made: i64,
}

/// A cursor as `pg_cursors` shows it.
#[derive(Debug, Clone)]
pub(crate) struct ShownCursor {
    pub name: String,
    pub origin: Origin,
    pub is_holdable: bool,
    pub is_binary: bool,
    pub is_scrollable: bool,
}

/// A cursor that is open.
pub(crate) struct Cursor {
    pub columns: Arc<[ResultColumn]>,
    pub binary: bool,
    /// Declared WITH HOLD.
    hold: bool,
    scroll: bool,
    origin: Origin,
    rows: Arc<Mutex<CursorRows>>,
    /// The savepoints there were when it was declared; `None` once it has outlived its transaction.
    depth: Option<usize>,
    _counted: OpenCursor,
}

impl Cursor {
    /// As declared, within so many savepoints.
    pub(crate) fn new(
        declare: &Declare,
        origin: Origin,
        columns: Arc<[ResultColumn]>,
        rows: CursorRows,
        depth: usize,
        counted: OpenCursor,
    ) -> Self {
        let portal = Self::of_portal(origin, columns, rows, depth, counted);
        // Without a word it goes back as far as its rows are in memory.
        let scroll = declare.scroll != Some(false);
        Self { binary: declare.binary, hold: declare.hold, scroll, ..portal }
    }

    /// Of the extended protocol, made within so many savepoints.
    pub(crate) fn of_portal(
        origin: Origin,
        columns: Arc<[ResultColumn]>,
        rows: CursorRows,
        depth: usize,
        counted: OpenCursor,
    ) -> Self {
        let rows = Arc::new(Mutex::new(rows));
        let depth = Some(depth);
        Self { columns, binary: false, hold: false, scroll: false, origin, rows, depth, _counted: counted }
    }

    /// Its rows, for one FETCH.
    ///
    /// # Errors
    /// 55006 while another FETCH has rows left.
    pub(crate) fn rows(&self, name: &str) -> SqlResult<OwnedMutexGuard<CursorRows>> {
        self.rows.clone().try_lock_owned().map_err(|_in_use| {
            SqlError::new(ErrorKind::ObjectInUse, format!("cursor \"{name}\" is being read by another statement"))
                .with_hint("Read the rows of its last FETCH first.")
        })
    }
}

/// Cursors by name.
#[derive(Default)]
pub(crate) struct Cursors(BTreeMap<String, Cursor>);

impl Cursors {
    /// All of them, for `pg_cursors`.
    pub(crate) fn shown(&self) -> Arc<[ShownCursor]> {
        let shown = |(name, cursor): (&String, &Cursor)| ShownCursor {
            name: name.clone(),
            origin: cursor.origin.clone(),
            is_holdable: cursor.hold,
            is_binary: cursor.binary,
            is_scrollable: cursor.scroll,
        };
        self.0.iter().map(shown).collect()
    }

    /// # Errors
    /// 34000 when there is none.
    pub(crate) fn get(&self, name: &str) -> SqlResult<&Cursor> {
        self.0.get(name).ok_or_else(|| unknown(name))
    }

    /// # Errors
    /// 42P03 when there is one of this name.
    pub(crate) fn check_free(&self, name: &str) -> SqlResult<()> {
        if self.0.contains_key(name) {
            return Err(SqlError::new(ErrorKind::DuplicateCursor, format!("cursor \"{name}\" already exists")));
        }
        Ok(())
    }

    pub(crate) fn add(&mut self, name: String, cursor: Cursor) {
        self.0.insert(name, cursor);
    }

    /// # Errors
    /// 34000 when there is none.
    pub(crate) fn close(&mut self, name: &str) -> SqlResult<()> {
        self.0.remove(name).map(drop).ok_or_else(|| unknown(name))
    }

    pub(crate) fn close_all(&mut self) {
        self.0.clear();
    }

    /// Whether there are cursors that are to outlive the transaction.
    pub(crate) fn has_holdable(&self) -> bool {
        self.0.values().any(|cursor| cursor.hold && cursor.depth.is_some())
    }

    /// A transaction is about to commit: reads what its holdable cursors have left, and makes them outlive it.
    ///
    /// # Errors
    /// The errors of the queries; 53200 when queries may not hold so much.
    pub(crate) async fn hold(&mut self) -> SqlResult<()> {
        for (name, cursor) in self.0.iter_mut().filter(|(_, cursor)| cursor.hold && cursor.depth.is_some()) {
            cursor.rows(name)?.hold().await?;
            cursor.depth = None;
        }
        Ok(())
    }

    /// A transaction has ended, and with it the cursors that do not outlive it.
    pub(crate) fn end_transaction(&mut self) {
        self.0.retain(|_, cursor| cursor.depth.is_none());
    }

    /// So many savepoints are left after RELEASE: what was declared within others belongs to the last of them.
    pub(crate) fn release_to(&mut self, savepoints: usize) {
        for depth in self.0.values_mut().filter_map(|cursor| cursor.depth.as_mut()) {
            *depth = (*depth).min(savepoints);
        }
    }

    /// So many savepoints are left after ROLLBACK TO the last of them: what was declared since is gone.
    pub(crate) fn rollback_to(&mut self, savepoints: usize) {
        self.0.retain(|_, cursor| cursor.depth.is_none_or(|depth| depth < savepoints));
    }
}

fn unknown(name: &str) -> Box<SqlError> {
    SqlError::new(ErrorKind::UndefinedCursor, format!("cursor \"{name}\" does not exist"))
}
