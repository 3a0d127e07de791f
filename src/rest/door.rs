//! What all requests share: the store, the accounts, those that this door must agree with, and its bounds.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use tablegate_store::model::{Clock, EntityKey, TableName, own_tables};
use tablegate_store::table::{Batch, SegmentState, TableReader, TableStore, Written};

use crate::accounts::{AccountKey, AccountKeys, AccountsFile, EMULATOR_ACCOUNT, EMULATOR_KEY};
use crate::auth::Tokens;
use crate::body::Room;
use crate::coordinator::{Coordinator, Locked, Objection};
use crate::counters::Counters;
use crate::error::{Refusal, RestResult, of_commit};
use crate::head::Head;
use crate::own::{self, Document, Own};
use crate::throttle::Throttle;
use uuid::Uuid;

/// The most that a client can ask to be waited for: as long as the service takes at most.
const PATIENCE_MAX: Duration = Duration::from_secs(30);

/// Entities of a table whose columns are worth looking at first.
const LARGE_TABLE: u64 = 10_000;

pub(crate) struct Door {
    pub store: Arc<dyn TableStore>,
    pub own: Own,
    pub coordinator: Arc<dyn Coordinator>,
    pub clock: Arc<dyn Clock>,
    pub accounts: AccountBook,
    pub tokens: Option<Tokens>,
    pub room: Room,
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
    pub(crate) fn new() -> Self {
        Self { random: Uuid::new_v4().as_u64_pair().0, count: AtomicU64::new(1) }
    }

    pub(crate) fn next(&self) -> Uuid {
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
    pub(crate) fn new(file: Option<AccountsFile>, with_emulator: bool) -> Self {
        let key = AccountKey::parse(EMULATOR_KEY).ok().filter(|_| with_emulator);
        Self { file, emulator: key.map(|key| Arc::new([key.clone(), key])) }
    }

    /// The keys of an account; `None` for none.
    ///
    /// # Errors
    /// When the file cannot be read.
    pub(crate) fn keys(&self, account: &str) -> RestResult<Option<Arc<AccountKeys>>> {
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
    pub(crate) fn reader(&self) -> Arc<dyn TableReader> {
        self.store.reader()
    }

    /// Whether clients may know of a table that is in the store.
    pub(crate) fn is_visible(&self, table: &TableName) -> bool {
        !own::is_it(table) && self.coordinator.is_visible(table)
    }

    /// # Errors
    /// [`Refusal::TableMissing`] for a table that clients must not know of.
    pub(crate) fn check_visible(&self, table: &TableName) -> RestResult<()> {
        if self.is_visible(table) { Ok(()) } else { Err(Refusal::TableMissing) }
    }

    /// # Errors
    /// [`Refusal::TableMissing`] for a table that is not there.
    pub(crate) async fn check_there(&self, table: &TableName) -> RestResult<()> {
        if self.has(table).await? { Ok(()) } else { Err(Refusal::TableMissing) }
    }

    async fn has(&self, table: &TableName) -> RestResult<bool> {
        Ok(self.is_visible(table) && self.reader().list_tables().await?.contains(table))
    }

    /// The visible tables, in the order of their names.
    pub(crate) async fn tables(&self) -> RestResult<Vec<TableName>> {
        let mut tables = self.reader().list_tables().await?;
        tables.retain(|table| self.is_visible(table));
        Ok(tables)
    }

    pub(crate) async fn create_table(&self, table: &TableName) -> RestResult<()> {
        if own::is_it(table) {
            return Err(Refusal::TableExists);
        }
        // One of this name may have been dropped by others than this door: who may do what with it is of no table any more.
        if !self.has(table).await? {
            self.own.remove(Document::Acl(table)).await?;
        }
        self.coordinator.create_table(table).await.map_err(|objection| match refused(objection) {
            Refusal::TableExists if self.is_on_its_way_out(table) => Refusal::TableBeingDeleted,
            other => other,
        })
    }

    /// Of a table that is in the store: whether it was dropped.
    fn is_on_its_way_out(&self, table: &TableName) -> bool {
        !self.is_visible(table) && !own_tables::contains(table) && !self.coordinator.is_being_made(table)
    }

    pub(crate) async fn drop_table(&self, table: &TableName, patience: Duration) -> RestResult<()> {
        // By its stored name: what SQL calls so may be another one.
        if !self.has(table).await? {
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
    pub(crate) async fn commit(&self, batch: Batch, patience: Duration) -> Result<Vec<Written>, (usize, Refusal)> {
        let locked = self.lock(&batch, patience).await.map_err(|refusal| (0, refusal))?;
        let store = Arc::clone(&self.store);
        // A commit runs to its end whether or not the client is still there, and its rows stay locked until then.
        let committed = tokio::spawn(async move {
            let written = store.commit(batch).await;
            drop(locked);
            written
        });
        committed.await.map_err(|_ended| (0, Refusal::Busy))?.map_err(of_commit)
    }

    async fn lock(&self, batch: &Batch, patience: Duration) -> RestResult<Option<Locked>> {
        self.check_visible(batch.table())?;
        let mut keys: Vec<&EntityKey> = batch.operations().iter().map(|operation| operation.key()).collect();
        // Who locks in one order does not wait in a circle.
        keys.sort_unstable();
        self.coordinator.lock(batch.table(), &keys, patience).await.map_err(refused)
    }

    /// Whether nearly all of a large table is kept as columns too: then they tell where entities are that are looked for by their
    /// properties.
    pub(crate) fn keeps_columns(&self, table: &TableName) -> bool {
        let is_read = |state| matches!(state, SegmentState::Clean | SegmentState::Dirty);
        let segments = self.store.segments(table);
        let kept: u64 = segments.iter().filter(|segment| is_read(segment.state)).map(|segment| segment.entities).sum();
        let all = self.reader().estimate(table).ok().flatten().map_or(u64::MAX, |size| size.entities);
        kept >= LARGE_TABLE && kept >= all - all / 10
    }

    /// # Errors
    /// [`Refusal::Busy`] when so many entities are more than the service would carry now.
    pub(crate) fn throttle(&self, table: &TableName, partition: Option<&str>, entities: u64) -> RestResult<()> {
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

#[cfg(test)]
mod tests {
    use std::sync::atomic::AtomicBool;

    use async_trait::async_trait;
    use tablegate_backends::memory::MemoryStore;
    use tablegate_store::model::{Entity, Properties, SystemClock};
    use tablegate_store::table::{CommitError, Operation, StoreLayer};
    use tokio::sync::Notify;

    use super::*;

    /// A store whose commits wait until they are let go.
    struct Slow {
        store: MemoryStore,
        has_begun: Notify,
        may_go_on: Notify,
    }

    #[async_trait]
    impl StoreLayer for Slow {
        fn below(&self) -> &dyn TableStore {
            &self.store
        }

        async fn commit(&self, batch: Batch) -> Result<Vec<Written>, CommitError> {
            self.has_begun.notify_one();
            self.may_go_on.notified().await;
            self.store.commit(batch).await
        }
    }

    /// Says when rows are locked no more.
    struct Held(Arc<AtomicBool>, Arc<Notify>);

    impl Drop for Held {
        fn drop(&mut self) {
            self.0.store(false, Ordering::SeqCst);
            self.1.notify_one();
        }
    }

    #[derive(Default)]
    struct Locking {
        is_locked: Arc<AtomicBool>,
        unlocked: Arc<Notify>,
    }

    #[async_trait]
    impl Coordinator for Locking {
        fn is_visible(&self, _: &TableName) -> bool {
            true
        }

        async fn create_table(&self, _: &TableName) -> Result<(), Objection> {
            Ok(())
        }

        async fn drop_table(&self, _: &TableName, _: Duration) -> Result<(), Objection> {
            Ok(())
        }

        async fn lock(&self, _: &TableName, _: &[&EntityKey], _: Duration) -> Result<Option<Locked>, Objection> {
            self.is_locked.store(true, Ordering::SeqCst);
            Ok(Some(Box::new(Held(Arc::clone(&self.is_locked), Arc::clone(&self.unlocked)))))
        }
    }

    #[tokio::test]
    async fn rows_stay_locked_until_they_are_written_though_the_client_is_gone() {
        let store = MemoryStore::new(Arc::new(SystemClock));
        let (table, key) = (TableName::parse("orders").unwrap(), EntityKey::parse("p", "r").unwrap());
        store.create_table(&table).await.unwrap();
        let slow = Arc::new(Slow { store, has_begun: Notify::new(), may_go_on: Notify::new() });
        let locking = Arc::new(Locking::default());
        let door = Door {
            own: Own::new(slow.clone()),
            store: slow.clone(),
            coordinator: locking.clone(),
            clock: Arc::new(SystemClock),
            accounts: AccountBook::new(None, true),
            tokens: None,
            room: Room::new(0),
            throttle: None,
            counters: Arc::default(),
            requests: RequestNumbers::new(),
        };
        let entity = Entity::new(key.clone(), Properties::new());
        let batch = Batch::single(table.clone(), Operation::Insert(entity)).unwrap();
        tokio::select! {
            _ = door.commit(batch, PATIENCE_MAX) => panic!("it waits"),
            () = slow.has_begun.notified() => {}
        }
        assert!(locking.is_locked.load(Ordering::SeqCst));
        slow.may_go_on.notify_one();
        locking.unlocked.notified().await;
        assert!(slow.store.reader().get(&table, &key).await.unwrap().is_some());
    }
}
