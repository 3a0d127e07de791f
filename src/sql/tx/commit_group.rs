//! What one transaction commits, all or nothing: the one place where its batches come together.
//!
//! What fits one entity group transaction is committed as one, which every store can do. Several batches need a store
//! that promises groups; only observe mode, and a block with changes of its own in the catalogue, come to that.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::WriteSet;
use super::egt_writer::{commit_error, pack};
use crate::model::TableName;
use crate::sql::catalog::{Catalog, StagedCatalog, StagedCommitError};
use crate::sql::error::{ErrorKind, SqlError, SqlResult};
use crate::sql::relation::Relation;
use crate::table::{Batch, CommitError, GroupError, TableStore};

/// The batches of one transaction.
#[derive(Debug, Default)]
pub(crate) struct CommitGroup {
    batches: Vec<Batch>,
    /// For messages about the user's tables.
    relations: BTreeMap<TableName, Arc<Relation>>,
}

impl CommitGroup {
    /// Adds what a transaction has collected, packed into as few entity group transactions as it fits.
    ///
    /// # Errors
    /// When an entity breaks a limit, or what was collected cannot be read back.
    pub fn add_writes(&mut self, writes: WriteSet) -> SqlResult<()> {
        for (relation, operations) in writes.into_operations() {
            self.batches.extend(pack(&relation.stored, operations)?);
            self.relations.insert(relation.stored.clone(), relation);
        }
        Ok(())
    }

    /// Adds a batch of the gateway's own that is to be committed with the writes. No key may occur in two batches.
    pub fn add(&mut self, batch: Batch) {
        self.batches.push(batch);
    }

    /// Commits everything, durably, or nothing.
    ///
    /// # Errors
    /// 23505 or 40001 for what changed meanwhile, 42P01 for a table that is gone, and what the store fails with.
    pub async fn commit(mut self, store: &dyn TableStore) -> SqlResult<()> {
        if self.batches.len() > 1 {
            let tables = self.tables();
            let committed = store.commit_group(self.batches).await;
            return committed.map(|_| ()).map_err(|error| group_rejected(&self.relations, &tables, error));
        }
        let Some(batch) = self.batches.pop() else { return Ok(()) };
        let table = batch.table().clone();
        let committed = store.commit(batch).await;
        committed.map(|_| ()).map_err(|error| rejected(&self.relations, Some(&table), error))
    }

    /// As [`CommitGroup::commit`], together with a transaction's changes of the catalogue.
    ///
    /// # Errors
    /// Also 42P07 and 40001 when the catalogue changed meanwhile.
    pub async fn commit_with(self, catalog: &Catalog, staged: StagedCatalog) -> SqlResult<()> {
        let tables = self.tables();
        let committed = catalog.commit(staged, self.batches).await;
        committed.map(|_| ()).map_err(|error| match error {
            StagedCommitError::Catalog(error) => error,
            StagedCommitError::Rows(error) => group_rejected(&self.relations, &tables, error),
        })
    }

    fn tables(&self) -> Vec<TableName> {
        self.batches.iter().map(|batch| batch.table().clone()).collect()
    }
}

fn group_rejected(
    relations: &BTreeMap<TableName, Arc<Relation>>,
    tables: &[TableName],
    error: GroupError,
) -> Box<SqlError> {
    match error {
        GroupError::Rejected { batch, index, key, reason } => {
            rejected(relations, tables.get(batch), CommitError::Rejected { index, key, reason })
        }
        GroupError::Store(error) => rejected(relations, None, CommitError::Store(error)),
        GroupError::DuplicateKey { .. } => error.into(),
    }
}

/// A failure in SQL terms; a batch of the gateway's own is rejected when another gateway changed the same.
fn rejected(
    relations: &BTreeMap<TableName, Arc<Relation>>,
    table: Option<&TableName>,
    error: CommitError,
) -> Box<SqlError> {
    let of_error = match &error {
        CommitError::Store(crate::table::StoreError::TableMissing(missing)) => Some(missing),
        CommitError::Store(_) | CommitError::Rejected { .. } => table,
    };
    match (of_error.and_then(|table| relations.get(table)), error) {
        (Some(relation), error) => commit_error(relation, error),
        (None, CommitError::Store(error)) => error.into(),
        (None, error @ CommitError::Rejected { .. }) => {
            SqlError::new(ErrorKind::SerializationFailure, format!("the catalogue changed meanwhile: {error}"))
        }
    }
}
