//! Stored tables that come and go with transactions, though the store makes and drops them at once.
//!
//! A stored table is *doomed* while an entry says so: it will be dropped, and until then no session sees it. A new one
//! is doomed from the start, and the commit that declares it clears that; the commit that drops a table dooms its
//! stored table. So after a crash or a lost client it is enough to drop the doomed ones. A stored table that has a
//! declaration is kept even if it is doomed, in case the two could not be written together.
//!
//! Where other gateways use the store, the name of a dropped table is reserved for a while: no other stored table gets
//! it while a gateway may still take it for the old one, or while the service is still deleting it.

use std::collections::{BTreeSet, VecDeque};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::time::{Duration, Instant};

use serde::{Deserialize, Serialize};
use tablegate_store::model::{ETag, Entity, EntityKey, StoredEntity, TableName};
use tablegate_store::table::{Batch, CommitError, IfMatch, Operation, StoreError, Written};
use tablegate_types::error::{ErrorKind, SqlError, SqlResult};
use tokio::sync::mpsc;

use super::declaration::Declaration;
use super::scratch::ScratchTable;
use super::view::CatalogView;
use super::{Catalog, Common, Parts, Shared, catalog_table, duplicate_stored, entry, is_hidden, too_large};
use crate::place::{Place, Readers, StoredTable};
use crate::relation::RelationKind;

/// So long the name of a dropped table rests: the service refuses it for 40 s or more, and what another gateway knows of
/// the old table is a second old.
const REST: Duration = Duration::from_secs(60);
/// The partition of the entries of doomed tables.
pub(super) const DOOMED: &str = "doomed";

/// What the entry of a doomed table says.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Doomed {
    format: u32,
    stored: String,
    /// It is dropped already: only its name rests.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    dropped: bool,
}

/// A stored table made for a transaction: dropped again unless the transaction commits.
#[derive(Debug)]
pub(crate) struct FreshTable {
    stored: StoredTable,
    is_adopted: AtomicBool,
    in_the_making: InTheMaking,
    discarded: mpsc::UnboundedSender<StoredTable>,
}

/// The stored tables that open transactions of this gateway have made.
#[derive(Debug, Default, Clone)]
pub(super) struct InTheMaking(Arc<Mutex<BTreeSet<StoredTable>>>);

impl InTheMaking {
    pub(super) fn has(&self, stored: &StoredTable) -> bool {
        self.lock().contains(stored)
    }

    fn lock(&self) -> MutexGuard<'_, BTreeSet<StoredTable>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A stored table that was made for a transaction.
#[derive(Debug)]
pub(crate) enum MadeTable {
    Fresh(FreshTable),
    Scratch(ScratchTable),
}

impl FreshTable {
    fn new(stored: StoredTable, common: &Common) -> Self {
        let (in_the_making, discarded) = (common.in_the_making.clone(), common.discarded.clone());
        in_the_making.lock().insert(stored.clone());
        Self { stored, is_adopted: AtomicBool::new(false), in_the_making, discarded }
    }

    pub(crate) fn stored(&self) -> &StoredTable {
        &self.stored
    }

    /// From now on the catalogue owns it.
    pub(super) fn adopt(&self) {
        self.is_adopted.store(true, Ordering::Relaxed);
    }
}

impl Drop for FreshTable {
    fn drop(&mut self) {
        self.in_the_making.lock().remove(&self.stored);
        if !self.is_adopted.load(Ordering::Relaxed) {
            // Sending fails once the engine is gone, which does no harm: the next start drops the table.
            let _ = self.discarded.send(self.stored.clone());
        }
    }
}

impl Catalog {
    /// Makes the stored table of a new declaration, under its own stored name, or under that of a later generation while
    /// a table that is on its way out still has it, or one that has another name by now. `is_chosen` says that the
    /// statement names the stored table itself: it has this name or none.
    ///
    /// # Errors
    /// 42P07 when a found table has the name, or any table that can be seen if the name was chosen.
    pub(crate) async fn make_first(
        &self,
        view: &CatalogView,
        readers: &Readers,
        declaration: &mut Declaration,
        is_chosen: bool,
    ) -> SqlResult<MadeTable> {
        if declaration.place.is_temporary() {
            return self.make_scratch(declaration).await.map(MadeTable::Scratch);
        }
        let stored = declaration.stored_name()?;
        if is_hidden(&stored) {
            return Err(duplicate_stored(&declaration.name, &stored));
        }
        match view.stored_as(readers, &StoredTable::new(declaration.place, stored.clone())).await? {
            Some(owner) if is_chosen || owner.kind == RelationKind::Found => {
                return Err(duplicate_stored(&declaration.name, &stored));
            }
            // It was renamed, and keeps what it is stored as, or its name is another to SQL alone (`key_value`, `keyvalue`, `Users`).
            Some(_) => return self.make_next(declaration).await,
            None => {}
        }
        match self.make(declaration.place, stored).await? {
            Some(fresh) => Ok(MadeTable::Fresh(fresh)),
            None => self.make_next(declaration).await,
        }
    }

    /// Makes an empty stored table of the next generation, for a table that is to start anew.
    ///
    /// # Errors
    /// When the store fails.
    pub(crate) async fn make_next(&self, declaration: &mut Declaration) -> SqlResult<MadeTable> {
        if declaration.place.is_temporary() {
            return self.make_scratch(declaration).await.map(MadeTable::Scratch);
        }
        loop {
            declaration.move_to_next_generation()?;
            if let Some(fresh) = self.make(declaration.place, declaration.stored_name()?).await? {
                return Ok(MadeTable::Fresh(fresh));
            }
        }
    }

    /// Makes a doomed stored table; `None` when there is a table of this name. Runs to its end even if the caller is
    /// dropped.
    async fn make(&self, place: Place, name: TableName) -> SqlResult<Option<FreshTable>> {
        let shared = self.part(place)?.clone();
        shared.open_for_writing().await?;
        let made = tokio::spawn(async move { shared.make(name).await }).await;
        made.map_err(|error| SqlError::new(ErrorKind::Internal, error.to_string()))?
    }
}

impl Shared {
    async fn make(&self, name: TableName) -> SqlResult<Option<FreshTable>> {
        let _one_at_a_time = self.changes.lock().await;
        let stored = self.store.reader().list_tables().await?;
        if stored.contains(&name) || self.state().doomed.contains(&self.stored_as(&name)) {
            return Ok(None);
        }
        // Where there is an entry, another gateway is making it, or has just dropped it.
        let Some(version) = self.doom(&name).await? else { return Ok(None) };
        let fresh = FreshTable::new(self.stored_as(&name), &self.common);
        self.change_state(|state| {
            state.doomed.insert(self.stored_as(&name));
        });
        match self.store.create_table(&name).await {
            Ok(()) => Ok(Some(fresh)),
            Err(StoreError::TableExists(_)) => {
                // It came from elsewhere at this very moment, and is not ours to drop.
                fresh.adopt();
                self.write_own_entry(Operation::Delete(doom_key(&name)?, IfMatch::ETag(version))).await?;
                self.change_state(|state| {
                    state.doomed.remove(&self.stored_as(&name));
                });
                Ok(None)
            }
            Err(error) => Err(error.into()),
        }
    }

    /// Writes that a stored table which is about to be made is doomed. Gives the entry's version, or `None` when there is
    /// an entry of somebody else, who has the name: one that is written over would be taken away from its gateway.
    async fn doom(&self, name: &TableName) -> SqlResult<Option<ETag>> {
        let entity = doom_entity(name)?;
        if let Some(version) = self.write_own_entry(Operation::Insert(entity.clone())).await? {
            return Ok(Some(version));
        }
        let found = self.store.reader().get(&catalog_table()?, &doom_key(name)?).await?;
        match found {
            // Whoever wrote it is gone, and did not give the name back.
            Some(entry) if self.is_abandoned(&entry) && (self.is_alone() || doomed_of_entity(&entry)?.1) => {
                self.write_own_entry(Operation::Replace(entity, IfMatch::ETag(entry.etag))).await
            }
            _ => Ok(None),
        }
    }

    /// Writes an entry that is this gateway's, with its condition; `None` when somebody else was there.
    pub(super) async fn write_own_entry(&self, operation: Operation) -> SqlResult<Option<ETag>> {
        let batch = Batch::single(catalog_table()?, operation).map_err(|error| too_large(&error))?;
        match self.store.commit(batch).await {
            Ok(written) => Ok(written.into_iter().find_map(|written| match written {
                Written::Entity { etag, .. } => Some(etag),
                Written::Deleted => None,
            })),
            Err(CommitError::Rejected { .. }) => Ok(None),
            Err(CommitError::Store(error)) => Err(error.into()),
        }
    }

    /// Drops a doomed stored table and its entry. What cannot be dropped now stays doomed, so that the next start tries
    /// again.
    pub(super) async fn sweep(&self, name: &TableName) {
        let _one_at_a_time = self.changes.lock().await;
        self.sweep_alone(name).await;
    }

    /// As [`Shared::sweep`], for those who hold the lock on changes.
    pub(super) async fn sweep_alone(&self, name: &TableName) {
        if let Err(error) = self.try_sweep(name).await {
            tracing::warn!(table = %name, %error, "a dropped table could not be removed; the next start tries again");
        }
    }

    async fn try_sweep(&self, name: &TableName) -> SqlResult<()> {
        match self.store.drop_table(name).await {
            Ok(()) | Err(StoreError::TableMissing(_)) => {}
            Err(error) => return Err(error.into()),
        }
        self.common.observed.forget(&self.stored_as(name));
        if self.is_alone() {
            return self.reprieve(name).await;
        }
        self.write_entry(Operation::InsertOrReplace(doomed_entity(name, true)?)).await?;
        self.change_state(|state| {
            state.doomed.insert(self.stored_as(name));
        });
        self.resting().push_back((Instant::now(), name.clone()));
        Ok(())
    }

    /// Gives back names that have rested.
    pub(super) async fn wake(&self) {
        let is_over = |began: &Instant| began.elapsed() >= REST;
        loop {
            let name = {
                let mut resting = self.resting();
                if !resting.front().is_some_and(|(began, _)| is_over(began)) {
                    return;
                }
                resting.pop_front()
            };
            let Some((_, name)) = name else { return };
            let _one_at_a_time = self.changes.lock().await;
            if let Err(error) = self.reprieve(&name).await {
                tracing::warn!(table = %name, %error, "the name of a dropped table could not be given back");
            }
        }
    }

    fn resting(&self) -> MutexGuard<'_, VecDeque<(Instant, TableName)>> {
        self.resting.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) async fn reprieve(&self, name: &TableName) -> SqlResult<()> {
        self.write_entry(Operation::Delete(doom_key(name)?, IfMatch::Any)).await?;
        self.change_state(|state| {
            state.doomed.remove(&self.stored_as(name));
        });
        Ok(())
    }
}

/// Drops what transactions leave behind that end without committing.
pub(super) async fn sweep_discarded(parts: Weak<Parts>, mut discarded: mpsc::UnboundedReceiver<StoredTable>) {
    while let Some(stored) = discarded.recv().await {
        let Some(parts) = Weak::upgrade(&parts) else { return };
        match parts.at(stored.place) {
            Some(shared) => shared.sweep(&stored.name).await,
            None => parts.common().drop_scratch(&stored).await,
        }
    }
}

/// The entity that says a stored table is doomed.
pub(super) fn doom_entity(stored: &TableName) -> SqlResult<Entity> {
    doomed_entity(stored, false)
}

fn doomed_entity(stored: &TableName, dropped: bool) -> SqlResult<Entity> {
    let content = Doomed { format: entry::FORMAT, stored: stored.as_str().to_owned(), dropped };
    entry::to_entity(doom_key(stored)?, &content)
}

pub(super) fn doom_key(stored: &TableName) -> SqlResult<EntityKey> {
    entry::entry_key(DOOMED, &stored.folded())
}

/// The doomed table, and whether it is dropped already.
///
/// # Errors
/// XX001 when the entry is not one of a doomed table.
pub(super) fn doomed_of_entity(stored: &StoredEntity) -> SqlResult<(TableName, bool)> {
    let doomed: Doomed = entry::of_entity(stored)?;
    let name = TableName::parse(&doomed.stored).map_err(|error| entry::damaged(stored, error.to_string()))?;
    Ok((name, doomed.dropped))
}
