//! How much of long messages may have arrived, over all connections, before they are complete: a client need not go on.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

/// What each connection may hold without asking.
const OWN_BYTES: usize = 1 << 20;
/// In what steps more is asked for.
const STEP_BYTES: usize = 1 << 20;

/// What is left for all.
#[derive(Debug)]
pub(super) struct Arrivals {
    left: AtomicUsize,
}

impl Arrivals {
    pub(crate) fn within(bytes: usize) -> Arc<Self> {
        Arc::new(Self { left: AtomicUsize::new(bytes) })
    }

    fn take(&self, bytes: usize) -> bool {
        self.left.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |left| left.checked_sub(bytes)).is_ok()
    }
}

/// What one connection holds of it, given back when dropped.
#[derive(Debug)]
pub(super) struct Arrived {
    all: Arc<Arrivals>,
    held: usize,
}

impl Arrived {
    pub(crate) fn nothing(all: Arc<Arrivals>) -> Self {
        Self { all, held: 0 }
    }

    /// Holds so many bytes from now on, instead of what it held; false where there are not as many.
    #[must_use]
    pub(crate) fn hold(&mut self, bytes: usize) -> bool {
        let wanted = if bytes <= OWN_BYTES { 0 } else { bytes.next_multiple_of(STEP_BYTES) };
        if wanted > self.held && !self.all.take(wanted - self.held) {
            return false;
        }
        self.all.left.fetch_add(self.held.saturating_sub(wanted), Ordering::Relaxed);
        self.held = wanted;
        true
    }
}

impl Drop for Arrived {
    fn drop(&mut self) {
        self.all.left.fetch_add(self.held, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_connections_share_what_there_is() {
        let all = Arrivals::within(4 * STEP_BYTES);
        let (mut one, mut other) = (Arrived::nothing(all.clone()), Arrived::nothing(all.clone()));
        assert!(one.hold(3 * STEP_BYTES));
        assert!(other.hold(OWN_BYTES), "short ones always have room");
        assert!(!other.hold(OWN_BYTES + 1));
        assert!(one.hold(2 * STEP_BYTES));
        assert!(other.hold(OWN_BYTES + 1));
        drop(one);
        assert!(other.hold(4 * STEP_BYTES) && !other.hold(4 * STEP_BYTES + 1));
        assert!(other.hold(0));
        drop(other);
        assert_eq!(all.left.load(Ordering::Relaxed), 4 * STEP_BYTES);
    }
}
