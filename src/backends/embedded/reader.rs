//! Readers. Each holds the view that was the last published one when the reader was made.

use std::sync::{Arc, PoisonError, RwLock};

use async_trait::async_trait;
use fjall::{Iter, Readable as _, Slice, Snapshot};
use tablegate_store::model::{ETag, EdmRef, Entity, EntityKey, EntityKeys, StoredEntity, TableName};
use tablegate_store::table::{
    AtOnce, EntityWalk, KeyRange, ObservedSchema, ScanColumns, ScanRequest, ScanStream, StoreError, TableReader,
    TableSize,
};

use super::analyze::damaged_row;
use super::apply::{damaged, find};
use super::engine::Engine;
use super::entities::Entities;
use super::key_bytes::{self, ByteSpan};
use super::lease::Lease;
use super::meta::{Live, Tables};
use super::partitions::rows_of_a_partition;
use super::scan::Scan;
use super::segment::split::split;

/// So many keys are looked up before other tasks of the thread may go on: about half a millisecond.
const LOOKED_UP_AT_ONCE: usize = 512;

/// Rows and tables at one moment, all of it durable.
pub(super) struct View {
    snapshot: Snapshot,
    lease: Arc<Lease>,
    pub(super) tables: Arc<Tables>,
    /// The last commit that is in it.
    pub(super) commit: u64,
}

impl View {
    /// What the engine was given so far.
    pub(super) fn new(engine: &Engine, lease: Arc<Lease>, live: &Live) -> Self {
        Self { snapshot: engine.snapshot(), lease, tables: Arc::clone(&live.tables), commit: live.commit }
    }

    pub(super) fn lease(&self) -> Arc<Lease> {
        Arc::clone(&self.lease)
    }

    /// The engine this view is of, for one short step.
    ///
    /// # Errors
    /// [`StoreError::Unavailable`] when it was closed.
    pub(super) fn engine(&self) -> Result<Arc<Engine>, StoreError> {
        self.lease.engine()
    }

    pub(super) fn row(&self, engine: &Engine, key: &[u8]) -> Result<Option<Slice>, StoreError> {
        engine.guarded(|| self.snapshot.get(engine.rows_of(key), key))
    }

    /// What was written into the spans of segments.
    pub(super) fn delta(&self, engine: &Engine, span: &ByteSpan) -> Result<Iter, StoreError> {
        engine.guarded(|| Ok(self.snapshot.range(&engine.delta, span.from.as_slice()..span.to.as_slice())))
    }

    pub(super) fn range(&self, engine: &Engine, span: &ByteSpan) -> Result<Iter, StoreError> {
        let rows = engine.rows_of(&span.from);
        engine.guarded(|| Ok(self.snapshot.range(rows, span.from.as_slice()..span.to.as_slice())))
    }
}

/// The view for readers that are made now.
pub(super) struct Published(RwLock<Arc<View>>);

impl Published {
    pub(super) fn new(view: View) -> Self {
        Self(RwLock::new(Arc::new(view)))
    }

    pub(super) fn get(&self) -> Arc<View> {
        Arc::clone(&self.0.read().unwrap_or_else(PoisonError::into_inner))
    }

    pub(super) fn set(&self, view: View) {
        let view = Arc::new(view);
        let before = std::mem::replace(&mut *self.0.write().unwrap_or_else(PoisonError::into_inner), view);
        // Freed outside the lock.
        drop(before);
    }

    /// Sets a view of the engine that `open` opens, if it does; who asks for a view meanwhile waits.
    pub(super) fn replace(
        &self,
        open: impl FnOnce() -> Result<(Arc<Engine>, Live), StoreError>,
    ) -> Result<(Arc<View>, Arc<Engine>, Live), StoreError> {
        let mut published = self.0.write().unwrap_or_else(PoisonError::into_inner);
        let (engine, live) = open()?;
        let lease = Arc::new(Lease::new(Arc::clone(&engine)));
        *published = Arc::new(View::new(&engine, lease, &live));
        Ok((Arc::clone(&published), engine, live))
    }
}

pub(super) struct EmbeddedReader {
    view: Arc<View>,
}

impl EmbeddedReader {
    pub(super) fn new(view: Arc<View>) -> Self {
        Self { view }
    }
}

#[async_trait]
impl TableReader for EmbeddedReader {
    fn commit(&self) -> Option<u64> {
        Some(self.view.commit)
    }

    fn last_change(&self, table: &TableName) -> Option<u64> {
        find(&self.view.tables, table).ok().map(|table| table.changed())
    }

    async fn list_tables(&self) -> Result<Vec<TableName>, StoreError> {
        Ok(self.view.tables.values().map(|table| table.name.clone()).collect())
    }

    async fn observed_schema(&self, table: &TableName) -> Result<Arc<ObservedSchema>, StoreError> {
        Ok(Arc::clone(&find(&self.view.tables, table)?.observed))
    }

    fn estimate(&self, table: &TableName) -> Result<Option<TableSize>, StoreError> {
        Ok(find(&self.view.tables, table)?.size.get())
    }

    fn partition_rows(&self, table: &TableName, most: usize) -> Option<usize> {
        let table = find(&self.view.tables, table).ok()?;
        rows_of_a_partition(&self.view, table, most).ok().flatten()
    }

    /// One look-up is too short to be worth another thread.
    async fn get(&self, table: &TableName, key: &EntityKey) -> Result<Option<StoredEntity>, StoreError> {
        let table = find(&self.view.tables, table)?;
        let Some(bytes) = self.view.row(&*self.view.engine()?, &key_bytes::of_entity(table.number, key))? else {
            return Ok(None);
        };
        let row = table.parse_row(&bytes).map_err(|error| damaged(table, key, error))?;
        let properties = row.properties().map_err(|error| damaged(table, key, error))?;
        let timestamp = row.timestamp;
        let entity = Entity::new(key.clone(), properties);
        Ok(Some(StoredEntity { entity, timestamp, etag: ETag::of_timestamp(timestamp) }))
    }

    async fn first_present(&self, table: &TableName, keys: &EntityKeys) -> Result<Option<usize>, StoreError> {
        let table = find(&self.view.tables, table)?;
        let bytes = |(partition, row): (&str, &str)| key_bytes::of_row(table.number, partition, row);
        // Rows that are loaded in the order of their keys have nothing between them: one look shows that.
        if keys.len() > 1 && keys.pairs().is_sorted() {
            let engine = self.view.engine()?;
            let span = ByteSpan { from: bytes(keys.pair(0)), to: bytes(keys.pair(keys.len() - 1)) };
            let mut between = self.view.range(&engine, &span)?;
            let is_empty = engine.guarded(|| between.next().map(fjall::Guard::key).transpose())?.is_none();
            if is_empty && self.view.row(&engine, &span.to)?.is_none() {
                return Ok(None);
            }
        }
        for first in (0..keys.len()).step_by(LOOKED_UP_AT_ONCE) {
            {
                let engine = self.view.engine()?;
                for place in first..keys.len().min(first + LOOKED_UP_AT_ONCE) {
                    if self.view.row(&engine, &bytes(keys.pair(place)))?.is_some() {
                        return Ok(Some(place));
                    }
                }
            }
            // Others of the thread have their turn.
            tokio::task::yield_now().await;
        }
        Ok(None)
    }

    fn get_at_once(
        &self,
        table: &TableName,
        (partition, row): (&str, &str),
        columns: &ScanColumns,
        take: &mut dyn FnMut(usize, EdmRef<'_>) -> bool,
    ) -> Result<AtOnce, StoreError> {
        let table = find(&self.view.tables, table)?;
        let key = key_bytes::of_row(table.number, partition, row);
        let Some(bytes) = self.view.row(&*self.view.engine()?, &key)? else { return Ok(AtOnce::Nothing) };
        let damaged = |error| damaged_row(table, &key, error);
        let row = table.parse_row(&bytes).map_err(damaged)?;
        for (column, name) in columns.properties() {
            if let Some(property) = row.place_of(name)
                && !take(column, row.value(property).map_err(damaged)?)
            {
                return Ok(AtOnce::No);
            }
        }
        Ok(AtOnce::Entity(row.timestamp))
    }

    fn scan(&self, request: ScanRequest) -> Result<ScanStream, StoreError> {
        let table = Arc::clone(find(&self.view.tables, &request.table)?);
        Ok(Scan::new(Arc::clone(&self.view), table, request).into_stream())
    }

    fn walk(&self, request: &ScanRequest) -> Result<Option<Box<dyn EntityWalk>>, StoreError> {
        let table = Arc::clone(find(&self.view.tables, &request.table)?);
        Ok(Some(Box::new(Entities::new(Arc::clone(&self.view), table, request.clone()))))
    }

    fn split(&self, table: &TableName, ranges: &[KeyRange], parts: usize) -> Vec<EntityKey> {
        find(&self.view.tables, table).map(|table| split(table, ranges, parts)).unwrap_or_default()
    }
}
