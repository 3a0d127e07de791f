//! A part of the memory for each of several sorts.
//!
//! What the engine puts together from disk takes as much as it can get. So a sort that comes to it early would leave nothing to
//! the others; each has memory of its own instead, which is reserved for it from the beginning.

use std::sync::Arc;

use datafusion::execution::TaskContext;
use datafusion::execution::memory_pool::{FairSpillPool, MemoryConsumer, MemoryLimit, MemoryReservation};
use datafusion::execution::runtime_env::RuntimeEnv;

/// The part of the memory that nobody has which all sorts of an aggregation have together: there must be some for others, too.
const PART: usize = 3;
/// What each has at least.
const BYTES_LEAST: usize = 1 << 20;
/// What each has at most: all that is in memory of a sort is sorted at once, and nothing else is done meanwhile.
const BYTES_MOST: usize = 16 << 20;
/// The part of a share that is held back for putting together what was put on disk; the engine's own setting is for large shares.
const HELD_BACK_PART: usize = 8;

/// Rows that are sorted, or put together, at once, and what they take, about: several times as many must fit into a share.
const ROWS_AT_ONCE: usize = 2048;
const BYTES_AT_ONCE: usize = 32 << 10;
const ROWS_AT_ONCE_LEAST: usize = 16;

pub(super) struct Shares {
    rows_at_once: usize,
    bytes: usize,
    reservation: MemoryReservation,
}

impl Shares {
    /// For so many sorts of rows of so many bytes: as much as others leave; `None` when there is not even the
    /// least for each.
    pub(super) fn of(context: &TaskContext, sorts: usize, row_bytes: usize) -> Option<Self> {
        let pool = context.memory_pool();
        let mut bytes = match pool.memory_limit() {
            MemoryLimit::Finite(all) => {
                (all.saturating_sub(pool.reserved()) / PART / sorts.max(1)).clamp(BYTES_LEAST, BYTES_MOST)
            }
            MemoryLimit::Infinite | MemoryLimit::Unknown => BYTES_MOST,
        };
        let rows_at_once = (BYTES_AT_ONCE / row_bytes.max(1)).clamp(ROWS_AT_ONCE_LEAST, ROWS_AT_ONCE);
        let reservation = MemoryConsumer::new("sorts of aggregates").register(pool);
        loop {
            match reservation.try_resize(bytes * sorts) {
                Ok(()) => return Some(Self { rows_at_once, bytes, reservation }),
                Err(_) if bytes <= BYTES_LEAST => return None,
                Err(_) => bytes = (bytes / 2).max(BYTES_LEAST),
            }
        }
    }

    pub(super) fn rows_at_once(&self) -> usize {
        self.rows_at_once
    }

    /// What the next sort runs in.
    pub(super) fn next(&self, context: &TaskContext) -> Arc<TaskContext> {
        let memory_pool = Arc::new(FairSpillPool::new(self.bytes));
        let runtime = RuntimeEnv { memory_pool, ..context.runtime_env().as_ref().clone() };
        self.with_settings(context, Arc::new(runtime))
    }

    /// What runs in the memory of all queries, beside the sorts.
    pub(super) fn beside(&self, context: &TaskContext) -> Arc<TaskContext> {
        self.with_settings(context, context.runtime_env())
    }

    fn with_settings(&self, context: &TaskContext, runtime: Arc<RuntimeEnv>) -> Arc<TaskContext> {
        let mut config = context.session_config().clone().with_batch_size(self.rows_at_once);
        let options = &mut config.options_mut().execution;
        options.sort_spill_reservation_bytes = options.sort_spill_reservation_bytes.min(self.bytes / HELD_BACK_PART);
        // Merging what is in memory takes as much again, for which nothing would be left; sorting it as a whole does not.
        options.sort_in_place_threshold_bytes = self.bytes;
        Arc::new(TaskContext::default().with_session_config(config).with_runtime(runtime))
    }

    /// What is to be held as long as the sorts are there.
    pub(super) fn into_reservation(self) -> MemoryReservation {
        self.reservation
    }
}
