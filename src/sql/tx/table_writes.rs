//! What a transaction has collected for one table: rows one by one, and columns below them.
//!
//! A row that was written later stands above what the columns have of it, and goes to the store in its place.

use std::sync::Arc;

use tablegate_store::model::EntityKey;
use tablegate_store::table::{EntityWindow, ObservedSchema, Operation};
use tablegate_types::error::SqlResult;

use super::OwnWrites;
use super::column_writes::{ColumnWindow, ColumnWrites};
use super::held_back_space::Taken;
use super::layers::{Layers, Moment};
use super::net_write::NetWrite;
use crate::relation::Relation;

/// The collected writes to one table.
#[derive(Debug)]
pub(super) struct TableWrites {
    pub(super) relation: Arc<Relation>,
    rows: Layers<Arc<NetWrite>>,
    columns: ColumnWrites,
    /// What all of it takes until it is committed.
    bytes: usize,
    /// What was written to an open table. It may hold more than is still to be written, never less.
    pub(super) observed: Arc<ObservedSchema>,
}

/// The same as it was once.
#[derive(Debug)]
pub(super) struct TableMark {
    relation: Arc<Relation>,
    rows: Moment<Arc<NetWrite>>,
    columns: ColumnWrites,
    bytes: usize,
    observed: Arc<ObservedSchema>,
}

impl TableWrites {
    /// Nothing yet.
    pub(super) fn new(relation: &Arc<Relation>) -> Self {
        let (rows, columns, observed) = (Layers::default(), ColumnWrites::default(), Arc::default());
        Self { relation: Arc::clone(relation), rows, columns, bytes: 0, observed }
    }

    pub(super) fn mark(&self) -> TableMark {
        let (relation, observed) = (Arc::clone(&self.relation), Arc::clone(&self.observed));
        TableMark { relation, rows: self.rows.moment(), columns: self.columns.clone(), bytes: self.bytes, observed }
    }

    /// As it was at the mark, to go on from there.
    pub(super) fn at(mark: &TableMark) -> Self {
        let (relation, observed) = (Arc::clone(&mark.relation), Arc::clone(&mark.observed));
        Self { relation, rows: Layers::at(&mark.rows), columns: mark.columns.clone(), bytes: mark.bytes, observed }
    }

    /// A statement is complete: see [`Layers::settle`].
    pub(super) fn settle(&mut self) {
        self.rows.settle();
    }

    /// What readers inside the transaction see of it, as it is now.
    pub(super) fn own_writes(&self) -> OwnWrites {
        OwnWrites::new(self.rows.moment(), self.columns.clone(), Arc::clone(&self.observed))
    }

    /// What all of it takes until it is committed.
    pub(super) fn bytes(&self) -> usize {
        self.bytes
    }

    /// Whether something is collected. Rows that were taken back may be counted where there are columns.
    pub(super) fn is_written(&self) -> bool {
        !self.columns.is_empty() || !self.rows.is_empty()
    }

    pub(super) fn get(&self, key: &EntityKey) -> Option<&NetWrite> {
        let row = self.rows.get(key).or_else(|| self.columns.get(key));
        row.map(AsRef::as_ref).filter(|write| !write.is_nothing())
    }

    /// Puts what is to become of a row above all that was collected of it before.
    pub(super) fn put(&mut self, key: EntityKey, write: NetWrite) {
        self.bytes -= self.rows.get(&key).map_or(0, |before| before.bytes);
        self.bytes += write.bytes;
        // Of an insertion that is taken back nothing is left, but where columns have it.
        if write.is_nothing() && self.columns.get(&key).is_none() {
            self.rows.remove(&key);
        } else {
            self.rows.insert(key, Arc::new(write));
        }
    }

    /// Adds rows, none of which the transaction has written before.
    pub(super) fn push(&mut self, window: ColumnWindow) {
        self.bytes += window.bytes();
        self.columns.push(window);
    }

    /// All that was written, row by row in key order.
    pub(super) fn entries(&self) -> impl Iterator<Item = (EntityKey, Arc<NetWrite>)> + use<> {
        let all = self.columns.below(self.rows.moment());
        all.iter().filter(|(_, write)| !write.is_nothing())
    }

    /// All that was written, each row once: as columns as far as it is only there.
    pub(super) fn parts(&self) -> (&[Arc<ColumnWindow>], impl Iterator<Item = (EntityKey, Arc<NetWrite>)> + use<>) {
        let are_columns = self.rows.is_untouched();
        let windows = if are_columns { self.columns.windows() } else { &[] };
        (windows, (!are_columns).then(|| self.entries()).into_iter().flatten())
    }

    /// Rows that were written one by one in the places of others, with their keys.
    pub(super) fn replacing(&self) -> impl Iterator<Item = (EntityKey, Arc<NetWrite>)> + use<> {
        self.rows.moment().iter().filter(|(_, write)| write.replaces)
    }

    /// The operations that commit all of it, in key order.
    pub(super) fn into_operations(self) -> impl Iterator<Item = SqlResult<Operation>> {
        let rows = match self.columns.is_empty() {
            true => self.rows,
            false => Layers::at(&self.columns.below(self.rows.moment())),
        };
        operations(rows)
    }

    /// The columns that are to be written, with the memory that they take, and the operations that commit what stands above
    /// them.
    pub(super) fn into_parts(self) -> (Vec<(EntityWindow, Taken)>, impl Iterator<Item = SqlResult<Operation>>) {
        let Self { rows, columns, .. } = self;
        if rows.is_untouched() {
            return (columns.into_windows(), operations(rows));
        }
        match columns.without(|key| rows.get(key).is_some()) {
            Some(left) => (left.into_windows(), operations(rows)),
            None => (Vec::new(), operations(Layers::at(&columns.below(rows.moment())))),
        }
    }
}

fn operations(rows: Layers<Arc<NetWrite>>) -> impl Iterator<Item = SqlResult<Operation>> {
    let written = rows.into_entries().filter(|(_, write)| !write.is_nothing());
    written.map(|(key, write)| NetWrite::into_operation(write, key))
}
