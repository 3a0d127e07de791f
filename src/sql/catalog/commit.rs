//! Committing what a transaction changed in the catalogue, together with its rows.

use std::collections::HashMap;
use std::sync::Arc;

use tablegate_store::model::{ETag, EntityKey};
use tablegate_store::table::{
    Batch, BatchBuilder, CommitError, GroupError, IfMatch, Operation, Rejection, StoreError, Written,
};
use tablegate_types::error::{ErrorKind, SqlError, SqlResult};

use super::staged::{Changes, StagedCatalog};
use super::state::{DeclaredTable, State};
use super::{Catalog, Shared, catalog_table, changed_meanwhile, duplicate_table};
use crate::place::Place;

/// Why a transaction that changed the catalogue was not committed.
pub(crate) enum StagedCommitError {
    /// The changes of the catalogue cannot be made.
    Catalog(Box<SqlError>),
    /// Its rows cannot be written; batches are counted as they were given.
    Rows(GroupError),
}

impl From<Box<SqlError>> for StagedCommitError {
    fn from(error: Box<SqlError>) -> Self {
        StagedCommitError::Catalog(error)
    }
}

impl Catalog {
    /// Commits staged changes of one place and batches of its rows: all of it or nothing where the store promises
    /// groups, the changes first where it does not. Once begun it runs to its end, even if the future is dropped. When
    /// it returns, all sessions see the changes, and stored tables that nothing needs any more are gone.
    ///
    /// # Errors
    /// 42P07 or 40001 when the catalogue changed meanwhile; what the rows meet.
    pub(crate) async fn commit(
        &self,
        place: Place,
        staged: StagedCatalog,
        rows: Vec<Batch>,
    ) -> Result<Vec<Vec<Written>>, StagedCommitError> {
        let shared = self.part(place)?.clone();
        shared.open_for_writing().await?;
        let committed = tokio::spawn(async move { shared.commit(&staged, rows).await }).await;
        committed.map_err(|error| SqlError::new(ErrorKind::Internal, error.to_string()))?
    }
}

impl Shared {
    async fn commit(&self, staged: &StagedCatalog, rows: Vec<Batch>) -> Result<Vec<Vec<Written>>, StagedCommitError> {
        let _one_at_a_time = self.changes.lock().await;
        staged.check_announcements()?;
        let changes = staged.changes(&self.state(), &self.common.gateway)?;
        if self.store.promises().atomic_groups {
            return self.commit_together(changes, rows).await;
        }
        self.commit_in_turn(changes).await?;
        let mut written = Vec::with_capacity(rows.len());
        for (index, batch) in rows.into_iter().enumerate() {
            let committed = self.store.commit(batch).await;
            written.push(committed.map_err(|error| StagedCommitError::Rows(error.in_group(index)))?);
        }
        Ok(written)
    }

    async fn commit_together(
        &self,
        changes: Changes,
        rows: Vec<Batch>,
    ) -> Result<Vec<Vec<Written>>, StagedCommitError> {
        let mut batches = Vec::new();
        for step in &changes.steps {
            batches.extend(packed(step)?);
        }
        let own = batches.len();
        let keys = keys_of(&batches);
        batches.extend(rows);
        let mut written = self.store.commit_group(batches).await.map_err(|error| split_error(error, own))?;
        let rows = written.split_off(own);
        self.publish(changes, &versions(keys, written)).await?;
        Ok(rows)
    }

    /// Commits the changes where the store knows no groups. They are made when the new declarations are written: nothing
    /// that fails behind them takes a table away that is declared by then.
    async fn commit_in_turn(&self, changes: Changes) -> SqlResult<()> {
        let [dooms, declared, reprieves] = &changes.steps;
        let batches: Vec<Batch> = [packed(dooms)?, packed(declared)?].concat();
        let keys = keys_of(&batches);
        let mut written = Vec::with_capacity(batches.len());
        for batch in &batches {
            match self.store.commit(batch.clone()).await {
                Ok(done) => written.push(done),
                Err(CommitError::Store(error @ StoreError::OutcomeUnknown(_))) => {
                    // New tables may be declared. Those that are not stay doomed.
                    changes.adopted.iter().for_each(|fresh| fresh.adopt());
                    return Err(error.into());
                }
                Err(error) => {
                    self.take_back(&batches, &written).await;
                    return Err(catalog_error(error));
                }
            }
        }
        for reprieve in reprieves {
            // The entry of a table that is declared says nothing.
            if let Err(error) = self.write_entry(reprieve.clone()).await {
                tracing::warn!(%error, "an entry of a new table could not be removed; nothing heeds it");
            }
        }
        self.publish(changes, &versions(keys, written)).await
    }

    /// Removes the entries that a commit has inserted which then met another gateway's: nobody would ever remove the
    /// sequence of a table that is another one's.
    async fn take_back(&self, batches: &[Batch], written: &[Vec<Written>]) {
        for (operation, written) in batches.iter().zip(written).flat_map(|(b, w)| b.operations().iter().zip(w)) {
            if let (Operation::Insert(entity), Written::Entity { etag, .. }) = (operation, written) {
                let delete = Operation::Delete(entity.key.clone(), IfMatch::ETag(etag.clone()));
                if let Err(error) = self.write_entry(delete).await {
                    tracing::warn!(key = %entity.key, %error, "an entry of a failed commit could not be removed");
                }
            }
        }
    }

    /// Publishes the changes to all sessions, then drops the stored tables that they made superfluous. A statement that
    /// still writes into one fails, instead of writing rows that no table shows.
    async fn publish(&self, changes: Changes, versions: &HashMap<EntityKey, ETag>) -> SqlResult<()> {
        let Changes { mut after, adopted, dropped, .. } = changes;
        note_versions(&mut after, versions)?;
        adopted.iter().for_each(|fresh| fresh.adopt());
        self.change_state(|state| *state = after);
        for stored in &dropped {
            self.sweep_alone(&stored.name).await;
        }
        Ok(())
    }
}

fn keys_of(batches: &[Batch]) -> Vec<EntityKey> {
    batches.iter().flat_map(Batch::operations).map(|operation| operation.key().clone()).collect()
}

/// The versions that entries have now.
fn versions(keys: Vec<EntityKey>, written: Vec<Vec<Written>>) -> HashMap<EntityKey, ETag> {
    let written = keys.into_iter().zip(written.into_iter().flatten());
    let versions = written.filter_map(|(key, written)| match written {
        Written::Entity { etag, .. } => Some((key, etag)),
        Written::Deleted => None,
    });
    versions.collect()
}

/// Puts the versions that entries have now beside their declarations.
fn note_versions(state: &mut State, versions: &HashMap<EntityKey, ETag>) -> SqlResult<()> {
    for table in state.tables.values_mut() {
        if let Some(version) = versions.get(&table.declaration.entity_key()?) {
            let (declaration, relation) = (table.declaration.clone(), table.relation.clone());
            let version = Some(version.clone());
            *table = Arc::new(DeclaredTable { declaration, relation, version, changing: None });
        }
    }
    Ok(())
}

/// Operations on entries as batches, one partition each.
fn packed(operations: &[Operation]) -> SqlResult<Vec<Batch>> {
    let mut batches = Vec::new();
    let mut builder: Option<BatchBuilder> = None;
    for operation in operations {
        let mut current = match builder.take() {
            Some(current) => current,
            None => Batch::builder(catalog_table()?),
        };
        if let Err((operation, error)) = current.push(operation.clone()) {
            if current.is_empty() {
                return Err(super::too_large(&error));
            }
            batches.push(current.build()?);
            current = Batch::builder(catalog_table()?);
            current.push(operation).map_err(|(_, error)| super::too_large(&error))?;
        }
        builder = Some(current);
    }
    if let Some(last) = builder {
        batches.push(last.build()?);
    }
    Ok(batches)
}

/// Tells errors of the catalogue's own batches, which come first, from those of the rows.
fn split_error(error: GroupError, own: usize) -> StagedCommitError {
    match error {
        GroupError::Rejected { batch, key, reason, .. } if batch < own => rejected(&key, &reason).into(),
        GroupError::Rejected { batch, index, key, reason } => {
            StagedCommitError::Rows(GroupError::Rejected { batch: batch - own, index, key, reason })
        }
        other => StagedCommitError::Rows(other),
    }
}

fn catalog_error(error: CommitError) -> Box<SqlError> {
    match error {
        CommitError::Rejected { key, reason, .. } => rejected(&key, &reason),
        CommitError::Store(error) => error.into(),
    }
}

/// An entry is not what it was when the change was made.
fn rejected(key: &EntityKey, reason: &Rejection) -> Box<SqlError> {
    match reason {
        Rejection::EntityExists => duplicate_table(key.row.as_str()),
        _ => changed_meanwhile(reason),
    }
}
