//! Why the handling of a message stops early, and the means to stop it: cancel, timeout, shutdown, a client that left.

use std::future::Future;
use std::io;
use std::pin::pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::Poll;
use std::time::Duration;

use futures::poll;
use tablegate_types::error::{ErrorKind, SqlError};
use tablegate_types::interrupt;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use super::cancel::Running;
use super::counters::{Counters, Stopped};
use super::error::{Failure, SHUTDOWN};
use super::frame::FrameReader;

/// The end of a message's handling before its time.
#[derive(Debug)]
pub(super) enum Halt {
    /// The statement failed; the connection goes on.
    Statement(Failure),
    /// The client is told, then the connection is closed.
    Fatal(Failure),
    /// The client has gone, so no error can be sent.
    Gone,
}

impl From<Box<SqlError>> for Halt {
    fn from(error: Box<SqlError>) -> Self {
        match error.kind {
            ErrorKind::HalfCommitted => Halt::Fatal(Failure::Sql(error)),
            _ => Halt::Statement(Failure::Sql(error)),
        }
    }
}

impl From<Failure> for Halt {
    fn from(failure: Failure) -> Self {
        Halt::Statement(failure)
    }
}

impl From<io::Error> for Halt {
    /// Reading from or writing to the client failed.
    fn from(_: io::Error) -> Self {
        Halt::Gone
    }
}

/// What may stop a connection's statement from outside.
pub(super) struct Interrupts {
    running: Arc<Running>,
    cancel: CancellationToken,
    deadline: Option<Instant>,
    /// The server's patience with running statements is over.
    kill: CancellationToken,
    counters: Arc<Counters>,
    /// What the statement's own work asks; made anew when one of these is another.
    watch: Arc<Watch>,
}

impl Interrupts {
    pub(crate) fn new(running: Arc<Running>, kill: CancellationToken, counters: Arc<Counters>) -> Self {
        let cancel = CancellationToken::new();
        let watch = Arc::new(Watch::new(&cancel, &kill, None));
        Self { running, cancel, deadline: None, kill, counters, watch }
    }

    /// A message is being handled: from now on a cancel request is for it.
    pub(crate) fn begin(&mut self) {
        // Between two messages no cancel request can reach the token, so one that was not used can be used again.
        if self.cancel.is_cancelled() {
            self.cancel = CancellationToken::new();
            self.renew_watch();
        }
        self.running.set(Some(self.cancel.clone()));
    }

    /// It has been handled: a cancel request that comes now is too late.
    pub(crate) fn end(&mut self) {
        self.running.set(None);
    }

    /// Starts the statement's time, unless it is running already.
    pub(crate) fn arm(&mut self, timeout: Option<Duration>) {
        if self.deadline.is_none()
            && let Some(timeout) = timeout
        {
            self.deadline = Instant::now().checked_add(timeout);
            self.renew_watch();
        }
    }

    pub(crate) fn disarm(&mut self) {
        if self.deadline.take().is_some() {
            self.renew_watch();
        }
    }

    fn renew_watch(&mut self) {
        self.watch = Arc::new(Watch::new(&self.cancel, &self.kill, self.deadline));
    }

    /// The client is told that a statement failed.
    pub(crate) fn count_error(&self, failure: &Failure) {
        self.counters.add_error(failure);
    }

    /// The client is told why its connection ends.
    pub(crate) fn count_end(&self, failure: &Failure) {
        self.counters.add_error(failure);
        match failure {
            Failure::IdleSession => self.counters.add_stopped(Stopped::IdleSession),
            Failure::IdleInTransaction => self.counters.add_stopped(Stopped::IdleInTransaction),
            _ => {}
        }
    }

    /// Resolves when the statement is to stop.
    pub(crate) async fn stopped(&self) -> Halt {
        let reason = tokio::select! {
            biased;
            () = self.killed() => return Halt::Fatal(Failure::shutdown()),
            () = self.cancel.cancelled() => Reason::Cancelled,
            () = at(self.deadline) => Reason::TimedOut,
        };
        // Counted here, whether or not the work was told of it too.
        self.watch.told().take();
        self.counters.add_stopped(reason.counted());
        Halt::Statement(Failure::Sql(reason.error()))
    }

    /// Does work that keeps the thread, and has to ask whether it may go on.
    pub(crate) fn run<T>(&self, work: impl FnOnce() -> Result<T, Box<SqlError>>) -> Result<T, Halt> {
        let asked: Arc<dyn interrupt::Watch> = self.watch.clone();
        let done = interrupt::within(&asked, work);
        self.watch.count(&self.counters);
        Ok(done?)
    }

    /// Resolves when the connection is to end whatever it does.
    pub(crate) async fn killed(&self) {
        self.kill.cancelled().await;
    }

    /// Whether the connection is to end whatever it does.
    pub(crate) fn is_killed(&self) -> bool {
        self.kill.is_cancelled()
    }

    /// Does the work, unless it is to stop or the client leaves meanwhile: then the work is dropped.
    pub(crate) async fn guard<F: Future>(&self, reader: &mut FrameReader, work: F) -> Result<F::Output, Halt> {
        let work = pin!(work);
        let mut work = interrupt::scope(self.watch.clone(), work);
        // Reads by key and the like are done at once: nothing has to be listened to meanwhile.
        if !self.is_to_stop()
            && let Poll::Ready(output) = poll!(&mut work)
        {
            self.watch.count(&self.counters);
            return Ok(output);
        }
        tokio::select! {
            biased;
            halt = self.stopped() => Err(halt),
            () = reader.watch() => Err(Halt::Gone),
            output = &mut work => {
                self.watch.count(&self.counters);
                Ok(output)
            }
        }
    }

    fn is_to_stop(&self) -> bool {
        let is_over = self.deadline.is_some_and(|deadline| deadline <= Instant::now());
        is_over || self.cancel.is_cancelled() || self.is_killed()
    }
}

/// Why a statement is to stop while its connection goes on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Reason {
    Cancelled,
    TimedOut,
}

impl Reason {
    fn error(self) -> Box<SqlError> {
        let message = match self {
            Reason::Cancelled => "canceling statement due to user request",
            Reason::TimedOut => "canceling statement due to statement timeout",
        };
        SqlError::new(ErrorKind::QueryCanceled, message)
    }

    fn counted(self) -> Stopped {
        match self {
            Reason::Cancelled => Stopped::ByUser,
            Reason::TimedOut => Stopped::StatementTimeout,
        }
    }
}

/// What a statement asks that plans, and keeps its thread meanwhile: then nobody sees that [`Interrupts::stopped`] resolves.
struct Watch {
    cancel: CancellationToken,
    kill: CancellationToken,
    deadline: Option<Instant>,
    /// The reason that it was told and is not counted yet, if any.
    told: Mutex<Option<Reason>>,
}

impl Watch {
    fn new(cancel: &CancellationToken, kill: &CancellationToken, deadline: Option<Instant>) -> Self {
        Self { cancel: cancel.clone(), kill: kill.clone(), deadline, told: Mutex::default() }
    }

    /// Counts what ended the work, if that was told by this.
    fn count(&self, counters: &Counters) {
        if let Some(reason) = self.told().take() {
            counters.add_stopped(reason.counted());
        }
    }

    fn told(&self) -> MutexGuard<'_, Option<Reason>> {
        self.told.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl interrupt::Watch for Watch {
    fn reason(&self) -> Option<Box<SqlError>> {
        if self.kill.is_cancelled() {
            return Some(SqlError::new(ErrorKind::Shutdown, SHUTDOWN));
        }
        let is_over = || self.deadline.is_some_and(|deadline| deadline <= Instant::now());
        let reason = match () {
            () if self.cancel.is_cancelled() => Reason::Cancelled,
            () if is_over() => Reason::TimedOut,
            () => return None,
        };
        Some(self.told().get_or_insert(reason).error())
    }
}

async fn at(deadline: Option<Instant>) {
    match deadline {
        Some(deadline) => tokio::time::sleep_until(deadline).await,
        None => std::future::pending().await,
    }
}
