//! tablegate: a SQL gateway over the Azure Table service's data model.
//!
//! ```text
//!     psql, drivers, BI tools
//!             |  PostgreSQL wire
//!     +-------v--------+
//!     |       pg       |   bytes <-> calls
//!     +-------+--------+
//!             |
//!     +-------v--------+
//!     |      sql       |   statements <-> scans, batches; DataFusion lives here only
//!     +-------+--------+
//!             |
//!     +-------v--------+
//!     |      bind      |   what statements mean, as PostgreSQL finds it
//!     +-------+--------+
//!             |
//!     +-------v--------+
//!     |     types      |   PostgreSQL's types, errors and functions, on Arrow arrays
//!     +-------+--------+
//!             |
//!     +-------v--------+
//!     |     store      |   names, keys, entities; trait TableStore, EGT rules, scans as Arrow batches
//!     +-------^--------+
//!             | implements
//!     +-------+--------+
//!     |    backends    |   memory (the oracle), embedded (the default), azure
//!     +----------------+
//!      cli: plugs backends into front-ends
//! ```
//!
//! Each box is a crate of the workspace, so the compiler holds the layers apart. This one is what a program that embeds
//! tablegate depends on: it hands the others out under their short names. `ARCHITECTURE.md` has the table of who may import
//! whom, and a test that holds it.

// Helpers of the tests in tests/ may unwrap and panic, and clippy.toml exempts only test functions: so these two are here.
#![warn(clippy::panic, clippy::unwrap_used)]

pub use tablegate_backends as backends;
pub use tablegate_pg as pg;
pub use tablegate_rest as rest;
pub use tablegate_sql as sql;
pub use tablegate_store as store;
pub use tablegate_types as types;

pub mod cli;
