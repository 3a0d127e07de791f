//! What this door must agree on with whoever else uses the store in this process: which tables show, which rows are
//! locked, and who is told of what is done.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use tablegate_store::model::{EntityKey, PartitionKey, TableName};
use tablegate_store::table::{StoreError, TableStore};
use thiserror::Error;
use tokio_util::sync::CancellationToken;

/// Why the others do not let something happen.
#[derive(Debug, Error)]
pub enum Objection {
    /// Rows or tables were locked for longer than the client waits.
    #[error("others hold locks for too long")]
    Locked,
    /// A table that something else is made of; the text says of what.
    #[error("{0}")]
    InUse(String),
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// Keeps rows locked until it is dropped.
pub type Locked = Box<dyn Send>;

/// A request, for those who watch.
#[derive(Debug, Clone, Copy)]
pub struct Call<'a> {
    pub account: &'a str,
    /// As the client says of itself.
    pub user_agent: &'a str,
    /// What it comes to without its constants: `GET Orders(point)`.
    pub shape: &'a str,
    pub is_write: bool,
}

/// What a request came to.
#[derive(Debug, Clone, Copy)]
pub struct Ended {
    pub time: Duration,
    pub failed: bool,
    /// Entities that were returned or written.
    pub entities: u64,
    /// Entities that were looked at.
    pub scanned: u64,
}

/// A change set that is no legal entity group transaction.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Broken {
    pub rule: Rule,
    pub table: TableName,
    /// Those that it names up to where it was refused.
    pub partitions: Vec<PartitionKey>,
    pub operations: usize,
    /// Of its body, as it was sent.
    pub bytes: usize,
}

/// The rule that it breaks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Rule {
    SecondTable,
    SecondPartition,
    TooManyOperations,
    TooLarge,
}

/// A connection, seen by those who watch until it is dropped. Its requests come one after the other.
pub trait Client: Send + Sync {
    fn begin(&self, call: Call<'_>);

    fn end(&self, call: Call<'_>, ended: Ended);
}

/// Who else uses the store.
#[async_trait]
pub trait Coordinator: Send + Sync + 'static {
    /// Whether clients may know of a table that is in the store.
    fn is_visible(&self, table: &TableName) -> bool;

    /// Whether a table that clients may not know of is one that somebody makes, rather than one that is on its way out.
    fn is_being_made(&self, table: &TableName) -> bool {
        let _ = table;
        false
    }

    /// # Errors
    /// [`StoreError::TableExists`], among others.
    async fn create_table(&self, table: &TableName) -> Result<(), Objection>;

    /// # Errors
    /// [`StoreError::TableMissing`], among others; [`Objection::InUse`] when it must stay.
    async fn drop_table(&self, table: &TableName, patience: Duration) -> Result<(), Objection>;

    /// Locks the rows that are going to be written, waiting for those who have them.
    ///
    /// # Errors
    /// [`Objection::Locked`] when that takes longer than `patience`.
    async fn lock(
        &self,
        table: &TableName,
        keys: &[&EntityKey],
        patience: Duration,
    ) -> Result<Option<Locked>, Objection>;

    /// A client has connected; cancelling `end` ends its connection.
    fn connected(&self, peer: SocketAddr, end: CancellationToken) -> Option<Box<dyn Client>> {
        let _ = (peer, end);
        None
    }

    /// A change set was refused because it is no legal entity group transaction.
    fn refused(&self, call: Call<'_>, broken: &Broken) {
        let _ = (call, broken);
    }
}

/// Nobody else: every table shows and no row is locked. Another gateway over the door keeps its catalogue there as in any account.
pub struct Alone(pub Arc<dyn TableStore>);

#[async_trait]
impl Coordinator for Alone {
    fn is_visible(&self, _: &TableName) -> bool {
        true
    }

    async fn create_table(&self, table: &TableName) -> Result<(), Objection> {
        Ok(self.0.create_table(table).await?)
    }

    async fn drop_table(&self, table: &TableName, _: Duration) -> Result<(), Objection> {
        Ok(self.0.drop_table(table).await?)
    }

    async fn lock(&self, _: &TableName, _: &[&EntityKey], _: Duration) -> Result<Option<Locked>, Objection> {
        Ok(None)
    }
}
