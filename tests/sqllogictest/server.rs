//! A server of its own for each golden file.

use std::net::SocketAddr;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use tablegate::backends::embedded::{EmbeddedOptions, EmbeddedStore, Fsync, SegmentOptions};
use tablegate::backends::memory::MemoryStore;
use tablegate::pg::{self, PgConfig};
use tablegate::sql::{Announcing, Engine, EngineConfig, MountName, MountedStore, ScratchStore};
use tablegate::store::model::SystemClock;
use tablegate::store::table::{Batch, GroupError, Promises, StoreError, StoreLayer, TableStore, Written};
use tempfile::TempDir;
use tokio::net::TcpListener;
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;

use crate::support::columnar::Columnar;
use crate::support::{azurite, our_door};

/// The stores that golden files run on.
#[derive(Debug, Clone, Copy)]
pub(super) enum Backend {
    Memory,
    /// On disk, as rows alone.
    Embedded,
    /// On disk, every table as columns too.
    Columns,
    /// In the emulator.
    Azure,
    /// The same, with the program's own door for the Azure SDKs in the emulator's place.
    OurDoor,
}

impl Backend {
    /// For `onlyif` and `skipif`.
    pub(super) fn labels(self) -> &'static [&'static str] {
        match self {
            Backend::Memory => &["memory"],
            Backend::Embedded => &["embedded"],
            Backend::Columns => &["embedded", "columns"],
            Backend::Azure | Backend::OurDoor => &["azure"],
        }
    }
}

pub(super) struct Server {
    pub address: SocketAddr,
    stop: CancellationToken,
    task: JoinHandle<std::io::Result<()>>,
    /// Removed when the server is done with it.
    _folder: TempDir,
}

impl Server {
    /// `mounts`: with two further schemas, `other` and `fixed`, over one more store; `fixed` is read-only.
    pub(super) async fn start(backend: Backend, mounts: bool) -> Self {
        let clock = Arc::new(SystemClock);
        let folder = tempfile::tempdir().expect("there is room for temporary files");
        let in_folder = |folder: &Path| -> Arc<dyn TableStore> {
            // What is tested here is SQL; what survives a crash is tested elsewhere.
            let segments = SegmentOptions::off();
            let options = EmbeddedOptions { fsync: Fsync::Never, segments, ..EmbeddedOptions::default() };
            Arc::new(EmbeddedStore::open(folder, clock.clone(), options).expect("the store opens"))
        };
        let in_memory = || Arc::new(MemoryStore::new(clock.clone()));
        let store: Arc<dyn TableStore> = match backend {
            Backend::Memory => in_memory(),
            Backend::Embedded => in_folder(folder.path()),
            Backend::Columns => Arc::new(Columnar::open(folder.path(), clock.clone()).expect("the store opens")),
            Backend::Azure => Arc::new(azurite::new_store()),
            Backend::OurDoor => Arc::new(our_door::new_store()),
        };
        let scratch: Arc<dyn TableStore> = match backend {
            Backend::Memory => in_memory(),
            Backend::Columns => {
                Arc::new(Columnar::open(&folder.path().join("temp"), clock.clone()).expect("the store opens"))
            }
            // In a folder also where the data is far away.
            Backend::Embedded | Backend::Azure | Backend::OurDoor => in_folder(&folder.path().join("temp")),
        };
        let scratch = Some(ScratchStore(scratch));
        // Plans name the number of threads: golden ones are the same on every machine.
        let mounts = if mounts { mounted(backend) } else { Vec::new() };
        // Nobody else uses the account: nobody has to be told of anything first.
        let announcing = Announcing { ahead: Duration::ZERO, ..Announcing::default() };
        let config = EngineConfig { query_threads: 2, scratch, mounts, announcing, ..EngineConfig::default() };
        let engine = Engine::open(store, clock, config).await.expect("the engine opens");
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port is free");
        let address = listener.local_addr().expect("it is bound");
        let stop = CancellationToken::new();
        let task = tokio::spawn(pg::serve(listener, engine, PgConfig::default(), stop.clone()));
        Self { address, stop, task, _folder: folder }
    }

    pub(super) async fn stop(self) {
        self.stop.cancel();
        let ended = self.task.await.expect("the server does not panic");
        ended.expect("the server ends in good order");
    }
}

/// One store under two names, as two servers would have it.
fn mounted(backend: Backend) -> Vec<MountedStore> {
    let store: Arc<dyn TableStore> = match backend {
        Backend::Azure => Arc::new(azurite::new_store()),
        Backend::OurDoor => Arc::new(our_door::new_store()),
        Backend::Memory | Backend::Embedded | Backend::Columns => {
            Arc::new(Shared(MemoryStore::new(Arc::new(SystemClock))))
        }
    };
    let mount = |name, read_only| {
        let name = MountName::parse(name).expect("it is a name");
        MountedStore { name, store: Arc::clone(&store), read_only }
    };
    vec![mount("other", false), mount("fixed", true)]
}

/// A store that others write to as well: it promises so, and its catalogue is read again.
struct Shared(MemoryStore);

#[async_trait]
impl StoreLayer for Shared {
    fn below(&self) -> &dyn TableStore {
        &self.0
    }

    fn promises(&self) -> Promises {
        Promises { sole_writer: false, atomic_groups: false, ..self.0.promises() }
    }

    async fn commit_group(&self, _: Vec<Batch>) -> Result<Vec<Vec<Written>>, GroupError> {
        Err(StoreError::Unsupported("several entity group transactions as one").into())
    }
}
