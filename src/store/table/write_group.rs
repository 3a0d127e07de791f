//! What is written all or nothing: many rows as columns, and beside them entity group transactions one by one.

use super::{Batch, BatchError, EntityWindow};
use crate::model::TableName;

/// What is written all or nothing. Its transactions are counted through: those of the windows, then the others.
#[derive(Debug, Clone, Default)]
pub struct WriteGroup {
    pub windows: Vec<EntityWindow>,
    pub batches: Vec<Batch>,
    pub emptied: Vec<Emptied>,
}

/// A table of whose entities the windows remove all that were there at one commit, each in the version it had then: where nothing
/// was written to it since, the store may empty it at once instead.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Emptied {
    pub table: TableName,
    /// The number of that commit: see [`TableReader::commit`](super::TableReader::commit).
    pub unchanged_since: u64,
}

impl WriteGroup {
    /// Whether nothing is to be written.
    pub fn is_empty(&self) -> bool {
        self.batches.is_empty() && self.windows.iter().all(EntityWindow::is_empty)
    }

    /// How many entity group transactions there are.
    pub fn transactions(&self) -> usize {
        self.windows.iter().map(EntityWindow::transactions).sum::<usize>() + self.batches.len()
    }

    /// The table of each transaction.
    pub fn tables(&self) -> impl Iterator<Item = &TableName> {
        let of_windows =
            self.windows.iter().flat_map(|window| std::iter::repeat_n(window.table(), window.transactions()));
        of_windows.chain(self.batches.iter().map(Batch::table))
    }

    /// All transactions as objects of their own.
    ///
    /// # Errors
    /// None are expected: each of them is legal.
    pub fn into_batches(self) -> Result<Vec<Batch>, BatchError> {
        let mut batches = Vec::with_capacity(self.transactions());
        for window in self.windows {
            batches.extend(window.batches()?);
        }
        batches.extend(self.batches);
        Ok(batches)
    }
}

impl From<Vec<EntityWindow>> for WriteGroup {
    fn from(windows: Vec<EntityWindow>) -> Self {
        Self { windows, ..Self::default() }
    }
}
