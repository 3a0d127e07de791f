//! What one transaction commits, all or nothing: where its batches come together, each with those of its store.
//!
//! What fits one entity group transaction is committed as one, which every store can do. Several batches need a store
//! that promises groups; only observe mode, and a block with changes of its own in the catalogue, come to that.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use tablegate_store::model::TableName;
use tablegate_store::table::{
    Batch, CommitError, Emptied, EntityWindow, GroupError, Operation, SealedRows, StagedRows, StoreError, TableStore,
    WriteGroup,
};
use tablegate_types::error::{ErrorKind, SqlError, SqlResult};

use super::WriteSet;
use super::commit_errors::{after_commits, commit_error};
use super::held_back_space::Taken;
use super::rules::check_one_store;
use super::write_set::too_large;
use crate::batches::pack;
use crate::catalog::{Catalog, StagedCatalog, StagedCommitError};
use crate::place::{Place, StoredTable, Stores};
use crate::relation::Relation;

/// The batches of one transaction.
#[derive(Debug, Default)]
pub(crate) struct CommitGroup {
    writes: BTreeMap<Place, WriteGroup>,
    /// For messages about the user's tables.
    relations: BTreeMap<StoredTable, Arc<Relation>>,
    /// What is written ahead already, by its place.
    ahead: BTreeMap<Place, Vec<WrittenAhead>>,
    /// A part of the transaction is committed already.
    is_begun: bool,
    /// Their memory is taken until they are committed.
    _taken: Vec<Taken>,
}

/// The rows of one table that are written ahead, kept until they are the table's.
#[derive(Debug)]
struct WrittenAhead {
    _rows: Held,
    sealed: SealedRows,
    /// The same rows, should somebody have written to the table; `None` where they are too many to be committed at once.
    windows: Option<Vec<EntityWindow>>,
}

impl CommitGroup {
    /// Adds what a transaction has collected, packed into as few entity group transactions as it fits: of rows that are written ahead
    /// only that they are, where nothing else than rows is committed.
    ///
    /// # Errors
    /// When an entity breaks a limit, or what was collected cannot be read back; 54000 when it is too much.
    pub(crate) async fn add_writes(&mut self, writes: WriteSet, rows_alone: bool) -> SqlResult<()> {
        let (most, mut bytes, mut ahead_bytes) = (writes.most_bytes(), 0, 0);
        for (relation, mut columns, operations) in writes.into_tables() {
            if !columns.windows.is_empty() {
                let (windows, taken): (Vec<_>, Vec<_>) = columns.windows.into_iter().unzip();
                self._taken.extend(taken);
                let in_memory = windows.iter().map(EntityWindow::bytes).sum::<usize>();
                let ahead = columns.ahead.take().filter(|_| rows_alone);
                if let Some(ahead) = ahead
                    && let Some((rows, sealed)) = ahead.finish(&relation.stored.name, &windows).await
                {
                    ahead_bytes += in_memory;
                    let windows = (ahead_bytes <= most).then_some(windows);
                    let written = WrittenAhead { _rows: Held(rows), sealed, windows };
                    self.ahead.entry(relation.place()).or_default().push(written);
                } else {
                    bytes += in_memory;
                    if bytes > most {
                        return Err(too_large(most));
                    }
                    let group = self.writes.entry(relation.place()).or_default();
                    group.windows.extend(windows);
                    group.emptied.extend(columns.empties_since.map(|unchanged_since| {
                        let table = relation.stored.name.clone();
                        Emptied { table, unchanged_since }
                    }));
                }
            }
            self.add(relation, operations)?;
        }
        Ok(())
    }

    /// Adds operations on one table, in key order.
    ///
    /// # Errors
    /// As [`CommitGroup::add_writes`].
    fn add(
        &mut self,
        relation: Arc<Relation>,
        operations: impl Iterator<Item = SqlResult<Operation>>,
    ) -> SqlResult<()> {
        let packed = pack(&relation.stored, operations)?;
        if !packed.is_empty() {
            self.writes.entry(relation.place()).or_default().batches.extend(packed);
        }
        self.relations.insert(relation.stored.clone(), relation);
        Ok(())
    }

    /// Adds a batch of the gateway's own that is to be committed with the writes. No key may occur in two batches.
    pub(crate) fn add_own(&mut self, batch: Batch) {
        self.writes.entry(Place::Public).or_default().batches.push(batch);
    }

    /// It comes behind what is committed already.
    pub(crate) fn follow(&mut self) {
        self.is_begun = true;
    }

    /// Commits everything, with the transaction's changes of the catalogue: what is in one store durably, or nothing.
    ///
    /// No two stores commit together. That of the catalogue is the first: it can refuse, and then nothing was done; what
    /// is in another store that others see is refused before. Of
    /// the scratch store's tables this session alone has written, so only a failing disk can keep that from following;
    /// the session ends then, and the tables with it, before anybody sees half a transaction.
    ///
    /// # Errors
    /// 0A000 for two stores that others see; 23505 or 40001 for what changed meanwhile, 42P01 for a table that is gone, 42P07 and 40001 when the catalogue
    /// changed meanwhile, and what the stores fail with; XX000 that ends the session where a part is committed.
    pub(crate) async fn commit(mut self, stores: &Stores, catalog: &Catalog, staged: StagedCatalog) -> SqlResult<()> {
        let mut ahead = std::mem::take(&mut self.ahead);
        for (place, ahead) in &ahead {
            let group = self.writes.entry(*place).or_default();
            group.staged.extend(ahead.iter().map(|written| written.sealed.clone()));
        }
        let written = self.writes.keys().copied().filter(|place| !place.is_temporary());
        let places: BTreeSet<Place> = written.chain(staged.places()).collect();
        check_one_store(&places)?;
        let place = places.first().copied().unwrap_or_default();
        let shared = self.writes.remove(&place).unwrap_or_default();
        let mut is_begun = self.is_begun || !shared.is_empty();
        if staged.is_empty() {
            self.commit_at(place, &**stores.at(place)?, shared, ahead.remove(&place)).await?;
        } else {
            is_begun = true;
            self.commit_with(catalog, place, staged, shared).await?;
        }
        for (place, writes) in std::mem::take(&mut self.writes) {
            let store = stores.at(place)?;
            let committed = self.commit_at(place, &**store, writes, ahead.remove(&place)).await;
            committed.map_err(|error| if is_begun { half_committed(&error) } else { error })?;
            is_begun = true;
        }
        Ok(())
    }

    async fn commit_at(
        &self,
        place: Place,
        store: &dyn TableStore,
        mut writes: WriteGroup,
        ahead: Option<Vec<WrittenAhead>>,
    ) -> SqlResult<()> {
        if !writes.staged.is_empty() {
            return self.publish(place, store, writes, ahead.unwrap_or_default()).await;
        }
        if !writes.windows.is_empty() || writes.batches.len() > 1 {
            return self.write_group(place, store, writes).await;
        }
        let Some(batch) = writes.batches.pop() else { return Ok(()) };
        let table = StoredTable::new(place, batch.table().clone());
        let committed = store.commit(batch).await;
        committed.map(|_| ()).map_err(|error| self.rejected(place, Some(&table), error))
    }

    /// Makes rows that were written ahead their tables', beside other writes. Where somebody has written to one of them meanwhile, all
    /// of it is written now.
    async fn publish(
        &self,
        place: Place,
        store: &dyn TableStore,
        writes: WriteGroup,
        ahead: Vec<WrittenAhead>,
    ) -> SqlResult<()> {
        let mut others = WriteGroup { staged: Vec::new(), ..writes.clone() };
        let tables = tables_of(place, &others);
        match store.write_group(writes).await {
            Err(GroupError::NotEmpty { table }) => {
                for written in ahead {
                    others.windows.extend(written.windows.ok_or_else(|| written_meanwhile(&table))?);
                }
                self.write_group(place, store, others).await
            }
            published => published.map_err(|error| self.group_rejected(place, &tables, error)),
        }
    }

    async fn write_group(&self, place: Place, store: &dyn TableStore, writes: WriteGroup) -> SqlResult<()> {
        let tables = tables_of(place, &writes);
        let committed = match writes.windows.is_empty() {
            true => store.commit_group(writes.batches).await.map(drop),
            false => store.write_group(writes).await,
        };
        committed.map_err(|error| self.group_rejected(place, &tables, error))
    }

    async fn commit_with(
        &self,
        catalog: &Catalog,
        place: Place,
        staged: StagedCatalog,
        writes: WriteGroup,
    ) -> SqlResult<()> {
        let tables = tables_of(place, &writes);
        let (batches, counting) = writes.into_batches()?;
        let committed = catalog.commit(place, staged, batches).await;
        committed.map(|_| ()).map_err(|error| match error {
            StagedCommitError::Catalog(error) => error,
            // The catalogue may have been changed before.
            StagedCommitError::Rows(error) => {
                after_commits(self.group_rejected(place, &tables, counting.of_group(error)))
            }
        })
    }

    fn group_rejected(&self, place: Place, tables: &[StoredTable], error: GroupError) -> Box<SqlError> {
        match error {
            GroupError::Rejected { batch, index, key, reason } => {
                self.rejected(place, tables.get(batch), CommitError::Rejected { index, key, reason })
            }
            GroupError::Store(error) => self.rejected(place, None, CommitError::Store(error)),
            GroupError::DuplicateKey { .. } | GroupError::NotEmpty { .. } => error.into(),
        }
    }

    /// A failure in SQL terms; a batch of the gateway's own is rejected when another gateway changed the same.
    fn rejected(&self, place: Place, table: Option<&StoredTable>, error: CommitError) -> Box<SqlError> {
        let of_error = match &error {
            CommitError::Store(StoreError::TableMissing(missing)) => Some(StoredTable::new(place, missing.clone())),
            CommitError::Store(_) | CommitError::Rejected { .. } => table.cloned(),
        };
        match (of_error.and_then(|table| self.relations.get(&table)), error) {
            (Some(relation), error) => commit_error(relation, error),
            (None, CommitError::Store(error)) => error.into(),
            (None, error @ CommitError::Rejected { .. }) => {
                SqlError::new(ErrorKind::SerializationFailure, format!("the catalogue changed meanwhile: {error}"))
            }
        }
    }
}

/// Rows that are kept for as long as they are to be published.
struct Held(#[expect(dead_code, reason = "dropped, they are forgotten")] Box<dyn StagedRows>);

impl std::fmt::Debug for Held {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Held").finish_non_exhaustive()
    }
}

/// More was written to a table that was empty than can be committed at once, and somebody else has written to it.
fn written_meanwhile(table: &TableName) -> Box<SqlError> {
    SqlError::new(ErrorKind::SerializationFailure, "could not serialize access due to concurrent update")
        .with_detail(format!(
            "Others have written to \"{table}\", which was empty when the transaction began to fill it."
        ))
        .with_hint("Run the transaction again.")
}

fn tables_of(place: Place, writes: &WriteGroup) -> Vec<StoredTable> {
    writes.tables().map(|table| StoredTable::new(place, table.clone())).collect()
}

fn half_committed(error: &SqlError) -> Box<SqlError> {
    SqlError::new(ErrorKind::HalfCommitted, "the changes of temporary tables could not be committed")
        .with_detail(format!("The rest of the transaction is committed. The store says: {}", error.message))
}
