//! Sequences: counters whose values are given out in blocks.
//!
//! The catalogue keeps how far a sequence's values are reserved. A block of them is reserved durably at once and then
//! given out from memory, so a value costs no write of its own, and no value is ever given out twice: not after a crash,
//! and not by another gateway over the same store. Gaps are fine, as in PostgreSQL; a rollback takes nothing back.
//!
//! A sequence that a transaction has made or restarted counts in that transaction alone, until it commits.

mod blocks;
mod counting;
mod functions;
mod options;
mod rows;
mod session;

pub(super) use blocks::Sequences;
pub(super) use functions::find as function;
pub(super) use functions::waits;
pub(super) use options::{altered, check_restart, created};
pub(super) use rows::provider;
pub(super) use session::SessionSequences;
