//! The stores under test.

use std::sync::Arc;

use tablegate::backends::embedded::{EmbeddedOptions, EmbeddedStore, Fsync, SegmentOptions};
use tablegate::backends::memory::MemoryStore;
use tablegate::store::model::Clock;
use tempfile::TempDir;

use crate::store_contract::harness::{Backend, Durable, Store};
use crate::support::columnar::Columnar;
use crate::support::our_door;

/// Lives as long as the process: nothing to reopen.
pub(super) struct Memory(Store);

impl Backend for Memory {
    async fn create(clock: Arc<dyn Clock>) -> Self {
        Self(Arc::new(MemoryStore::new(clock)))
    }

    fn store(&self) -> &Store {
        &self.0
    }
}

/// In a folder that goes with the test, as rows alone.
pub(super) struct Embedded {
    store: Store,
    folder: TempDir,
}

impl Embedded {
    fn open(folder: TempDir, clock: Arc<dyn Clock>) -> Self {
        // Whether data survives a power failure is not tested here, and syncs take their time.
        let segments = SegmentOptions::off();
        let options = EmbeddedOptions { fsync: Fsync::Never, segments, ..EmbeddedOptions::default() };
        let store = Arc::new(EmbeddedStore::open(folder.path(), clock, options).unwrap());
        Self { store, folder }
    }
}

impl Backend for Embedded {
    async fn create(clock: Arc<dyn Clock>) -> Self {
        Self::open(tempfile::tempdir().unwrap(), clock)
    }

    fn store(&self) -> &Store {
        &self.store
    }
}

/// The same with every table kept as columns too.
pub(super) struct Columns {
    store: Store,
    folder: TempDir,
}

impl Columns {
    fn open(folder: TempDir, clock: Arc<dyn Clock>) -> Self {
        Self { store: Arc::new(Columnar::open(folder.path(), clock).unwrap()), folder }
    }
}

impl Backend for Columns {
    async fn create(clock: Arc<dyn Clock>) -> Self {
        Self::open(tempfile::tempdir().unwrap(), clock)
    }

    fn store(&self) -> &Store {
        &self.store
    }
}

impl Durable for Columns {
    async fn reopen(self, clock: Arc<dyn Clock>) -> Self {
        let Self { store, folder } = self;
        drop(store);
        Self::open(folder, clock)
    }
}

/// An account of the emulator. Its clock is its own.
pub(super) struct Azure(Store);

impl Backend for Azure {
    async fn create(_: Arc<dyn Clock>) -> Self {
        Self(Arc::new(crate::support::azurite::new_store()))
    }

    fn store(&self) -> &Store {
        &self.0
    }
}

/// The same store through this program's own door for the Azure SDKs, with a store in memory behind it.
pub(super) struct OurDoor(Store);

impl Backend for OurDoor {
    async fn create(clock: Arc<dyn Clock>) -> Self {
        Self(Arc::new(our_door::new_account_with(clock).store()))
    }

    fn store(&self) -> &Store {
        &self.0
    }
}

impl Durable for Embedded {
    async fn reopen(self, clock: Arc<dyn Clock>) -> Self {
        let Self { store, folder } = self;
        drop(store);
        Self::open(folder, clock)
    }
}
