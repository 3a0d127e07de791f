//! The stores under test.

use std::sync::Arc;

use tablegate::backends::azure::{AzureAccount, AzureOptions, AzureStore, Credential, Secret};
use tablegate::backends::embedded::{EmbeddedOptions, EmbeddedStore, Fsync, SegmentOptions};
use tablegate::backends::memory::MemoryStore;
use tablegate::rest::{Alone, EMULATOR_ACCOUNT, EMULATOR_KEY, RestConfig, serve};
use tablegate::store::model::{Clock, SystemClock};
use tempfile::TempDir;
use tokio::net::TcpListener;
use tokio_util::sync::{CancellationToken, DropGuard};

use crate::store_contract::harness::{Backend, Durable, Store};
use crate::support::columnar::Columnar;

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

/// In a folder that goes with the test, as rows alone.
pub struct Embedded {
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
pub struct Columns {
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
pub struct Azure(Store);

impl Backend for Azure {
    async fn create(_: Arc<dyn Clock>) -> Self {
        Self(Arc::new(crate::support::azurite::new_store()))
    }

    fn store(&self) -> &Store {
        &self.0
    }
}

/// The same store through this program's own door for the Azure SDKs, with a store in memory behind it.
pub struct OurDoor {
    store: Store,
    _stop: DropGuard,
}

impl Backend for OurDoor {
    async fn create(clock: Arc<dyn Clock>) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let (address, stop) = (listener.local_addr().unwrap(), CancellationToken::new());
        let behind = Arc::new(MemoryStore::new(clock.clone()));
        let alone = Arc::new(Alone(behind.clone()));
        tokio::spawn(serve(listener, behind, alone, Arc::new(SystemClock), RestConfig::default(), stop.clone()));
        let credential = Credential::key(&Secret::new(EMULATOR_KEY)).unwrap();
        let account = AzureAccount::new(&format!("http://{address}/{EMULATOR_ACCOUNT}"), credential).unwrap();
        let store = AzureStore::new(account, AzureOptions::default()).unwrap();
        Self { store: Arc::new(store), _stop: stop.drop_guard() }
    }

    fn store(&self) -> &Store {
        &self.store
    }
}

impl Durable for Embedded {
    async fn reopen(self, clock: Arc<dyn Clock>) -> Self {
        let Self { store, folder } = self;
        drop(store);
        Self::open(folder, clock)
    }
}
