//! What is written all or nothing: many rows as columns, and beside them entity group transactions one by one.

use std::collections::BTreeMap;

use super::{Batch, BatchError, EntityWindow, GroupError, Operation, SealedRows, pack};
use crate::model::{EntityKey, TableName};

/// What is written all or nothing. Its transactions are counted through: those of the windows, then the others.
#[derive(Debug, Clone, Default)]
pub struct WriteGroup {
    pub windows: Vec<EntityWindow>,
    pub batches: Vec<Batch>,
    pub emptied: Vec<Emptied>,
    /// Rows that were written ahead, and nothing else for their tables. They are counted behind all others.
    pub staged: Vec<SealedRows>,
}

/// A table of whose entities the windows remove all that were there at one commit, each in the version it had then: where nothing
/// was written to it since, the store may empty it at once instead. New entities may have the keys of those that are removed:
/// they stand in their places.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Emptied {
    pub table: TableName,
    /// The number of that commit: see [`TableReader::commit`](super::TableReader::commit).
    pub unchanged_since: u64,
}

impl WriteGroup {
    /// Whether nothing is to be written.
    pub fn is_empty(&self) -> bool {
        self.batches.is_empty() && self.staged.is_empty() && self.windows.iter().all(EntityWindow::is_empty)
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

    /// Whether the windows remove the entities of a table, and add others in their places.
    pub fn refills(&self, table: &TableName) -> bool {
        let adds = |window: &EntityWindow| window.table() == table && window.as_new().is_some();
        self.emptied.iter().any(|emptied| emptied.table == *table) && self.windows.iter().any(adds)
    }

    /// All transactions as objects of their own. Where a table is refilled, those of its windows are others, which
    /// [`Counting`] tells in errors.
    ///
    /// # Errors
    /// None are expected: each of them is legal.
    pub fn into_batches(self) -> Result<(Vec<Batch>, Counting), BatchError> {
        let group: Vec<TableName> = self.tables().cloned().collect();
        let batches = self.divided()?;
        let divided = batches.iter().map(|batch| batch.table().clone()).collect();
        Ok((batches, Counting { group, divided }))
    }

    fn divided(self) -> Result<Vec<Batch>, BatchError> {
        let mut batches = Vec::with_capacity(self.transactions());
        let refilled = self.emptied.iter().map(|emptied| &emptied.table).filter(|table| self.refills(table));
        let mut refilled: BTreeMap<TableName, BTreeMap<EntityKey, Operation>> =
            refilled.map(|table| (table.clone(), BTreeMap::new())).collect();
        for window in self.windows {
            match refilled.get_mut(window.table()) {
                Some(operations) => add_in_places(operations, &window),
                None => batches.extend(window.batches()?),
            }
        }
        for (table, operations) in refilled {
            batches.extend(pack(&table, operations.into_values().map(Ok::<_, BatchError>))?);
        }
        batches.extend(self.batches);
        Ok(batches)
    }
}

/// The tables of a group's transactions as it has them, and as they were divided anew.
#[derive(Debug)]
pub struct Counting {
    group: Vec<TableName>,
    divided: Vec<TableName>,
}

impl Counting {
    /// An error of the divided transactions as one of the group's: where these are others, of the first in the same table.
    pub fn of_group(&self, error: GroupError) -> GroupError {
        match error {
            GroupError::Rejected { batch, index, key, reason } if self.divided != self.group => {
                let of_table = self.divided.get(batch).and_then(|table| self.group.iter().position(|own| own == table));
                GroupError::Rejected { batch: of_table.unwrap_or(batch), index, key, reason }
            }
            other => other,
        }
    }
}

/// Adds what happens to the entities of a window. One that is removed by an earlier window, and new in this, is replaced.
fn add_in_places(operations: &mut BTreeMap<EntityKey, Operation>, window: &EntityWindow) {
    for place in 0..window.len() {
        let operation = match window {
            EntityWindow::New(new) => {
                let entity = new.entity(place);
                match operations.remove(&entity.key) {
                    Some(Operation::Delete(_, version)) => Operation::Replace(entity, version),
                    _ => Operation::Insert(entity),
                }
            }
            EntityWindow::Known(known) => known.operation(place),
        };
        operations.insert(operation.key().clone(), operation);
    }
}

impl From<Vec<EntityWindow>> for WriteGroup {
    fn from(windows: Vec<EntityWindow>) -> Self {
        Self { windows, ..Self::default() }
    }
}
