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
//!     |     table      |   trait TableStore, EGT rules, scans as Arrow batches
//!     +-------^--------+
//!             | implements
//!     +-------+--------+
//!     |    backend     |   memory (the oracle), embedded (the default)
//!     +----------------+
//!      model: names, keys, values, entities, their order
//!      cli: plugs backends into front-ends
//! ```
//!
//! Calls run downwards; `ARCHITECTURE.md` has the table of who may import whom, and a test that holds it.

// Helpers of the tests in tests/ may unwrap and panic, and clippy.toml exempts only test functions: so these two are here.
#![warn(clippy::panic, clippy::unwrap_used)]

pub mod backend;
pub mod cli;
pub mod model;
pub mod pg;
pub mod sql;
pub mod table;
