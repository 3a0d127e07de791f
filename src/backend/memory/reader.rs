//! Reading: a reader holds every table as it was when the reader was made.

use std::sync::Arc;

use async_trait::async_trait;

use super::scan::Scan;
use super::{Tables, find};
use crate::model::{EntityKey, StoredEntity, TableName};
use crate::table::{ObservedSchema, ScanRequest, ScanStream, StoreError, TableReader, TableSize};

pub(super) struct MemoryReader {
    tables: Arc<Tables>,
}

impl MemoryReader {
    pub(super) fn new(tables: Arc<Tables>) -> Self {
        Self { tables }
    }
}

#[async_trait]
impl TableReader for MemoryReader {
    async fn list_tables(&self) -> Result<Vec<TableName>, StoreError> {
        Ok(self.tables.keys().cloned().collect())
    }

    async fn observed_schema(&self, table: &TableName) -> Result<Arc<ObservedSchema>, StoreError> {
        Ok(Arc::clone(find(&self.tables, table)?.observed()))
    }

    fn estimate(&self, table: &TableName) -> Result<Option<TableSize>, StoreError> {
        Ok(Some(find(&self.tables, table)?.size()))
    }

    async fn get(&self, table: &TableName, key: &EntityKey) -> Result<Option<StoredEntity>, StoreError> {
        Ok(find(&self.tables, table)?.get(key).map(|stored| StoredEntity::clone(stored)))
    }

    fn scan(&self, request: ScanRequest) -> Result<ScanStream, StoreError> {
        let table = Arc::clone(find(&self.tables, &request.table)?);
        Ok(Scan::new(table, request).into_stream())
    }
}
