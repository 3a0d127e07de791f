//! One run of a statement while it is measured.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Instant;

use super::Kind;

/// What a session's statement has read and committed so far: its scans add to it.
#[derive(Debug, Default)]
pub(crate) struct Meter {
    scanned: AtomicU64,
    returned: AtomicU64,
    egts: AtomicU64,
    plans: AtomicU64,
}

impl Meter {
    /// So many entities came from the store, and so many of them met the condition.
    pub(crate) fn add_entities(&self, scanned: usize, returned: usize) {
        self.scanned.fetch_add(u64::try_from(scanned).unwrap_or(u64::MAX), Ordering::Relaxed);
        self.returned.fetch_add(u64::try_from(returned).unwrap_or(u64::MAX), Ordering::Relaxed);
    }

    pub(crate) fn add_egts(&self, committed: u64) {
        self.egts.fetch_add(committed, Ordering::Relaxed);
    }

    /// A plan of the engine's is about to run.
    pub(crate) fn add_plan(&self) {
        self.plans.fetch_add(1, Ordering::Relaxed);
    }

    /// Entities scanned and returned, entity group transactions, and plans, since the last call.
    pub(crate) fn take(&self) -> [u64; 4] {
        [&self.scanned, &self.returned, &self.egts, &self.plans].map(|counter| counter.swap(0, Ordering::Relaxed))
    }
}

/// A statement that runs.
#[derive(Debug)]
pub(crate) struct Measure {
    /// Its text without constants, known once it is counted.
    pub text: Arc<str>,
    pub kind: Kind,
    pub started: Instant,
}
