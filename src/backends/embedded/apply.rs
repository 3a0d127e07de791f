//! One atomic commit: checked against what is written, collected into one batch of the engine's.
//!
//! Nothing is changed before the whole commit was checked, neither on disk nor in memory: a commit that is refused is
//! dropped as it stands. Each key occurs once in a commit, so no operation depends on another one of the same commit.

use std::collections::BTreeMap;
use std::sync::Arc;

use fjall::OwnedWriteBatch;
use tablegate_store::model::{Clock, ETag, EntityKey, TableName};
use tablegate_store::table::{Batch, CommitError, Operation, Rejection, Stamps, StoreError, TableSize, Written};

use super::analyze::Recorders;
use super::engine::Engine;
use super::key_bytes;
use super::meta::{Live, TableMeta, Tables};
use super::probe::Probe;
use super::row::RowError;
use super::segment::delta;
use super::segment::install::Building;
use super::size::{Growth, Size, put_size};

/// A commit under way.
pub(super) struct Commit<'a> {
    engine: &'a Engine,
    live: &'a Live,
    recorders: &'a Recorders,
    building: &'a Building,
    probe: &'a Probe,
    stamps: Stamps<'a>,
    writes: OwnedWriteBatch,
    /// Tables as they are after this commit, under their numbers.
    drafts: BTreeMap<u32, Draft>,
}

/// A table as it is after a commit, and by how much that makes it larger.
struct Draft {
    table: TableMeta,
    growth: Growth,
}

/// A commit that was checked: what to write, and what is known once it is written.
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
    pub(super) fn new(
        engine: &'a Engine,
        live: &'a Live,
        recorders: &'a Recorders,
        building: &'a Building,
        probe: &'a Probe,
        clock: &'a dyn Clock,
    ) -> Self {
        let stamps = Stamps { clock, last: live.last };
        Self { engine, live, recorders, building, probe, stamps, writes: engine.batch(), drafts: BTreeMap::new() }
    }

    /// # Errors
    /// As [`tablegate_store::table::TableStore::commit`].
    pub(super) fn add(&mut self, batch: Batch) -> Result<Vec<Written>, CommitError> {
        let found = find(&self.live.tables, batch.table())?;
        let draft = self.drafts.remove(&found.number);
        let mut draft = draft.unwrap_or_else(|| Draft { table: TableMeta::clone(found), growth: Growth::default() });
        let mut written = Vec::with_capacity(batch.operations().len());
        let is_new = self.probe.finds_nothing(self.engine, found.number, &batch)?;
        for (index, operation) in batch.into_operations().into_iter().enumerate() {
            let key = operation.key().clone();
            match self.add_operation(&mut draft, &key, operation, is_new) {
                Ok(outcome) => written.push(outcome),
                Err(Refusal::Rejected(reason)) => return Err(CommitError::Rejected { index, key, reason }),
                Err(Refusal::Store(error)) => return Err(error.into()),
            }
        }
        self.drafts.insert(draft.table.number, draft);
        Ok(written)
    }

    pub(super) fn finish(mut self) -> Checked {
        let mut tables = Arc::clone(&self.live.tables);
        let mut sizes = Vec::new();
        for Draft { table, growth } in self.drafts.into_values() {
            if let Some(size) = table.size.get().filter(|_| growth != Growth::default()) {
                let size = growth.of(size);
                put_size(table.number, size, self.engine, &mut self.writes);
                sizes.push((Arc::clone(&table.size), size));
            }
            if let Some(before) = self.live.tables.get(&table.name) {
                table.put_changes(before, self.engine, &mut self.writes);
                if table.differs(before) {
                    Arc::make_mut(&mut tables).insert(table.name.clone(), Arc::new(table));
                }
            }
        }
        let live = Live { tables, last: self.stamps.last, ..self.live.next() };
        live.put_head(self.engine, &mut self.writes);
        Checked { writes: self.writes, live, sizes }
    }

    fn add_operation(
        &mut self,
        draft: &mut Draft,
        key: &EntityKey,
        operation: Operation,
        is_new: bool,
    ) -> Result<Written, Refusal> {
        let Draft { table, growth } = draft;
        let key_bytes = key_bytes::of_entity(table.number, key);
        let stored = if is_new { None } else { self.engine.written_row(&key_bytes).map_err(Refusal::Store)? };
        let before = stored.as_ref().map(|bytes| bytes.len());
        let properties = {
            // An upsert that replaces does not care what is there, only whether it counts already.
            let is_blind = matches!(operation, Operation::InsertOrReplace(_));
            let bytes = stored.filter(|_| !is_blind);
            let damaged = |error| Refusal::Store(damaged(table, key, error));
            let row = bytes.as_deref().map(|bytes| table.parse_row(bytes)).transpose().map_err(damaged)?;
            let etag = row.as_ref().map(|row| ETag::of_timestamp(row.timestamp));
            operation.check_precondition(etag.as_ref())?;
            let row = row.filter(|_| operation.is_merge());
            row.map(|row| row.properties()).transpose().map_err(damaged)?
        };
        let Some(entity) = operation.into_result(properties)? else {
            growth.add(key_bytes.len(), before, None);
            self.put_delta(table, &key_bytes, None);
            self.writes.remove(&self.engine.rows, key_bytes);
            return Ok(Written::Deleted);
        };
        let timestamp = self.stamps.next_timestamp();
        table.observe(&entity.properties);
        self.recorders.record(table.number, &entity.properties);
        let row = table.encode_row(&entity.properties, timestamp);
        growth.add(key_bytes.len(), before, Some(row.len()));
        self.put_delta(table, &key_bytes, Some(&row));
        self.writes.insert(&self.engine.rows, key_bytes, row);
        Ok(Written::Entity { etag: ETag::of_timestamp(timestamp), timestamp })
    }

    /// Where the rows around are kept up as columns too, or are about to be, the change is noted beside them.
    fn put_delta(&mut self, table: &TableMeta, key: &[u8], row: Option<&[u8]>) {
        let segment = table.segments.find(key);
        if let Some(segment) = segment {
            segment.note_write(self.live.commit + 1);
        }
        if segment.is_some_and(|segment| !segment.is_given_up()) || self.building.holds(key) {
            delta::put(key, self.live.commit + 1, row, self.engine, &mut self.writes);
        }
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
