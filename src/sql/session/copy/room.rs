//! The memory that input of COPY takes until all of a line or a field of it has arrived.

use std::sync::Arc;

use datafusion::execution::memory_pool::{MemoryConsumer, MemoryPool, MemoryReservation, UnboundedMemoryPool};
use tablegate_types::error::{ErrorKind, SqlError, SqlResult};

/// So many bytes are not counted: those of an input of short lines, of which a connection keeps as much at any time.
const FREE_BYTES: usize = 1024 * 1024;

/// A part of the memory of queries, for what has arrived of one input.
#[derive(Debug)]
pub struct InputRoom(MemoryReservation);

/// As much as anybody wants.
impl Default for InputRoom {
    fn default() -> Self {
        let boundless: Arc<dyn MemoryPool> = Arc::new(UnboundedMemoryPool::default());
        Self::of(MemoryConsumer::new("input").register(&boundless))
    }
}

impl InputRoom {
    pub(in crate::session) fn of(memory: MemoryReservation) -> Self {
        Self(memory)
    }

    /// Counts so many bytes, instead of those counted before.
    ///
    /// # Errors
    /// 53200 where there is no more memory. Fewer bytes than before can always be counted.
    pub fn hold(&self, bytes: usize) -> SqlResult<()> {
        let counted = if bytes > FREE_BYTES { bytes } else { 0 };
        self.0.try_resize(counted).map_err(|_exhausted| {
            SqlError::new(ErrorKind::OutOfMemory, "a line of the COPY input is too long for the memory of queries")
                .with_detail(format!("Reading it takes {} MB or more.", bytes >> 20))
                .with_hint("Look for a quote or a line end that is missing, or raise the limit with --query-memory.")
        })
    }
}

#[cfg(test)]
mod tests {
    use datafusion::execution::memory_pool::GreedyMemoryPool;

    use super::*;

    #[test]
    fn long_input_is_counted() {
        let pool: Arc<dyn MemoryPool> = Arc::new(GreedyMemoryPool::new(4 * FREE_BYTES));
        let room = InputRoom::of(MemoryConsumer::new("input").register(&pool));
        room.hold(FREE_BYTES).unwrap();
        assert_eq!(pool.reserved(), 0);
        room.hold(3 * FREE_BYTES).unwrap();
        assert_eq!(pool.reserved(), 3 * FREE_BYTES);
        assert_eq!(room.hold(5 * FREE_BYTES).unwrap_err().kind, ErrorKind::OutOfMemory);
        room.hold(2 * FREE_BYTES).unwrap();
        assert_eq!(pool.reserved(), 2 * FREE_BYTES);
    }
}
