//! What several suites share.
#![allow(dead_code, reason = "each of the programs uses a part")]

pub(crate) mod account;
pub(crate) mod azurite;
pub(crate) mod child;
pub(crate) mod columnar;
pub(crate) mod cpu;
pub(crate) mod in_memory;
pub(crate) mod installed;
pub(crate) mod lines;
pub(crate) mod our_door;
pub(crate) mod postgres;
pub(crate) mod rng;
pub(crate) mod server;
pub(crate) mod settings;
pub(crate) mod tables;

use std::time::Duration;

/// How long a test waits before it says that something hangs. Nothing takes a tenth of it, on a busy machine: what is
/// measured by it is whether there is an end, never how long it takes.
pub(crate) const PATIENCE: Duration = Duration::from_secs(600);

/// Waits until nothing of any query is left, and so none of its memory.
pub(crate) async fn until_idle(is_busy: impl Fn() -> bool) {
    let idle = async {
        while is_busy() {
            tokio::task::yield_now().await;
        }
    };
    tokio::time::timeout(PATIENCE, idle).await.expect("what was given up ends");
}
