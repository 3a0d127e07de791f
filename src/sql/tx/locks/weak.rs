//! Weak locks of tables, which nearly every statement takes and which hardly ever conflict: each session notes its own.
//!
//! A SELECT locks its tables against DDL, an INSERT its table too. In the registry all sessions that use one table
//! would meet in its shard, twice for each statement. So modes that go together are noted in a slot that few sessions
//! share, as long as no transaction wants the table in a conflicting mode. One that does announces it first
//! ([`Strong`]) and then moves what is noted into the registry, where it waits for it; until it is done, new weak locks
//! of the table go into the registry too.
//!
//! All that a transaction holds of a table is in one place, its slot or the registry. A slot is locked before a shard of the
//! registry, never after.

use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use super::mode::{Mode, Modes};
use super::registry::Owner;
use crate::syntax::TableMode;

/// Enough that the sessions of a busy server seldom want the same one.
const SLOTS: usize = 64;
/// Most locks that are noted in a slot: they are looked through one by one. What is more goes to the registry.
const NOTED_MAX: usize = 64;
/// Tables that share a count of those who want them in a strong mode.
const COUNTS: usize = 1024;

/// The weak locks that are in no shard.
pub(super) struct WeakLocks {
    slots: Vec<Slot>,
    /// How many have, or want, a table of these in a strong mode.
    strong: Arc<[AtomicU32]>,
}

/// On a cache line of its own, so that sessions with different slots do not slow each other down.
#[derive(Default)]
#[repr(align(128))]
struct Slot(Mutex<Vec<Noted>>);

/// What a transaction has of a table.
#[derive(Debug, Clone, Copy)]
pub(super) struct Noted {
    pub owner: Owner,
    pub oid: u32,
    pub modes: Modes,
}

/// As long as it is there, weak locks of the table are taken in the registry.
#[derive(Debug)]
pub(super) struct Strong {
    counts: Arc<[AtomicU32]>,
    oid: u32,
}

impl Drop for Strong {
    fn drop(&mut self) {
        count(&self.counts, self.oid).fetch_sub(1, Ordering::SeqCst);
    }
}

/// Whether it goes together with itself and all others of its kind.
pub(super) fn is_weak(mode: Mode) -> bool {
    matches!(mode, Mode::Table(TableMode::AccessShare | TableMode::RowShare | TableMode::RowExclusive))
}

impl Default for WeakLocks {
    fn default() -> Self {
        let slots = (0..SLOTS).map(|_| Slot::default()).collect();
        Self { slots, strong: (0..COUNTS).map(|_| AtomicU32::new(0)).collect() }
    }
}

impl WeakLocks {
    /// Takes a weak lock and gives what was held before; `None` where it is to be taken in the registry. `is_first` says that
    /// the transaction has no lock of the table. What it has noted goes through `moved`, under the lock of the slot, before
    /// the registry is asked.
    pub(super) fn take(
        &self,
        owner: Owner,
        oid: u32,
        mode: Mode,
        is_first: bool,
        moved: impl FnOnce(Noted),
    ) -> Option<Modes> {
        let mut slot = self.slot(owner);
        // Read under the slot's lock: a transaction that wants a strong mode announces it before it locks the slots to
        // move what is noted in them.
        let is_free = count(&self.strong, oid).load(Ordering::SeqCst) == 0;
        match slot.iter().position(|noted| noted.owner == owner && noted.oid == oid) {
            Some(place) if is_free => {
                let before = slot[place].modes;
                if !before.cover(mode) {
                    slot[place].modes = before.with(mode);
                }
                Some(before)
            }
            Some(place) => {
                moved(slot.swap_remove(place));
                None
            }
            None if is_free && is_first && slot.len() < NOTED_MAX => {
                slot.push(Noted { owner, oid, modes: Modes::NONE.with(mode) });
                Some(Modes::NONE)
            }
            None => None,
        }
    }

    /// Goes back to what was held before. False where it is held in the registry.
    pub(super) fn restore(&self, owner: Owner, oid: u32, before: Modes) -> bool {
        let mut slot = self.slot(owner);
        let Some(place) = slot.iter().position(|noted| noted.owner == owner && noted.oid == oid) else { return false };
        if before.is_empty() {
            slot.swap_remove(place);
        } else {
            slot[place].modes = before;
        }
        true
    }

    /// Somebody wants the table in a strong mode: what is noted of it goes through `moved`, each under the lock of its slot, so
    /// that whoever gives it back finds it in one place or the other.
    pub(super) fn announce(&self, oid: u32, mut moved: impl FnMut(Noted)) -> Strong {
        count(&self.strong, oid).fetch_add(1, Ordering::SeqCst);
        let strong = Strong { counts: Arc::clone(&self.strong), oid };
        for slot in &self.slots {
            let mut slot = guard(slot);
            slot.extract_if(.., |noted| noted.oid == oid).for_each(&mut moved);
        }
        strong
    }

    /// All that is noted.
    pub(super) fn all(&self) -> Vec<Noted> {
        self.slots.iter().flat_map(|slot| guard(slot).clone()).collect()
    }

    fn slot(&self, owner: Owner) -> MutexGuard<'_, Vec<Noted>> {
        guard(&self.slots[owner.process.unsigned_abs() as usize % SLOTS])
    }
}

fn count(counts: &[AtomicU32], oid: u32) -> &AtomicU32 {
    &counts[oid as usize % COUNTS]
}

fn guard(slot: &Slot) -> MutexGuard<'_, Vec<Noted>> {
    slot.0.lock().unwrap_or_else(PoisonError::into_inner)
}
