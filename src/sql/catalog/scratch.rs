//! The stored tables of temporary tables, in the scratch store. Each is dropped when no catalogue state refers to it
//! any more.
//!
//! A transaction that is rolled back, a table that is dropped or emptied, a session that ends: each of them drops the
//! states that refer to a stored table, while an open cursor keeps such a state as long as it reads. What a server that
//! is killed leaves behind goes when the next one starts, with the whole scratch store.

use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};

use tablegate_store::model::TableName;
use tablegate_store::table::StoreError;
use tablegate_types::error::SqlResult;
use tokio::sync::mpsc;

use super::declaration::Declaration;
use super::found::FIRST_FOUND_OID;
use super::{Catalog, Common, OIDS_PER_TABLE};
use crate::place::{Place, StoredTable};

/// OIDs of what is temporary start here: above those handed out one after another, below those of found tables.
pub(super) const FIRST_TEMPORARY_OID: u32 = FIRST_FOUND_OID / 2;
const TEMPORARY_OID_BLOCKS: u32 = (FIRST_FOUND_OID - FIRST_TEMPORARY_OID) / OIDS_PER_TABLE;

/// Whether an OID is one of a temporary object.
pub(super) fn is_temporary_oid(oid: u32) -> bool {
    (FIRST_TEMPORARY_OID..FIRST_FOUND_OID).contains(&oid)
}

/// A stored table in the scratch store.
#[derive(Debug)]
pub(crate) struct ScratchTable {
    stored: StoredTable,
    discarded: mpsc::UnboundedSender<StoredTable>,
}

impl ScratchTable {
    pub(crate) fn name(&self) -> &TableName {
        &self.stored.name
    }
}

impl Drop for ScratchTable {
    fn drop(&mut self) {
        // Sending fails once the engine is gone, which does no harm: the scratch store is then deleted as a whole.
        let _ = self.discarded.send(self.stored.clone());
    }
}

/// What numbers the objects that only one session sees. None of it outlives the server.
#[derive(Debug, Default)]
pub(super) struct OwnNumbers {
    sessions: AtomicU32,
    objects: AtomicU32,
    stored: AtomicU64,
}

impl OwnNumbers {
    /// After two million objects the first OIDs come again: their objects are gone by then.
    pub(super) fn next_oid(&self) -> u32 {
        let block = self.objects.fetch_add(1, Ordering::Relaxed) % TEMPORARY_OID_BLOCKS;
        FIRST_TEMPORARY_OID + block * OIDS_PER_TABLE
    }
}

impl Catalog {
    /// The place of a new session's temporary objects.
    pub(super) fn own_place(&self) -> Place {
        Place::Temporary(self.common.own.sessions.fetch_add(1, Ordering::Relaxed).wrapping_add(1))
    }

    /// Makes an empty stored table, which the declaration is then of.
    ///
    /// # Errors
    /// 0A000 without a scratch store; when that fails.
    pub(super) async fn make_scratch(&self, declaration: &mut Declaration) -> SqlResult<ScratchTable> {
        let store = self.common.stores.at(declaration.place)?;
        let number = self.common.own.stored.fetch_add(1, Ordering::Relaxed);
        let stored = StoredTable::new(declaration.place, TableName::parse(&format!("temp{number}"))?);
        // Dropped also when the client leaves while the store is making it.
        let scratch = ScratchTable { stored: stored.clone(), discarded: self.common.discarded.clone() };
        store.create_table(&stored).await?;
        stored.name.as_str().clone_into(&mut declaration.stored);
        Ok(scratch)
    }
}

impl Common {
    /// Drops a stored table that no state refers to any more.
    pub(super) async fn drop_scratch(&self, stored: &StoredTable) {
        self.observed.forget(stored);
        let Ok(store) = self.stores.at(stored.place) else { return };
        match store.drop_table(stored).await {
            Ok(()) | Err(StoreError::TableMissing(_)) => {}
            Err(error) => tracing::warn!(table = %stored, %error, "a temporary table could not be removed"),
        }
    }
}
