//! What a room above the engine has made last, kept for whoever asks next in any session.

use std::any::Any;
use std::sync::{Arc, Mutex, PoisonError};

/// The engine keeps it, and knows nothing of it.
#[derive(Default)]
pub(crate) struct Latest(Mutex<Option<Arc<dyn Any + Send + Sync>>>);

impl Latest {
    /// What was put in last, if it is of this type.
    pub(crate) fn get<T: Any + Send + Sync>(&self) -> Option<Arc<T>> {
        let kept = self.0.lock().unwrap_or_else(PoisonError::into_inner).clone()?;
        kept.downcast().ok()
    }

    pub(crate) fn put<T: Any + Send + Sync>(&self, made: Arc<T>) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = Some(made);
    }
}
