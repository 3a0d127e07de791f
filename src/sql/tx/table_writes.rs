//! What a transaction has collected for one table: rows one by one, and columns below them.
//!
//! A row that was written later stands above what the columns have of it, and goes to the store in its place.

use std::sync::Arc;

use tablegate_store::model::limits::EGT_MAX_OPERATIONS;
use tablegate_store::model::{ETag, EdmDateTime, EntityKey, EntityKeys};
use tablegate_store::table::{EntityWindow, KnownChange, NewEntities, ObservedSchema, Operation, TableStore};
use tablegate_types::error::SqlResult;

use super::OwnWrites;
use super::ahead_of_commit::AheadOfCommit;
use super::column_writes::{ColumnWindow, ColumnWrites};
use super::held_back_space::{HeldBackSpace, Taken};
use super::layers::{Layers, Moment};
use super::net_write::NetWrite;
use super::own_rows::{OwnRows, Replacement};
use super::seen_keys::SeenKeys;
use crate::relation::Relation;

/// Columns are put in the order of keys where one of so many rows is changed at once.
const ORDERED_FOR: usize = 64;

/// The collected writes to one table.
#[derive(Debug)]
pub(super) struct TableWrites {
    pub(super) relation: Arc<Relation>,
    rows: Layers<Arc<NetWrite>>,
    columns: ColumnWrites,
    /// At this commit of the store the rows that the columns remove were all that the table had.
    empties_since: Option<u64>,
    /// The keys of rows that came since as columns, be it under the keys of removed ones. `None` also where they are not known.
    refilled: Option<SeenKeys>,
    ahead: AheadOfCommit,
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
    empties_since: Option<u64>,
    bytes: usize,
    observed: Arc<ObservedSchema>,
}

/// What commits the collected writes to one table, but for operations.
pub(super) struct Columns {
    /// With the memory that each takes.
    pub windows: Vec<(EntityWindow, Taken)>,
    /// Where the rows that they remove are all that the table had at one commit of the store: that.
    pub empties_since: Option<u64>,
    /// Where all of them are written ahead, too.
    pub ahead: Option<AheadOfCommit>,
}

impl TableWrites {
    /// Nothing yet.
    pub(super) fn new(relation: &Arc<Relation>) -> Self {
        let (rows, columns, observed) = (Layers::default(), ColumnWrites::default(), Arc::default());
        let (relation, ahead) = (Arc::clone(relation), AheadOfCommit::default());
        Self { relation, rows, columns, empties_since: None, refilled: None, ahead, bytes: 0, observed }
    }

    pub(super) fn mark(&self) -> TableMark {
        let Self { relation, rows, columns, empties_since, refilled: _, ahead: _, bytes, observed } = self;
        TableMark {
            relation: Arc::clone(relation),
            rows: rows.moment(),
            columns: columns.clone(),
            empties_since: *empties_since,
            bytes: *bytes,
            observed: Arc::clone(observed),
        }
    }

    /// As it was at the mark, to go on from there.
    pub(super) fn at(mark: &TableMark) -> Self {
        let TableMark { relation, rows, columns, empties_since, bytes, observed } = mark;
        Self {
            relation: Arc::clone(relation),
            rows: Layers::at(rows),
            columns: columns.clone(),
            empties_since: *empties_since,
            refilled: None,
            ahead: AheadOfCommit::default(),
            bytes: *bytes,
            observed: Arc::clone(observed),
        }
    }

    /// A statement is complete: see [`Layers::settle`].
    pub(super) fn settle(&mut self) {
        self.rows.settle();
    }

    /// What readers inside the transaction see of it, as it is now.
    pub(super) fn own_writes(&self) -> OwnWrites {
        OwnWrites::new(self.rows.moment(), self.columns.clone(), Arc::clone(&self.observed))
    }

    /// What all of it takes when it is committed: nothing where it is written ahead.
    pub(super) fn bytes(&self) -> usize {
        if self.is_ahead() { 0 } else { self.bytes }
    }

    /// What the values of its columns take of the memory of rows that are held back.
    pub(super) fn held_bytes(&self) -> usize {
        self.columns.held_bytes()
    }

    fn is_ahead(&self) -> bool {
        self.rows.is_untouched() && self.ahead.has_all(&self.columns)
    }

    /// Writes the last of the columns, which are new rows, ahead of the commit, as far as all others are.
    pub(super) async fn write_ahead(&mut self, store: &Arc<dyn TableStore>) {
        if self.rows.is_untouched() && self.empties_since.is_none() {
            self.ahead.push(store, &self.relation.stored.name, &self.columns).await;
        }
    }

    /// Whether something is collected. Rows that were taken back may be counted where there are columns.
    pub(super) fn is_written(&self) -> bool {
        !self.columns.is_empty() || !self.rows.is_empty()
    }

    pub(super) fn get(&self, key: &EntityKey) -> Option<Arc<NetWrite>> {
        let row = self.rows.get(key).cloned().or_else(|| self.columns.get(key));
        row.filter(|write| !write.is_nothing())
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

    /// The commit of the store since which nothing is left of the table but what the transaction writes to it.
    pub(super) fn empties_since(&self) -> Option<u64> {
        self.empties_since
    }

    /// Whether new rows may come as columns where all others are removed: that the transaction has written none of them since.
    pub(super) fn refill(&mut self, new: &NewEntities, space: &Arc<HeldBackSpace>) -> bool {
        let (columns, keys) = (&self.columns, new.keys());
        let is_above = |place| self.rows.get(&keys.key(place)).is_some();
        if self.empties_since.is_none() || (!self.rows.is_untouched() && (0..keys.len()).any(is_above)) {
            return false;
        }
        let seen = match &mut self.refilled {
            Some(seen) => seen,
            None if columns.has_new() => return false,
            none => none.insert(SeenKeys::new(space)),
        };
        seen.take(new)
    }

    /// Adds rows, none of which the transaction has written before but to remove it.
    pub(super) fn push(&mut self, window: ColumnWindow) {
        self.bytes += window.bytes();
        self.columns.push(window);
    }

    /// Which rows of these keys are new ones that are only in columns. `None` where that cannot be told of all.
    pub(super) fn own_rows(&self, keys: &EntityKeys) -> Option<OwnRows> {
        let is_above = |row| self.rows.get(&keys.key(row)).is_some();
        // What is removed and has come again is counted twice, and so not changed as columns.
        if self.is_refilled() || (!self.rows.is_untouched() && (0..keys.len()).any(is_above)) {
            return None;
        }
        if self.columns.is_empty() { Some(OwnRows::none_of(keys.len())) } else { OwnRows::find(&self.columns, keys) }
    }

    /// The columns, where they are in no order of keys, and so many of their rows are to be changed that they are worth being put in one.
    pub(super) fn out_of_order(&self, changed: usize) -> Option<&ColumnWrites> {
        let is_worth_it = changed > EGT_MAX_OPERATIONS && changed * ORDERED_FOR >= self.columns.len();
        Some(&self.columns).filter(|columns| is_worth_it && !self.is_refilled() && columns.are_scattered())
    }

    /// What becomes of columns where such rows are changed.
    pub(super) fn changed(&self, rows: &OwnRows, change: &KnownChange, now: EdmDateTime) -> Option<Vec<Replacement>> {
        rows.changed(&self.columns, change, now)
    }

    /// How many windows of columns there are.
    pub(super) fn windows(&self) -> usize {
        self.columns.windows().len()
    }

    /// The columns with this number.
    pub(super) fn window(&self, number: usize) -> &ColumnWindow {
        &self.columns.windows()[number]
    }

    /// Puts other columns in the places of some.
    pub(super) fn replace(&mut self, replaced: Vec<(usize, Vec<ColumnWindow>)>) {
        for (number, others) in &replaced {
            self.bytes -= self.window(*number).bytes();
            self.bytes += others.iter().map(ColumnWindow::bytes).sum::<usize>();
        }
        // What was written ahead is not what is written any more.
        self.ahead = AheadOfCommit::default();
        self.columns.replace(replaced);
    }

    /// A statement has removed all rows that the table had at this commit of the store, which were so many. That is kept in mind
    /// where they are columns.
    pub(super) fn note_emptied(&mut self, unchanged_since: u64, rows: usize) {
        if self.rows.is_untouched() && self.columns.remove_alone(rows) {
            self.empties_since = Some(unchanged_since);
        }
    }

    /// All that was written, row by row in key order.
    pub(super) fn entries(&self) -> impl Iterator<Item = (EntityKey, Arc<NetWrite>)> + use<> {
        let all = self.columns.below(self.rows.moment());
        all.iter().filter(|(_, write)| !write.is_nothing())
    }

    /// All that was written, each row once: as columns as far as it is only there.
    pub(super) fn parts(&self) -> (&[Arc<ColumnWindow>], impl Iterator<Item = (EntityKey, Arc<NetWrite>)> + use<>) {
        let are_columns = self.rows.is_untouched();
        let windows: &[_] = if are_columns { self.columns.windows() } else { &[] };
        (windows, (!are_columns).then(|| self.entries()).into_iter().flatten())
    }

    /// The rows in whose places others may be written, in the versions that they had.
    pub(super) fn replaced(&self) -> impl Iterator<Item = (EntityKey, ETag)> {
        let replacing = self.rows.moment().iter().filter(|(_, write)| write.replaces);
        let of_rows = replacing.filter_map(|(key, write)| Some((key, write.base.clone()?)));
        let of_columns = self.is_refilled().then(|| self.columns.removed()).into_iter().flatten();
        of_rows.chain(of_columns)
    }

    /// Whether all rows are removed, and others have come as columns.
    pub(super) fn is_refilled(&self) -> bool {
        self.empties_since.is_some() && self.columns.has_new()
    }

    /// The operations that commit all of it, in key order.
    pub(super) fn into_operations(self) -> impl Iterator<Item = SqlResult<Operation>> {
        let rows = match self.columns.is_empty() {
            true => self.rows,
            false => Layers::at(&self.columns.below(self.rows.moment())),
        };
        operations(rows)
    }

    /// The columns that are to be written, and the operations that commit what stands above them.
    pub(super) fn into_parts(self) -> (Columns, impl Iterator<Item = SqlResult<Operation>>) {
        let (is_refilled, is_ahead) = (self.is_refilled(), self.is_ahead());
        let Self { rows, columns, empties_since, ahead, .. } = self;
        if rows.is_untouched() {
            let ahead = is_ahead.then_some(ahead);
            return (Columns { windows: columns.into_windows(), empties_since, ahead }, operations(rows));
        }
        match columns.without(|key| rows.get(key).is_some()) {
            // A row that is removed, has come again, and was written once more, is in two columns and above them.
            Some(left) if !is_refilled || left.len() == columns.len() => {
                // What is written in the places of removed rows stands for their removals.
                let empties_since = empties_since.filter(|_| left.len() == columns.len());
                (Columns { windows: left.into_windows(), empties_since, ahead: None }, operations(rows))
            }
            _ => {
                let all = Layers::at(&columns.below(rows.moment()));
                (Columns { windows: Vec::new(), empties_since: None, ahead: None }, operations(all))
            }
        }
    }
}

fn operations(rows: Layers<Arc<NetWrite>>) -> impl Iterator<Item = SqlResult<Operation>> {
    let written = rows.into_entries().filter(|(_, write)| !write.is_nothing());
    written.map(|(key, write)| NetWrite::into_operation(write, key))
}
