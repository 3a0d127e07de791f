//! Observe mode: an application that was written for PostgreSQL runs unchanged, and every transaction that is not one
//! entity group transaction is noted.
//!
//! What breaks a rule is decided by [`Rule`]s over what a transaction has collected: exactly what `egt.mode = strict`
//! would have refused, at the statement it would have refused. Such a transaction is carried out all the same, as one
//! durable write of several batches, and its statements are known by their [`SeenStatement`].

mod rule;
mod seen;
mod shape;

pub(super) use rule::{Observed, Rule};
pub(super) use seen::SeenStatement;
