//! Rows that are written ahead of the moment at which it is known whether they are to be in their table.
//!
//! Who loads many rows and wants all of them or none would have to keep them until the last one has come, and have all of
//! them written then. A store that can puts them aside as they come instead, and makes them the table's at once.

use async_trait::async_trait;

use super::{CommitError, NewEntities, StoreError};
use crate::model::TableName;

/// Rows that a group makes their table's: see [`StagedRows::seal`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SealedRows {
    pub table: TableName,
    pub number: u32,
    /// How many entity group transactions they are, and rows, for whoever counts them.
    pub extent: (usize, usize),
}

/// Rows on their way into a table that is empty: written, and seen by nobody. Dropped, they are forgotten.
#[async_trait]
pub trait StagedRows: Send + Sync {
    /// Writes rows. None of their keys was given before: that is for the caller to see to, with
    /// [`StagedRows::first_known`] where it is not sure, before it publishes them.
    ///
    /// # Errors
    /// What the disk says. Nothing more can be done with the rows then.
    async fn write(&self, entities: NewEntities) -> Result<(), StoreError>;

    /// None come for a while: what was given is put away, and takes no memory and no thread until more come.
    ///
    /// # Errors
    /// As [`StagedRows::write`].
    async fn rest(&self) -> Result<(), StoreError>;

    /// The place of the first of these whose key was given before.
    ///
    /// # Errors
    /// As [`StagedRows::write`].
    async fn first_known(&self, entities: &NewEntities) -> Result<Option<usize>, StoreError>;

    /// From now on they are in the table: when it returns, all are durable, and later readers see them all. False where
    /// the table is not any more what it was when they were begun, and empty: then none of them is.
    ///
    /// # Errors
    /// As [`TableStore::commit`](super::TableStore::commit); [`StoreError::OutcomeUnknown`] where they may be in the table.
    async fn publish(&self) -> Result<bool, StoreError>;

    /// They are all: each is durable, and a group that is committed while they are held may make them the table's
    /// ([`WriteGroup::staged`](super::WriteGroup::staged)), which names them by this number.
    ///
    /// # Errors
    /// As [`StagedRows::write`].
    async fn seal(&self) -> Result<u32, StoreError>;

    /// Inserts them into the table as it is, many entity group transactions at a time, as if they came only now; the
    /// numbers of transactions and of rows are told as they are committed. They are staged no longer.
    ///
    /// # Errors
    /// As [`TableStore::commit`](super::TableStore::commit): those that were told before are committed.
    async fn insert(&self, committed: &(dyn Fn(usize, usize) + Send + Sync)) -> Result<(), CommitError>;
}
