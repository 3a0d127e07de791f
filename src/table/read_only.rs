//! A store that is only read: what would write into it is refused, and never gets there.

use std::sync::Arc;

use async_trait::async_trait;

use super::Batch;
use super::store::{CommitError, GroupError, Promises, StoreError, StoreFigures, TableReader, TableStore, Written};
use crate::model::TableName;

/// Reads another store.
pub struct ReadOnlyStore(Arc<dyn TableStore>);

impl ReadOnlyStore {
    pub fn new(store: Arc<dyn TableStore>) -> Self {
        Self(store)
    }
}

#[async_trait]
impl TableStore for ReadOnlyStore {
    fn promises(&self) -> Promises {
        self.0.promises()
    }

    fn reader(&self) -> Arc<dyn TableReader> {
        self.0.reader()
    }

    async fn create_table(&self, _: &TableName) -> Result<(), StoreError> {
        Err(StoreError::ReadOnly)
    }

    async fn drop_table(&self, _: &TableName) -> Result<(), StoreError> {
        Err(StoreError::ReadOnly)
    }

    async fn commit(&self, _: Batch) -> Result<Vec<Written>, CommitError> {
        Err(StoreError::ReadOnly.into())
    }

    async fn commit_group(&self, _: Vec<Batch>) -> Result<Vec<Vec<Written>>, GroupError> {
        Err(StoreError::ReadOnly.into())
    }

    /// Looks at what is there, and keeps nothing in it.
    async fn analyze(&self, table: &TableName) -> Result<(), StoreError> {
        self.0.analyze(table).await
    }

    fn figures(&self) -> StoreFigures {
        self.0.figures()
    }
}
