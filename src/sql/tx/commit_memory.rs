//! The memory that commits take: a store is handed what a transaction has written in one piece, as its own bytes.
//!
//! So many of them are made at once as this memory has room for, and a larger one alone; the others wait. Meanwhile they count
//! as a part of the memory of queries, which have less.

use std::sync::Arc;

use datafusion::execution::memory_pool::{MemoryConsumer, MemoryPool, MemoryReservation};
use tokio::sync::{Semaphore, SemaphorePermit};

/// The part of the memory of queries that commits take at once, but for one that is larger.
const PART: usize = 4;
/// In what steps it is given out. What takes less is not counted.
const UNIT_BYTES: usize = 64 << 10;

#[derive(Debug)]
pub(crate) struct CommitMemory {
    pool: Arc<dyn MemoryPool>,
    units: Semaphore,
    all: u32,
}

/// Leave to commit, given back when it is done.
pub(crate) struct MayCommit<'m> {
    _units: SemaphorePermit<'m>,
    _memory: MemoryReservation,
}

impl CommitMemory {
    /// A part of the memory of queries, which is so much.
    pub(super) fn within(pool: Arc<dyn MemoryPool>, query_memory: usize) -> Self {
        let all = u32::try_from(query_memory / PART / UNIT_BYTES).unwrap_or(u32::MAX).max(1);
        let units = Semaphore::new(usize::try_from(all).unwrap_or(Semaphore::MAX_PERMITS));
        Self { pool, units, all }
    }

    /// Waits until rows that take so much memory may be committed.
    pub(crate) async fn wait_for(&self, bytes: usize) -> Option<MayCommit<'_>> {
        let units = u32::try_from(bytes / UNIT_BYTES).unwrap_or(u32::MAX).min(self.all);
        if units == 0 {
            return None;
        }
        // It is never closed.
        let _units = self.units.acquire_many(units).await.ok()?;
        let _memory = MemoryConsumer::new("rows that are committed").register(&self.pool);
        _memory.grow(bytes);
        Some(MayCommit { _units, _memory })
    }
}

#[cfg(test)]
mod tests {
    use datafusion::execution::memory_pool::GreedyMemoryPool;
    use futures::FutureExt;

    use super::*;

    #[test]
    fn large_ones_wait_for_each_other_and_small_ones_for_nobody() {
        let pool: Arc<dyn MemoryPool> = Arc::new(GreedyMemoryPool::new(8 << 20));
        let memory = CommitMemory::within(Arc::clone(&pool), 8 << 20);
        let may = |bytes: usize| memory.wait_for(bytes).now_or_never();
        let (one, other) = (may(1 << 20).unwrap(), may(1 << 20).unwrap());
        assert!(one.is_some() && other.is_some());
        assert_eq!(pool.reserved(), 2 << 20);
        assert!(may(1 << 20).is_none(), "they are a quarter of it");
        assert!(may(1 << 10).unwrap().is_none(), "it is not worth counting");
        drop((one, other));
        let large = may(100 << 20).unwrap();
        assert!(large.is_some() && may(1 << 20).is_none());
        drop(large);
        assert!(may(1 << 20).is_some());
        assert_eq!(pool.reserved(), 0);
    }
}
