//! SELECT ... FOR UPDATE and its weaker kinds: the rows come back as they are when they are locked.
//!
//! ```text
//!     query       a locking query, planned with the keys of the rows it finds
//!     rows        a run: each row is locked, and compared with what was found
//!     again       rows that had changed, looked at again
//!     hoisted     locking sub-queries: run first, the statement around them reads their rows
//! ```

mod again;
mod hoisted;
mod query;
mod rows;

pub(super) use hoisted::LockingSubQueries;
pub(super) use query::LockingQuery;
pub(super) use rows::LockedRows;
