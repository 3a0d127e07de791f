//! Whom the rules are asked of: a door to an empty store, and Azurite.

use std::sync::Arc;

use tablegate::backends::memory::MemoryStore;
use tablegate::rest::{Alone, RestConfig, serve};
use tablegate::store::model::SystemClock;
use tokio::net::TcpListener;
use tokio_util::sync::{CancellationToken, DropGuard};

use crate::support::account::Account;
use crate::support::azurite;
use crate::support::tables::Target;

/// Who answers, until it is dropped.
pub(super) struct Asked {
    pub target: Target,
    _stop: Option<DropGuard>,
}

impl Asked {
    pub(super) async fn our_door() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port is free");
        let target = Target::of_emulator(listener.local_addr().expect("it listens"));
        let stop = CancellationToken::new();
        let store = Arc::new(MemoryStore::new(Arc::new(SystemClock)));
        let (alone, config) = (Arc::new(Alone(store.clone())), RestConfig::default());
        tokio::spawn(serve(listener, store, alone, Arc::new(SystemClock), config, stop.clone()));
        Self { target, _stop: Some(stop.drop_guard()) }
    }

    /// An account of its own.
    pub(super) fn azurite() -> Self {
        let Account { address, name, key } = azurite::new_account();
        Self { target: Target { address, account: name, key: key.to_owned() }, _stop: None }
    }
}
