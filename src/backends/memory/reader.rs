//! Reading: a reader holds every table as it was when the reader was made.

use std::sync::Arc;

use async_trait::async_trait;
use tablegate_store::model::{EdmRef, EntityKey, EntityKeys, StoredEntity, TableName};
use tablegate_store::table::{
    AtOnce, EntityWalk, ObservedSchema, ScanColumns, ScanRequest, ScanStream, StoreError, TableReader, TableSize,
};

use super::scan::Scan;
use super::{Tables, find};

pub(super) struct MemoryReader {
    tables: Arc<Tables>,
    commit: u64,
}

impl MemoryReader {
    pub(super) fn new(tables: Arc<Tables>, commit: u64) -> Self {
        Self { tables, commit }
    }
}

#[async_trait]
impl TableReader for MemoryReader {
    fn commit(&self) -> Option<u64> {
        Some(self.commit)
    }

    fn last_change(&self, table: &TableName) -> Option<u64> {
        find(&self.tables, table).ok().map(|table| table.changed())
    }

    async fn list_tables(&self) -> Result<Vec<TableName>, StoreError> {
        Ok(self.tables.keys().cloned().collect())
    }

    async fn observed_schema(&self, table: &TableName) -> Result<Arc<ObservedSchema>, StoreError> {
        Ok(Arc::clone(find(&self.tables, table)?.observed()))
    }

    fn estimate(&self, table: &TableName) -> Result<Option<TableSize>, StoreError> {
        Ok(Some(find(&self.tables, table)?.size()))
    }

    fn partition_rows(&self, table: &TableName, most: usize) -> Option<usize> {
        let rows = find(&self.tables, table).ok()?.partition_rows()?;
        Some(usize::try_from(rows).map_or(most, |rows| rows.min(most)))
    }

    async fn get(&self, table: &TableName, key: &EntityKey) -> Result<Option<StoredEntity>, StoreError> {
        Ok(find(&self.tables, table)?.get(key).map(|stored| StoredEntity::clone(stored)))
    }

    async fn first_present(&self, table: &TableName, keys: &EntityKeys) -> Result<Option<usize>, StoreError> {
        let table = find(&self.tables, table)?;
        Ok(keys.pairs().position(|(partition, row)| table.get_pair(partition, row).is_some()))
    }

    fn get_at_once(
        &self,
        table: &TableName,
        (partition, row): (&str, &str),
        columns: &ScanColumns,
        take: &mut dyn FnMut(usize, EdmRef<'_>) -> bool,
    ) -> Result<AtOnce, StoreError> {
        let Some(stored) = find(&self.tables, table)?.get_pair(partition, row) else { return Ok(AtOnce::Nothing) };
        let properties = &stored.entity.properties;
        let mut found =
            columns.properties().filter_map(|(column, name)| Some((column, properties.get(name.as_str())?)));
        let are_taken = found.all(|(column, value)| take(column, value.as_ref()));
        Ok(if are_taken { AtOnce::Entity(stored.timestamp) } else { AtOnce::No })
    }

    fn scan(&self, request: ScanRequest) -> Result<ScanStream, StoreError> {
        let table = Arc::clone(find(&self.tables, &request.table)?);
        Ok(Scan::new(table, request).into_stream())
    }

    fn walk(&self, request: &ScanRequest) -> Result<Option<Box<dyn EntityWalk>>, StoreError> {
        let table = Arc::clone(find(&self.tables, &request.table)?);
        Ok(Some(Box::new(Scan::new(table, request.clone()))))
    }
}
