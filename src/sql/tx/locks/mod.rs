//! Locks on rows and tables, as PostgreSQL has them: held until the transaction ends, waited for in the order of asking.
//!
//! They exclude only sessions of this gateway, so they are used for stores that no other program writes to. What a lock
//! promises is that the row does not change while it is held; that it had not changed just before is for the holder to
//! check.
//!
//! ```text
//!     mode       the strengths of locks, and which of them go together
//!     registry   who holds what and who waits for it: sharded, granted first come, first served
//!     many       the rows of a window, locked at once
//!     weak       the locks of tables that nearly every statement takes, noted by session
//!     deadlock   whether a wait can ever end
//!     memory     what locks take is a part of the memory of queries
//!     held       the locks of one transaction, given back when it is dropped
//!     advisory   the locks of one session on numbers
//! ```

mod advisory;
mod deadlock;
mod error;
mod held;
mod many;
mod memory;
mod mode;
mod registry;
mod replaced;
#[cfg(test)]
mod tests;
mod weak;

pub(crate) use advisory::{AdvisoryLocks, Level, Sharing};
pub(crate) use error::LockError;
pub(crate) use held::{HeldLocks, LockWait, Mark};
pub(crate) use registry::{AdvisoryKey, Locks, ShownTarget};
