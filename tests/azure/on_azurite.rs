//! Against the emulator.

#![expect(clippy::duplicate_mod, reason = "the same tests, with another service")]

use crate::support::azurite as service;

#[path = "announced.rs"]
mod announced;
#[path = "blocks.rs"]
mod blocks;
#[path = "declarations.rs"]
mod declarations;
#[path = "discovery.rs"]
mod discovery;
#[path = "faults.rs"]
mod faults;
#[path = "gateways.rs"]
mod gateways;
#[path = "mounts.rs"]
mod mounts;
#[path = "pushdown.rs"]
mod pushdown;
#[path = "sql.rs"]
mod sql;
