//! Reading: every reader holds the view that was published last when it was made.

use std::sync::{Arc, PoisonError, RwLock};

use async_trait::async_trait;
use fjall::{Iter, Readable as _, Slice, Snapshot};

use super::apply::{damaged, find};
use super::engine::Engine;
use super::key_bytes::{self, ByteSpan};
use super::meta::Tables;
use super::scan::Scan;
use crate::model::{ETag, Entity, EntityKey, StoredEntity, TableName};
use crate::table::{ObservedSchema, ScanRequest, ScanStream, StoreError, TableReader};

/// Rows and tables at one moment, all of it durable.
pub(super) struct View {
    snapshot: Snapshot,
    pub(super) tables: Arc<Tables>,
}

impl View {
    /// What the engine was given so far.
    pub(super) fn new(engine: &Engine, tables: Arc<Tables>) -> Self {
        Self { snapshot: engine.snapshot(), tables }
    }

    pub(super) fn row(&self, engine: &Engine, key: &[u8]) -> Result<Option<Slice>, StoreError> {
        engine.guarded(|| self.snapshot.get(&engine.rows, key))
    }

    pub(super) fn range(&self, engine: &Engine, span: &ByteSpan) -> Result<Iter, StoreError> {
        engine.guarded(|| Ok(self.snapshot.range(&engine.rows, span.from.as_slice()..span.to.as_slice())))
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
}

pub(super) struct EmbeddedReader {
    view: Arc<View>,
    engine: Arc<Engine>,
}

impl EmbeddedReader {
    pub(super) fn new(engine: Arc<Engine>, view: Arc<View>) -> Self {
        Self { view, engine }
    }
}

#[async_trait]
impl TableReader for EmbeddedReader {
    async fn list_tables(&self) -> Result<Vec<TableName>, StoreError> {
        Ok(self.view.tables.values().map(|table| table.name.clone()).collect())
    }

    async fn observed_schema(&self, table: &TableName) -> Result<Arc<ObservedSchema>, StoreError> {
        Ok(Arc::clone(&find(&self.view.tables, table)?.observed))
    }

    /// One look-up is too short to be worth another thread.
    async fn get(&self, table: &TableName, key: &EntityKey) -> Result<Option<StoredEntity>, StoreError> {
        let table = find(&self.view.tables, table)?;
        let Some(bytes) = self.view.row(&self.engine, &key_bytes::of_entity(table.number, key))? else {
            return Ok(None);
        };
        let row = table.parse_row(&bytes).map_err(|error| damaged(table, key, error))?;
        let properties = row.properties().map_err(|error| damaged(table, key, error))?;
        let timestamp = row.timestamp;
        let entity = Entity::new(key.clone(), properties);
        Ok(Some(StoredEntity { entity, timestamp, etag: ETag::of_timestamp(timestamp) }))
    }

    fn scan(&self, request: ScanRequest) -> Result<ScanStream, StoreError> {
        let table = Arc::clone(find(&self.view.tables, &request.table)?);
        Ok(Scan::new(Arc::clone(&self.engine), Arc::clone(&self.view), table, request).into_stream())
    }
}
