//! The COPY statements under way, as `pg_stat_progress_copy` shows them to every session.
//!
//! A COPY counts for itself and reports by being there: its counters leave with it, however it ends.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use super::statistics::Counter;

/// All of them, in the order in which they began.
#[derive(Debug, Default)]
pub(super) struct Copies {
    next: AtomicU64,
    running: Mutex<BTreeMap<u64, Arc<Counters>>>,
    /// Rows that were copied since the server began.
    copied_in: Counter,
    copied_out: Counter,
}

/// What is copied where to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum CopyDirection {
    From,
    To,
}

#[derive(Debug)]
struct Counters {
    process: i32,
    /// OID of the table; 0 for a query.
    relation: u32,
    direction: CopyDirection,
    bytes: AtomicU64,
    rows: AtomicU64,
    excluded: AtomicU64,
}

/// One COPY under way.
#[derive(Debug)]
pub struct CopyProgress {
    id: u64,
    counters: Arc<Counters>,
    copies: Arc<Copies>,
}

/// How far one COPY has come.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct CopyState {
    pub process: i32,
    pub relation: u32,
    pub direction: CopyDirection,
    pub bytes: u64,
    pub rows: u64,
    pub excluded: u64,
}

impl Copies {
    /// A COPY of the session with this number begins; `relation` is its table's OID, 0 for a query.
    pub(crate) fn begin(self: &Arc<Self>, process: i32, relation: u32, direction: CopyDirection) -> CopyProgress {
        let id = self.next.fetch_add(1, Ordering::Relaxed);
        let (bytes, rows, excluded) = Default::default();
        let counters = Arc::new(Counters { process, relation, direction, bytes, rows, excluded });
        self.lock().insert(id, counters.clone());
        CopyProgress { id, counters, copies: self.clone() }
    }

    pub(crate) fn states(&self) -> Vec<CopyState> {
        let state = |counters: &Arc<Counters>| CopyState {
            process: counters.process,
            relation: counters.relation,
            direction: counters.direction,
            bytes: counters.bytes.load(Ordering::Relaxed),
            rows: counters.rows.load(Ordering::Relaxed),
            excluded: counters.excluded.load(Ordering::Relaxed),
        };
        self.lock().values().map(state).collect()
    }

    /// Rows that COPY FROM has read since the server began.
    pub(crate) fn copied_in(&self) -> u64 {
        self.copied_in.get()
    }

    /// Rows that COPY TO has written.
    pub(crate) fn copied_out(&self) -> u64 {
        self.copied_out.get()
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, BTreeMap<u64, Arc<Counters>>> {
        self.running.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl CopyProgress {
    /// So many more bytes were read or written.
    pub fn add_bytes(&self, bytes: usize) {
        self.counters.bytes.fetch_add(u64::try_from(bytes).unwrap_or(u64::MAX), Ordering::Relaxed);
    }

    /// So many more rows were copied.
    pub fn add_rows(&self, rows: u64) {
        self.counters.rows.fetch_add(rows, Ordering::Relaxed);
        match self.counters.direction {
            CopyDirection::From => self.copies.copied_in.add(rows),
            CopyDirection::To => self.copies.copied_out.add(rows),
        }
    }

    /// So many more rows were read and left out by WHERE.
    pub(super) fn add_excluded(&self, rows: u64) {
        self.counters.excluded.fetch_add(rows, Ordering::Relaxed);
    }
}

impl Drop for CopyProgress {
    fn drop(&mut self) {
        self.copies.lock().remove(&self.id);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_copy_shows_until_it_ends() {
        let copies = Arc::new(Copies::default());
        let first = copies.begin(7, 16_384, CopyDirection::From);
        let second = copies.begin(8, 0, CopyDirection::To);
        first.add_bytes(10);
        first.add_rows(2);
        first.add_excluded(1);
        let shown: Vec<_> = copies.states().into_iter().map(|s| (s.process, s.bytes, s.rows, s.excluded)).collect();
        assert_eq!(shown, [(7, 10, 2, 1), (8, 0, 0, 0)]);
        drop(first);
        assert_eq!(copies.states()[0].process, 8);
        second.add_rows(5);
        drop(second);
        assert!(copies.states().is_empty());
        assert_eq!((copies.copied_in(), copies.copied_out()), (2, 5));
    }
}
