//! A session of a server of its own, over an empty store in memory.

use std::sync::Arc;

use tablegate::backends::memory::MemoryStore;
use tablegate::sql::session::{Session, SessionOptions};
use tablegate::sql::{Engine, EngineConfig};
use tablegate::store::model::SystemClock;

/// With this configuration, and what a session has where no client says anything.
pub(crate) async fn session(config: EngineConfig) -> Session {
    let clock = Arc::new(SystemClock);
    let store = Arc::new(MemoryStore::new(clock.clone()));
    let engine = Engine::open(store, clock, config).await.expect("an empty store opens");
    Session::new(engine, SessionOptions::default()).expect("no settings were given")
}
