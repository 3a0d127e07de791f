//! A server of its own for each golden file.

use std::net::SocketAddr;
use std::path::Path;
use std::sync::Arc;

use tablegate::backend::embedded::{EmbeddedOptions, EmbeddedStore, Fsync};
use tablegate::backend::memory::MemoryStore;
use tablegate::model::SystemClock;
use tablegate::pg::{self, PgConfig};
use tablegate::sql::{Engine, EngineConfig, ScratchStore};
use tablegate::table::TableStore;
use tempfile::TempDir;
use tokio::net::TcpListener;
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;

use crate::columnar::Columnar;

/// The stores that golden files run on.
#[derive(Debug, Clone, Copy)]
pub enum Backend {
    Memory,
    Embedded,
    /// On disk, every table as columns too.
    Columns,
    /// In the emulator.
    Azure,
}

impl Backend {
    /// For `onlyif` and `skipif`.
    pub fn label(self) -> &'static str {
        match self {
            Backend::Memory => "memory",
            Backend::Embedded | Backend::Columns => "embedded",
            Backend::Azure => "azure",
        }
    }
}

pub struct Server {
    pub address: SocketAddr,
    stop: CancellationToken,
    task: JoinHandle<std::io::Result<()>>,
    /// Removed when the server is done with it.
    _folder: TempDir,
}

impl Server {
    pub async fn start(backend: Backend) -> Self {
        let clock = Arc::new(SystemClock);
        let folder = tempfile::tempdir().expect("there is room for temporary files");
        let open = |folder: &Path| -> Arc<dyn TableStore> {
            match backend {
                Backend::Memory => Arc::new(MemoryStore::new(clock.clone())),
                Backend::Azure => Arc::new(crate::azurite::new_store()),
                Backend::Columns => Arc::new(Columnar::open(folder, clock.clone()).expect("the store opens")),
                Backend::Embedded => {
                    // What is tested here is SQL; what survives a crash is tested elsewhere.
                    let options = EmbeddedOptions { fsync: Fsync::Never, ..EmbeddedOptions::default() };
                    Arc::new(EmbeddedStore::open(folder, clock.clone(), options).expect("the store opens"))
                }
            }
        };
        let store = open(folder.path());
        let scratch: Arc<dyn TableStore> = match backend {
            Backend::Azure => Arc::new(MemoryStore::new(clock.clone())),
            Backend::Memory | Backend::Embedded | Backend::Columns => open(&folder.path().join("temp")),
        };
        let scratch = Some(ScratchStore(scratch));
        // Plans name the number of threads: golden ones are the same on every machine.
        let config = EngineConfig { query_threads: 2, scratch, ..EngineConfig::default() };
        let engine = Engine::open(store, clock, config).await.expect("the engine opens");
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port is free");
        let address = listener.local_addr().expect("it is bound");
        let stop = CancellationToken::new();
        let task = tokio::spawn(pg::serve(listener, engine, PgConfig::default(), stop.clone()));
        Self { address, stop, task, _folder: folder }
    }

    pub async fn stop(self) {
        self.stop.cancel();
        let ended = self.task.await.expect("the server does not panic");
        ended.expect("the server ends in good order");
    }
}
