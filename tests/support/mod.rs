//! What several suites share.
#![allow(dead_code, reason = "each of the programs uses a part")]

pub mod account;
pub mod azurite;
pub mod child;
pub mod columnar;
pub mod cpu;
pub mod lines;
pub mod our_door;
pub mod postgres;
pub mod rng;
pub mod server;
pub mod settings;
pub mod tables;

use std::time::Duration;

/// How long a test waits before it says that something hangs. Nothing takes a tenth of it, on a busy machine: what is
/// measured by it is whether there is an end, never how long it takes.
pub const PATIENCE: Duration = Duration::from_secs(600);
