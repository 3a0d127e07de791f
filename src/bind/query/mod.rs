//! Queries: what they read from, give, and are grouped and sorted by.
//!
//! ```text
//!     bound, changes   queries that are bound; statements that change rows
//!     select           a query as a whole
//!     level            one query while it is being bound
//!     from, join       the range table, and what of it can be named
//!     range_function   functions that are read from
//!     sample           TABLESAMPLE
//!     values           VALUES
//!     target           target lists; column_name: what columns without a name are called
//!     sort, group      ORDER BY, DISTINCT and GROUP BY
//!     ungrouped        what a grouped query may give
//!     windows          window definitions
//!     set_operation    UNION, INTERSECT, EXCEPT
//!     with, recursion  WITH
//!     locks            FOR UPDATE
//!     walk             walking through what is bound
//!     reads            the relations that a query reads
//! ```

pub mod bound;
pub mod changes;
mod column_name;
mod from;
mod group;
mod join;
mod level;
mod locks;
mod range_function;
mod reads;
mod recursion;
mod sample;
mod select;
mod set_operation;
mod sort;
mod target;
mod trace;
mod ungrouped;
mod values;
mod walk;
mod windows;
mod with;

pub use self::bound::{Busy, LockStrength};
pub(crate) use self::from::{Alias, columns_of, name_parts};
pub(crate) use self::group::row_items;
pub use self::group::{DISTINCT_SETS, EMPTY_SET, GROUPING_SETS};
pub(crate) use self::level::{Context, Level};
pub use self::locks::{LOCK_MARK, LockingClause, Replacement};
pub use self::range_function::ROWS_FROM;
pub use self::reads::ReadColumns;
pub(crate) use self::select::{Parts, Purpose, bind_parts};
pub use self::trace::{CYCLE, SEARCH_BREADTH, SEARCH_DEPTH};
pub(crate) use self::values::{bind_rows, bind_value};
pub use self::windows::EXCLUSIONS;
pub(crate) use self::with::{Withs, bind_with};
