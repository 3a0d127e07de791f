//! How many bytes the values may have that a function makes: known before it makes them.

use std::cell::{Cell, RefCell};
use std::rc::Rc;

use crate::error::{ErrorKind, SqlError, SqlResult};

/// Most bytes of one column of results: what PostgreSQL allows one value.
const BYTES_MAX: usize = 1 << 30;
/// What values may take without asking, and in what steps more is asked for.
const STEP_BYTES: usize = 1 << 20;

/// Where values take their memory from.
pub trait Memory {
    /// Holds so many bytes, in all, while values are made; false when there are not as many.
    fn hold(&self, bytes: usize) -> bool;
}

thread_local! {
    /// That of the function that this thread evaluates.
    static MEMORY: RefCell<Option<Rc<dyn Memory>>> = const { RefCell::new(None) };
}

/// Evaluates something whose values take their memory from this.
pub fn within<T>(memory: Option<Rc<dyn Memory>>, work: impl FnOnce() -> T) -> T {
    let _before = Before(MEMORY.replace(memory));
    work()
}

/// Puts back what was before, after a panic too.
struct Before(Option<Rc<dyn Memory>>);

impl Drop for Before {
    fn drop(&mut self) {
        MEMORY.replace(self.0.take());
    }
}

/// What one column of results may take.
pub(super) struct Allowance {
    memory: Option<Rc<dyn Memory>>,
    /// What was asked for so far.
    granted: Cell<usize>,
}

impl Allowance {
    pub(super) fn now() -> Self {
        let memory = MEMORY.with_borrow(Clone::clone);
        let granted = if memory.is_some() { STEP_BYTES } else { usize::MAX };
        Self { memory, granted: Cell::new(granted) }
    }

    pub(super) fn allows(&self, bytes: usize) -> bool {
        bytes <= BYTES_MAX && (bytes <= self.granted.get() || self.is_granted(bytes))
    }

    /// What grows is copied to twice its room.
    fn is_granted(&self, bytes: usize) -> bool {
        let bytes = bytes.next_multiple_of(STEP_BYTES);
        let is_granted = self.memory.as_ref().is_none_or(|memory| memory.hold(2 * bytes));
        if is_granted {
            self.granted.set(bytes);
        }
        is_granted
    }

    /// # Errors
    /// 54000 for more bytes than a value may have anywhere, 53200 for more than there are.
    pub(super) fn check(&self, bytes: usize) -> SqlResult<()> {
        if bytes > BYTES_MAX {
            return Err(SqlError::new(ErrorKind::LimitExceeded, "requested length too large"));
        }
        if !self.allows(bytes) {
            return Err(exceeded(bytes));
        }
        Ok(())
    }
}

/// The error of values for which there is no memory.
pub fn exceeded(bytes: usize) -> Box<SqlError> {
    SqlError::new(ErrorKind::OutOfMemory, "out of the query memory limit")
        .with_detail(format!("The values of a function take {} MB and more.", bytes >> 20))
        .with_hint("Make shorter values, or fewer at a time, or raise the limit with --query-memory.")
}

#[cfg(test)]
mod tests {
    use super::*;

    /// So many bytes, and the most that was held of them.
    struct Room(usize, Cell<usize>);

    impl Memory for Room {
        fn hold(&self, bytes: usize) -> bool {
            self.1.set(bytes.max(self.1.get()));
            bytes <= self.0
        }
    }

    #[test]
    fn values_are_as_long_as_there_is_memory() {
        let kind = |bytes| Allowance::now().check(bytes).map_err(|error| error.kind);
        assert_eq!(kind(BYTES_MAX), Ok(()));
        assert_eq!(kind(BYTES_MAX + 1), Err(ErrorKind::LimitExceeded));
        let room = Rc::new(Room(20 << 20, Cell::new(0)));
        within(Some(room.clone()), || {
            assert_eq!((kind(STEP_BYTES), room.1.get()), (Ok(()), 0));
            assert_eq!((kind(STEP_BYTES + 1), room.1.get()), (Ok(()), 4 << 20));
            assert_eq!(kind(10 << 20), Ok(()));
            assert_eq!(within(None, || kind(100 << 20)), Ok(()));
            assert_eq!(kind((10 << 20) + 1), Err(ErrorKind::OutOfMemory));
            assert_eq!(kind(BYTES_MAX + 1), Err(ErrorKind::LimitExceeded));
        });
    }
}
