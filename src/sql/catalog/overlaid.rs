//! What a session sees over what is committed, made once for each state that it lies over.
//!
//! It has a version of its own, which no other state has: what is planned with it holds for as long as neither of the two changes.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use super::state::State;

/// The versions from here on are not of anything that is committed: those count from 0.
static NEXT_VERSION: AtomicU64 = AtomicU64::new(1 << 63);

/// The state that was made last, behind the one that it lies over. Whoever changes what is laid over it begins a new one.
#[derive(Debug, Default)]
pub(super) struct Overlaid(Mutex<Option<[Arc<State>; 2]>>);

impl Overlaid {
    /// What `lay` makes of a state, which is the same each time.
    pub(super) fn over(&self, base: &Arc<State>, lay: impl FnOnce(&State) -> State) -> Arc<State> {
        let mut last = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some([of, made]) = &*last
            && Arc::ptr_eq(of, base)
        {
            return Arc::clone(made);
        }
        let version = NEXT_VERSION.fetch_add(1, Ordering::Relaxed);
        let made = Arc::new(State { version, ..lay(base) });
        *last = Some([Arc::clone(base), Arc::clone(&made)]);
        made
    }
}

/// Of a copy, which lays the same over it.
impl Clone for Overlaid {
    fn clone(&self) -> Self {
        Self(Mutex::new(self.0.lock().unwrap_or_else(PoisonError::into_inner).clone()))
    }
}
