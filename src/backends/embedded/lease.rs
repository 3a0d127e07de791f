//! Lends the engine to readers, one short step at a time, so that it can be closed and opened anew behind them.

use std::sync::{Arc, PoisonError, RwLock};
use std::time::Duration;

use tablegate_store::table::StoreError;

use super::engine::Engine;

/// The engine as long as it is open.
pub(super) struct Lease(RwLock<Option<Arc<Engine>>>);

/// How long to wait before looking again whether the steps under way have ended: a step reads one batch.
const STEP: Duration = Duration::from_millis(1);

impl Lease {
    pub(super) fn new(engine: Arc<Engine>) -> Self {
        Self(RwLock::new(Some(engine)))
    }

    /// # Errors
    /// [`StoreError::Unavailable`] once the lease has ended.
    pub(super) fn engine(&self) -> Result<Arc<Engine>, StoreError> {
        let engine = self.0.read().unwrap_or_else(PoisonError::into_inner).clone();
        engine.ok_or_else(|| {
            StoreError::Unavailable("the store was opened anew after a failed write: read again".to_owned())
        })
    }

    /// Ends the lease, and with it the engine: when this returns, its files are closed. Steps under way are waited
    /// for, later ones are refused. The caller holds no other reference to the engine.
    pub(super) fn end(&self) {
        let Some(mut engine) = self.0.write().unwrap_or_else(PoisonError::into_inner).take() else { return };
        loop {
            engine = match Arc::try_unwrap(engine) {
                Ok(engine) => return drop(engine),
                Err(shared) => shared,
            };
            std::thread::sleep(STEP);
        }
    }
}
