//! A store in an Azure Storage account, in Cosmos DB for Table, or in the emulator: the service's own REST protocol.
//!
//! ```text
//! account, secret, sign     where to, and what lets us in
//! token, entra              tokens that let us in, and where they come from
//! client, gate, retry       requests: sent, bounded, repeated
//! reply, multipart          answers and refusals
//! json, entity, page        entities from the text of an answer into columns
//! filter, property_filter   key ranges and predicates as requests
//! scan, reorder             their pages, and the entities in our order
//! commit, outcome           writes, and what became of them when the answer is lost
//! tables, observed, sample  which tables there are, and what they have
//! document                  what is public behind a URL, by the same client
//! ```
//!
//! It promises what the service does and no more: others write to it at any time, a view is that of one partition for one
//! request, and atomic is one entity group transaction.

mod account;
mod client;
mod commit;
mod document;
mod entity;
#[cfg(feature = "entra")]
mod entra;
mod figures;
mod filter;
mod gate;
mod json;
mod multipart;
mod observed;
mod outcome;
mod page;
mod property_filter;
mod reorder;
mod reply;
mod retry;
mod sample;
mod scan;
mod secret;
mod sign;
mod tables;
mod token;

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;

pub use self::account::{AccountError, AzureAccount, Credential, ServiceKind};
pub use self::document::PublicDocument;

#[cfg(feature = "entra")]
pub use self::entra::Entra;
pub use self::retry::RetryPolicy;
pub use self::secret::Secret;
pub use self::token::{Token, TokenSource};

use self::client::{Client, Request};
use self::entity::RawEntity;
use self::json::Json;
use self::observed::Observed;
use self::reply::Refusal;
use self::tables::TableList;
use tablegate_store::model::{EntityKey, StoredEntity, TableName};
use tablegate_store::table::{
    Batch, CommitError, GroupError, ObservedSchema, Parallelism, Promises, ScanPlan, ScanRequest, ScanStream,
    Sightings, SnapshotScope, StoreError, StoreFigures, TableReader, TableStore, Written,
};
use tokio::sync::oneshot;

/// How the account is used.
#[derive(Debug, Clone)]
pub struct AzureOptions {
    /// Nothing is ever written.
    pub read_only: bool,
    pub retry: RetryPolicy,
    /// Requests under way at once: to the account, about one partition, of one scan.
    pub requests_per_account: usize,
    pub requests_per_partition: usize,
    pub requests_per_scan: usize,
    /// A sample of a found table serves for so long; `None` until somebody asks for a new one.
    pub sample_age: Option<Duration>,
    /// How long one request may take; the service's own bound where none is given.
    pub request_timeout: Option<Duration>,
}

impl Default for AzureOptions {
    fn default() -> Self {
        Self {
            read_only: false,
            retry: RetryPolicy::default(),
            requests_per_account: 64,
            requests_per_partition: 16,
            requests_per_scan: 8,
            sample_age: Some(Duration::from_secs(60)),
            request_timeout: None,
        }
    }
}

/// A [`TableStore`] over an account.
#[derive(Debug)]
pub struct AzureStore {
    core: Arc<Core>,
}

/// What the store shares with its readers.
#[derive(Debug)]
struct Core {
    client: Client,
    options: AzureOptions,
    observed: Observed,
    tables: TableList,
}

impl AzureStore {
    /// Nothing is sent yet.
    ///
    /// # Errors
    /// [`StoreError::Unavailable`] when this machine's certificates cannot be used.
    pub fn new(account: AzureAccount, options: AzureOptions) -> Result<Self, StoreError> {
        let client = Client::new(account, &options)?;
        let core = Core { client, options, observed: Observed::default(), tables: TableList::default() };
        Ok(Self { core: Arc::new(core) })
    }

    fn may_write(&self) -> Result<(), StoreError> {
        if self.core.options.read_only { Err(StoreError::ReadOnly) } else { Ok(()) }
    }
}

#[async_trait]
impl TableStore for AzureStore {
    fn promises(&self) -> Promises {
        Promises {
            atomic_groups: false,
            // The scan sorts what does not come in order.
            ordered_scans: true,
            reverse_scans: false,
            snapshot: SnapshotScope::Partition,
            sole_writer: false,
        }
    }

    /// What the bounds let through; how many of these the service takes now, the gate finds out.
    fn parallelism(&self) -> Parallelism {
        let AzureOptions { requests_per_account, requests_per_partition, .. } = self.core.options;
        Parallelism { commits: requests_per_account, commits_to_partition: requests_per_partition, windows: false }
    }

    fn reader(&self) -> Arc<dyn TableReader> {
        Arc::new(AzureReader { core: Arc::clone(&self.core) })
    }

    async fn create_table(&self, table: &TableName) -> Result<(), StoreError> {
        self.may_write()?;
        let (core, table) = (Arc::clone(&self.core), table.clone());
        to_its_end(|_| async move { tables::create(&core, &table).await }).await?
    }

    async fn drop_table(&self, table: &TableName) -> Result<(), StoreError> {
        self.may_write()?;
        let (core, table) = (Arc::clone(&self.core), table.clone());
        to_its_end(|_| async move { tables::delete(&core, &table).await }).await?
    }

    async fn commit(&self, batch: Batch) -> Result<Vec<Written>, CommitError> {
        self.may_write()?;
        let core = Arc::clone(&self.core);
        to_its_end(|caller| async move { commit::commit(&core, &batch, &caller).await }).await?
    }

    async fn commit_group(&self, _: Vec<Batch>) -> Result<Vec<Vec<Written>>, GroupError> {
        Err(StoreError::Unsupported("several entity group transactions as one").into())
    }

    async fn analyze(&self, table: &TableName) -> Result<(), StoreError> {
        sample::analyze(&self.core, table).await
    }

    fn figures(&self) -> StoreFigures {
        StoreFigures { requests: Some(self.core.client.figures()), ..StoreFigures::default() }
    }
}

/// Runs it whether or not anybody waits, of which it is told.
async fn to_its_end<T: Send + 'static, W: Future<Output = T> + Send + 'static>(
    work: impl FnOnce(Caller) -> W,
) -> Result<T, StoreError> {
    let (caller, _waits) = oneshot::channel();
    tokio::spawn(work(Caller(caller))).await.map_err(|_| StoreError::ShuttingDown)
}

/// Who waits for a write.
struct Caller(oneshot::Sender<()>);

impl Caller {
    /// Whether nobody waits any more: what is not under way by now must not be begun.
    fn is_gone(&self) -> bool {
        self.0.is_closed()
    }
}

/// Reads as things are; there is no older moment to be had.
struct AzureReader {
    core: Arc<Core>,
}

#[async_trait]
impl TableReader for AzureReader {
    async fn list_tables(&self) -> Result<Vec<TableName>, StoreError> {
        tables::list(&self.core).await
    }

    async fn observed_schema(&self, table: &TableName) -> Result<Arc<ObservedSchema>, StoreError> {
        sample::schema(&self.core, table).await
    }

    fn sightings(&self, table: &TableName) -> Arc<Sightings> {
        self.core.observed.sightings(table)
    }

    async fn get(&self, table: &TableName, key: &EntityKey) -> Result<Option<StoredEntity>, StoreError> {
        get(&self.core, table, key).await
    }

    fn scan(&self, request: ScanRequest) -> Result<ScanStream, StoreError> {
        Ok(scan::scan(Arc::clone(&self.core), request))
    }

    fn describe(&self, request: &ScanRequest) -> ScanPlan {
        scan::describe(&self.core, request)
    }
}

/// One entity, by one request.
async fn get(core: &Core, table: &TableName, key: &EntityKey) -> Result<Option<StoredEntity>, StoreError> {
    let mut request = Request::get(page::address(table, key));
    request.partition = Some((table.clone(), key.partition.as_str().to_owned()));
    let reply = core.client.read(&request, None).await?;
    if reply.is_success() {
        let mut entity = RawEntity::default();
        entity.read(&mut Json::new(reply.text()?, 0))?;
        return entity.to_stored(reply.header("ETag")).map(Some);
    }
    let refusal = Refusal::of(&reply);
    if refusal.status == 404 && !refusal.is_table_missing() { Ok(None) } else { Err(refusal.into_error(table)) }
}
