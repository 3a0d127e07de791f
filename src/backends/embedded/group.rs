//! Groups of windows of columns, and of transactions beside them: all of it is written, or nothing is.

use std::collections::HashSet;

use tablegate_store::table::{Batch, CommitError, GroupError, WriteGroup};

use super::apply::find;
use super::commit::Committer;
use super::encoded_window::EncodedWindow;
use super::key_bytes;

/// A group as it is handed to the commit thread.
pub(super) struct EncodedGroup {
    pub(super) windows: Vec<EncodedWindow>,
    pub(super) batches: Vec<Batch>,
}

impl EncodedGroup {
    /// # Errors
    /// [`GroupError::DuplicateKey`] when the same key of the same table is there twice.
    pub(super) fn new(group: WriteGroup) -> Result<Self, GroupError> {
        let WriteGroup { windows, batches } = group;
        let windows = windows.into_iter().map(EncodedWindow::new).collect();
        let group = Self { windows, batches };
        group.check_disjoint()?;
        Ok(group)
    }

    /// How many rows the windows have.
    pub(super) fn rows(&self) -> usize {
        self.windows.iter().map(|window| window.keys().len()).sum()
    }

    fn check_disjoint(&self) -> Result<(), GroupError> {
        tablegate_store::table::check_disjoint(&self.batches)?;
        if self.are_windows_apart() && self.batches.iter().all(|batch| self.is_outside_of_windows(batch)) {
            return Ok(());
        }
        let mut seen = HashSet::new();
        for window in &self.windows {
            for row in 0..window.keys().len() {
                if !seen.insert((window.table(), window.keys().get(row))) {
                    return Err(GroupError::DuplicateKey {
                        table: window.table().clone(),
                        key: window.entity_key(row),
                    });
                }
            }
        }
        for batch in &self.batches {
            for operation in batch.operations() {
                // As windows have them until they know the table's number.
                let key = key_bytes::of_entity(0, operation.key());
                if seen.contains(&(batch.table(), key.as_slice())) {
                    return Err(GroupError::DuplicateKey {
                        table: batch.table().clone(),
                        key: operation.key().clone(),
                    });
                }
            }
        }
        Ok(())
    }

    /// Whether no two windows of a table reach into each other, so that no key can be in both.
    fn are_windows_apart(&self) -> bool {
        let spans = self.windows.iter().filter_map(|window| Some((window.table(), window.keys().span()?)));
        let mut spans: Vec<_> = spans.collect();
        spans.sort_unstable();
        spans.windows(2).all(|pair| pair[0].0 != pair[1].0 || pair[0].1.1 < pair[1].1.0)
    }

    /// Whether no window is of the table of this batch.
    fn is_outside_of_windows(&self, batch: &Batch) -> bool {
        self.windows.iter().all(|window| window.table() != batch.table())
    }
}

impl Committer {
    pub(super) fn write_group(&mut self, group: EncodedGroup) -> Result<(), GroupError> {
        self.check_usable()?;
        let mut commit = self.begin_of(group.rows());
        let mut batches = 0;
        // What is collected takes as much again: a window goes when it is.
        for mut window in group.windows {
            let table = find(&self.live.tables, window.table())?;
            window.set_table(table.number);
            let mut refused = match &window {
                EncodedWindow::New(new) => {
                    let keys = &new.rows.keys;
                    let Some(span) = keys.span() else { continue };
                    let is_new = self.probe.finds_nothing_between(&self.engine, keys.len(), span)?;
                    commit.insert(new, is_new)?
                }
                EncodedWindow::Known(known) => commit.change(known)?,
            };
            if !refused.is_empty() {
                // What is told is about the first of the entities as they came.
                let place = |(index, error): &(usize, CommitError)| match error {
                    CommitError::Rejected { index: at, .. } => window.place(*index, *at),
                    CommitError::Store(_) => None,
                };
                refused.sort_by_key(place);
                let first = refused.into_iter().next();
                return first.map_or(Ok(()), |(index, error)| Err(error.in_group(batches + index)));
            }
            batches += window.transactions();
        }
        for (index, batch) in group.batches.into_iter().enumerate() {
            commit.add(batch).map_err(|error| error.in_group(batches + index))?;
        }
        let checked = commit.finish();
        Ok(self.write(checked)?)
    }
}
