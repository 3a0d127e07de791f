//! The stores under test.

use std::sync::Arc;

use tablegate::backend::memory::MemoryStore;
use tablegate::model::Clock;

use crate::harness::{Backend, Store};

/// Lives as long as the process: nothing to reopen.
pub struct Memory(Store);

impl Backend for Memory {
    async fn create(clock: Arc<dyn Clock>) -> Self {
        Self(Arc::new(MemoryStore::new(clock)))
    }

    fn store(&self) -> &Store {
        &self.0
    }
}
