//! Windows: many entity group transactions that are written together, each checked on its own.
//!
//! All of a window goes into one batch of the engine's, with one head and one count for each table. Where a key occurs a
//! second time, what was collected is written first, so that the later transaction meets it.

use tablegate_store::table::{Batch, CommitError, StoreError, WindowOutcome, Written};
use tokio::sync::oneshot;

use super::apply::{CollectedKeys, find};
use super::commit::{Answer, Committer};

impl Committer {
    pub(super) fn commit_window(&mut self, batches: Vec<Batch>) -> WindowOutcome {
        let mut keys = CollectedKeys::with_capacity(batches.iter().map(|batch| batch.operations().len()).sum());
        let mut outcome = WindowOutcome::with_capacity(batches.len());
        let mut waiting = batches.into_iter();
        while !waiting.as_slice().is_empty() {
            if let Err(error) = self.check_usable() {
                outcome.extend(refused(waiting.len(), &error));
                break;
            }
            let begun = outcome.len();
            let is_new = self.meets_nothing(waiting.as_slice());
            let mut commit = self.begin();
            keys.clear();
            while waiting.as_slice().first().is_some_and(|batch| keys.take(batch))
                && let Some(batch) = waiting.next()
            {
                outcome.push(commit.add_probed(batch, is_new));
            }
            if !commit.is_empty() {
                let checked = commit.finish();
                if let Err(error) = self.write(checked) {
                    fail_all(&mut outcome[begun..], &error);
                }
            }
        }
        outcome
    }

    /// Whether there is known to be no row under any of the keys. Where the engine fails, the look-up of each key tells.
    fn meets_nothing(&self, batches: &[Batch]) -> bool {
        let Some(first) = batches.first() else { return false };
        let Ok(table) = find(&self.live.tables, first.table()) else { return false };
        batches.iter().all(|batch| batch.table() == first.table())
            && self.probe.finds_nothing(&self.engine, table.number, batches).unwrap_or(false)
    }
}

/// What is said of so many transactions that were not tried.
pub(super) fn refused(transactions: usize, error: &StoreError) -> WindowOutcome {
    (0..transactions).map(|_| Err(error.clone().into())).collect()
}

/// Says whether the commits of a round are durable to one who waits for a window of them.
pub(super) fn answer_window(reply: oneshot::Sender<WindowOutcome>, mut outcome: WindowOutcome) -> Answer {
    Box::new(move |failure| {
        if let Some(error) = failure {
            fail_all(&mut outcome, error);
        }
        // Who left does not want to know.
        let _ = reply.send(outcome);
    })
}

/// What was thought to be written may not be.
fn fail_all(outcome: &mut [Result<Vec<Written>, CommitError>], error: &StoreError) {
    for result in outcome.iter_mut().filter(|result| result.is_ok()) {
        *result = Err(error.clone().into());
    }
}
