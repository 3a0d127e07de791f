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
    /// Holds so many bytes instead of those that were held before, while values are made; false when there are not as many.
    fn hold(&self, before: usize, bytes: usize) -> bool;
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

/// What one column of results may take, or what is kept while it is made. Dropping it gives back what was asked for.
pub(crate) struct Allowance {
    memory: Option<Rc<dyn Memory>>,
    /// What was asked for so far.
    granted: Cell<usize>,
    /// What is held for it.
    held: Cell<usize>,
}

impl Allowance {
    pub(crate) fn now() -> Self {
        let memory = MEMORY.with_borrow(Clone::clone);
        let granted = if memory.is_some() { STEP_BYTES } else { usize::MAX };
        Self { memory, granted: Cell::new(granted), held: Cell::new(0) }
    }

    fn allows(&self, bytes: usize) -> bool {
        bytes <= BYTES_MAX && (bytes <= self.granted.get() || self.is_granted(bytes))
    }

    /// Twice, for what takes the values copies them, or they were copied as they grew.
    fn is_granted(&self, bytes: usize) -> bool {
        let bytes = bytes.next_multiple_of(STEP_BYTES);
        let is_granted = self.memory.as_ref().is_none_or(|memory| memory.hold(self.held.get(), 2 * bytes));
        if is_granted {
            self.granted.set(bytes);
            self.held.set(2 * bytes);
        }
        is_granted
    }

    /// # Errors
    /// 54000 for more bytes than a value may have anywhere, 53200 for more than there are.
    pub(crate) fn check(&self, bytes: usize) -> SqlResult<()> {
        if bytes > BYTES_MAX {
            return Err(too_long());
        }
        if !self.allows(bytes) {
            return Err(exceeded(bytes));
        }
        Ok(())
    }
}

impl Drop for Allowance {
    fn drop(&mut self) {
        if let Some(memory) = self.memory.as_ref().filter(|_| self.held.get() > 0) {
            // Less than before is always there.
            memory.hold(self.held.get(), 0);
        }
    }
}

/// The error of values that are longer than values may be.
pub(crate) fn too_long() -> Box<SqlError> {
    SqlError::new(ErrorKind::LimitExceeded, "requested length too large")
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

    /// So many bytes, what is held of them, and the most that was.
    #[derive(Default)]
    struct Room {
        bytes: usize,
        held: Cell<usize>,
        most: Cell<usize>,
    }

    impl Memory for Room {
        fn hold(&self, before: usize, bytes: usize) -> bool {
            let held = self.held.get() - before + bytes;
            if held <= self.bytes {
                self.held.set(held);
                self.most.set(held.max(self.most.get()));
            }
            held <= self.bytes
        }
    }

    #[test]
    fn values_are_as_long_as_there_is_memory() {
        let kind = |bytes| Allowance::now().check(bytes).map_err(|error| error.kind);
        assert_eq!(kind(BYTES_MAX), Ok(()));
        assert_eq!(kind(BYTES_MAX + 1), Err(ErrorKind::LimitExceeded));
        let room = Rc::new(Room { bytes: 20 << 20, ..Room::default() });
        within(Some(room.clone()), || {
            assert_eq!((kind(STEP_BYTES), room.most.get()), (Ok(()), 0));
            assert_eq!((kind(STEP_BYTES + 1), room.most.get(), room.held.get()), (Ok(()), 4 << 20, 0));
            assert_eq!(kind(10 << 20), Ok(()));
            assert_eq!(within(None, || kind(100 << 20)), Ok(()));
            assert_eq!(kind((10 << 20) + 1), Err(ErrorKind::OutOfMemory));
            assert_eq!(kind(BYTES_MAX + 1), Err(ErrorKind::LimitExceeded));
        });
    }

    #[test]
    fn what_is_made_at_the_same_time_is_counted_together() {
        let room = Rc::new(Room { bytes: 20 << 20, ..Room::default() });
        within(Some(room.clone()), || {
            let (first, second) = (Allowance::now(), Allowance::now());
            first.check(6 << 20).unwrap();
            assert_eq!(second.check(6 << 20).unwrap_err().kind, ErrorKind::OutOfMemory);
            first.check(7 << 20).unwrap();
            assert_eq!(room.held.get(), 14 << 20);
            second.check(3 << 20).unwrap();
            drop(first);
            second.check(10 << 20).unwrap();
            assert_eq!(room.held.get(), 20 << 20);
        });
        assert_eq!(room.held.get(), 0);
    }
}
