//! After a failed write: no more commits until the engine can be opened anew, which is done behind the readers.
//!
//! What a failed write left in the journal is known only after the journal was read again, so the engine is closed and
//! opened in place. Until that succeeds readers go on with what was published last, and commits are refused with the
//! reason; nothing was tried for them, so that answer is certain.

use std::sync::Arc;
use std::time::{Duration, Instant};

use tablegate_store::table::StoreError;
use tokio::sync::mpsc;

use super::analyze::Recorders;
use super::commit::{Committer, Job, Shared};
use super::engine::Engine;
use super::lease::Lease;
use super::meta::Live;
use super::open_engine;
use super::reader::View;

/// How often opening is tried: it reads the whole journal.
const BETWEEN_TRIES: Duration = Duration::from_secs(1);
/// Room that opening itself takes, in bytes: the engine rewrites its small files.
const ROOM_TO_OPEN: u64 = 1024 * 1024;

/// What the commit thread leaves when a write failed. It holds no engine but the one lent to readers.
pub(super) struct Repair {
    pub(super) shared: Shared,
    /// What the published view reads from.
    pub(super) lease: Arc<Lease>,
    pub(super) recorders: Recorders,
    /// Why there are no commits now.
    pub(super) reason: StoreError,
}

impl Repair {
    /// Refuses jobs until the engine can be opened; the job that found it so is the next to be done. `None` when every
    /// sender is gone.
    pub(super) fn run(mut self, jobs: &mut mpsc::Receiver<Job>) -> Option<(Committer, Job)> {
        let mut tried: Option<Instant> = None;
        while let Some(job) = jobs.blocking_recv() {
            if tried.is_none_or(|at| at.elapsed() >= BETWEEN_TRIES) {
                tried = Some(Instant::now());
                match self.open() {
                    Ok((view, engine, live)) => {
                        tracing::warn!("the store was opened anew after a failed write: it takes commits again");
                        let lease = view.lease();
                        return Some((Committer::new(self.shared, engine, lease, live, self.recorders), job));
                    }
                    Err(error) => self.reason = error,
                }
            }
            job.refuse(&self.reason);
        }
        None
    }

    fn open(&self) -> Result<(Arc<View>, Arc<Engine>, Live), StoreError> {
        let Shared { folder, options, published, .. } = &self.shared;
        folder.check_room(options.reserve_bytes.max(ROOM_TO_OPEN))?;
        published.replace(|| {
            self.lease.end();
            open_engine(folder, options)
        })
    }
}
