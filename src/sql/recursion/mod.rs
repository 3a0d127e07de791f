//! WITH RECURSIVE: rows of a first query, and those that another one makes of the rows of the step before, until there are none.
//!
//! ```text
//!     node       both queries, among the queries of a statement
//!     table      the rows of the step before as a table, which the other query may read in several places
//!     scan       the node that reads them
//!     exec       the node that goes step by step
//!     distinct   UNION without ALL: rows that were there before are left out
//!     rule       few rows are not dealt out to threads
//! ```
//!
//! The engine has a node for it, whose other query can read the rows in one place only; where a sub-query is about them, they are
//! read in two.

mod distinct;
mod exec;
mod node;
mod rule;
mod scan;
mod table;

pub(crate) use exec::reads_a_step;
pub(crate) use node::{Recursion, RecursionPlanner};
pub(crate) use rule::StepsInOnePart;
pub(crate) use table::WorkTable;
