//! What the sessions of the server are doing: `pg_stat_activity`, and ending what one of them does.

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Instant;

use super::settings::Settings;

/// Most bytes of a statement that are shown, as PostgreSQL's `track_activity_query_size`.
const QUERY_BYTES: usize = 1023;

/// The means to stop what a session does.
pub trait Stopper: Send + Sync {
    /// Stops its statement.
    fn cancel(&self);
    /// Ends its connection.
    fn terminate(&self);
}

/// What a session is at.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Doing {
    Active,
    Idle,
    IdleInTransaction,
    /// In a transaction that failed.
    Aborted,
}

impl Doing {
    pub const ALL: [Doing; 4] = [Doing::Active, Doing::Idle, Doing::IdleInTransaction, Doing::Aborted];

    /// As PostgreSQL names it.
    pub fn name(self) -> &'static str {
        match self {
            Doing::Active => "active",
            Doing::Idle => "idle",
            Doing::IdleInTransaction => "idle in transaction",
            Doing::Aborted => "idle in transaction (aborted)",
        }
    }
}

/// A session as others see it. Times are microseconds since 1970-01-01.
pub(crate) struct Activity {
    pub process: i32,
    pub user: String,
    /// `None` when it is not one of the network.
    pub address: Option<SocketAddr>,
    pub began: i64,
    settings: Settings,
    stopper: Arc<dyn Stopper>,
    now: Mutex<Now>,
}

/// What it is doing now.
#[derive(Debug, Clone)]
pub(crate) struct Now {
    pub doing: Doing,
    pub since: i64,
    /// The statement, or the last one.
    pub query: Arc<str>,
    pub query_began: Option<i64>,
    pub transaction_began: Option<i64>,
}

impl Activity {
    pub(crate) fn application_name(&self) -> String {
        self.settings.application_name()
    }

    pub(crate) fn now(&self) -> Now {
        guard(&self.now).clone()
    }

    pub(crate) fn cancel(&self) {
        self.stopper.cancel();
    }

    /// Ends the connection.
    pub(crate) fn terminate(&self) {
        self.stopper.terminate();
    }
}

/// All sessions of a server, by the numbers that clients know them by.
#[derive(Default)]
pub struct Sessions {
    present: Mutex<BTreeMap<i32, Arc<Activity>>>,
    /// When the server began, in microseconds since 1970-01-01.
    started: i64,
}

/// A session's place among them, given back when dropped.
pub(crate) struct Presence {
    sessions: Arc<Sessions>,
    activity: Arc<Activity>,
    /// When it began, by the clock that only runs on: what the session does is told outside its statements, where
    /// nothing may fail.
    entered: Instant,
}

/// Who a session is of.
pub(crate) struct Visitor<'a> {
    pub process: i32,
    pub user: &'a str,
    pub address: Option<SocketAddr>,
    pub settings: &'a Settings,
    pub stopper: Arc<dyn Stopper>,
}

impl Sessions {
    /// Of a server that begins now.
    pub(crate) fn since(started: i64) -> Self {
        Self { started, ..Self::default() }
    }

    /// When the server began, in microseconds since 1970-01-01.
    pub(crate) fn started(&self) -> i64 {
        self.started
    }

    pub(crate) fn enter(self: &Arc<Self>, visitor: Visitor<'_>, now: i64) -> Presence {
        let activity = Arc::new(Activity {
            process: visitor.process,
            user: visitor.user.to_owned(),
            address: visitor.address,
            began: now,
            settings: visitor.settings.clone(),
            stopper: visitor.stopper,
            now: Mutex::new(Now {
                doing: Doing::Idle,
                since: now,
                query: Arc::from(""),
                query_began: None,
                transaction_began: None,
            }),
        });
        guard(&self.present).insert(activity.process, activity.clone());
        Presence { sessions: self.clone(), activity, entered: Instant::now() }
    }

    pub(crate) fn get(&self, process: i32) -> Option<Arc<Activity>> {
        guard(&self.present).get(&process).cloned()
    }

    pub(crate) fn all(&self) -> Vec<Arc<Activity>> {
        guard(&self.present).values().cloned().collect()
    }

    /// How many sessions are at each thing.
    pub fn counts(&self) -> BTreeMap<&'static str, usize> {
        let mut counts = BTreeMap::new();
        for activity in self.all() {
            *counts.entry(activity.now().doing.name()).or_default() += 1;
        }
        counts
    }
}

impl Presence {
    fn now(&self) -> i64 {
        let since = i64::try_from(self.entered.elapsed().as_micros()).unwrap_or(i64::MAX);
        self.activity.began.saturating_add(since)
    }

    /// A statement begins.
    pub(crate) fn run(&self, query: &str, transaction_began: Option<i64>) {
        let now = self.now();
        let query = Arc::from(&query[..query.floor_char_boundary(QUERY_BYTES)]);
        *guard(&self.activity.now) = Now {
            doing: Doing::Active,
            since: now,
            query,
            query_began: Some(now),
            transaction_began: transaction_began.or(Some(now)),
        };
    }

    /// The text that the client sent last, cut where it is long.
    pub(crate) fn query(&self) -> Arc<str> {
        guard(&self.activity.now).query.clone()
    }

    /// The client's turn.
    pub(crate) fn rest(&self, doing: Doing, transaction_began: Option<i64>) {
        let now = self.now();
        let mut current = guard(&self.activity.now);
        (current.doing, current.since, current.transaction_began) = (doing, now, transaction_began);
    }
}

impl Drop for Presence {
    fn drop(&mut self) {
        let mut present = guard(&self.sessions.present);
        if present.get(&self.activity.process).is_some_and(|other| Arc::ptr_eq(other, &self.activity)) {
            present.remove(&self.activity.process);
        }
    }
}

impl std::fmt::Debug for Sessions {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Sessions").field("present", &guard(&self.present).len()).finish()
    }
}

/// What the mutexes guard is never left half changed.
fn guard<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
