//! The meaning of SQL: statements become scans and batches. DataFusion lives here and nowhere else.

#![warn(clippy::panic, clippy::unwrap_used)]

pub mod activity;
mod advisory;
mod batches;
mod calls;
mod catalog;
mod copies;
mod cursor;
mod database;
mod ddl;
mod dml;
pub mod engine;
mod explain;
mod expr;
mod findings;
mod functions;
mod grouping;
mod guest;
mod handles;
mod in_turn;
pub mod key_range;
mod locking;
mod login;
mod mount;
mod nesting;
mod newest;
pub mod notify;
mod observe;
pub mod outcome;
mod own_rows;
mod pg_catalog;
pub mod place;
mod plan;
mod privileges;
mod progress;
mod read_log;
mod reads;
pub mod relation;
mod roster;
mod scan;
mod sequence;
pub mod session;
mod settings;
pub mod statistics;
mod syntax;
mod tuning;
mod turns;
mod tx;
mod views;
mod workers;

pub use engine::{Engine, EngineConfig, ScratchStore};
pub use guest::{Guest, GuestCost, GuestLocks, Guests};
pub use mount::{MountName, MountNameError, MountedStore};
pub use settings::EgtMode;
