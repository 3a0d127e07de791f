//! The entries of the catalogue as they were last read: what has not changed since is not read again.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Instant;

use arrow::array::AsArray;
use futures::StreamExt;
use tablegate_store::model::{EntityKey, StoredEntity, TableName};
use tablegate_store::table::{
    Direction, KeyRange, ScanColumn, ScanColumns, ScanRequest, ScanStats, StoreError, TableReader,
};
use tablegate_types::error::SqlResult;

/// Most readings in a row for entries that go while they are read.
const READS: usize = 8;

#[derive(Debug, Default)]
pub(super) struct Entries {
    known: BTreeMap<EntityKey, StoredEntity>,
    read_at: Option<Instant>,
}

impl Entries {
    /// Reads what is new or of another version. False when nothing is different.
    ///
    /// # Errors
    /// When the store cannot be read, or changes faster than it can be.
    pub(super) async fn renew(&mut self, reader: &dyn TableReader, table: &TableName) -> SqlResult<bool> {
        for _ in 0..READS {
            let began = Instant::now();
            if let Some(now) = self.read(reader, table).await? {
                let is_same = |(key, entry): (&EntityKey, &StoredEntity)| {
                    self.known.get(key).is_some_and(|known| known.etag == entry.etag)
                };
                let changed = now.len() != self.known.len() || !now.iter().all(is_same);
                (self.known, self.read_at) = (now, Some(began));
                return Ok(changed);
            }
        }
        Err(StoreError::Unavailable("the catalogue changes faster than it can be read".to_owned()).into())
    }

    /// `None` when an entry went between the reading of its version and its own: what took its place may have been missed.
    async fn read(
        &self,
        reader: &dyn TableReader,
        table: &TableName,
    ) -> SqlResult<Option<BTreeMap<EntityKey, StoredEntity>>> {
        let mut now = BTreeMap::new();
        for (key, version) in versions(reader, table).await? {
            let known = self.known.get(&key).filter(|entry| entry.etag.text() == version).cloned();
            let entry = match known {
                Some(entry) => entry,
                None => match reader.get(table, &key).await? {
                    Some(entry) => entry,
                    None => return Ok(None),
                },
            };
            now.insert(key, entry);
        }
        Ok(Some(now))
    }

    /// When the last reading began.
    pub(super) fn read_at(&self) -> Option<Instant> {
        self.read_at
    }

    /// The entries of one kind.
    pub(super) fn of<'a>(&'a self, partition: &'a str) -> impl Iterator<Item = &'a StoredEntity> {
        self.known.values().filter(move |entry| entry.entity.key.partition.as_str() == partition)
    }
}

/// The keys of all entries, with their versions. A catalogue that does not exist yet has none.
async fn versions(reader: &dyn TableReader, table: &TableName) -> SqlResult<Vec<(EntityKey, String)>> {
    let request = ScanRequest {
        table: table.clone(),
        ranges: Arc::new([KeyRange::all()]),
        columns: Arc::new(ScanColumns::new(vec![ScanColumn::PartitionKey, ScanColumn::RowKey, ScanColumn::ETag])),
        predicate: None,
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
        let keys = crate::batches::keys_of_batch(&batch)?;
        versions.extend(keys.into_iter().zip(etags).map(|(key, etag)| (key, etag.unwrap_or_default().to_owned())));
    }
    Ok(versions)
}
