//! Syntax of PostgreSQL that sqlparser does not read. It is removed from the tokens, or parsed from them, before
//! sqlparser sees them.
//!
//! ```text
//!     words          a command read word by word
//!     refused        commands that are not done here
//!     absent         DROP ... IF EXISTS of kinds of which there are none
//!     comment, copy, cursor, explain, grant, prepare, role, sequence, set_config, transaction, utility
//!                    commands that are read so
//!     alter, change, column_values, create_as, like, overriding, row_locks, storage
//!                    parts of statements whose rest sqlparser reads
//!     respell, fetch_first, grouped_queries, operators, plain, set_forms, signs, unicode
//!                    spellings for which it has others
//!     names          words that it keeps from being names
//!     not_done       forms for which nothing stands
//! ```

mod absent;
pub(crate) mod alter;
pub(crate) mod change;
pub(crate) mod column_values;
pub(crate) mod comment;
pub(crate) mod copy;
pub(crate) mod create_as;
pub(crate) mod cursor;
pub(crate) mod explain;
pub(crate) mod fetch_first;
pub(crate) mod grant;
mod grouped_queries;
pub(crate) mod item_assignment;
pub(crate) mod like;
mod named_records;
pub(crate) mod names;
pub(crate) mod not_done;
pub(crate) mod operators;
pub(crate) mod overriding;
pub(crate) mod plain;
pub(crate) mod prepare;
pub(crate) mod refused;
pub(crate) mod respell;
pub(crate) mod role;
pub(crate) mod row_locks;
mod search_cycle;
pub(crate) mod sequence;
pub(crate) mod set_config;
pub(crate) mod set_forms;
pub(crate) mod signs;
pub(crate) mod storage;
pub(crate) mod transaction;
pub(crate) mod unicode;
pub(crate) mod utility;
pub(crate) mod words;
