//! What the locks of a session take, as a part of the memory of queries.
//!
//! It is told from how many there are, by what the largest of the tables that they are in takes for each right after it has grown.

use std::sync::Arc;

use datafusion::execution::memory_pool::{MemoryConsumer, MemoryPool, MemoryReservation};
use tablegate_store::model::EntityKey;

use super::error::LockError;

/// An entry of the registry, in a table that has room for twice as many.
const ENTRY_BYTES: usize = 128;
/// What a transaction keeps of each of its locks, in a list that has room for twice as many.
const HELD_BYTES: usize = 64;
/// What says which row it is, but for the texts of its key.
const ROW_BYTES: usize = 128;
/// What a session keeps of an advisory lock, to give it back as often as it was taken.
const COUNTS_BYTES: usize = 80;
/// What a transaction keeps of each time that it took one.
const TIME_BYTES: usize = 48;

/// Locks that take less are not counted: those of most transactions are few, and cannot be refused.
const FREE_BYTES: usize = 64 << 10;
/// In what steps more is asked for.
const STEP_BYTES: usize = 64 << 10;

/// What the lock of a row takes.
pub(super) fn row_bytes(key: &EntityKey) -> usize {
    let (partition, row) = key.as_pair();
    ENTRY_BYTES + HELD_BYTES + ROW_BYTES + partition.len() + row.len()
}

/// What each of many rows takes that are locked at once: its hash, in a table that doubles, and is copied then.
pub(super) const fn noted_row_bytes() -> usize {
    27
}

/// What the lock of a table takes.
pub(super) const fn table_bytes() -> usize {
    ENTRY_BYTES + HELD_BYTES
}

/// What an advisory lock takes.
pub(super) const fn advisory_bytes() -> usize {
    ENTRY_BYTES + COUNTS_BYTES
}

/// What each time takes that a transaction has taken an advisory lock.
pub(super) const fn advisory_time_bytes() -> usize {
    TIME_BYTES
}

/// The locks of one session or transaction.
pub(super) struct LockMemory {
    pool: Arc<dyn MemoryPool>,
    /// Of more than [`FREE_BYTES`].
    reservation: Option<MemoryReservation>,
    bytes: usize,
}

impl LockMemory {
    pub(super) fn new(pool: &Arc<dyn MemoryPool>) -> Self {
        Self { pool: Arc::clone(pool), reservation: None, bytes: 0 }
    }

    /// Makes sure that so many bytes more can be taken.
    ///
    /// # Errors
    /// When there are not as many.
    pub(super) fn has_room(&mut self, bytes: usize) -> Result<(), LockError> {
        let needed = self.bytes + bytes;
        if needed <= FREE_BYTES {
            return Ok(());
        }
        let pool = &self.pool;
        let reservation = self.reservation.get_or_insert_with(|| MemoryConsumer::new("locks").register(pool));
        if needed <= reservation.size() {
            return Ok(());
        }
        let grown = reservation.try_resize(needed.next_multiple_of(STEP_BYTES));
        grown.map_err(|_exhausted| LockError::NoMemory(self.bytes))
    }

    /// Takes what there is room for.
    pub(super) fn take(&mut self, bytes: usize) {
        self.bytes += bytes;
    }

    pub(super) fn give_back(&mut self, bytes: usize) {
        self.bytes = self.bytes.saturating_sub(bytes);
        if self.bytes <= FREE_BYTES / 2 {
            self.reservation = None;
        } else if let Some(reservation) = &self.reservation
            && reservation.size() > 2 * self.bytes + STEP_BYTES
        {
            reservation.shrink(reservation.size() - self.bytes.next_multiple_of(STEP_BYTES));
        }
    }
}

#[cfg(test)]
mod tests {
    use datafusion::execution::memory_pool::GreedyMemoryPool;

    use super::*;

    #[test]
    fn locks_are_counted_once_there_are_many() {
        let pool: Arc<dyn MemoryPool> = Arc::new(GreedyMemoryPool::new(1 << 20));
        let mut memory = LockMemory::new(&pool);
        let mut take = |bytes: usize| memory.has_room(bytes).map(|()| memory.take(bytes));
        take(FREE_BYTES).unwrap();
        assert_eq!(pool.reserved(), 0);
        take(1).unwrap();
        assert_eq!(pool.reserved(), FREE_BYTES + STEP_BYTES);
        assert_eq!(take(1 << 20), Err(LockError::NoMemory(FREE_BYTES + 1)));
        take(900 << 10).unwrap();
        assert!(pool.reserved() >= 964 << 10);
        memory.give_back(900 << 10);
        assert!(pool.reserved() <= 4 * STEP_BYTES, "{}", pool.reserved());
        memory.give_back(FREE_BYTES);
        assert_eq!(pool.reserved(), 0);
    }
}
