//! Rows of a table that nobody else sees yet, written ahead of their commit.
//!
//! Where the store does that ([`StagedRows`]), and as long as each key is known to be new ([`SeenKeys`]), they need no look
//! at what is there, and are in the table at once when the last one has come. Whatever else comes is left to who commits
//! windows one by one.

use std::collections::VecDeque;
use std::sync::Arc;

use tablegate_store::model::TableName;
use tablegate_store::table::{StagedRows, TableStore};
use tokio::sync::mpsc;

use super::held_back_space::HeldBackSpace;
use super::in_flight::{Failure, Handed, Shared};
use super::seen_keys::SeenKeys;

/// A table that nobody else sees yet.
#[derive(Clone)]
pub(super) struct Unseen {
    pub table: TableName,
    /// Where the keys that were seen find room.
    pub space: Arc<HeldBackSpace>,
}

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

/// Writes the windows ahead as long as all their rows are new ones; the others are left.
///
/// # Errors
/// What the store met: then nothing is in the table.
pub(super) async fn fill(
    store: &dyn TableStore,
    Unseen { table, space }: &Unseen,
    shared: &Shared,
    windows: &mut Windows,
) -> Result<(), Failure> {
    let Some(first) = windows.next().await else { return Ok(()) };
    // A single window is as soon written at the end.
    let second = if first.as_new().is_some() { windows.next().await } else { None };
    let goes_on = second.as_ref().is_some_and(|second| second.as_new().is_some());
    windows.before.push_back(first);
    windows.before.extend(second);
    let rows = if goes_on { store.stage(table).await? } else { None };
    let Some(rows) = rows else { return Ok(()) };
    write(&*rows, SeenKeys::new(space), shared, windows).await
}

async fn write(
    rows: &dyn StagedRows,
    mut seen: SeenKeys,
    shared: &Shared,
    windows: &mut Windows,
) -> Result<(), Failure> {
    while let Some(window) = windows.next().await {
        let Some(new) = window.as_new().filter(|new| seen.take(new)) else {
            windows.before.push_front(window);
            break;
        };
        rows.write(new.clone()).await?;
        shared.tally.add_many(new.transactions(), new.len());
    }
    if shared.stops() {
        return Ok(());
    }
    // Nobody else could have written, but the store may be busy with what the table had before it was emptied.
    if !rows.publish().await? {
        rows.insert(&|_, _| {}).await.map_err(|error| Failure::of(error, &[]))?;
    }
    Ok(())
}
