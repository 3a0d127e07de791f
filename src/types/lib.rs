//! PostgreSQL's types over Arrow: what they are called, how their values are read, written, computed with and kept in entities.
//!
//! Everything here is pure: no clock, no I/O, no plan. `sql` says which of it a statement means; `pg` sends it.

#![warn(clippy::panic, clippy::unwrap_used)]

pub mod allowance;
pub mod built_in;
pub mod calendar;
pub mod candidates;
pub mod constraint;
pub mod conversion;
pub mod edm;
pub mod encodings;
pub mod error;
pub mod functions;
mod grown;
pub mod input;
pub mod interrupt;
pub mod key_codec;
pub mod key_set;
pub mod oid;
pub mod output;
mod pieces;
pub mod privileges;
pub mod quoting;
pub mod single_row;
pub mod sql_type;
pub mod stack;
pub mod style;

/// One value in Arrow's layouts, with its type: a parameter, a constant.
pub use datafusion_common::ScalarValue;
