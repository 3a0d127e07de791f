//! The statements that write many entity group transactions, as `statement_progress` shows them to every session.
//!
//! A statement counts for itself and is shown from its second entity group transaction on, until it ends.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

/// All of them, in the order in which they began.
#[derive(Debug, Default)]
pub(super) struct LongWrites {
    next: AtomicU64,
    running: Mutex<BTreeMap<u64, (Writer, Arc<Tally>)>>,
}

/// Which session writes to which table.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Writer {
    pub process: i32,
    /// OID of the table.
    pub relation: u32,
    pub command: &'static str,
}

/// How much one statement has committed.
#[derive(Debug, Default)]
pub(super) struct Tally {
    egts: AtomicU64,
    rows: AtomicU64,
    /// How often something was committed, all of it or nothing.
    commits: AtomicU64,
    under_way: AtomicU64,
}

/// Where a statement is to be shown once it takes long.
#[derive(Debug, Clone)]
pub(super) struct Report {
    pub to: Arc<LongWrites>,
    pub writer: Writer,
    /// Its session's, where somebody else sees what it has committed.
    pub unfinished: Option<Arc<Unfinished>>,
}

/// One that is shown.
#[derive(Debug)]
pub(super) struct Shown {
    id: u64,
    writes: Arc<LongWrites>,
    unfinished: Option<Arc<Unfinished>>,
}

/// The statement of a session that is shown, until it has come to its own end: one that is dropped before has not.
#[derive(Debug, Default)]
pub(super) struct Unfinished(Mutex<Option<(Writer, Arc<Tally>)>>);

impl Unfinished {
    pub(crate) fn get(&self) -> Option<(Writer, Arc<Tally>)> {
        self.lock().clone()
    }

    pub(crate) fn forget(&self) {
        *self.lock() = None;
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, Option<(Writer, Arc<Tally>)>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl LongWrites {
    /// Every statement that is shown, with what it has committed so far.
    pub(crate) fn all(&self) -> Vec<(Writer, Arc<Tally>)> {
        self.lock().values().cloned().collect()
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, BTreeMap<u64, (Writer, Arc<Tally>)>> {
        self.running.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Report {
    /// Shows the statement from now on.
    pub(crate) fn begin(&self, tally: &Arc<Tally>) -> Shown {
        let id = self.to.next.fetch_add(1, Ordering::Relaxed);
        self.to.lock().insert(id, (self.writer, tally.clone()));
        if let Some(unfinished) = &self.unfinished {
            *unfinished.lock() = Some((self.writer, tally.clone()));
        }
        Shown { id, writes: self.to.clone(), unfinished: self.unfinished.clone() }
    }
}

impl Shown {
    /// The statement has committed all that it was to.
    pub(crate) fn finish(&self) {
        if let Some(unfinished) = &self.unfinished {
            unfinished.forget();
        }
    }
}

impl Drop for Shown {
    fn drop(&mut self) {
        self.writes.lock().remove(&self.id);
    }
}

impl Tally {
    /// One more entity group transaction is committed, of so many rows.
    pub(crate) fn add(&self, rows: usize) {
        self.add_many(1, rows);
    }

    /// So many more of them are committed, each on its own, with so many rows in all.
    pub(crate) fn add_many(&self, egts: usize, rows: usize) {
        self.egts.fetch_add(egts as u64, Ordering::Relaxed);
        self.rows.fetch_add(rows as u64, Ordering::Relaxed);
        self.commits.fetch_add(egts as u64, Ordering::Relaxed);
    }

    /// So many more of them are committed together.
    pub(crate) fn add_group(&self, egts: usize, rows: usize) {
        self.egts.fetch_add(egts as u64, Ordering::Relaxed);
        self.rows.fetch_add(rows as u64, Ordering::Relaxed);
        self.commits.fetch_add(1, Ordering::Relaxed);
    }

    pub(crate) fn set_under_way(&self, egts: usize) {
        self.under_way.store(egts as u64, Ordering::Relaxed);
    }

    pub(crate) fn egts(&self) -> u64 {
        self.egts.load(Ordering::Relaxed)
    }

    pub(crate) fn rows(&self) -> u64 {
        self.rows.load(Ordering::Relaxed)
    }

    pub(crate) fn commits(&self) -> u64 {
        self.commits.load(Ordering::Relaxed)
    }

    pub(crate) fn under_way(&self) -> u64 {
        self.under_way.load(Ordering::Relaxed)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_statement_shows_until_it_ends() {
        let writes = Arc::<LongWrites>::default();
        let writer = Writer { process: 7, relation: 16_384, command: "INSERT" };
        let unfinished = Arc::<Unfinished>::default();
        let report = Report { to: writes.clone(), writer, unfinished: Some(unfinished.clone()) };
        let tally = Arc::default();
        let shown = report.begin(&tally);
        tally.add(100);
        tally.add(20);
        tally.set_under_way(3);
        let [(found, counted)] = &writes.all()[..] else { panic!("one is shown") };
        assert_eq!((*found, counted.egts(), counted.rows(), counted.under_way()), (writer, 2, 120, 3));
        drop(shown);
        assert!(writes.all().is_empty());
        assert_eq!(unfinished.get().map(|(of, tally)| (of, tally.rows())), Some((writer, 120)));
        report.begin(&tally).finish();
        assert!(unfinished.get().is_none());
    }
}
