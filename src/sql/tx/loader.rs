//! Fills a stored table that nobody else sees yet.
//!
//! No statement's atomicity depends on which entities go together, so they are written as fast as the store takes them:
//! many entity group transactions in one durable write, where it promises groups.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::egt_writer::pack;
use crate::model::{Entity, EntityKey, TableName};
use crate::sql::error::{SqlError, SqlResult};
use crate::sql::place::{StoredTable, Stores};
use crate::table::{CommitError, GroupError, Operation, Rejection, TableStore};

/// Entities collected before they are written.
const BUFFERED_ENTITIES: usize = 10_000;
/// Bytes of entities collected before they are written.
const BUFFERED_BYTES: usize = 32 * 1024 * 1024;

/// Writes entities into a new stored table.
pub(crate) struct TableLoader {
    store: Arc<dyn TableStore>,
    table: TableName,
    buffer: BTreeMap<EntityKey, Operation>,
    buffered_bytes: usize,
}

/// Why entities were not written.
pub(crate) enum LoadError {
    /// Two of them have this key.
    Duplicate(EntityKey),
    Other(Box<SqlError>),
}

impl From<Box<SqlError>> for LoadError {
    fn from(error: Box<SqlError>) -> Self {
        LoadError::Other(error)
    }
}

impl TableLoader {
    /// # Errors
    /// 0A000 for a table of a place without a store.
    pub fn new(stores: &Stores, table: &StoredTable) -> SqlResult<Self> {
        let store = stores.at(table.place)?.clone();
        Ok(Self { store, table: table.name.clone(), buffer: BTreeMap::new(), buffered_bytes: 0 })
    }

    /// Takes an entity; writes what was collected when that is enough.
    ///
    /// # Errors
    /// What the entity's limits or the store refuse.
    pub async fn push(&mut self, entity: Entity) -> Result<(), LoadError> {
        entity.check().map_err(|error| LoadError::Other(error.into()))?;
        let key = entity.key.clone();
        self.buffered_bytes += entity.stored_size();
        if self.buffer.insert(key.clone(), Operation::Insert(entity)).is_some() {
            return Err(LoadError::Duplicate(key));
        }
        if self.buffer.len() >= BUFFERED_ENTITIES || self.buffered_bytes >= BUFFERED_BYTES {
            self.flush().await?;
        }
        Ok(())
    }

    /// Writes what is left.
    ///
    /// # Errors
    /// As [`TableLoader::push`].
    pub async fn finish(mut self) -> Result<(), LoadError> {
        self.flush().await
    }

    async fn flush(&mut self) -> Result<(), LoadError> {
        self.buffered_bytes = 0;
        let batches = pack(&self.table, std::mem::take(&mut self.buffer).into_values().map(Ok))?;
        if batches.is_empty() {
            return Ok(());
        }
        if self.store.promises().atomic_groups {
            return self.store.commit_group(batches).await.map(|_| ()).map_err(refused);
        }
        for batch in batches {
            self.store.commit(batch).await.map_err(|error: CommitError| refused(error.in_group(0)))?;
        }
        Ok(())
    }
}

fn refused(error: GroupError) -> LoadError {
    match error {
        GroupError::Rejected { key, reason: Rejection::EntityExists, .. } => LoadError::Duplicate(key),
        other => LoadError::Other(other.into()),
    }
}
