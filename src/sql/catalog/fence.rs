//! What keeps a gateway from writing to tables that another one changes, or has changed.
//!
//! Each batch of rows for a table that other gateways may change is checked just before it goes to the store: that the table
//! is still declared as the statement found it, by what is known of the catalogue, which is read again if that is too old.
//! So a gateway that announces a change, and waits, misses no rows of the others ([`super::announced`]).

use std::sync::{Arc, PoisonError};
use std::time::{Duration, Instant};

use async_trait::async_trait;
use tablegate_store::table::{Batch, CommitError, StoreError, StoreLayer, TableStore, Written};
use tablegate_types::error::{ErrorKind, SqlError, SqlResult};

use super::staged::StagedCatalog;
use super::{Catalog, Shared};
use crate::relation::{Relation, RelationKind};

/// What is known of the catalogue when rows are written is no older.
const KNOWN_SINCE_AT_MOST: Duration = Duration::from_secs(3);

/// Why a table is not written to.
enum Objection {
    /// Another gateway is changing it.
    Changing,
    /// It is not declared any more as the statement found it.
    Changed,
}

/// A store whose batches are rows of one table, and are checked.
struct FencedStore {
    store: Arc<dyn TableStore>,
    shared: Arc<Shared>,
    relation: Arc<Relation>,
}

#[async_trait]
impl StoreLayer for FencedStore {
    fn below(&self) -> &dyn TableStore {
        &*self.store
    }

    async fn commit(&self, batch: Batch) -> Result<Vec<Written>, CommitError> {
        match self.shared.objection_to(&self.relation).await {
            Ok(None) => self.store.commit(batch).await,
            // For this statement the table that it was planned for is not there.
            Ok(Some(_)) => Err(StoreError::TableMissing(batch.table().clone()).into()),
            Err(error) => Err(StoreError::Unavailable(error.message).into()),
        }
    }
}

impl Catalog {
    /// The store for rows of this table: where other gateways may change it, with a look at its declaration.
    pub(crate) fn fenced(&self, store: Arc<dyn TableStore>, relation: &Arc<Relation>) -> Arc<dyn TableStore> {
        match self.fence_of(relation) {
            Some(shared) => Arc::new(FencedStore { store, shared: shared.clone(), relation: relation.clone() }),
            None => store,
        }
    }

    /// Looks at the declarations of tables that a transaction has written to, before it commits. Those that it changes itself
    /// are known by their versions.
    ///
    /// # Errors
    /// 40001 when one of them is not declared as it was, or another gateway is changing it.
    pub(crate) async fn check_declared(&self, written: &[Arc<Relation>], staged: &StagedCatalog) -> SqlResult<()> {
        for relation in written {
            let is_own = || staged.has_made(&relation.stored) || staged.stored_tables().any(|s| *s == relation.stored);
            let Some(shared) = self.fence_of(relation).filter(|_| !is_own()) else { continue };
            if let Some(objection) = shared.objection_to(relation).await? {
                return Err(objection.told(&relation.name));
            }
        }
        Ok(())
    }

    /// The error of a statement that was not carried out for that, if another gateway is changing the table.
    pub(crate) fn told_of_changing(&self, relation: &Relation) -> Option<Box<SqlError>> {
        let shared = self.fence_of(relation)?;
        let state = shared.state();
        let table = state.table_by_oid(relation.oid).filter(|table| shared.is_changed_by_other(table));
        table.map(|_| Objection::Changing.told(&relation.name))
    }

    fn fence_of(&self, relation: &Relation) -> Option<&Arc<Shared>> {
        let is_declared = relation.kind != RelationKind::Found;
        self.parts.at(relation.place()).filter(|shared| is_declared && !shared.is_alone())
    }
}

impl Objection {
    fn told(&self, table: &str) -> Box<SqlError> {
        let detail = match self {
            Objection::Changing => format!("Table \"{table}\" is being changed by another gateway."),
            Objection::Changed => format!("Table \"{table}\" was dropped, emptied or changed by another gateway."),
        };
        SqlError::new(ErrorKind::TableMoved, "could not serialize access due to concurrent DDL")
            .with_detail(detail)
            .with_hint("Run the transaction again.")
    }
}

impl Shared {
    async fn objection_to(&self, relation: &Relation) -> SqlResult<Option<Objection>> {
        if self.known_at().is_none_or(|known| known.elapsed() > KNOWN_SINCE_AT_MOST) {
            self.follow(Instant::now()).await?;
        }
        let state = self.state();
        let named = state.tables.get(&relation.placed_name()).filter(|table| table.relation.oid == relation.oid);
        Ok(match named.or_else(|| state.table_by_oid(relation.oid)) {
            Some(table) if self.is_changed_by_other(table) => Some(Objection::Changing),
            Some(table) if table.relation.declares_as(relation) => None,
            _ => Some(Objection::Changed),
        })
    }

    /// What is known of the catalogue was read, or known to be so, at this time or later.
    fn known_at(&self) -> Option<Instant> {
        *self.known_at.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
