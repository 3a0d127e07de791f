//! The rows of a plan that runs on other threads, where they are taken.

use std::pin::Pin;
use std::task::{Context, Poll, ready};

use arrow::record_batch::RecordBatch;
use futures::{FutureExt, Stream};
use tablegate_types::error::SqlResult;
use tokio::sync::mpsc::Receiver;

use super::task::Task;

/// Its batches as they come. Dropping it ends the plan.
pub(super) struct Given {
    batches: Receiver<SqlResult<RecordBatch>>,
    /// `None` once it has ended, and all it held is gone.
    task: Option<Task<()>>,
}

impl Given {
    pub(super) fn new(batches: Receiver<SqlResult<RecordBatch>>, task: Task<()>) -> Self {
        Self { batches, task: Some(task) }
    }

    /// Waits for the end of the task.
    ///
    /// # Errors
    /// 57P01 when its threads ended before.
    pub(super) async fn end(&mut self) -> SqlResult<()> {
        match self.task.take() {
            Some(task) => task.await,
            None => Ok(()),
        }
    }
}

impl Stream for Given {
    type Item = SqlResult<RecordBatch>;

    fn poll_next(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        if let Some(batch) = ready!(self.batches.poll_recv(context)) {
            return Poll::Ready(Some(batch));
        }
        let Some(task) = &mut self.task else { return Poll::Ready(None) };
        let ended = ready!(task.poll_unpin(context));
        self.task = None;
        Poll::Ready(ended.err().map(Err))
    }
}
