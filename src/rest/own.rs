//! What this door keeps of its own: who may do what with tables, and how the service is set. It is in a table of the
//! store that no client sees, so it is as durable as the rest.

use std::sync::Arc;

use tablegate_store::model::{EdmValue, Entity, EntityKey, PropertyName, TableName, own_tables};
use tablegate_store::table::{Batch, CommitError, IfMatch, Operation, Rejection, StoreError, TableStore};
use tokio::sync::{Mutex, MutexGuard};

use crate::error::{Refusal, RestResult, of_commit};

/// The property that has it all, as the XML that a client sent and is given.
const DOCUMENT: &str = "Document";
/// Partitions: of tables by their names in lower case, and of the service itself.
const OF_TABLES: &str = "acl";
const OF_SERVICE: &str = "service";

/// The documents that are kept.
pub(crate) struct Own {
    store: Arc<dyn TableStore>,
    /// Held by who reads a document to write it again.
    changes: Mutex<()>,
}

/// Which document.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Document<'a> {
    /// Who may do what with a table.
    Acl(&'a TableName),
    Service,
}

impl Document<'_> {
    fn key(self) -> RestResult<EntityKey> {
        let key = match self {
            Document::Acl(table) => EntityKey::parse(OF_TABLES, &table.folded()),
            Document::Service => EntityKey::parse(OF_SERVICE, "properties"),
        };
        key.map_err(|_| Refusal::Internal)
    }
}

impl Own {
    pub(crate) fn new(store: Arc<dyn TableStore>) -> Self {
        Self { store, changes: Mutex::default() }
    }

    /// Nobody else changes a part of a document until it is given back.
    pub(crate) async fn change(&self) -> MutexGuard<'_, ()> {
        self.changes.lock().await
    }

    /// # Errors
    /// When the store cannot be read.
    pub(crate) async fn read(&self, document: Document<'_>) -> RestResult<Option<String>> {
        match self.store.reader().get(&table()?, &document.key()?).await {
            Ok(None) | Err(StoreError::TableMissing(_)) => Ok(None),
            Ok(Some(stored)) => match stored.entity.properties.get(DOCUMENT) {
                Some(EdmValue::String(text)) => Ok(Some(text.to_string())),
                _ => Ok(None),
            },
            Err(error) => Err(error.into()),
        }
    }

    /// # Errors
    /// When the store cannot be written.
    pub(crate) async fn write(&self, document: Document<'_>, text: String) -> RestResult<()> {
        let name = PropertyName::parse(DOCUMENT)?;
        let entity = Entity::new(document.key()?, [(name, EdmValue::string(text))].into_iter().collect());
        let batch = Batch::single(table()?, Operation::InsertOrReplace(entity))?;
        match self.store.commit(batch.clone()).await {
            Err(CommitError::Store(StoreError::TableMissing(_))) => {}
            other => return other.map(drop).map_err(|error| of_commit(error).1),
        }
        match self.store.create_table(&table()?).await {
            Ok(()) | Err(StoreError::TableExists(_)) => {}
            Err(error) => return Err(error.into()),
        }
        self.store.commit(batch).await.map(drop).map_err(|error| of_commit(error).1)
    }

    /// Forgets a document, if there is one.
    ///
    /// # Errors
    /// When the store cannot be written.
    pub(crate) async fn remove(&self, document: Document<'_>) -> RestResult<()> {
        let batch = Batch::single(table()?, Operation::Delete(document.key()?, IfMatch::Any))?;
        match self.store.commit(batch).await {
            Ok(_)
            | Err(
                CommitError::Store(StoreError::TableMissing(_))
                | CommitError::Rejected { reason: Rejection::EntityMissing, .. },
            ) => Ok(()),
            Err(error) => Err(of_commit(error).1),
        }
    }
}

/// Whether it is the table that no client sees.
pub(crate) fn is_it(table: &TableName) -> bool {
    table.as_str().eq_ignore_ascii_case(own_tables::REST)
}

fn table() -> RestResult<TableName> {
    Ok(TableName::parse(own_tables::REST)?)
}
