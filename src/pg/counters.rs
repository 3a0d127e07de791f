//! What the front-end has done since it began, for a monitoring system: counted by the connections, without a lock.

use std::sync::atomic::{AtomicU64, Ordering};

use tablegate_sql::statistics::Counter;
use tablegate_types::error::{ErrorKind, SqlError};

use super::error::Failure;

/// All counts of the front-end.
#[derive(Debug)]
pub struct Counters {
    pub accepted: Counter,
    refused: [Counter; Refusal::ALL.len()],
    /// Cancel requests of clients, whether there was something to cancel or not.
    pub cancel_requests: Counter,
    stopped: [Counter; Stopped::ALL.len()],
    pub rows_sent: Counter,
    /// Of messages, before they are encrypted.
    pub bytes_sent: Counter,
    pub bytes_received: Counter,
    /// Errors that clients were told, by the class of their SQLSTATE: two characters of 36 each.
    errors: Box<[AtomicU64]>,
}

/// Why a connection did not become a session.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Refusal {
    /// Too many connections are in their start-up.
    Starting,
    TooMany,
    TooManyOfUser,
    Password,
    /// No connection of this kind is let in.
    NotAllowed,
    /// It took too long to log in.
    Timeout,
    Shutdown,
    Other,
}

/// What stopped a statement, or a session, before its end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Stopped {
    ByUser,
    StatementTimeout,
    IdleSession,
    IdleInTransaction,
}

impl Default for Counters {
    fn default() -> Self {
        let errors = (0..DIGITS * DIGITS).map(|_| AtomicU64::new(0)).collect();
        let (accepted, refused, cancel_requests, stopped) = Default::default();
        let (rows_sent, bytes_sent, bytes_received) = Default::default();
        Self { accepted, refused, cancel_requests, stopped, rows_sent, bytes_sent, bytes_received, errors }
    }
}

impl Counters {
    pub(super) fn add_refused(&self, refusal: Refusal) {
        if let Some(counter) = self.refused.get(refusal as usize) {
            counter.add_one();
        }
    }

    pub(super) fn add_stopped(&self, stopped: Stopped) {
        if let Some(counter) = self.stopped.get(stopped as usize) {
            counter.add_one();
        }
    }

    /// A client is told of an error.
    pub(super) fn add_error(&self, failure: &Failure) {
        if let Some(counter) = place(failure.code()).and_then(|place| self.errors.get(place)) {
            counter.fetch_add(1, Ordering::Relaxed);
        }
    }

    /// Connections that did not become sessions, by why.
    pub fn refused(&self) -> impl Iterator<Item = (&'static str, u64)> {
        Refusal::ALL.into_iter().map(Refusal::name).zip(self.refused.iter().map(Counter::get))
    }

    /// Statements and sessions that were stopped before their end, by what stopped them.
    pub fn stopped(&self) -> impl Iterator<Item = (&'static str, u64)> {
        Stopped::ALL.into_iter().map(Stopped::name).zip(self.stopped.iter().map(Counter::get))
    }

    /// How many errors of each class there were, of the classes there were any of.
    pub fn errors(&self) -> impl Iterator<Item = (String, u64)> {
        let counts = self.errors.iter().map(|count| count.load(Ordering::Relaxed)).enumerate();
        counts.filter(|(_, count)| *count > 0).map(|(place, count)| (class(place), count))
    }
}

impl Refusal {
    const ALL: [Refusal; 8] = [
        Refusal::Starting,
        Refusal::TooMany,
        Refusal::TooManyOfUser,
        Refusal::Password,
        Refusal::NotAllowed,
        Refusal::Timeout,
        Refusal::Shutdown,
        Refusal::Other,
    ];

    pub(crate) fn of(failure: &Failure) -> Self {
        match failure {
            Failure::TooManyConnections => Refusal::TooMany,
            Failure::TooManyConnectionsOf(_) => Refusal::TooManyOfUser,
            Failure::WrongPassword(_) => Refusal::Password,
            Failure::NotAuthorized(_) => Refusal::NotAllowed,
            Failure::Sql(error) if is(error, ErrorKind::Shutdown) => Refusal::Shutdown,
            Failure::Sql(error) if is(error, ErrorKind::InsufficientPrivilege) => Refusal::NotAllowed,
            Failure::Sql(_)
            | Failure::Protocol(_)
            | Failure::NoUser
            | Failure::IdleSession
            | Failure::IdleInTransaction => Refusal::Other,
        }
    }

    fn name(self) -> &'static str {
        match self {
            Refusal::Starting => "starting",
            Refusal::TooMany => "max_connections",
            Refusal::TooManyOfUser => "max_connections_per_user",
            Refusal::Password => "password",
            Refusal::NotAllowed => "not_allowed",
            Refusal::Timeout => "authentication_timeout",
            Refusal::Shutdown => "shutdown",
            Refusal::Other => "other",
        }
    }
}

fn is(error: &SqlError, kind: ErrorKind) -> bool {
    error.kind == kind
}

impl Stopped {
    const ALL: [Stopped; 4] =
        [Stopped::ByUser, Stopped::StatementTimeout, Stopped::IdleSession, Stopped::IdleInTransaction];

    fn name(self) -> &'static str {
        match self {
            Stopped::ByUser => "user_request",
            Stopped::StatementTimeout => "statement_timeout",
            Stopped::IdleSession => "idle_session_timeout",
            Stopped::IdleInTransaction => "idle_in_transaction_timeout",
        }
    }
}

/// Digits and capital letters.
const DIGITS: usize = 36;

/// Where the class of a SQLSTATE is counted.
fn place(code: &str) -> Option<usize> {
    let digit = |byte: &u8| char::from(*byte).to_digit(36).and_then(|digit| usize::try_from(digit).ok());
    let [high, low, ..] = code.as_bytes() else { return None };
    Some(digit(high)? * DIGITS + digit(low)?)
}

/// The class that is counted there.
fn class(place: usize) -> String {
    let digit = |n: usize| u32::try_from(n).ok().and_then(|n| char::from_digit(n, 36)).unwrap_or('?');
    [place / DIGITS, place % DIGITS].map(|n| digit(n).to_ascii_uppercase()).iter().collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn classes_are_counted_apart() {
        let counters = Counters::default();
        let failures = [ErrorKind::UniqueViolation, ErrorKind::CheckViolation, ErrorKind::Internal];
        for kind in failures {
            counters.add_error(&Failure::sql(kind, "x"));
        }
        counters.add_error(&Failure::protocol("x"));
        let counted: Vec<_> = counters.errors().collect();
        assert_eq!(counted, [("08".to_owned(), 1), ("23".to_owned(), 2), ("XX".to_owned(), 1)]);
    }

    #[test]
    fn each_reason_has_its_place() {
        assert!(Refusal::ALL.into_iter().enumerate().all(|(place, refusal)| refusal as usize == place));
        assert!(Stopped::ALL.into_iter().enumerate().all(|(place, stopped)| stopped as usize == place));
    }
}
