//! A store that wraps another one: it implements only the calls that it changes, and the rest go to the wrapped store.
//!
//! A method that is added to [`TableStore`] is forwarded here, once for all wrappers, so no wrapper can forget it.

use std::sync::Arc;

use async_trait::async_trait;

use super::segments::{Renewal, SegmentFigures};
use super::store::{
    CommitError, GroupError, Parallelism, Promises, StoreError, StoreFigures, TableReader, TableStore, Written,
};
use super::{Batch, DerivedColumn, NewEntities, Refusals, StagedRows, WindowOutcome, WriteGroup};
use crate::model::TableName;

/// A [`TableStore`] that passes on whatever it does not say otherwise.
#[async_trait]
pub trait StoreLayer: Send + Sync + 'static {
    /// The store behind it.
    fn below(&self) -> &dyn TableStore;

    fn promises(&self) -> Promises {
        self.below().promises()
    }

    fn parallelism(&self) -> Parallelism {
        self.below().parallelism()
    }

    fn reader(&self) -> Arc<dyn TableReader> {
        self.below().reader()
    }

    async fn create_table(&self, table: &TableName) -> Result<(), StoreError> {
        self.below().create_table(table).await
    }

    async fn drop_table(&self, table: &TableName) -> Result<(), StoreError> {
        self.below().drop_table(table).await
    }

    async fn commit(&self, batch: Batch) -> Result<Vec<Written>, CommitError> {
        self.below().commit(batch).await
    }

    async fn commit_window(&self, batches: Vec<Batch>) -> WindowOutcome {
        self.below().commit_window(batches).await
    }

    async fn insert_window(&self, entities: NewEntities) -> Refusals {
        self.below().insert_window(entities).await
    }

    async fn commit_group(&self, batches: Vec<Batch>) -> Result<Vec<Vec<Written>>, GroupError> {
        self.below().commit_group(batches).await
    }

    async fn write_group(&self, group: WriteGroup) -> Result<(), GroupError> {
        self.below().write_group(group).await
    }

    async fn stage(&self, table: &TableName) -> Result<Option<Box<dyn StagedRows>>, StoreError> {
        self.below().stage(table).await
    }

    async fn clear(&self, table: &TableName, unchanged_since: u64) -> Result<Option<u64>, StoreError> {
        self.below().clear(table, unchanged_since).await
    }

    async fn analyze(&self, table: &TableName) -> Result<(), StoreError> {
        self.below().analyze(table).await
    }

    fn segments(&self, table: &TableName) -> Vec<SegmentFigures> {
        self.below().segments(table)
    }

    async fn renew_segments(&self, table: &TableName, which: Renewal) -> Result<(), StoreError> {
        self.below().renew_segments(table, which).await
    }

    fn keep_derived(&self, table: &TableName, columns: Vec<Arc<DerivedColumn>>) {
        self.below().keep_derived(table, columns);
    }

    fn figures(&self) -> StoreFigures {
        self.below().figures()
    }
}

#[async_trait]
impl<L: StoreLayer> TableStore for L {
    fn promises(&self) -> Promises {
        StoreLayer::promises(self)
    }

    fn parallelism(&self) -> Parallelism {
        StoreLayer::parallelism(self)
    }

    fn reader(&self) -> Arc<dyn TableReader> {
        StoreLayer::reader(self)
    }

    async fn create_table(&self, table: &TableName) -> Result<(), StoreError> {
        StoreLayer::create_table(self, table).await
    }

    async fn drop_table(&self, table: &TableName) -> Result<(), StoreError> {
        StoreLayer::drop_table(self, table).await
    }

    async fn commit(&self, batch: Batch) -> Result<Vec<Written>, CommitError> {
        StoreLayer::commit(self, batch).await
    }

    async fn commit_window(&self, batches: Vec<Batch>) -> WindowOutcome {
        StoreLayer::commit_window(self, batches).await
    }

    async fn insert_window(&self, entities: NewEntities) -> Refusals {
        StoreLayer::insert_window(self, entities).await
    }

    async fn commit_group(&self, batches: Vec<Batch>) -> Result<Vec<Vec<Written>>, GroupError> {
        StoreLayer::commit_group(self, batches).await
    }

    async fn write_group(&self, group: WriteGroup) -> Result<(), GroupError> {
        StoreLayer::write_group(self, group).await
    }

    async fn stage(&self, table: &TableName) -> Result<Option<Box<dyn StagedRows>>, StoreError> {
        StoreLayer::stage(self, table).await
    }

    async fn clear(&self, table: &TableName, unchanged_since: u64) -> Result<Option<u64>, StoreError> {
        StoreLayer::clear(self, table, unchanged_since).await
    }

    async fn analyze(&self, table: &TableName) -> Result<(), StoreError> {
        StoreLayer::analyze(self, table).await
    }

    fn segments(&self, table: &TableName) -> Vec<SegmentFigures> {
        StoreLayer::segments(self, table)
    }

    async fn renew_segments(&self, table: &TableName, which: Renewal) -> Result<(), StoreError> {
        StoreLayer::renew_segments(self, table, which).await
    }

    fn keep_derived(&self, table: &TableName, columns: Vec<Arc<DerivedColumn>>) {
        StoreLayer::keep_derived(self, table, columns);
    }

    fn figures(&self) -> StoreFigures {
        StoreLayer::figures(self)
    }
}
