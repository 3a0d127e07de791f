//! The threads that run plans: others than those that serve clients, and behind them, so that a client is heard however much
//! is computed for others.
//!
//! Reads by key and writes of single rows are no plans; they are done where they are asked for. A scan of a large table is read here
//! too, though it needs no plan.

mod given;
mod priority;
mod task;

use std::future::Future;
use std::pin::pin;

use datafusion::execution::SendableRecordBatchStream;
use futures::stream::BoxStream;
use futures::{Stream, StreamExt, stream};
use tablegate_types::error::{ErrorKind, SqlError, SqlResult};
use tablegate_types::interrupt::{Interrupt, scope};
use tokio::runtime::{Builder, Runtime};
use tokio::sync::{mpsc, oneshot};

use self::given::Given;
use self::task::{Task, ended};
use crate::limits::STATEMENT_STACK;
use crate::outcome::RowStream;
use crate::spare_stack;
use crate::turns::Turns;

/// Batches that are ready and not yet taken: enough that the next is computed while one is sent.
const READY_BATCHES: usize = 1;

/// The threads. Dropping them ends what runs on them, between two steps of it.
pub(crate) struct Workers {
    /// `None` once they are dropped.
    runtime: Option<Runtime>,
}

impl Workers {
    /// So many threads, at least one, and as many more as wait for a disk.
    ///
    /// # Errors
    /// XX000 when the system gives no threads.
    pub(crate) fn start(threads: usize) -> SqlResult<Self> {
        let runtime = Builder::new_multi_thread()
            .worker_threads(threads.max(1))
            .thread_name("tablegate-query")
            .thread_stack_size(STATEMENT_STACK)
            .on_thread_start(priority::lower)
            .enable_all()
            .build();
        let no_threads =
            |error| SqlError::new(ErrorKind::Internal, format!("no threads can be started for queries: {error}"));
        Ok(Self { runtime: Some(runtime.map_err(no_threads)?) })
    }

    /// Makes a plan and runs it, both on these threads. When the rows are dropped, or this future is, the interrupt is raised
    /// and the plan ends. An error among the rows comes when nothing of the plan is left, so that what it held is there for
    /// the next statement.
    ///
    /// # Errors
    /// Those of making the plan; in the stream, those of running it.
    pub(crate) async fn run(
        &self,
        interrupt: Interrupt,
        plan: impl Future<Output = SqlResult<SendableRecordBatchStream>> + Send + 'static,
    ) -> SqlResult<RowStream> {
        let Some(runtime) = &self.runtime else { return Err(ended()) };
        let (tell, told) = oneshot::channel();
        let (give, given) = mpsc::channel(READY_BATCHES);
        let watch = interrupt.watch();
        let task = runtime.spawn(async move {
            // Nothing of the planning is left when its error is told.
            let planned = scope(watch, Box::pin(plan)).await;
            let rows = match planned {
                Ok(rows) => rows,
                Err(error) => {
                    spare_stack::give_back();
                    return drop(tell.send(Err(error)));
                }
            };
            spare_stack::give_back();
            if tell.send(Ok(())).is_ok() {
                give_all(rows.map(|batch| batch.map_err(Into::into)), give).await;
            }
            spare_stack::give_back();
        });
        let mut rows = Given::new(given, Task::new(task, interrupt.clone()), interrupt);
        match told.await {
            Ok(planned) => planned?,
            // It ended without a word: by a panic, which goes on here.
            Err(_) => rows.end().await?,
        }
        Ok(Box::pin(Turns::new(rows)))
    }

    /// Does what has no rows to give on these threads. When this future is dropped, the interrupt is raised and the work ends.
    ///
    /// # Errors
    /// Those of the work.
    pub(crate) async fn compute<T: Send + 'static>(
        &self,
        interrupt: Interrupt,
        work: impl Future<Output = SqlResult<T>> + Send + 'static,
    ) -> SqlResult<T> {
        let Some(runtime) = &self.runtime else { return Err(ended()) };
        let task = runtime.spawn(scope(interrupt.watch(), Box::pin(work)));
        Task::new(task, interrupt).await?
    }

    /// Rows of a long scan, read on these threads from when they are first asked for.
    pub(crate) fn read(&self, rows: RowStream) -> RowStream {
        Box::pin(Turns::new(self.read_ahead(rows)))
    }

    /// What is read piece by piece, read on these threads from when it is first asked for: the next piece while one is taken.
    pub(crate) fn read_ahead<T: Send + 'static>(
        &self,
        pieces: BoxStream<'static, SqlResult<T>>,
    ) -> BoxStream<'static, SqlResult<T>> {
        let Some(runtime) = &self.runtime else { return pieces };
        let runtime = runtime.handle().clone();
        let begun = async move {
            let (give, given) = mpsc::channel(READY_BATCHES);
            let task = runtime.spawn(give_all(pieces, give));
            let interrupt = Interrupt::default();
            Given::new(given, Task::new(task, interrupt.clone()), interrupt)
        };
        Box::pin(stream::once(begun).flatten())
    }

    /// How many tasks are left: none when nothing runs.
    pub(crate) fn tasks(&self) -> usize {
        self.runtime.as_ref().map_or(0, |runtime| runtime.metrics().num_alive_tasks())
    }
}

/// Hands pieces over as they are taken, up to the first error.
async fn give_all<T>(pieces: impl Stream<Item = SqlResult<T>>, give: mpsc::Sender<SqlResult<T>>) {
    let mut pieces = pin!(pieces);
    while let Some(piece) = pieces.next().await {
        let failed = piece.is_err();
        if give.send(piece).await.is_err() || failed {
            return;
        }
    }
}

impl Drop for Workers {
    /// It may be the last task of another runtime that drops them, which must not wait.
    fn drop(&mut self) {
        if let Some(runtime) = self.runtime.take() {
            runtime.shutdown_background();
        }
    }
}

impl std::fmt::Debug for Workers {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Workers").field("tasks", &self.tasks()).finish_non_exhaustive()
    }
}
