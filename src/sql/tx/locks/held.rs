//! The locks of one transaction: taken one by one while it runs, released together when it ends, however it ends.

use std::sync::Arc;
use std::time::{Duration, Instant};

use smallvec::SmallVec;
use tablegate_bind::query::LockStrength;
use tablegate_store::model::{ETag, EntityKey, EntityKeys};
use tokio::sync::oneshot;

use super::deadlock;
use super::error::{LOCKS_MAX, LockError};
use super::many::NoteId;
use super::memory::{LockMemory, noted_row_bytes, row_bytes, table_bytes};
use super::mode::{Mode, Modes};
use super::registry::{Locks, Owner, Request, Target, Wanted};
use super::weak::Strong;
use crate::place::StoredTable;
use crate::syntax::TableMode;

/// What to do about a lock that others hold.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum LockWait {
    /// Wait, at most so long (`lock_timeout`).
    AtMost(Option<Duration>),
    /// NOWAIT, SKIP LOCKED: do without.
    No,
}

/// How many locks a transaction had: see [`HeldLocks::release_to`].
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Mark(usize);

/// The locks of one transaction. Dropping it gives them back.
pub(crate) struct HeldLocks {
    locks: Arc<Locks>,
    owner: Owner,
    held: Vec<Held>,
    /// The tables among them, in the same order.
    tables: SmallVec<[u32; 4]>,
    /// How many there were at the last mark.
    marked: usize,
    memory: LockMemory,
}

struct Held {
    locked: Locked,
    /// What was held of the target before.
    before: Modes,
    /// Others learn from it that a table is locked: given up when it is locked no longer.
    _strong: Option<Box<Strong>>,
}

impl Held {
    /// What it takes.
    fn bytes(&self) -> usize {
        match &self.locked {
            Locked::One(target) => bytes_of(target),
            Locked::Rows(rows) => rows.bytes,
        }
    }
}

fn bytes_of(target: &Target) -> usize {
    match target {
        Target::Row(row) => row_bytes(&row.1),
        Target::Table(_) | Target::Advisory(_) => table_bytes(),
    }
}

/// What was locked at once.
enum Locked {
    One(Target),
    Rows(Box<LockedRows>),
}

/// Many rows of a table.
struct LockedRows {
    note: NoteId,
    table: StoredTable,
    strength: LockStrength,
    /// Nothing is counted of a window: its rows are few, and free when it is written.
    bytes: usize,
}

/// Among so many of the last locks it is looked whether rows of a table are locked at once already.
const RECENT: usize = 64;

impl HeldLocks {
    /// No locks yet, of a session that its clients know by this number.
    pub(crate) fn new(locks: Arc<Locks>, process: i32) -> Self {
        let (owner, memory) = (locks.new_owner(process), LockMemory::new(&locks.memory));
        Self { locks, owner, held: Vec::new(), tables: SmallVec::new(), marked: 0, memory }
    }

    /// No locks yet, of the same session.
    pub(crate) fn of_next_transaction(&self) -> Self {
        Self::new(self.locks.clone(), self.owner.process)
    }

    /// Locks a row. True when it was locked already, so that no other transaction can have changed it since.
    ///
    /// # Errors
    /// When others hold it for too long, or would never give it back; for too many locks.
    pub(crate) async fn lock_row(
        &mut self,
        table: &StoredTable,
        key: &EntityKey,
        strength: LockStrength,
        wait: LockWait,
    ) -> Result<bool, LockError> {
        let target = Target::row(table, key);
        let before = self.lock(target, Mode::Row(strength), wait).await?;
        Ok(before.keep_row_unchanged())
    }

    /// Locks the rows of a window at once. False when somebody has one of them already, be it this transaction: then none
    /// is locked.
    pub(crate) fn lock_rows<'k>(
        &mut self,
        table: &StoredTable,
        keys: impl Iterator<Item = (&'k str, &'k str)>,
        strength: LockStrength,
    ) -> bool {
        let note = self.locks.lock_many(self.owner, table, strength, keys);
        note.map(|note| self.push_rows(note, table, strength, 0)).is_some()
    }

    /// As [`HeldLocks::lock_rows`], of rows that stay locked to the end of the transaction: they are a part of the memory.
    ///
    /// # Errors
    /// [`LockError::NoMemory`].
    pub(crate) fn hold_rows<'k>(
        &mut self,
        table: &StoredTable,
        keys: impl ExactSizeIterator<Item = (&'k str, &'k str)>,
        strength: LockStrength,
    ) -> Result<bool, LockError> {
        let bytes = keys.len() * noted_row_bytes();
        // One by one they would take more.
        self.memory.has_room(bytes)?;
        let Some(note) = self.locks.lock_many(self.owner, table, strength, keys) else { return Ok(false) };
        self.memory.take(bytes);
        let since_mark = self.held.get_mut(self.marked..).unwrap_or_default();
        let earlier = since_mark.iter_mut().rev().take(RECENT).find_map(|held| match &mut held.locked {
            Locked::Rows(rows) if rows.table == *table && rows.strength == strength => Some(rows),
            Locked::Rows(_) | Locked::One(_) => None,
        });
        match earlier {
            Some(rows) => {
                self.locks.merge_many(rows.note, note);
                rows.bytes += bytes;
            }
            None => self.push_rows(note, table, strength, bytes),
        }
        Ok(true)
    }

    /// As [`HeldLocks::hold_rows`], of those rows that the transaction has not locked that way already.
    ///
    /// # Errors
    /// As [`HeldLocks::hold_rows`].
    pub(crate) fn hold_other_rows(
        &mut self,
        table: &StoredTable,
        keys: &EntityKeys,
        strength: LockStrength,
    ) -> Result<bool, LockError> {
        let notes: Vec<NoteId> = self
            .held
            .iter()
            .filter_map(|held| match &held.locked {
                Locked::Rows(rows) if rows.table == *table && rows.strength == strength => Some(rows.note),
                Locked::Rows(_) | Locked::One(_) => None,
            })
            .collect();
        let others: Vec<_> = keys.pairs().filter(|pair| !self.locks.are_noted(&notes, *pair)).collect();
        if others.is_empty() { Ok(true) } else { self.hold_rows(table, others.into_iter(), strength) }
    }

    fn push_rows(&mut self, note: NoteId, table: &StoredTable, strength: LockStrength, bytes: usize) {
        let rows = LockedRows { note, table: table.clone(), strength, bytes };
        self.held.push(Held { locked: Locked::Rows(Box::new(rows)), before: Modes::NONE, _strong: None });
    }

    /// As [`HeldLocks::lock_rows`], all rows that the table has, or could have.
    pub(crate) fn lock_all_rows(&mut self, table: &StoredTable, strength: LockStrength) -> bool {
        let note = self.locks.lock_all(self.owner, table, strength);
        note.map(|note| self.push_rows(note, table, strength, 0)).is_some()
    }

    /// Locks the table with this OID.
    ///
    /// # Errors
    /// As [`HeldLocks::lock_row`].
    pub(crate) async fn lock_table(&mut self, oid: u32, mode: TableMode, wait: LockWait) -> Result<(), LockError> {
        self.lock(Target::Table(oid), Mode::Table(mode), wait).await.map(|_| ())
    }

    /// A row was committed in the place of the one that had this version, and is locked still.
    pub(crate) fn note_replaced(&self, table: &StoredTable, key: &EntityKey, version: &ETag) {
        self.locks.replaced.note(table, key, version);
    }

    /// Whether the row that had this version is gone, and another one in its place, as far as that is remembered.
    pub(crate) fn is_replaced(&self, table: &StoredTable, key: &EntityKey, version: &ETag) -> bool {
        self.locks.replaced.holds(table, key, version)
    }

    pub(crate) fn holds_rows(&self) -> bool {
        self.held.iter().any(|held| matches!(held.locked, Locked::Rows(_) | Locked::One(Target::Row(_))))
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.held.is_empty()
    }

    /// Where [`HeldLocks::release_to`] is to come back to.
    pub(crate) fn mark(&mut self) -> Mark {
        self.marked = self.held.len();
        Mark(self.marked)
    }

    /// Gives back what was locked since the mark, and weakens what was only strengthened since.
    pub(crate) fn release_to(&mut self, mark: Mark) {
        self.marked = self.marked.min(mark.0);
        while self.held.len() > mark.0 {
            let Some(held) = self.held.pop() else { return };
            if let Locked::One(Target::Table(_)) = held.locked {
                self.tables.pop();
            }
            self.give_back(held);
        }
    }

    /// Gives everything back: the transaction has ended, what is locked from now on belongs to another one.
    pub(crate) fn release_all(&mut self) {
        if !self.held.is_empty() {
            self.release_to(Mark::default());
            self.held = Vec::new();
            self.owner = self.locks.new_owner(self.owner.process);
        }
    }

    /// Gives back those of the row locks taken since the mark for which `done` says so. Later marks mean nothing after.
    pub(crate) fn release_rows_since(&mut self, mark: Mark, done: impl Fn(&EntityKey) -> bool) {
        let since = self.held.split_off(mark.0.min(self.held.len()));
        let is_done = |held: &Held| matches!(&held.locked, Locked::One(Target::Row(row)) if done(&row.1));
        let (released, kept): (Vec<Held>, Vec<Held>) = since.into_iter().partition(is_done);
        self.held.extend(kept);
        // Backwards, so that what was strengthened ends as it began.
        released.into_iter().rev().for_each(|held| self.give_back(held));
    }

    fn give_back(&mut self, held: Held) {
        self.memory.give_back(held.bytes());
        let Held { locked, before, _strong } = held;
        match locked {
            Locked::One(target) => self.locks.restore(self.owner, &target, before),
            Locked::Rows(rows) => self.locks.release_many(self.owner, rows.note),
        }
    }

    async fn lock(&mut self, target: Target, mode: Mode, wait: LockWait) -> Result<Modes, LockError> {
        if self.held.len() >= LOCKS_MAX {
            return Err(LockError::TooMany);
        }
        self.memory.has_room(bytes_of(&target))?;
        let is_first = !matches!(target, Target::Table(oid) if self.tables.contains(&oid));
        let strong = self.locks.announce(&target, mode);
        let before = match self.locks.take_weak(self.owner, &target, mode, is_first) {
            Some(before) => before,
            None => self.lock_in_registry(&target, mode, wait).await?,
        };
        if !before.cover(mode) {
            if let Target::Table(oid) = target {
                self.tables.push(oid);
            }
            self.memory.take(bytes_of(&target));
            self.held.push(Held { locked: Locked::One(target), before, _strong: strong.map(Box::new) });
        }
        Ok(before)
    }

    async fn lock_in_registry(&self, target: &Target, mode: Mode, wait: LockWait) -> Result<Modes, LockError> {
        match self.locks.request(self.owner, target, mode, wait != LockWait::No) {
            Request::Granted(before) => Ok(before),
            Request::Busy => Err(LockError::Busy),
            Request::Queued(granted) => {
                let place = Place::new(&self.locks, self.owner, Wanted { target: target.clone(), mode }, granted);
                place.wait(wait).await
            }
        }
    }
}

impl Drop for HeldLocks {
    fn drop(&mut self) {
        self.release_to(Mark::default());
    }
}

impl std::fmt::Debug for HeldLocks {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("HeldLocks").field("owner", &self.owner).field("held", &self.held.len()).finish_non_exhaustive()
    }
}

/// A place in a queue. Dropping it leaves the queue.
pub(super) struct Place<'a> {
    locks: &'a Locks,
    owner: Owner,
    wanted: Wanted,
    granted: oneshot::Receiver<Modes>,
    taken: bool,
    began: Instant,
}

impl<'a> Place<'a> {
    pub(super) fn new(locks: &'a Locks, owner: Owner, wanted: Wanted, granted: oneshot::Receiver<Modes>) -> Self {
        Self { locks, owner, wanted, granted, taken: false, began: Instant::now() }
    }

    /// Waits for the grant; gives what was held before it.
    pub(super) async fn wait(mut self, wait: LockWait) -> Result<Modes, LockError> {
        if let Some(circle) = deadlock::begin_wait(self.locks, self.owner, &self.wanted) {
            let detail = circle.describe();
            tracing::info!(detail, "deadlock detected");
            self.locks.counts.deadlocks.add_one();
            return Err(LockError::Deadlock(detail));
        }
        let granted = match wait {
            LockWait::AtMost(Some(timeout)) => {
                tokio::time::timeout(timeout, &mut self.granted).await.map_err(|_elapsed| {
                    self.locks.counts.timeouts.add_one();
                    LockError::Timeout
                })?
            }
            LockWait::AtMost(None) | LockWait::No => (&mut self.granted).await,
        };
        // Who leaves the queue without a grant has not got it; but only this place takes itself out.
        let before = granted.map_err(|_gone| LockError::Busy)?;
        self.taken = true;
        Ok(before)
    }
}

impl Drop for Place<'_> {
    fn drop(&mut self) {
        deadlock::end_wait(self.locks, self.owner);
        self.locks.counts.waits.add_one();
        self.locks.counts.waited.add(self.began.elapsed());
        if !self.taken {
            self.locks.abandon(self.owner, &self.wanted.target, &mut self.granted);
        }
    }
}
