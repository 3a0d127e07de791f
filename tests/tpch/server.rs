//! The server under test, on an embedded store.

use std::net::SocketAddr;
use std::sync::Arc;

use tablegate::backends::embedded::{EmbeddedOptions, EmbeddedStore, Fsync};
use tablegate::pg::{self, PgConfig};
use tablegate::sql::{EgtMode, Engine, EngineConfig};
use tablegate::store::model::SystemClock;
use tempfile::TempDir;
use tokio::net::TcpListener;
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;

/// Little, so that a query that would keep its tables in memory is found out.
const QUERY_MEMORY: usize = 64 << 20;

pub(super) struct Server {
    pub address: SocketAddr,
    stop: CancellationToken,
    task: JoinHandle<std::io::Result<()>>,
    /// Removed when the server is done with it.
    _folder: TempDir,
}

impl Server {
    pub(super) async fn start() -> Self {
        let clock = Arc::new(SystemClock);
        let folder = tempfile::tempdir().expect("there is room for temporary files");
        let options = EmbeddedOptions { fsync: Fsync::Never, ..EmbeddedOptions::default() };
        let store = EmbeddedStore::open(folder.path(), clock.clone(), options).expect("the store opens");
        // The foreign keys of the schema are recorded, not enforced.
        let config = EngineConfig { query_memory: QUERY_MEMORY, egt_mode: EgtMode::Observe, ..EngineConfig::default() };
        let engine = Engine::open(Arc::new(store), clock, config).await.expect("the engine opens");
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port is free");
        let address = listener.local_addr().expect("it is bound");
        let stop = CancellationToken::new();
        let task = tokio::spawn(pg::serve(listener, engine, PgConfig::default(), stop.clone()));
        Self { address, stop, task, _folder: folder }
    }

    pub(super) async fn stop(self) {
        self.stop.cancel();
        self.task.await.expect("the server does not panic").expect("the server ends in good order");
    }
}
