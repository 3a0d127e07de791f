//! Work on other threads, for as long as somebody waits for it.

use std::future::Future;
use std::panic::resume_unwind;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use tablegate_types::error::{ErrorKind, SqlError, SqlResult};
use tablegate_types::interrupt::Interrupt;
use tokio::task::JoinHandle;

/// What the work gives. Dropping this raises the work's interrupt and ends it. A panic there becomes one here: whose
/// statement it was fails by it. The error is 57P01, when the threads ended before.
pub(super) struct Task<T> {
    handle: JoinHandle<T>,
    /// `None` once the work is done.
    interrupt: Option<Interrupt>,
}

impl<T> Task<T> {
    pub(super) fn new(handle: JoinHandle<T>, interrupt: Interrupt) -> Self {
        Self { handle, interrupt: Some(interrupt) }
    }
}

impl<T> Future for Task<T> {
    type Output = SqlResult<T>;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<SqlResult<T>> {
        let joined = ready!(Pin::new(&mut self.handle).poll(context));
        self.interrupt = None;
        Poll::Ready(joined.map_err(|error| match error.try_into_panic() {
            Ok(panic) => resume_unwind(panic),
            Err(_) => ended(),
        }))
    }
}

impl<T> Drop for Task<T> {
    fn drop(&mut self) {
        if let Some(interrupt) = &self.interrupt {
            interrupt.raise();
            self.handle.abort();
        }
    }
}

/// The threads have ended.
pub(super) fn ended() -> Box<SqlError> {
    SqlError::new(ErrorKind::Shutdown, "terminating connection due to administrator command")
}
