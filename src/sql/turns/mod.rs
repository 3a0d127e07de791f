//! Plans give way to each other by time: nothing of them keeps a thread for long, and what nobody waits for any longer ends.
//!
//! The engine counts batches, and gives way after so many. A batch may be the work of a microsecond or of a minute, and a
//! join that gives thousands of them for one of its input is not counted at all.
//!
//! ```text
//!     stream      rows that give way once their turn is over
//!     exec        what makes the rows of a node do so
//!     rule        where in a plan such nodes are
//!     condition   what a join asks of each pair: its turn may be over within a single batch
//!     pace        work that is no plan's: rows that are written one by one
//! ```

mod condition;
mod exec;
mod pace;
mod rule;
mod stream;

pub(super) use self::condition::asked_of_pairs;
pub(super) use self::pace::Pace;
pub(super) use self::rule::in_turns;
pub(super) use self::stream::Turns;
