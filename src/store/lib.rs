//! The Table model and the contract of its stores: what everything else stands on.
//!
//! [`model`] says what an entity, a key and a name are; [`table`] what a store of them promises.

#![warn(clippy::panic, clippy::unwrap_used)]

pub mod model;
pub mod table;
