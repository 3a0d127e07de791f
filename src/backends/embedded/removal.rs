//! Removing the rows of dropped tables, while nobody waits for it and no reader sees it.
//!
//! Files with nothing else in them are dropped whole, on a thread of its own, since that waits for merges under way. What is
//! left, in memory and in files that hold rows of other tables too, is removed row by row. None of it needs a sync: what
//! a crash undoes is done again.

use std::collections::BTreeSet;
use std::sync::Arc;

use tablegate_store::model::Span;
use tablegate_store::table::StoreError;

use super::commit::{Committer, Job};
use super::engine::Engine;
use super::key_bytes::{self, ByteSpan};
use super::meta::{Live, forget};

/// Most rows that are removed at a time, with commits waiting behind.
const REMOVED_AT_ONCE: usize = 500;
/// So many rows are worth a look for files that hold nothing else.
const MANY_ROWS: usize = 5_000;

/// How far the removal of a table's rows is.
pub(super) enum Removal {
    /// A thread drops files, and says when it has: [`Job::FilesDropped`].
    Files,
    /// These are left.
    Rows(ByteSpan),
}

impl Committer {
    /// Whether there is something to remove now.
    pub(super) fn has_rows_to_remove(&self) -> bool {
        !self.live.dropped.is_empty() && !matches!(self.removal, Some((_, Removal::Files)))
    }

    /// Goes on removing the rows of a dropped table.
    pub(super) fn remove_some_rows(&mut self) {
        if let Err(error) = self.try_remove_some_rows() {
            self.fail(error);
        }
    }

    fn try_remove_some_rows(&mut self) -> Result<(), StoreError> {
        let (table, span) = match self.removal.take() {
            Some((table, Removal::Rows(left))) => (table, left),
            Some(waiting) => {
                self.removal = Some(waiting);
                return Ok(());
            }
            None => {
                let Some(&table) = self.live.dropped.last() else { return Ok(()) };
                let span = key_bytes::of_partitions(table, &Span::ALL);
                let mut rows = self.engine.rows_in(&span);
                let has_many = self.engine.guarded(|| Ok(rows.nth(MANY_ROWS - 1).is_some()))?;
                if has_many && self.begin_dropping_files(table, &span) {
                    self.removal = Some((table, Removal::Files));
                    return Ok(());
                }
                (table, span)
            }
        };
        let rows = self.engine.rows_in(&span).take(REMOVED_AT_ONCE).map(fjall::Guard::key);
        let keys: Vec<fjall::Slice> = self.engine.guarded(|| rows.collect())?;
        let mut writes = self.engine.batch();
        let is_last = keys.len() < REMOVED_AT_ONCE;
        if let Some(last) = keys.last() {
            // Onwards from here: the removed rows before it would have to be skipped each time.
            let left = ByteSpan { from: last.to_vec(), to: span.to };
            self.removal = (!is_last).then_some((table, Removal::Rows(left)));
        }
        for key in keys {
            writes.remove(self.engine.rows_of(&key), key);
        }
        if is_last {
            forget(table, &self.engine, &mut writes)?;
            self.live.dropped.retain(|dropped| *dropped != table);
        }
        self.engine.write(writes).map_err(StoreError::from)
    }

    /// False where there is no thread for it.
    fn begin_dropping_files(&self, table: u32, span: &ByteSpan) -> bool {
        let (engine, jobs) = (Arc::clone(&self.engine), self.jobs().clone());
        let span = ByteSpan { from: span.from.clone(), to: span.to.clone() };
        let drop_files = move || {
            if let Err(error) = engine.drop_files(&span) {
                tracing::warn!(%error, "files of a dropped table stay: its rows are removed one by one");
            }
            drop(engine);
            // A store that is being closed does this again when it is opened.
            if let Some(jobs) = jobs.upgrade() {
                drop(jobs.blocking_send(Job::FilesDropped(table)));
            }
        };
        std::thread::Builder::new().name("tablegate-remove".to_owned()).spawn(drop_files).is_ok()
    }

    pub(super) fn files_dropped(&mut self, table: u32) {
        if self.removal.as_ref().is_some_and(|(removed, _)| *removed == table) {
            self.removal = Some((table, Removal::Rows(key_bytes::of_partitions(table, &Span::ALL))));
        }
    }
}

/// Numbers under which there are rows and nobody knows why: a crash may undo that the last of them were removed, after it
/// was noted that they are.
///
/// # Errors
/// [`StoreError::Damaged`] when the engine cannot read its files.
pub(super) fn forgotten_numbers(engine: &Engine, live: &Live) -> Result<Vec<u32>, StoreError> {
    let known: BTreeSet<u32> =
        live.tables.values().map(|table| table.number).chain(live.dropped.iter().copied()).collect();
    let mut forgotten = Vec::new();
    let mut from = Some(0_u32);
    for end in known.into_iter().map(Some).chain([None]) {
        while let Some(number) = from.filter(|from| end.is_none_or(|end| *from < end)) {
            let Some(found) = engine.first_number(number, end)? else { break };
            forgotten.push(found);
            from = found.checked_add(1);
        }
        from = end.and_then(|end| end.checked_add(1));
    }
    Ok(forgotten)
}
