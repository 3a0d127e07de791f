//! The memory of rows that statements hold back: a part of the memory of queries, which all of them share.
//!
//! Where there is none left, nothing fails: a statement then holds back no more, and commits what it has.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use datafusion::execution::memory_pool::{MemoryConsumer, MemoryPool, MemoryReservation};
use tablegate_types::error::SqlResult;

use super::spill::too_many_rows;

/// The part of the memory of queries that rows may take which are held back.
const PART: usize = 4;

#[derive(Debug)]
pub(crate) struct HeldBackSpace {
    memory: Arc<dyn MemoryPool>,
    most: usize,
    used: AtomicUsize,
}

impl HeldBackSpace {
    /// A part of the memory of queries, which is so much.
    pub(crate) fn within(memory: Arc<dyn MemoryPool>, query_memory: usize) -> Arc<Self> {
        Arc::new(Self { memory, most: query_memory / PART, used: AtomicUsize::new(0) })
    }

    /// Nothing taken yet.
    pub(crate) fn begin(self: &Arc<Self>) -> Taken {
        let reservation = MemoryConsumer::new("rows that are held back").register(&self.memory);
        Taken { space: Arc::clone(self), reservation, bytes: 0 }
    }
}

/// What one statement has taken of it, given back when it is dropped.
#[derive(Debug)]
pub(crate) struct Taken {
    space: Arc<HeldBackSpace>,
    reservation: MemoryReservation,
    bytes: usize,
}

impl Taken {
    /// Takes more; false when that is more than there is, so that it should be given back soon.
    pub(crate) fn add(&mut self, bytes: usize) -> bool {
        let used = self.space.used.fetch_add(bytes, Ordering::Relaxed).saturating_add(bytes);
        self.bytes += bytes;
        used <= self.space.most && self.reservation.try_grow(bytes).is_ok()
    }

    /// Takes more, whatever the part that rows may take.
    ///
    /// # Errors
    /// 53200 when queries have no memory left.
    pub(crate) fn need(&mut self, bytes: usize) -> SqlResult<()> {
        self.reservation.try_grow(bytes).map_err(|_exhausted| too_many_rows())
    }

    /// Counts what is taken in any case.
    pub(super) fn note(&self, bytes: usize) {
        self.reservation.grow(bytes);
    }

    /// Of the same, nothing yet.
    pub(super) fn of_nothing(&self) -> Self {
        self.space.begin()
    }

    pub(super) fn bytes(&self) -> usize {
        self.bytes
    }
}

impl Drop for Taken {
    fn drop(&mut self) {
        self.space.used.fetch_sub(self.bytes, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use datafusion::execution::memory_pool::GreedyMemoryPool;

    use super::*;

    #[test]
    fn it_is_shared_and_given_back() {
        let memory: Arc<dyn MemoryPool> = Arc::new(GreedyMemoryPool::new(1000));
        let space = HeldBackSpace::within(Arc::clone(&memory), 1000);
        let (mut one, mut other) = (space.begin(), space.begin());
        assert!(one.add(200) && other.add(50));
        assert!(!other.add(1), "more than the part of all queries' memory");
        assert_eq!((one.bytes(), other.bytes(), memory.reserved()), (200, 51, 250));
        drop(one);
        assert!(other.add(100));
        drop(other);
        assert_eq!((space.used.load(Ordering::Relaxed), memory.reserved()), (0, 0));
        let _queries = {
            let reservation = MemoryConsumer::new("a query").register(&memory);
            reservation.try_grow(900).unwrap();
            reservation
        };
        assert!(!space.begin().add(150), "queries have taken it");
    }
}
