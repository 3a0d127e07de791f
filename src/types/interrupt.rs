//! Tells work that runs without a pause that nobody waits for it any longer.
//!
//! A future that is dropped ends between two of its polls. What computes for long within one (a function of many rows, the
//! condition of a join) asks here from time to time, and fails when it is to end.

use std::cell::RefCell;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use crate::error::{ErrorKind, SqlError, SqlResult};

thread_local! {
    /// That of the work which this thread is doing.
    static OF_THIS_THREAD: RefCell<Option<Interrupt>> = const { RefCell::new(None) };
}

/// Raised once, and then for good; all copies are one.
#[derive(Debug, Clone, Default)]
pub struct Interrupt(Arc<AtomicBool>);

impl Interrupt {
    /// The work is to end.
    pub fn raise(&self) {
        self.0.store(true, Ordering::Relaxed);
    }

    /// # Errors
    /// 57014 when the work is to end.
    pub fn check(&self) -> SqlResult<()> {
        match self.0.load(Ordering::Relaxed) {
            false => Ok(()),
            true => Err(SqlError::new(ErrorKind::QueryCanceled, "canceling statement due to user request")),
        }
    }

    /// Does work on this thread that may ask [`check`] meanwhile.
    pub fn during<T>(&self, work: impl FnOnce() -> T) -> T {
        let _before = Before(OF_THIS_THREAD.replace(Some(self.clone())));
        work()
    }
}

/// Puts back what was before, after a panic too.
struct Before(Option<Interrupt>);

impl Drop for Before {
    fn drop(&mut self) {
        OF_THIS_THREAD.set(self.0.take());
    }
}

/// Whether this thread may go on with what it does. To be asked every millisecond or so.
///
/// # Errors
/// 57014 when its work is to end.
pub fn check() -> SqlResult<()> {
    OF_THIS_THREAD.with_borrow(|interrupt| interrupt.as_ref().map_or(Ok(()), Interrupt::check))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn work_is_told_of_its_own_interrupt_alone() {
        let (outer, inner) = (Interrupt::default(), Interrupt::default());
        outer.during(|| {
            inner.raise();
            assert!(check().is_ok());
            assert_eq!(inner.during(check).unwrap_err().kind, ErrorKind::QueryCanceled);
            assert!(check().is_ok());
            outer.raise();
            assert!(check().is_err());
        });
        assert!(check().is_ok());
    }
}
