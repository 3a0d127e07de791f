//! Groups of windows of columns: all of them are written, or nothing is.

use std::collections::HashSet;

use tablegate_store::table::{CommitError, GroupError};

use super::apply::find;
use super::commit::Committer;
use super::encoded_window::EncodedWindow;

impl Committer {
    pub(super) fn write_group(&mut self, mut windows: Vec<EncodedWindow>) -> Result<(), GroupError> {
        self.check_usable()?;
        let mut commit = self.begin_of(windows.iter().map(|window| window.keys().len()).sum());
        let mut batches = 0;
        for window in &mut windows {
            let table = find(&self.live.tables, window.table())?;
            window.set_table(table.number);
            let mut refused = match window {
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
        let checked = commit.finish();
        Ok(self.write(checked)?)
    }
}

/// # Errors
/// [`GroupError::DuplicateKey`] when two windows hold the same key of the same table.
pub(super) fn check_disjoint(windows: &[EncodedWindow]) -> Result<(), GroupError> {
    let spans = || windows.iter().filter_map(|window| Some((window.table(), window.keys().span()?)));
    if spans().zip(spans().skip(1)).all(|(one, other)| one.0 == other.0 && one.1.1 < other.1.0) {
        return Ok(());
    }
    let mut seen = HashSet::new();
    for window in windows {
        for row in 0..window.keys().len() {
            if !seen.insert((window.table(), window.keys().get(row))) {
                return Err(GroupError::DuplicateKey { table: window.table().clone(), key: window.entity_key(row) });
            }
        }
    }
    Ok(())
}
