//! Observe mode: an application that was written for PostgreSQL runs unchanged, and every transaction that is not one
//! entity group transaction is noted.
//!
//! What breaks a rule is decided by [`Rule`]s over what a transaction has collected: exactly what `egt.mode = strict`
//! would have refused, at the statement it would have refused. Such a transaction is carried out all the same, as one
//! durable write of several batches. The [`Recorder`] keeps what was seen: a violation for each rule that a
//! transaction broke, how many of all transactions fitted, and which statements were refused. Three views show it (`pg_catalog`).
//!
//! A transaction that is rolled back is recorded too: an application under test often ends that way, and what it asked
//! for is what the service could not do. What a savepoint took back is not.

mod counts;
mod footprint;
mod recorder;
mod refusal;
mod rule;
mod seen;
mod storage;
mod tally;
mod violation;

pub(super) use footprint::Footprint;
pub(super) use recorder::{Observations, Recorder};
pub(super) use rule::{Observed, Rule, broken_by_size};
pub(super) use seen::SeenStatement;
pub(super) use violation::{Client, Outcome};
