//! What all requests share: the store, the accounts, those that this door must agree with, and its bounds.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use tablegate_store::model::{Clock, EntityKey, TableName, own_tables};
use tablegate_store::table::{Batch, TableReader, TableStore, Written};

use crate::accounts::{AccountKey, AccountKeys, AccountsFile, EMULATOR_ACCOUNT, EMULATOR_KEY};
use crate::coordinator::{Coordinator, Locked, Objection};
use crate::counters::Counters;
use crate::error::{Refusal, RestResult, of_commit};
use crate::head::Head;
use crate::own::{Document, Own};
use crate::throttle::Throttle;
use uuid::Uuid;

/// The most that a client can ask to be waited for: as long as the service takes at most.
const PATIENCE_MAX: Duration = Duration::from_secs(30);

pub(crate) struct Door {
    pub store: Arc<dyn TableStore>,
    pub own: Own,
    pub coordinator: Arc<dyn Coordinator>,
    pub clock: Arc<dyn Clock>,
    pub accounts: AccountBook,
    pub throttle: Option<Throttle>,
    pub counters: Arc<Counters>,
    pub requests: RequestNumbers,
}

/// Numbers for requests: a random half, and one that counts. So they cost nothing, and no two servers have the same.
pub(crate) struct RequestNumbers {
    random: u64,
    count: AtomicU64,
}

impl RequestNumbers {
    pub fn new() -> Self {
        Self { random: Uuid::new_v4().as_u64_pair().0, count: AtomicU64::new(1) }
    }

    pub fn next(&self) -> Uuid {
        Uuid::from_u64_pair(self.random, self.count.fetch_add(1, Ordering::Relaxed))
    }
}

/// The accounts that clients can be of.
pub(crate) struct AccountBook {
    pub file: Option<AccountsFile>,
    /// The keys of the emulator's account, where it is let in.
    pub emulator: Option<Arc<AccountKeys>>,
}

impl AccountBook {
    pub fn new(file: Option<AccountsFile>, with_emulator: bool) -> Self {
        let key = AccountKey::parse(EMULATOR_KEY).ok().filter(|_| with_emulator);
        Self { file, emulator: key.map(|key| Arc::new([key.clone(), key])) }
    }

    /// The keys of an account; `None` for none.
    ///
    /// # Errors
    /// When the file cannot be read.
    pub fn keys(&self, account: &str) -> RestResult<Option<Arc<AccountKeys>>> {
        if account == EMULATOR_ACCOUNT {
            return Ok(self.emulator.clone());
        }
        let Some(file) = &self.file else { return Ok(None) };
        let accounts = file.current().map_err(|error| {
            tracing::error!(%error, "the accounts cannot be read");
            Refusal::Internal
        })?;
        Ok(accounts.keys(account).cloned())
    }
}

impl Door {
    pub fn reader(&self) -> Arc<dyn TableReader> {
        self.store.reader()
    }

    /// Whether clients may know of a table that is in the store.
    pub fn is_visible(&self, table: &TableName) -> bool {
        !own_tables::contains(table) && self.coordinator.is_visible(table)
    }

    /// # Errors
    /// [`Refusal::TableMissing`] for a table that clients must not know of.
    pub fn check_visible(&self, table: &TableName) -> RestResult<()> {
        if self.is_visible(table) { Ok(()) } else { Err(Refusal::TableMissing) }
    }

    /// # Errors
    /// [`Refusal::TableMissing`] for a table that is not there.
    pub async fn check_there(&self, table: &TableName) -> RestResult<()> {
        self.check_visible(table)?;
        let tables = self.reader().list_tables().await?;
        if tables.contains(table) { Ok(()) } else { Err(Refusal::TableMissing) }
    }

    /// The visible tables, in the order of their names.
    pub async fn tables(&self) -> RestResult<Vec<TableName>> {
        let mut tables = self.reader().list_tables().await?;
        tables.retain(|table| self.is_visible(table));
        Ok(tables)
    }

    pub async fn create_table(&self, table: &TableName) -> RestResult<()> {
        if own_tables::contains(table) {
            return Err(Refusal::TableExists);
        }
        self.coordinator.create_table(table).await.map_err(|objection| match refused(objection) {
            // It was dropped, and is on its way out of the store.
            Refusal::TableExists if !self.is_visible(table) => Refusal::TableBeingDeleted,
            other => other,
        })
    }

    pub async fn drop_table(&self, table: &TableName, patience: Duration) -> RestResult<()> {
        if !self.is_visible(table) {
            return Err(Refusal::Missing);
        }
        self.coordinator.drop_table(table, patience).await.map_err(|objection| match refused(objection) {
            Refusal::TableMissing => Refusal::Missing,
            other => other,
        })?;
        self.own.remove(Document::Acl(table)).await
    }

    /// Commits a batch, when those who have its rows locked are done.
    ///
    /// # Errors
    /// With the operation that it is about.
    pub async fn commit(&self, batch: Batch, patience: Duration) -> Result<Vec<Written>, (usize, Refusal)> {
        let _locked = self.lock(&batch, patience).await.map_err(|refusal| (0, refusal))?;
        self.store.commit(batch).await.map_err(of_commit)
    }

    async fn lock(&self, batch: &Batch, patience: Duration) -> RestResult<Option<Locked>> {
        self.check_visible(batch.table())?;
        let mut keys: Vec<&EntityKey> = batch.operations().iter().map(|operation| operation.key()).collect();
        // Who locks in one order does not wait in a circle.
        keys.sort_unstable();
        self.coordinator.lock(batch.table(), &keys, patience).await.map_err(refused)
    }

    /// # Errors
    /// [`Refusal::Busy`] when so many entities are more than the service would carry now.
    pub fn throttle(&self, table: &TableName, partition: Option<&str>, entities: u64) -> RestResult<()> {
        let takes = self.throttle.as_ref().is_none_or(|throttle| throttle.takes(table, partition, entities));
        if takes { Ok(()) } else { Err(Refusal::Busy) }
    }
}

fn refused(objection: Objection) -> Refusal {
    match objection {
        Objection::Locked => Refusal::TimedOut,
        Objection::InUse(what) => Refusal::TableInUse(what),
        Objection::Store(error) => error.into(),
    }
}

/// How long the client lets us wait for others: what it says in `timeout`, and never longer than the service would.
pub(crate) fn patience(head: &Head) -> RestResult<Duration> {
    let Some(text) = head.query.get("timeout") else { return Ok(PATIENCE_MAX) };
    let seconds: u64 = text.parse().map_err(|_| Refusal::InvalidQueryParameter)?;
    Ok(Duration::from_secs(seconds).min(PATIENCE_MAX))
}
