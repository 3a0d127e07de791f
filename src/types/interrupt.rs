//! Ends work that keeps its thread: reading, planning and optimizing a statement, a function of many rows, the condition of a
//! join. A future that is dropped ends between two of its polls; what computes for long within one asks here from time to time.
//!
//! Whoever starts work says how it learns that it is to stop ([`Watch`], or an [`Interrupt`] that somebody raises), and does it
//! within [`scope`] or [`within`]. The work calls [`check`] at each of its steps, and gives up with the error that it gets. A
//! future that is spawned elsewhere takes its watch along in a scope of its own.

use std::cell::{Cell, RefCell};
use std::future::Future;
use std::pin::Pin;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll, Waker};

use crate::error::{ErrorKind, SqlError, SqlResult};

/// How work learns that it is to stop.
pub trait Watch: Send + Sync {
    /// Why it is to stop; `None` as long as it may go on. Asked often.
    fn reason(&self) -> Option<Box<SqlError>>;
}

/// So many steps pass between two looks at the clock and the flags.
const STEPS: u32 = 8;

thread_local! {
    /// That of the work which this thread is doing.
    static CURRENT: RefCell<Option<Arc<dyn Watch>>> = const { RefCell::new(None) };
    static STEP: Cell<u32> = const { Cell::new(0) };
}

/// Whether the work of this thread may go on. Cheap, for steps that are short.
///
/// # Errors
/// 57014 and its like, once it is to stop.
pub fn check() -> SqlResult<()> {
    let step = STEP.get().wrapping_add(1);
    STEP.set(step);
    if step.is_multiple_of(STEPS) { check_now() } else { Ok(()) }
}

/// As [`check`], for steps that may take a millisecond or longer.
///
/// # Errors
/// As [`check`].
pub fn check_now() -> SqlResult<()> {
    let reason = CURRENT.with_borrow(|current| current.as_ref().and_then(|watch| watch.reason()));
    reason.map_or(Ok(()), Err)
}

/// Does work that this watch can end.
pub fn within<T>(watch: &Arc<dyn Watch>, work: impl FnOnce() -> T) -> T {
    let _entered = Entered::new(watch);
    work()
}

/// A future whose work this watch can end.
pub fn scope<F: Future + Unpin>(watch: Arc<dyn Watch>, work: F) -> Scoped<F> {
    Scoped { watch, work }
}

/// What [`scope`] gives.
pub struct Scoped<F> {
    watch: Arc<dyn Watch>,
    work: F,
}

impl<F: Future + Unpin> Future for Scoped<F> {
    type Output = F::Output;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<F::Output> {
        let this = &mut *self;
        let _entered = Entered::new(&this.watch);
        Pin::new(&mut this.work).poll(context)
    }
}

/// While it lives, the work of this thread has the watch; then that of what is around it again, after a panic too.
struct Entered(Option<Arc<dyn Watch>>);

impl Entered {
    fn new(watch: &Arc<dyn Watch>) -> Self {
        Self(CURRENT.replace(Some(watch.clone())))
    }
}

impl Drop for Entered {
    fn drop(&mut self) {
        CURRENT.set(self.0.take());
    }
}

/// Raised once, and then for good; all copies are one.
#[derive(Debug, Clone, Default)]
pub struct Interrupt(Arc<Shared>);

#[derive(Debug, Default)]
struct Shared {
    is_raised: AtomicBool,
    /// Parts of the work that are not gone.
    parts: AtomicUsize,
    /// Who waits until all are.
    waits: Mutex<Option<Waker>>,
}

impl Interrupt {
    /// The work is to end.
    pub fn raise(&self) {
        self.0.is_raised.store(true, Ordering::Relaxed);
    }

    /// A part of the work, for as long as it is there.
    pub fn part(&self) -> Part {
        self.0.parts.fetch_add(1, Ordering::AcqRel);
        Part(self.0.clone())
    }

    /// Waits until no part of the work is there. One waits at a time.
    pub fn gone(&self) -> Gone {
        Gone(self.0.clone())
    }

    /// # Errors
    /// 57014 when the work is to end.
    pub fn check(&self) -> SqlResult<()> {
        self.0.reason().map_or(Ok(()), Err)
    }

    /// Work that the interrupt can end watches this.
    pub fn watch(&self) -> Arc<dyn Watch> {
        self.0.clone()
    }

    /// Does work on this thread that the interrupt can end.
    pub fn during<T>(&self, work: impl FnOnce() -> T) -> T {
        within(&self.watch(), work)
    }
}

/// What [`Interrupt::part`] gives: dropped by the part when it ends.
#[derive(Debug)]
pub struct Part(Arc<Shared>);

impl Drop for Part {
    fn drop(&mut self) {
        if self.0.parts.fetch_sub(1, Ordering::AcqRel) == 1
            && let Some(waits) = self.0.waits.lock().unwrap_or_else(PoisonError::into_inner).take()
        {
            waits.wake();
        }
    }
}

/// What [`Interrupt::gone`] gives.
#[derive(Debug)]
pub struct Gone(Arc<Shared>);

impl Future for Gone {
    type Output = ();

    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<()> {
        // Before the look: what ends behind it finds who waits.
        *self.0.waits.lock().unwrap_or_else(PoisonError::into_inner) = Some(context.waker().clone());
        if self.0.parts.load(Ordering::Acquire) == 0 { Poll::Ready(()) } else { Poll::Pending }
    }
}

impl Watch for Shared {
    fn reason(&self) -> Option<Box<SqlError>> {
        let is_raised = self.is_raised.load(Ordering::Relaxed);
        is_raised.then(|| SqlError::new(ErrorKind::QueryCanceled, "canceling statement due to user request"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn work_is_told_of_its_own_interrupt_alone() {
        let (outer, inner) = (Interrupt::default(), Interrupt::default());
        outer.during(|| {
            inner.raise();
            assert!(check_now().is_ok());
            assert_eq!(inner.during(check_now).unwrap_err().kind, ErrorKind::QueryCanceled);
            assert!(check_now().is_ok());
            outer.raise();
            assert!(check_now().is_err());
            assert!((0..STEPS).any(|_| check().is_err()));
        });
        assert!(check_now().is_ok());
    }

    #[test]
    fn who_waits_is_told_when_the_last_part_is_gone() {
        let interrupt = Interrupt::default();
        let (first, second) = (interrupt.part(), interrupt.part());
        let mut gone = interrupt.gone();
        let mut poll = || Pin::new(&mut gone).poll(&mut Context::from_waker(Waker::noop()));
        assert_eq!(poll(), Poll::Pending);
        drop(first);
        assert_eq!(poll(), Poll::Pending);
        std::thread::spawn(move || drop(second)).join().unwrap();
        assert_eq!(poll(), Poll::Ready(()));
    }

    #[test]
    fn a_future_takes_its_watch_along() {
        let interrupt = Interrupt::default();
        interrupt.raise();
        let mut work = scope(interrupt.watch(), Box::pin(async { check_now() }));
        let polled = Pin::new(&mut work).poll(&mut Context::from_waker(std::task::Waker::noop()));
        assert!(matches!(polled, Poll::Ready(Err(_))));
        assert!(check_now().is_ok());
    }
}
