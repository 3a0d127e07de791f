//! Other gateways over the same store: what they change in the catalogue is read again and again, and at once where it
//! matters.
//!
//! It matters when a stored table shows up that the catalogue does not know. Another gateway may be about to declare
//! it. A session that took it for a found table would show its encoded keys and write under wrong ones. A table is
//! doomed before it is made and until it is declared, so the catalogue knows the truth before the table is there to be
//! seen: a stored table is a *stranger*, and can be found, only when the catalogue was read after the sighting and does
//! not know it.

use std::collections::BTreeSet;
use std::sync::{PoisonError, RwLock, Weak};
use std::time::{Duration, Instant};

use tablegate_store::model::TableName;
use tablegate_types::error::{ErrorKind, SqlError, SqlResult};

use super::entries::Entries;
use super::{Catalog, Shared, catalog_table};
use crate::place::{Place, StoredTable};

/// What another gateway changes in the catalogue is seen after so long.
const REFRESH: Duration = Duration::from_secs(1);
/// A read of all entries is not of one moment: while a table is given up it can miss both the doom, which is written
/// first, and the declaration. The second one cannot.
const READS_TO_BE_SURE: usize = 2;

/// Stored tables of which the catalogue is sure to know nothing, as long as it does not change.
#[derive(Debug, Default)]
pub(super) struct Strangers(RwLock<BTreeSet<TableName>>);

impl Strangers {
    fn contain<'a>(&self, mut stored: impl Iterator<Item = &'a TableName>) -> bool {
        let known = self.0.read().unwrap_or_else(PoisonError::into_inner);
        stored.all(|name| known.contains(name))
    }

    fn add(&self, stored: &[TableName]) {
        self.0.write().unwrap_or_else(PoisonError::into_inner).extend(stored.iter().cloned());
    }

    pub(super) fn clear(&self) {
        self.0.write().unwrap_or_else(PoisonError::into_inner).clear();
    }
}

impl Catalog {
    /// Takes over what other gateways have changed until now; [`Catalog::version`] tells whether something is different.
    /// What is known of a mount that does not answer is a second old.
    ///
    /// # Errors
    /// When the store cannot be read or an entry is damaged.
    pub(crate) async fn follow(&self) -> SqlResult<()> {
        if !self.parts.public.is_alone() {
            self.parts.public.follow(Instant::now()).await?;
        }
        let mounts = self.parts.mounts.iter().filter(|mount| !mount.is_alone());
        futures::future::join_all(mounts.map(|mount| mount.contact.news(mount.follow(Instant::now())))).await;
        Ok(())
    }

    /// Whether other gateways may change it.
    pub(crate) fn is_shared(&self) -> bool {
        !self.parts.public.is_alone() || self.parts.mounts.iter().any(|mount| !mount.is_alone())
    }

    /// Looks once more before found tables are written to.
    ///
    /// # Errors
    /// 40001 when one of them is declared now, or was given up: its keys are not what they were taken for.
    pub(crate) async fn check_found(&self, stored: &[StoredTable]) -> SqlResult<()> {
        let places: BTreeSet<Place> = stored.iter().map(|table| table.place).collect();
        for place in places {
            let shared = self.part(place)?;
            if shared.is_alone() {
                continue;
            }
            shared.follow(Instant::now()).await?;
            let state = shared.state();
            if let Some(table) = stored.iter().find(|table| table.place == place && state.knows(table)) {
                let message = "could not serialize access due to concurrent DDL";
                let detail = format!("Stored table \"{table}\" was declared or dropped by another gateway meanwhile.");
                return Err(SqlError::new(ErrorKind::SerializationFailure, message)
                    .with_detail(detail)
                    .with_hint("Run the transaction again."));
            }
        }
        Ok(())
    }
}

impl Shared {
    /// Takes over what other gateways have changed before this moment.
    ///
    /// # Errors
    /// When the store cannot be read or an entry is damaged.
    pub(super) async fn follow(&self, moment: Instant) -> SqlResult<()> {
        let _one_at_a_time = self.changes.lock().await;
        let mut entries = self.entries.lock().await;
        // While this call waited for another one to read the catalogue, that one may have read all that it needs.
        if entries.read_at().is_some_and(|began| began > moment) {
            return Ok(());
        }
        self.renew(&mut entries).await
    }

    async fn renew(&self, entries: &mut Entries) -> SqlResult<()> {
        let is_newer = entries.renew(&*self.store.reader(), &catalog_table()?).await?;
        self.contact.answered();
        if is_newer {
            let read = self.read(entries, None)?;
            self.raise_oids_to(read.state.next_oid(self.place));
            self.change_state(|current| *current = read.state);
        }
        *self.known_at.lock().unwrap_or_else(PoisonError::into_inner) = entries.read_at();
        Ok(())
    }

    /// Those of these stored tables, which some state of the catalogue does not know, that no gateway has declared or
    /// is about to declare.
    ///
    /// # Errors
    /// When the catalogue cannot be read.
    pub(super) async fn strangers_among(&self, mut stored: Vec<TableName>) -> SqlResult<Vec<TableName>> {
        if self.is_alone() || self.strangers.contain(stored.iter()) {
            return Ok(stored);
        }
        let _one_at_a_time = self.changes.lock().await;
        if !self.strangers.contain(stored.iter()) {
            let mut entries = self.entries.lock().await;
            for _ in 0..READS_TO_BE_SURE {
                self.renew(&mut entries).await?;
            }
            let state = self.state();
            stored.retain(|name| !state.knows(&self.stored_as(name)));
            self.strangers.add(&stored);
        }
        Ok(stored)
    }
}

/// Follows what other gateways change, as long as the catalogue is in use.
pub(super) async fn follow_others(shared: Weak<Shared>) {
    loop {
        tokio::time::sleep(REFRESH).await;
        let Some(shared) = Weak::upgrade(&shared) else { return };
        if let Err(error) = shared.follow(Instant::now()).await {
            tracing::warn!(%error, "the catalogue could not be read again; what is known of it stays");
        }
        shared.wake().await;
    }
}
