//! What is written as columns: entities that are new, or known.

use arrow::array::{Array as _, ArrayRef};

use super::edm_column::{some_values, values_bytes};
use super::{Batch, BatchError, EdmColumn, KnownEntities, NewEntities};
use crate::model::{EntityKeys, PropertyName, TableName};

/// Writes to one table as columns, in legal entity group transactions.
#[derive(Debug, Clone)]
pub enum EntityWindow {
    New(NewEntities),
    Known(KnownEntities),
}

impl EntityWindow {
    pub fn table(&self) -> &TableName {
        match self {
            EntityWindow::New(new) => new.table(),
            EntityWindow::Known(known) => known.table(),
        }
    }

    /// In the order in which they came.
    pub fn keys(&self) -> &EntityKeys {
        match self {
            EntityWindow::New(new) => new.keys(),
            EntityWindow::Known(known) => known.keys(),
        }
    }

    pub fn as_new(&self) -> Option<&NewEntities> {
        match self {
            EntityWindow::New(new) => Some(new),
            EntityWindow::Known(_) => None,
        }
    }

    pub fn len(&self) -> usize {
        self.keys().len()
    }

    pub fn is_empty(&self) -> bool {
        self.keys().is_empty()
    }

    /// About how much memory it takes.
    pub fn bytes(&self) -> usize {
        match self {
            EntityWindow::New(new) => new.bytes(),
            EntityWindow::Known(known) => known.bytes(),
        }
    }

    /// How many entity group transactions there are.
    pub fn transactions(&self) -> usize {
        match self {
            EntityWindow::New(new) => new.transactions(),
            EntityWindow::Known(known) => known.transactions(),
        }
    }

    /// The places of a transaction's entities in [`EntityWindow::keys`], in the order of its operations.
    pub fn places(&self, index: usize) -> Vec<usize> {
        match self {
            EntityWindow::New(new) => new.transaction(index).collect(),
            EntityWindow::Known(known) => known.transaction(index).collect(),
        }
    }

    /// The values that are written.
    pub fn columns(&self) -> &[(PropertyName, EdmColumn)] {
        match self {
            EntityWindow::New(new) => new.columns(),
            EntityWindow::Known(known) => known.change().columns(),
        }
    }

    /// About how much memory the values take.
    pub fn values_bytes(&self) -> usize {
        values_bytes(self.columns())
    }

    /// How much memory all but the values takes.
    pub fn key_memory(&self) -> usize {
        match self {
            EntityWindow::New(new) => new.key_memory(),
            EntityWindow::Known(known) => known.key_memory(),
        }
    }

    /// The same with its values, column by column, in another place; `None` where these arrays cannot be they.
    pub fn moved_to(self, arrays: &[ArrayRef]) -> Option<Self> {
        let rows = self.len();
        if arrays.len() != self.columns().len() || arrays.iter().any(|array| array.len() != rows) {
            return None;
        }
        let moved = self.columns().iter().zip(arrays);
        let columns = moved.map(|((name, column), array)| Some((name.clone(), column.with(array)?)));
        let columns = columns.collect::<Option<Vec<_>>>()?;
        Some(match self {
            EntityWindow::New(new) => EntityWindow::New(new.with_columns(columns)),
            EntityWindow::Known(known) => EntityWindow::Known(known.with_columns(columns)),
        })
    }

    /// Some of the rows, by their places, which ascend. `None` where they are not known to be legal: that is not expected.
    pub fn some(&self, places: &[usize]) -> Option<Self> {
        let keys = self.keys().some(places.iter().copied())?;
        match self {
            EntityWindow::New(new) => {
                let columns = some_values(new.columns(), places)?;
                NewEntities::new(new.table(), keys, columns).map(EntityWindow::New)
            }
            EntityWindow::Known(known) => {
                let versions = places.iter().map(|place| known.versions()[*place].clone()).collect();
                KnownEntities::new(known.table(), keys, versions, known.change().some(places)?).map(EntityWindow::Known)
            }
        }
    }

    /// What each operation adds to the body of a transaction, in bytes, by the places of keys.
    pub fn operations_bytes(&self) -> Vec<usize> {
        match self {
            EntityWindow::New(new) => new.operations_bytes(),
            EntityWindow::Known(known) => known.operations_bytes(),
        }
    }

    /// A transaction as an object of its own.
    ///
    /// # Errors
    /// None are expected: each of them is legal.
    pub fn batch(&self, index: usize) -> Result<Batch, BatchError> {
        match self {
            EntityWindow::New(new) => new.batch(index),
            EntityWindow::Known(known) => known.batch(index),
        }
    }

    /// All transactions as objects of their own.
    ///
    /// # Errors
    /// None are expected: each of them is legal.
    pub fn batches(&self) -> Result<Vec<Batch>, BatchError> {
        match self {
            EntityWindow::New(new) => new.batches(),
            EntityWindow::Known(known) => known.batches(),
        }
    }
}

impl From<NewEntities> for EntityWindow {
    fn from(new: NewEntities) -> Self {
        EntityWindow::New(new)
    }
}

impl From<KnownEntities> for EntityWindow {
    fn from(known: KnownEntities) -> Self {
        EntityWindow::Known(known)
    }
}
