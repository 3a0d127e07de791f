//! The server under test: in this process, on a store in memory, on a free port.

use std::net::SocketAddr;
use std::sync::Arc;

use tablegate::backends::memory::MemoryStore;
use tablegate::pg::{self, PgConfig};
use tablegate::sql::limits::STATEMENT_STACK;
use tablegate::sql::{Engine, EngineConfig, ScratchStore};
use tablegate::store::model::SystemClock;
use tokio::net::TcpListener;
use tokio::runtime::Runtime;
use tokio_util::sync::CancellationToken;

#[derive(Debug)]
pub(super) struct Gateway {
    pub address: SocketAddr,
    /// Its tasks end with it.
    _runtime: Runtime,
}

impl Gateway {
    pub(super) fn start() -> Self {
        let runtime = tokio::runtime::Builder::new_multi_thread()
            .worker_threads(2)
            .thread_stack_size(STATEMENT_STACK)
            .enable_all()
            .build()
            .expect("a runtime starts");
        let address = runtime.block_on(async {
            let clock = Arc::new(SystemClock);
            let store = Arc::new(MemoryStore::new(clock.clone()));
            let scratch = Some(ScratchStore(Arc::new(MemoryStore::new(clock.clone()))));
            let config = EngineConfig { query_threads: 1, scratch, ..EngineConfig::default() };
            let engine = Engine::open(store, clock, config).await.expect("the engine opens");
            let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port is free");
            let address = listener.local_addr().expect("it is bound");
            tokio::spawn(pg::serve(listener, engine, PgConfig::default(), CancellationToken::new()));
            address
        });
        Self { address, _runtime: runtime }
    }
}
