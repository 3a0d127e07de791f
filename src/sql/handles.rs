//! The parts of the session and of the server that SQL functions need.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

use tablegate_types::error::Notice;
use tablegate_types::sql_type::SqlType;

use super::activity::Sessions;
use super::notify::Listener;
use super::progress::LongWrites;
use super::settings::Settings;
use super::statistics::{Commits, Counters, Statistics};
use super::tx::{AdvisoryLocks, Locks};

/// Shared by a session and its statements.
#[derive(Clone)]
pub(crate) struct Handles {
    pub settings: Settings,
    pub listener: Listener,
    pub advisory: AdvisoryLocks,
    pub notices: Notices,
    pub statements: ShownStatements,
    pub sessions: Arc<Sessions>,
    pub locks: Arc<Locks>,
    pub statistics: Arc<Statistics>,
    pub counters: Arc<Counters>,
    pub commits: Arc<Commits>,
    pub long_writes: Arc<LongWrites>,
}

impl Handles {
    /// Of no session: for tests.
    #[cfg(test)]
    pub(crate) fn for_tests() -> Self {
        let locks: Arc<Locks> = Arc::default();
        Self {
            settings: Settings::new("u"),
            listener: Listener::new(Arc::default()),
            advisory: AdvisoryLocks::new(locks.clone(), 0),
            notices: Notices::default(),
            statements: ShownStatements::default(),
            sessions: Arc::default(),
            locks,
            statistics: Arc::default(),
            counters: Arc::default(),
            commits: Arc::default(),
            long_writes: Arc::default(),
        }
    }
}

/// Warnings of functions, for the client.
#[derive(Debug, Clone, Default)]
pub(crate) struct Notices(Arc<Mutex<Vec<Notice>>>);

impl Notices {
    /// Most that wait: a function may be called for many rows.
    const MOST: usize = 1000;

    pub(crate) fn add(&self, notice: Notice) {
        let mut notices = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if notices.len() < Self::MOST {
            notices.push(notice);
        }
    }

    pub(crate) fn take(&self) -> Vec<Notice> {
        std::mem::take(&mut *self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

/// A prepared statement as `pg_prepared_statements` shows it. Plans hold the handles, so the handles hold no plans.
#[derive(Debug, Clone)]
pub(crate) struct ShownStatement {
    /// With what it was prepared by: PREPARE itself, or the text of the protocol.
    pub text: String,
    /// Microseconds since 1970-01-01.
    pub prepared_at: i64,
    pub parameters: Vec<SqlType>,
    pub from_sql: bool,
}

/// The prepared statements of a session, by name.
#[derive(Debug, Clone, Default)]
pub(crate) struct ShownStatements(Arc<Mutex<BTreeMap<String, ShownStatement>>>);

impl ShownStatements {
    pub(crate) fn change<R>(&self, change: impl FnOnce(&mut BTreeMap<String, ShownStatement>) -> R) -> R {
        change(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }

    pub(crate) fn all(&self) -> BTreeMap<String, ShownStatement> {
        self.change(|statements| statements.clone())
    }
}
