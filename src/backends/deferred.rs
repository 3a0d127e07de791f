//! A store that is opened when its first table is made: what most servers never need costs nothing until then.

use std::fmt;
use std::sync::Arc;

use async_trait::async_trait;
use tablegate_store::model::{EntityKey, StoredEntity, TableName};
use tablegate_store::table::{
    Batch, CommitError, GroupError, NewEntities, ObservedSchema, Parallelism, Promises, Refusals, ScanRequest,
    ScanStream, StagedRows, StoreError, StoreFigures, TableReader, TableStore, WindowOutcome, WriteGroup, Written,
};
use tokio::sync::OnceCell;

type Open = dyn Fn() -> Result<Arc<dyn TableStore>, StoreError> + Send + Sync;

/// An empty store until then.
pub struct DeferredStore {
    promises: Promises,
    // Dropped before `open`, which may own the folder.
    store: OnceCell<Arc<dyn TableStore>>,
    open: Arc<Open>,
}

impl DeferredStore {
    /// `open` reads files, and is called at most once with success; the store it gives keeps these promises.
    pub fn new(
        promises: Promises,
        open: impl Fn() -> Result<Arc<dyn TableStore>, StoreError> + Send + Sync + 'static,
    ) -> Self {
        Self { promises, store: OnceCell::new(), open: Arc::new(open) }
    }

    async fn opened(&self) -> Result<&Arc<dyn TableStore>, StoreError> {
        self.store
            .get_or_try_init(|| async {
                let open = Arc::clone(&self.open);
                tokio::task::spawn_blocking(move || open()).await.map_err(|_| StoreError::ShuttingDown)?
            })
            .await
    }
}

impl fmt::Debug for DeferredStore {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("DeferredStore").field("is_open", &self.store.initialized()).finish_non_exhaustive()
    }
}

#[async_trait]
impl TableStore for DeferredStore {
    fn promises(&self) -> Promises {
        self.promises
    }

    fn parallelism(&self) -> Parallelism {
        self.store.get().map(|store| store.parallelism()).unwrap_or_default()
    }

    fn reader(&self) -> Arc<dyn TableReader> {
        self.store.get().map_or_else(|| Arc::new(Nothing) as Arc<dyn TableReader>, |store| store.reader())
    }

    async fn create_table(&self, table: &TableName) -> Result<(), StoreError> {
        self.opened().await?.create_table(table).await
    }

    async fn drop_table(&self, table: &TableName) -> Result<(), StoreError> {
        match self.store.get() {
            Some(store) => store.drop_table(table).await,
            None => Err(StoreError::TableMissing(table.clone())),
        }
    }

    async fn commit(&self, batch: Batch) -> Result<Vec<Written>, CommitError> {
        match self.store.get() {
            Some(store) => store.commit(batch).await,
            None => Err(StoreError::TableMissing(batch.table().clone()).into()),
        }
    }

    async fn commit_window(&self, batches: Vec<Batch>) -> WindowOutcome {
        match self.store.get() {
            Some(store) => store.commit_window(batches).await,
            None => batches.iter().map(|b| Err(StoreError::TableMissing(b.table().clone()).into())).collect(),
        }
    }

    async fn insert_window(&self, entities: NewEntities) -> Refusals {
        match self.store.get() {
            Some(store) => store.insert_window(entities).await,
            None => entities.all_refused(&StoreError::TableMissing(entities.table().clone())),
        }
    }

    async fn commit_group(&self, batches: Vec<Batch>) -> Result<Vec<Vec<Written>>, GroupError> {
        match (self.store.get(), batches.first()) {
            (Some(store), _) => store.commit_group(batches).await,
            (None, Some(batch)) => Err(StoreError::TableMissing(batch.table().clone()).into()),
            (None, None) => Ok(Vec::new()),
        }
    }

    async fn write_group(&self, group: WriteGroup) -> Result<(), GroupError> {
        if let Some(store) = self.store.get() {
            return store.write_group(group).await;
        }
        match group.tables().next() {
            Some(table) => Err(StoreError::TableMissing(table.clone()).into()),
            None => Ok(()),
        }
    }

    async fn stage(&self, table: &TableName) -> Result<Option<Box<dyn StagedRows>>, StoreError> {
        match self.store.get() {
            Some(store) => store.stage(table).await,
            None => Err(StoreError::TableMissing(table.clone())),
        }
    }

    async fn clear(&self, table: &TableName, unchanged_since: u64) -> Result<Option<u64>, StoreError> {
        match self.store.get() {
            Some(store) => store.clear(table, unchanged_since).await,
            None => Err(StoreError::TableMissing(table.clone())),
        }
    }

    async fn analyze(&self, table: &TableName) -> Result<(), StoreError> {
        match self.store.get() {
            Some(store) => store.analyze(table).await,
            None => Err(StoreError::TableMissing(table.clone())),
        }
    }

    fn figures(&self) -> StoreFigures {
        self.store.get().map(|store| store.figures()).unwrap_or_default()
    }
}

/// A view of a store before its first table.
struct Nothing;

#[async_trait]
impl TableReader for Nothing {
    async fn list_tables(&self) -> Result<Vec<TableName>, StoreError> {
        Ok(Vec::new())
    }

    async fn observed_schema(&self, table: &TableName) -> Result<Arc<ObservedSchema>, StoreError> {
        Err(StoreError::TableMissing(table.clone()))
    }

    async fn get(&self, table: &TableName, _: &EntityKey) -> Result<Option<StoredEntity>, StoreError> {
        Err(StoreError::TableMissing(table.clone()))
    }

    fn scan(&self, request: ScanRequest) -> Result<ScanStream, StoreError> {
        Err(StoreError::TableMissing(request.table))
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};

    use super::*;
    use crate::memory::MemoryStore;
    use tablegate_store::model::SystemClock;

    #[tokio::test]
    async fn the_first_table_opens_it_once() {
        let promises = MemoryStore::new(Arc::new(SystemClock)).promises();
        let opened = Arc::new(AtomicUsize::new(0));
        let counter = Arc::clone(&opened);
        let store = DeferredStore::new(promises, move || {
            counter.fetch_add(1, Ordering::SeqCst);
            Ok(Arc::new(MemoryStore::new(Arc::new(SystemClock))))
        });
        let [first, second] = ["first", "second"].map(|name| TableName::parse(name).unwrap());
        let before = store.reader();
        assert!(before.list_tables().await.unwrap().is_empty());
        assert!(matches!(store.drop_table(&first).await, Err(StoreError::TableMissing(_))));
        assert!(matches!(store.analyze(&first).await, Err(StoreError::TableMissing(_))));
        assert_eq!(opened.load(Ordering::SeqCst), 0);
        let (one, two) = tokio::join!(store.create_table(&first), store.create_table(&second));
        one.unwrap();
        two.unwrap();
        assert_eq!(opened.load(Ordering::SeqCst), 1);
        assert_eq!(store.reader().list_tables().await.unwrap(), [first.clone(), second]);
        assert!(before.observed_schema(&first).await.is_err(), "a view of an earlier moment");
    }

    #[tokio::test]
    async fn what_could_not_be_opened_is_tried_again() {
        let promises = MemoryStore::new(Arc::new(SystemClock)).promises();
        let tries = AtomicUsize::new(0);
        let store = DeferredStore::new(promises, move || match tries.fetch_add(1, Ordering::SeqCst) {
            0 => Err(StoreError::DiskFull("as planned".to_owned())),
            _ => Ok(Arc::new(MemoryStore::new(Arc::new(SystemClock)))),
        });
        let table = TableName::parse("table1").unwrap();
        assert!(matches!(store.create_table(&table).await, Err(StoreError::DiskFull(_))));
        store.create_table(&table).await.unwrap();
    }
}
