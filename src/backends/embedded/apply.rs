//! One atomic write: entity group transactions checked against what is written, collected into one batch of the engine's.
//!
//! Each transaction is checked whole before anything of it is collected, so one that is refused leaves no trace and those
//! before it stay as they are. Each key occurs once in what is collected, so no check depends on what is not written yet.

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;
use std::sync::Arc;

use fjall::{OwnedWriteBatch, Slice};
use hashbrown::HashTable;
use tablegate_store::model::{Clock, ETag, Entity, EntityKey, TableName};
use tablegate_store::table::{
    Batch, CommitError, Operation, Rejection, SeededHash, Stamps, StoreError, TableSize, Written,
};

use super::analyze::Recorders;
use super::engine::Engine;
use super::key_bytes;
use super::meta::{Live, TableMeta, Tables, put_next_number};
use super::probe::Probe;
use super::row::RowError;
use super::segment::delta;
use super::segment::install::Building;
use super::size::{Growth, Size, put_size};

/// A write being collected.
pub(super) struct Commit<'a> {
    pub(super) engine: &'a Engine,
    pub(super) live: &'a Live,
    pub(super) recorders: &'a Recorders,
    pub(super) building: &'a Building,
    pub(super) probe: &'a Probe,
    pub(super) stamps: Stamps<'a>,
    pub(super) writes: OwnedWriteBatch,
    /// Tables as they are after it, under their numbers.
    pub(super) drafts: BTreeMap<u32, Draft>,
    /// Tables in whose places those of `live` are that have their names.
    pub(super) replaced: &'a [Replaced],
    /// What the transaction being added comes to: empty between two of them.
    changes: Vec<Change>,
    /// A row's bytes while they are made.
    pub(super) row: Vec<u8>,
}

/// A table as it is after a write, and by how much that makes it larger.
pub(super) struct Draft {
    pub(super) table: TableMeta,
    pub(super) growth: Growth,
}

impl Draft {
    /// Of a table as it is.
    pub(super) fn of(table: &TableMeta) -> Self {
        Self { table: table.clone(), growth: Growth::default() }
    }
}

/// What an operation comes to, checked.
struct Change {
    key: Slice,
    /// Length of the row that is there.
    before: Option<usize>,
    /// What is to be there; `None` when nothing.
    after: Option<Entity>,
}

/// A table as it was, in whose place another one of its name comes.
pub(super) struct Replaced {
    pub(super) before: Arc<TableMeta>,
    /// How much the other one holds, but for what is written to it.
    pub(super) size: TableSize,
}

/// A write that was checked: what to write, and what is known once it is written.
pub(super) struct Checked {
    pub(super) writes: OwnedWriteBatch,
    pub(super) live: Live,
    /// How much tables hold then.
    pub(super) sizes: Vec<(Arc<Size>, TableSize)>,
}

enum Refusal {
    Rejected(Rejection),
    Store(StoreError),
}

impl From<Rejection> for Refusal {
    fn from(reason: Rejection) -> Self {
        Refusal::Rejected(reason)
    }
}

impl<'a> Commit<'a> {
    /// One that writes about so much.
    pub(super) fn new(
        engine: &'a Engine,
        (live, replaced): (&'a Live, &'a [Replaced]),
        recorders: &'a Recorders,
        building: &'a Building,
        probe: &'a Probe,
        clock: &'a dyn Clock,
        writes: usize,
    ) -> Self {
        let stamps = Stamps { clock, last: live.last };
        let (writes, drafts, changes, row) = (engine.batch_of(writes), BTreeMap::new(), Vec::new(), Vec::new());
        Self { engine, live, recorders, building, probe, stamps, writes, drafts, replaced, changes, row }
    }

    /// Adds a transaction: all of it, or nothing where it is refused.
    ///
    /// # Errors
    /// As [`tablegate_store::table::TableStore::commit`].
    pub(super) fn add(&mut self, batch: Batch) -> Result<Vec<Written>, CommitError> {
        let is_new = match find(&self.live.tables, batch.table()) {
            Ok(table) => self.probe.finds_nothing(self.engine, table.number, std::slice::from_ref(&batch))?,
            Err(error) => return Err(error.into()),
        };
        self.add_probed(batch, is_new)
    }

    /// Adds a transaction. `is_new` says that there is no row under any of its keys.
    ///
    /// # Errors
    /// As [`Commit::add`].
    pub(super) fn add_probed(&mut self, batch: Batch, is_new: bool) -> Result<Vec<Written>, CommitError> {
        let table = find(&self.live.tables, batch.table())?;
        let mut changes = std::mem::take(&mut self.changes);
        let checked = self.check(table, batch, is_new, &mut changes);
        let written = checked.map(|()| self.put(table, changes.drain(..)));
        changes.clear();
        self.changes = changes;
        written
    }

    fn check(
        &self,
        table: &TableMeta,
        batch: Batch,
        is_new: bool,
        changes: &mut Vec<Change>,
    ) -> Result<(), CommitError> {
        for (index, operation) in batch.into_operations().into_iter().enumerate() {
            let key = operation.key().clone();
            match self.check_operation(table, operation, is_new) {
                Ok(change) => changes.push(change),
                Err(Refusal::Rejected(reason)) => return Err(CommitError::Rejected { index, key, reason }),
                Err(Refusal::Store(error)) => return Err(error.into()),
            }
        }
        Ok(())
    }

    fn check_operation(&self, table: &TableMeta, operation: Operation, is_new: bool) -> Result<Change, Refusal> {
        let key = key_bytes::of_entity(table.number, operation.key());
        let stored = if is_new { None } else { self.engine.written_row(&key).map_err(Refusal::Store)? };
        let before = stored.as_ref().map(|bytes| bytes.len());
        // An upsert that replaces does not care what is there, only whether it counts already.
        let is_blind = matches!(operation, Operation::InsertOrReplace(_));
        let bytes = stored.filter(|_| !is_blind);
        let properties = {
            let damaged = |error| Refusal::Store(damaged(table, operation.key(), error));
            let row = bytes.as_deref().map(|bytes| table.parse_row(bytes)).transpose().map_err(damaged)?;
            let etag = row.as_ref().map(|row| ETag::of_timestamp(row.timestamp));
            operation.check_precondition(etag.as_ref())?;
            let row = row.filter(|_| operation.is_merge());
            row.map(|row| row.properties()).transpose().map_err(damaged)?
        };
        Ok(Change { key: Slice::from(key), before, after: operation.into_result(properties)? })
    }

    fn put(&mut self, table: &TableMeta, changes: impl Iterator<Item = Change>) -> Vec<Written> {
        let Self { engine, live, recorders, building, stamps, writes, drafts, row, .. } = self;
        let Draft { table, growth } = match drafts.entry(table.number) {
            Entry::Occupied(entry) => entry.into_mut(),
            Entry::Vacant(entry) => entry.insert(Draft::of(table)),
        };
        let commit = live.commit + 1;
        let put = |Change { key, before, after }: Change| {
            let is_kept_as_columns = notes_changes(table, building, &key, commit);
            let Some(entity) = after else {
                growth.add(key.len(), before, None);
                if is_kept_as_columns {
                    delta::put(&key, commit, None, engine, writes);
                }
                writes.remove(engine.rows_of(&key), key);
                return Written::Deleted;
            };
            let timestamp = stamps.next_timestamp();
            table.observe(&entity.properties);
            recorders.record(table.number, &entity.properties);
            row.clear();
            table.encode_row(&entity.properties, timestamp, row);
            growth.add(key.len(), before, Some(row.len()));
            if is_kept_as_columns {
                delta::put(&key, commit, Some(row), engine, writes);
            }
            writes.insert(engine.rows_of(&key), key, row.as_slice());
            Written::Entity { etag: ETag::of_timestamp(timestamp), timestamp }
        };
        changes.map(put).collect()
    }

    /// Whether nothing is to be written.
    pub(super) fn is_empty(&self) -> bool {
        self.writes.is_empty()
    }

    pub(super) fn finish(mut self) -> Checked {
        let mut tables = Arc::clone(&self.live.tables);
        let mut sizes = Vec::new();
        for Draft { table, growth } in self.drafts.into_values() {
            table.note_change(self.live.commit + 1);
            if let Some(size) = table.size.get().filter(|_| growth != Growth::default()) {
                let size = growth.of(size);
                put_size(table.number, size, self.engine, &mut self.writes);
                sizes.push((Arc::clone(&table.size), size));
            }
            if let Some(before) = self.live.tables.get(&table.name) {
                // What takes another's place is written whole.
                if !self.replaced.iter().any(|replaced| replaced.before.name == table.name) {
                    table.put_changes(before, self.engine, &mut self.writes);
                }
                if table.differs(before) {
                    Arc::make_mut(&mut tables).insert(table.name.clone(), Arc::new(table));
                }
            }
        }
        for Replaced { before, size: holds } in self.replaced {
            let Some(table) = tables.get(&before.name) else { continue };
            before.put_replaced(table, self.engine, &mut self.writes);
            table.note_change(self.live.commit + 1);
            if !sizes.iter().any(|(size, _)| Arc::ptr_eq(size, &table.size)) {
                put_size(table.number, *holds, self.engine, &mut self.writes);
                sizes.push((Arc::clone(&table.size), *holds));
            }
        }
        if !self.replaced.is_empty() {
            put_next_number(self.live.next_number, self.engine, &mut self.writes);
        }
        let live = Live { tables, last: self.stamps.last, ..self.live.next() };
        live.put_head(self.engine, &mut self.writes);
        Checked { writes: self.writes, live, sizes }
    }
}

/// Whether the rows around are kept up as columns too, or are about to be: then the change is noted beside them.
pub(super) fn notes_changes(table: &TableMeta, building: &Building, key: &[u8], commit: u64) -> bool {
    let segment = table.segments.find(key);
    if let Some(segment) = segment {
        segment.note_write(commit);
    }
    segment.is_some_and(|segment| !segment.is_given_up()) || building.holds(key)
}

/// The keys of transactions that are collected and not written yet.
pub(super) struct CollectedKeys {
    hash: SeededHash,
    hashes: HashTable<u64>,
}

impl CollectedKeys {
    pub(super) fn with_capacity(keys: usize) -> Self {
        Self { hash: SeededHash::default(), hashes: HashTable::with_capacity(keys) }
    }

    /// Takes the keys of a transaction, unless one of them may be here: that of another table may be taken for it.
    pub(super) fn take(&mut self, batch: &Batch) -> bool {
        let hash_of = |operation: &Operation| self.hash.of(operation.key());
        let is_here = |hash: u64| self.hashes.find(hash, |known| *known == hash).is_some();
        if batch.operations().iter().map(hash_of).any(is_here) {
            return false;
        }
        for operation in batch.operations() {
            let hash = self.hash.of(operation.key());
            self.hashes.insert_unique(hash, hash, |known| *known);
        }
        true
    }

    pub(super) fn clear(&mut self) {
        self.hashes.clear();
    }
}

/// # Errors
/// [`StoreError::TableMissing`].
pub(super) fn find<'a>(tables: &'a Tables, name: &TableName) -> Result<&'a Arc<TableMeta>, StoreError> {
    tables.get(name).ok_or_else(|| StoreError::TableMissing(name.clone()))
}

/// The error for an entity whose bytes cannot be read.
pub(super) fn damaged(table: &TableMeta, key: &EntityKey, error: RowError) -> StoreError {
    StoreError::Damaged { place: format!("entity {key} of table \"{}\"", table.name), detail: error.to_string() }
}
