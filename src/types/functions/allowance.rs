//! How many bytes the values may have that a function makes: known before it makes them.

use std::cell::Cell;

use crate::error::{ErrorKind, SqlError, SqlResult};

/// Most bytes of one column of results: what PostgreSQL allows one value.
const BYTES_MAX: usize = 1 << 30;

thread_local! {
    /// What the function that this thread evaluates may take.
    static LEFT: Cell<usize> = const { Cell::new(usize::MAX) };
}

/// Evaluates something whose values may take no more than this of the memory.
pub fn within<T>(bytes: usize, work: impl FnOnce() -> T) -> T {
    let _before = Before(LEFT.replace(bytes));
    work()
}

/// Puts back what was before, after a panic too.
struct Before(usize);

impl Drop for Before {
    fn drop(&mut self) {
        LEFT.set(self.0);
    }
}

/// What one column of results may take.
#[derive(Debug, Clone, Copy)]
pub(super) struct Allowance {
    left: usize,
}

impl Allowance {
    pub fn now() -> Self {
        Self { left: LEFT.get() }
    }

    pub fn allows(self, bytes: usize) -> bool {
        bytes <= BYTES_MAX.min(self.left)
    }

    /// # Errors
    /// 54000 for more bytes than a value may have anywhere, 53200 for more than there are.
    pub fn check(self, bytes: usize) -> SqlResult<()> {
        if bytes > BYTES_MAX {
            return Err(SqlError::new(ErrorKind::LimitExceeded, "requested length too large"));
        }
        if bytes > self.left {
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

    #[test]
    fn values_are_as_long_as_there_is_memory() {
        let kind = |bytes| Allowance::now().check(bytes).map_err(|error| error.kind);
        assert_eq!(kind(BYTES_MAX), Ok(()));
        assert_eq!(kind(BYTES_MAX + 1), Err(ErrorKind::LimitExceeded));
        within(1000, || {
            assert_eq!(kind(1000), Ok(()));
            assert_eq!(within(10, || kind(1000)), Err(ErrorKind::OutOfMemory));
            assert_eq!(kind(1001), Err(ErrorKind::OutOfMemory));
        });
    }
}
