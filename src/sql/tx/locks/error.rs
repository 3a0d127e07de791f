//! Why a lock was not granted, and the error that clients get.

use tablegate_store::model::{EntityKey, TableName};
use tablegate_types::error::{ErrorKind, SqlError};

use crate::relation::Relation;

/// Most locks of one transaction, where there is memory for them.
pub(super) const LOCKS_MAX: usize = 1_000_000;

/// Why a lock was not had.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum LockError {
    /// Others hold it, and it was not to be waited for.
    Busy,
    /// It was waited for long enough.
    Timeout,
    /// Who holds it waits for this transaction; the text says who waits for whom.
    Deadlock(String),
    /// The transaction has too many locks.
    TooMany,
    /// There is no memory left for it, beside so many bytes of others.
    NoMemory(usize),
}

impl LockError {
    /// # Errors
    /// It is the error: 55P03, 40P01 or 53200.
    pub(crate) fn for_row(self, relation: &Relation, key: &EntityKey) -> Box<SqlError> {
        let context = format!("while locking row {key} in relation \"{}\"", relation.name);
        match self {
            LockError::Busy => self.into_error(&format!("row in relation \"{}\"", relation.name)),
            LockError::Timeout | LockError::Deadlock(_) | LockError::TooMany | LockError::NoMemory(_) => {
                self.into_error(&relation.name).with_context(context)
            }
        }
    }

    /// # Errors
    /// It is the error: 55P03, 40P01 or 53200.
    pub(crate) fn for_table(self, relation: &Relation) -> Box<SqlError> {
        self.into_error(&format!("relation \"{}\"", relation.name))
    }

    /// # Errors
    /// It is the error: 55P03, 40P01 or 53200.
    pub(crate) fn for_guest(self, table: &TableName) -> Box<SqlError> {
        self.into_error(&format!("a row of table \"{table}\""))
    }

    pub(super) fn into_error(self, what: &str) -> Box<SqlError> {
        let not_available = |message: String| SqlError::new(ErrorKind::LockNotAvailable, message);
        match self {
            LockError::Busy => not_available(format!("could not obtain lock on {what}")),
            LockError::Timeout => not_available("canceling statement due to lock timeout".to_owned()),
            LockError::Deadlock(detail) => SqlError::new(ErrorKind::DeadlockDetected, "deadlock detected")
                .with_detail(detail)
                .with_hint("See server log for query details."),
            LockError::TooMany => SqlError::new(ErrorKind::OutOfMemory, "too many locks in one transaction")
                .with_detail(format!("A transaction holds at most {LOCKS_MAX} locks."))
                .with_hint("Change or lock fewer rows in each transaction."),
            LockError::NoMemory(bytes) => SqlError::new(ErrorKind::OutOfMemory, "out of shared memory")
                .with_detail(format!("The locks that are held here take {} MB.", bytes >> 20))
                .with_hint("Hold fewer locks at a time, or raise the limit with --query-memory."),
        }
    }
}
