//! Joins whose condition is a range: `b.ts BETWEEN a.began AND a.ended`, `q.sym = t.sym AND q.ts <= t.ts`.
//!
//! A hash join compares all rows that have the same keys, and a nested loop all rows there are. Here one side is sorted by the
//! column that is in ranges, within each key; for a row of the other side, the first and the last of its partners are
//! searched. What is asked of pairs besides is asked of those only. Where just the first of them are wanted (the quote before
//! each trade), only these come out.
//!
//! ```text
//!     terms    what a join's condition says of ranges
//!     rule     which joins of a plan become such joins
//!     unique   which columns no two rows have alike: where these are the keys, the engine's join does better
//!     first    how many partners of each row are wanted, in which order
//!     join     what is joined, and how
//!     exec     the node of the plan
//!     gather   what has to be read before the first row comes out
//!     keys     what both sides are to have alike, numbered
//!     sorted   the side that is sorted, and the search in it
//!     probe    the rows of the other side, and what comes of them
//!     told     what one side tells the scan of the other at run time
//! ```

mod exec;
mod first;
mod gather;
mod join;
mod keys;
mod probe;
mod rule;
mod sorted;
mod terms;
mod told;
mod unique;

pub(super) use self::exec::RangeJoinExec;
pub(super) use self::rule::RangeJoins;
pub(super) use self::unique::are_unique;
