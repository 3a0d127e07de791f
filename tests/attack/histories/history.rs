//! What clients did and saw: transactions that append values to lists, each value once, and read lists.

use std::collections::HashMap;

pub(super) type Key = u32;
pub(super) type Value = u64;

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Level {
    ReadCommitted,
    RepeatableRead,
    Serializable,
}

impl Level {
    pub(super) const ALL: [Self; 3] = [Self::ReadCommitted, Self::RepeatableRead, Self::Serializable];

    pub(super) fn sql(self) -> &'static str {
        match self {
            Self::ReadCommitted => "READ COMMITTED",
            Self::RepeatableRead => "REPEATABLE READ",
            Self::Serializable => "SERIALIZABLE",
        }
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Step {
    Append(Key, Value),
    Read(Key, Vec<Value>),
}

/// What became of a transaction, as its client knows it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum End {
    Committed,
    /// Refused, given up, or cut off before its COMMIT was sent.
    Aborted,
    /// Its COMMIT was sent and not answered.
    Unknown,
}

#[derive(Debug, Clone)]
pub(super) struct Transaction {
    pub level: Level,
    pub steps: Vec<Step>,
    pub end: End,
}

/// All transactions, and the lists as they are when all is over.
#[derive(Debug, Default)]
pub(super) struct History {
    pub transactions: Vec<Transaction>,
    pub lists: HashMap<Key, Vec<Value>>,
}
