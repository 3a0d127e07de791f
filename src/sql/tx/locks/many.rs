//! Locks of many rows at once: who writes a window of rows notes their keys in one place, instead of a lock for each.
//!
//! They are noted first, and then it is looked whether somebody has one of the rows in the registry; whoever locks a row
//! looks here, under the lock of the row's shard. So of two that want the same row one finds the other. If that is the one
//! with many rows, it takes its note back and locks the rows one by one, as where they are few; otherwise the other one
//! moves what is noted of the row into the registry and waits there, where circles of waits are found. A shard is locked
//! before the notes, never after.

use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

use hashbrown::HashTable;
use tablegate_bind::query::LockStrength;
use tablegate_store::model::EntityKey;

use super::registry::Owner;
use crate::place::StoredTable;

/// Which note it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct NoteId(u64);

/// The rows that are locked without being in the registry.
#[derive(Default)]
pub(super) struct ManyRows {
    last_id: AtomicU64,
    /// How many notes there are: mostly none, and who locks a row does not look for one.
    count: AtomicUsize,
    notes: Mutex<Vec<Note>>,
}

/// The rows of one table that a transaction locked together.
struct Note {
    id: NoteId,
    owner: Owner,
    table: StoredTable,
    strength: LockStrength,
    rows: HashedRows,
    /// Those that are in the registry by now.
    moved: Vec<EntityKey>,
}

/// Rows by the hashes of their keys; one that is not among them may seem to be, once in a very long time.
pub(super) struct HashedRows {
    hashes: HashTable<u64>,
    /// All rows that there can be, but for those with these hashes.
    are_excepted: bool,
}

impl HashedRows {
    pub(super) fn new(hashes: impl Iterator<Item = u64>) -> Self {
        let mut rows = HashTable::with_capacity(hashes.size_hint().0);
        for hash in hashes {
            rows.insert_unique(hash, hash, |known| *known);
        }
        Self { hashes: rows, are_excepted: false }
    }

    /// All rows that a table has, or could have.
    pub(super) fn all() -> Self {
        Self { hashes: HashTable::new(), are_excepted: true }
    }

    pub(super) fn holds(&self, hash: u64) -> bool {
        self.hashes.find(hash, |known| *known == hash).is_some() != self.are_excepted
    }

    fn remove(&mut self, hash: u64) {
        if self.are_excepted {
            self.hashes.insert_unique(hash, hash, |known| *known);
        } else if let Ok(entry) = self.hashes.find_entry(hash, |known| *known == hash) {
            entry.remove();
        }
    }

    fn meets(&self, other: &Self) -> bool {
        let (few, many) = match (self.are_excepted, other.are_excepted) {
            (true, true) => return true,
            (true, false) => (other, self),
            (false, true) => (self, other),
            (false, false) if self.hashes.len() <= other.hashes.len() => (self, other),
            (false, false) => (other, self),
        };
        few.hashes.iter().any(|hash| many.holds(*hash))
    }
}

impl ManyRows {
    /// Notes rows, unless one of them is noted already. The caller looks into the registry next, for each that
    /// [`ManyRows::holds`].
    pub(super) fn note(
        &self,
        owner: Owner,
        table: &StoredTable,
        strength: LockStrength,
        rows: HashedRows,
    ) -> Option<NoteId> {
        let mut notes = self.notes();
        if notes.iter().any(|note| note.table == *table && note.rows.meets(&rows)) {
            return None;
        }
        let id = NoteId(self.last_id.fetch_add(1, Ordering::Relaxed));
        notes.push(Note { id, owner, table: table.clone(), strength, rows, moved: Vec::new() });
        self.count.store(notes.len(), Ordering::SeqCst);
        Some(id)
    }

    /// Whether a row with this hash is in the note.
    pub(super) fn holds(&self, id: NoteId, hash: u64) -> bool {
        self.notes().iter().any(|note| note.id == id && note.rows.holds(hash))
    }

    /// Makes two notes one, which are of the same transaction, table and strength: so there are few to look through.
    pub(super) fn merge(&self, into: NoteId, more: NoteId) {
        let mut notes = self.notes();
        let place = |id| move |note: &Note| note.id == id;
        let Some(more) = notes.iter().position(place(more)) else { return };
        let more = notes.swap_remove(more);
        self.count.store(notes.len(), Ordering::SeqCst);
        if let Some(note) = notes.iter_mut().find(|note| note.id == into) {
            more.rows.hashes.into_iter().for_each(|hash| {
                note.rows.hashes.insert_unique(hash, hash, |known| *known);
            });
            note.moved.extend(more.moved);
        }
    }

    /// Takes a row out of the notes that somebody else wants: whose it is, and how strongly it is locked. To be called under
    /// the lock of the row's shard, in which the caller enters it.
    pub(super) fn take(&self, table: &StoredTable, key: &EntityKey, hash: u64) -> Option<(Owner, LockStrength)> {
        let mut notes = self.notes();
        let note = notes.iter_mut().find(|note| note.table == *table && note.rows.holds(hash))?;
        note.rows.remove(hash);
        note.moved.push(key.clone());
        Some((note.owner, note.strength))
    }

    /// Whether there is nothing to look for.
    pub(super) fn is_empty(&self) -> bool {
        self.count.load(Ordering::SeqCst) == 0
    }

    /// Forgets a note; those of its rows that are in the registry.
    pub(super) fn forget(&self, id: NoteId) -> Option<(StoredTable, Vec<EntityKey>)> {
        let mut notes = self.notes();
        let place = notes.iter().position(|note| note.id == id)?;
        let note = notes.swap_remove(place);
        self.count.store(notes.len(), Ordering::SeqCst);
        Some((note.table, note.moved))
    }

    fn notes(&self) -> MutexGuard<'_, Vec<Note>> {
        self.notes.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_rows_are_those_that_were_not_taken_out() {
        let mut all = HashedRows::all();
        let some = |hashes: &[u64]| HashedRows::new(hashes.iter().copied());
        assert!(all.holds(7) && all.meets(&some(&[7])) && some(&[7]).meets(&all) && all.meets(&HashedRows::all()));
        assert!(!all.meets(&some(&[])));
        all.remove(7);
        assert!(!all.holds(7) && all.holds(8));
        assert!(!all.meets(&some(&[7])) && all.meets(&some(&[7, 8])));
        let mut plain = some(&[1, 2]);
        plain.remove(1);
        assert!(!plain.holds(1) && plain.holds(2) && !plain.meets(&some(&[1, 3])) && plain.meets(&some(&[1, 2, 3])));
    }
}
