//! What other threads compute piece by piece, where it is taken: rows of a plan, most of all.

use std::pin::Pin;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use futures::future::BoxFuture;
use futures::{FutureExt, Stream};
use tablegate_types::error::{SqlError, SqlResult};
use tablegate_types::interrupt::Interrupt;
use tokio::sync::mpsc::Receiver;
use tokio::time::timeout;

use super::task::Task;

/// How long an error is kept back until nothing of its plan is left. Its tasks give way every few milliseconds; one that
/// computes for longer within one batch is not waited for.
const LEFT_MOST: Duration = Duration::from_secs(1);

/// Its pieces as they come. Dropping it ends the work.
pub(super) struct Given<T> {
    pieces: Receiver<SqlResult<T>>,
    /// `None` once it has ended, and all it held is gone.
    task: Option<Task<()>>,
    interrupt: Interrupt,
    failed: Option<Failed>,
}

/// What the work ended with, and the end of all its tasks.
struct Failed {
    error: Box<SqlError>,
    gone: BoxFuture<'static, ()>,
}

impl<T> Given<T> {
    pub(super) fn new(pieces: Receiver<SqlResult<T>>, task: Task<()>, interrupt: Interrupt) -> Self {
        Self { pieces, task: Some(task), interrupt, failed: None }
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

    fn fail(&mut self, error: Box<SqlError>) {
        let (task, interrupt) = (self.task.take(), self.interrupt.clone());
        let gone = async move {
            // What other threads still compute for it is of no use.
            interrupt.raise();
            if let Some(task) = task {
                // What came first is told.
                let _ = task.await;
            }
            interrupt.gone().await;
        };
        let gone = timeout(LEFT_MOST, gone).map(drop).boxed();
        self.failed = Some(Failed { error, gone });
    }
}

impl<T> Stream for Given<T> {
    type Item = SqlResult<T>;

    fn poll_next(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        loop {
            if let Some(failed) = &mut self.failed {
                ready!(failed.gone.poll_unpin(context));
                return Poll::Ready(self.failed.take().map(|failed| Err(failed.error)));
            }
            match ready!(self.pieces.poll_recv(context)) {
                Some(Ok(piece)) => return Poll::Ready(Some(Ok(piece))),
                Some(Err(error)) => self.fail(error),
                None => break,
            }
        }
        let Some(task) = &mut self.task else { return Poll::Ready(None) };
        let ended = ready!(task.poll_unpin(context));
        self.task = None;
        Poll::Ready(ended.err().map(Err))
    }
}
