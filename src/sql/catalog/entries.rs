//! The entries of the catalogue as they were last read: what has not changed since is not read again.

use std::collections::BTreeMap;
use std::sync::Arc;

use arrow::array::AsArray;
use futures::StreamExt;

use crate::model::{EntityKey, StoredEntity, TableName};
use crate::sql::error::SqlResult;
use crate::table::{Direction, KeyRange, ScanColumn, ScanColumns, ScanRequest, ScanStats, StoreError, TableReader};

#[derive(Debug, Default)]
pub(super) struct Entries(BTreeMap<EntityKey, StoredEntity>);

impl Entries {
    /// Reads what is new or of another version. False when nothing is different.
    ///
    /// # Errors
    /// When the store cannot be read.
    pub async fn renew(&mut self, reader: &dyn TableReader, table: &TableName) -> SqlResult<bool> {
        let mut now = BTreeMap::new();
        let mut changed = false;
        for (key, version) in versions(reader, table).await? {
            let known = self.0.get(&key).filter(|entry| entry.etag.as_str() == version).cloned();
            changed |= known.is_none();
            let entry = match known {
                Some(entry) => Some(entry),
                None => reader.get(table, &key).await?,
            };
            now.extend(entry.map(|entry| (key, entry)));
        }
        changed |= now.len() != self.0.len();
        self.0 = now;
        Ok(changed)
    }

    /// The entries of one kind.
    pub fn of<'a>(&'a self, partition: &'a str) -> impl Iterator<Item = &'a StoredEntity> {
        self.0.values().filter(move |entry| entry.entity.key.partition.as_str() == partition)
    }
}

/// The keys of all entries, with their versions. A catalogue that nobody has made yet has none.
async fn versions(reader: &dyn TableReader, table: &TableName) -> SqlResult<Vec<(EntityKey, String)>> {
    let request = ScanRequest {
        table: table.clone(),
        ranges: Arc::new([KeyRange::all()]),
        columns: Arc::new(ScanColumns::new(vec![ScanColumn::PartitionKey, ScanColumn::RowKey, ScanColumn::ETag])),
        direction: Direction::Forward,
        limit: None,
        batch_rows: 1024,
        stats: Arc::new(ScanStats::default()),
    };
    let mut versions = Vec::new();
    let mut batches = match reader.scan(request) {
        Err(StoreError::TableMissing(_)) => return Ok(versions),
        batches => batches?,
    };
    while let Some(batch) = batches.next().await {
        let batch = match batch {
            Err(StoreError::TableMissing(_)) => return Ok(versions),
            batch => batch?,
        };
        let etags = batch.column(2).as_string::<i32>();
        let keys = crate::sql::dml::keys_of_batch(&batch)?;
        versions.extend(keys.into_iter().zip(etags).map(|(key, etag)| (key, etag.unwrap_or_default().to_owned())));
    }
    Ok(versions)
}
