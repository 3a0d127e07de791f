//! Evaluation in order: what PostgreSQL does row by row, one after the other, and the engine would do in parallel.
//!
//! ```text
//!     union      queries under UNION ALL, whose rows come in their order
//!     sorted_union   the same, where each query is sorted
//!     rule       functions that wait are called in the order of the rows
//!     exec       the plan node that calls them
//!     outputs    what is computed of their results
//!     made_rows  rows of functions and VALUES stay in the order in which they are made
//! ```

mod exec;
mod made_rows;
mod outputs;
mod rule;
mod sorted_union;
mod union;

pub(super) use self::made_rows::MadeRowsInOrder;
pub(super) use self::rule::CallsInOrder;
pub(super) use self::sorted_union::SortedUnions;
pub(super) use self::union::keep_order;
