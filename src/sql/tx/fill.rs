//! Rows of a table that nobody else sees yet, written ahead of their commit.
//!
//! Where the store does that ([`StagedRows`]), and each row is behind the one before, so that none can be there twice, they
//! need no look at what is there, and are in the table at once when the last one has come. Whatever else comes is left to
//! who commits windows one by one.

use std::collections::VecDeque;

use tablegate_store::model::TableName;
use tablegate_store::table::{NewEntities, StagedRows, StoreError, TableStore};
use tokio::sync::mpsc;

use super::in_flight::{Failure, Handed, Shared};

/// Windows on their way: some that were looked at already, and those that come.
pub(super) struct Windows {
    before: VecDeque<Handed>,
    coming: mpsc::Receiver<Handed>,
}

impl Windows {
    pub(super) fn new(coming: mpsc::Receiver<Handed>) -> Self {
        Self { before: VecDeque::new(), coming }
    }

    pub(super) async fn next(&mut self) -> Option<Handed> {
        match self.before.pop_front() {
            Some(window) => Some(window),
            None => self.coming.recv().await,
        }
    }

    /// No further ones are taken.
    pub(super) fn close(&mut self) {
        self.before.clear();
        self.coming.close();
    }
}

/// Writes the windows ahead as long as each row is behind the one before it; the others are left.
///
/// # Errors
/// What the store met: then nothing is in the table.
pub(super) async fn fill(
    store: &dyn TableStore,
    table: &TableName,
    shared: &Shared,
    windows: &mut Windows,
) -> Result<(), Failure> {
    let Some(first) = windows.next().await else { return Ok(()) };
    if !follows(&first, None) {
        windows.before.push_back(first);
        return Ok(());
    }
    // A single window is as soon written at the end.
    let second = windows.next().await;
    let goes_on = second.as_ref().is_some_and(|second| follows(second, first.as_new()));
    let rows = if goes_on { store.stage(table).await.map_err(failed)? } else { None };
    windows.before.push_back(first);
    windows.before.extend(second);
    let Some(rows) = rows else { return Ok(()) };
    write(&*rows, shared, windows).await.map_err(failed)
}

async fn write(rows: &dyn StagedRows, shared: &Shared, windows: &mut Windows) -> Result<(), StoreError> {
    let mut last: Option<Handed> = None;
    while let Some(window) = windows.next().await {
        if !follows(&window, last.as_ref().and_then(Handed::as_new)) {
            windows.before.push_front(window);
            break;
        }
        if let Some(new) = window.as_new() {
            rows.write(new.clone()).await?;
            shared.tally.add_many(new.transactions(), new.len());
        }
        last = Some(window);
    }
    if shared.stops() {
        return Ok(());
    }
    match rows.publish().await? {
        true => Ok(()),
        // Nobody else could have written.
        false => Err(StoreError::Unavailable("the table was written to meanwhile".to_owned())),
    }
}

/// Whether these are new rows, each behind the one before, and all behind those.
fn follows(window: &Handed, last: Option<&NewEntities>) -> bool {
    let Some(new) = window.as_new().filter(|new| new.ascend() && !new.is_empty()) else { return false };
    last.is_none_or(|last| last.keys().pair(last.len() - 1) < new.keys().pair(0))
}

fn failed(error: StoreError) -> Failure {
    Failure::of(error.into(), &[])
}
