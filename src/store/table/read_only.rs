//! A store that is only read: what would write into it is refused, and never gets there. Looking at what is there, to count
//! it, is allowed.

use std::sync::Arc;

use async_trait::async_trait;

use super::layer::StoreLayer;
use super::store::{CommitError, GroupError, StoreError, TableStore, Written};
use super::{Batch, NewEntities, Refusals, StagedRows, WindowOutcome, WriteGroup};
use crate::model::TableName;

/// Reads another store.
pub struct ReadOnlyStore(Arc<dyn TableStore>);

impl ReadOnlyStore {
    pub fn new(store: Arc<dyn TableStore>) -> Self {
        Self(store)
    }
}

#[async_trait]
impl StoreLayer for ReadOnlyStore {
    fn below(&self) -> &dyn TableStore {
        &*self.0
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

    async fn commit_window(&self, batches: Vec<Batch>) -> WindowOutcome {
        batches.iter().map(|_| Err(StoreError::ReadOnly.into())).collect()
    }

    async fn insert_window(&self, entities: NewEntities) -> Refusals {
        entities.all_refused(&StoreError::ReadOnly)
    }

    async fn commit_group(&self, _: Vec<Batch>) -> Result<Vec<Vec<Written>>, GroupError> {
        Err(StoreError::ReadOnly.into())
    }

    async fn write_group(&self, _: WriteGroup) -> Result<(), GroupError> {
        Err(StoreError::ReadOnly.into())
    }

    async fn stage(&self, _: &TableName) -> Result<Option<Box<dyn StagedRows>>, StoreError> {
        Err(StoreError::ReadOnly)
    }

    async fn clear(&self, _: &TableName, _: u64) -> Result<Option<u64>, StoreError> {
        Err(StoreError::ReadOnly)
    }
}
