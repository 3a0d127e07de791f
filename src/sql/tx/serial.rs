//! SERIALIZABLE: the outcome is as if these transactions had run one after the other, in the order they commit.
//!
//! Each of them reads one snapshot and remembers where it has looked. When it commits something, nothing there may have
//! been written by another one that committed since the snapshot: then everything it has read is still the same, as if
//! it had been read at the commit. This refuses every transaction that PostgreSQL refuses, and some more: PostgreSQL
//! refuses only a dangerous pair of such conflicts, not each single one. A transaction that writes nothing is never
//! refused: it ran when its snapshot was taken.
//!
//! For that, a snapshot must hold all of a commit that was allowed, or none of it. So no snapshot is taken while one is
//! on its way to the store.

use std::collections::{BTreeMap, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tablegate_store::model::EntityKey;
use tablegate_types::error::{ErrorKind, SqlError, SqlResult};
use tokio::sync::{OwnedRwLockReadGuard, RwLock};

use crate::place::StoredTable;
use crate::read_log::ReadLog;

/// The keys a transaction writes, by table.
pub(crate) type WrittenKeys = Vec<(StoredTable, Vec<EntityKey>)>;

/// The serializable transactions of one gateway.
#[derive(Default)]
pub(crate) struct Serial {
    /// Held by commits together, by the taking of a snapshot alone.
    gate: Arc<RwLock<()>>,
    history: Mutex<History>,
}

/// What was allowed to commit, as far back as an open transaction can ask for.
#[derive(Default)]
struct History {
    last: u64,
    commits: VecDeque<(u64, WrittenKeys)>,
    /// How many open transactions have a snapshot of each moment.
    open: BTreeMap<u64, usize>,
}

/// An open transaction: its snapshot, and where it has looked.
pub(crate) struct SerialTransaction {
    serial: Arc<Serial>,
    began: u64,
    reads: Arc<ReadLog>,
}

/// Leave to commit. No snapshot is taken before it is dropped.
pub(crate) struct CommitTurn {
    _gate: OwnedRwLockReadGuard<()>,
}

impl Serial {
    /// Begins a transaction: gives it and the snapshot it is to read, taken by `take`.
    pub(crate) async fn begin<T>(self: &Arc<Self>, take: impl FnOnce() -> T) -> (SerialTransaction, T) {
        let _alone = self.gate.write().await;
        let mut history = self.history();
        let began = history.last;
        *history.open.entry(began).or_default() += 1;
        drop(history);
        let transaction = SerialTransaction { serial: self.clone(), began, reads: Arc::default() };
        (transaction, take())
    }

    fn history(&self) -> MutexGuard<'_, History> {
        // Every change of it is complete.
        self.history.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl SerialTransaction {
    /// Where its statements look is to be told to this.
    pub(crate) fn reads(&self) -> &Arc<ReadLog> {
        &self.reads
    }

    /// Asks for leave to commit these writes.
    ///
    /// # Errors
    /// 40001 when somebody else has changed what the transaction has read.
    pub(crate) async fn commit(&self, written: WrittenKeys) -> SqlResult<CommitTurn> {
        let gate = self.serial.gate.clone().read_owned().await;
        let mut history = self.serial.history();
        let since = history.commits.iter().rev().take_while(|(moment, _)| *moment > self.began);
        for (table, keys) in since.flat_map(|(_, written)| written) {
            if let Some(key) = keys.iter().find(|key| self.reads.covers(table, key)) {
                return Err(read_write_conflict(table, key));
            }
        }
        history.last += 1;
        let moment = history.last;
        history.commits.push_back((moment, written));
        Ok(CommitTurn { _gate: gate })
    }
}

impl Drop for SerialTransaction {
    fn drop(&mut self) {
        let mut history = self.serial.history();
        if let Some(count) = history.open.get_mut(&self.began) {
            *count -= 1;
            if *count == 0 {
                history.open.remove(&self.began);
            }
        }
        let oldest = history.open.keys().next().copied().unwrap_or(history.last);
        while history.commits.front().is_some_and(|(moment, _)| *moment <= oldest) {
            history.commits.pop_front();
        }
    }
}

impl std::fmt::Debug for SerialTransaction {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("SerialTransaction").field("began", &self.began).finish_non_exhaustive()
    }
}

fn read_write_conflict(table: &StoredTable, key: &EntityKey) -> Box<SqlError> {
    let message = "could not serialize access due to read/write dependencies among transactions";
    SqlError::new(ErrorKind::SerializationFailure, message)
        .with_detail(format!(
            "Row {key} of table \"{table}\" was written by a transaction that committed first, where this one has read."
        ))
        .with_hint("The transaction might succeed if retried.")
}
