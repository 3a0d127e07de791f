//! The rows of a plan that runs on other threads, where they are taken.

use std::panic::resume_unwind;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use arrow::record_batch::RecordBatch;
use futures::{FutureExt, Stream};
use tablegate_types::error::{ErrorKind, SqlError, SqlResult};
use tablegate_types::interrupt::Interrupt;
use tokio::sync::mpsc::Receiver;
use tokio::task::{JoinError, JoinHandle};

/// Its batches as they come. Dropping it ends the plan.
pub(super) struct Given {
    batches: Receiver<SqlResult<RecordBatch>>,
    /// `None` once it has ended, and all it held is gone.
    task: Option<JoinHandle<()>>,
    interrupt: Interrupt,
}

impl Given {
    pub fn new(batches: Receiver<SqlResult<RecordBatch>>, task: JoinHandle<()>, interrupt: Interrupt) -> Self {
        Self { batches, task: Some(task), interrupt }
    }

    /// Waits for the end of the task. A panic there becomes one here: whose statement it was fails by it.
    ///
    /// # Errors
    /// 57P01 when its threads ended before.
    pub async fn end(&mut self) -> SqlResult<()> {
        let Some(task) = &mut self.task else { return Ok(()) };
        let joined = task.await;
        self.task = None;
        after(joined)
    }
}

impl Stream for Given {
    type Item = SqlResult<RecordBatch>;

    fn poll_next(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        if let Some(batch) = ready!(self.batches.poll_recv(context)) {
            return Poll::Ready(Some(batch));
        }
        let Some(task) = &mut self.task else { return Poll::Ready(None) };
        let joined = ready!(task.poll_unpin(context));
        self.task = None;
        Poll::Ready(after(joined).err().map(Err))
    }
}

impl Drop for Given {
    fn drop(&mut self) {
        if let Some(task) = &self.task {
            self.interrupt.raise();
            task.abort();
        }
    }
}

fn after(joined: Result<(), JoinError>) -> SqlResult<()> {
    match joined.map_err(JoinError::try_into_panic) {
        Ok(()) => Ok(()),
        Err(Ok(panic)) => resume_unwind(panic),
        Err(Err(_)) => Err(ended()),
    }
}

/// The threads have ended.
pub(super) fn ended() -> Box<SqlError> {
    SqlError::new(ErrorKind::Shutdown, "terminating connection due to administrator command")
}
