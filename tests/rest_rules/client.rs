//! A door to an empty store.

use std::net::SocketAddr;
use std::sync::Arc;

use tablegate::backends::memory::MemoryStore;
use tablegate::rest::{Alone, RestConfig, serve};
use tablegate::store::model::SystemClock;
use tokio::net::TcpListener;
use tokio_util::sync::{CancellationToken, DropGuard};

use crate::support::tables::{self, Answer, Request};

pub struct Client {
    address: SocketAddr,
    _stop: DropGuard,
}

impl Client {
    pub async fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port is free");
        let address = listener.local_addr().expect("it listens");
        let stop = CancellationToken::new();
        let store = Arc::new(MemoryStore::new(Arc::new(SystemClock)));
        let (alone, config) = (Arc::new(Alone(store.clone())), RestConfig::default());
        tokio::spawn(serve(listener, store, alone, Arc::new(SystemClock), config, stop.clone()));
        Self { address, _stop: stop.drop_guard() }
    }

    /// The address of the account.
    pub fn base(&self) -> String {
        tables::base(self.address)
    }

    pub async fn send(&self, request: &Request) -> Answer {
        tables::send(self.address, request).await
    }
}
