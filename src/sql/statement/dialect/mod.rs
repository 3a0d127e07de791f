//! What PostgreSQL says and sqlparser does not read: taken off the tokens, or read from them, before it sees them.
//!
//! ```text
//!     words          a command read word by word
//!     transaction, prepare, comment, utility
//!                    commands that are read so
//!     create_as, like, overriding, change
//!                    parts of statements whose rest sqlparser reads
//!     respell        spellings for which it has others
//! ```

pub(in crate::sql) mod change;
pub(in crate::sql) mod comment;
pub(in crate::sql) mod create_as;
pub(in crate::sql) mod like;
pub(in crate::sql) mod overriding;
pub(in crate::sql) mod prepare;
pub(in crate::sql) mod respell;
pub(in crate::sql) mod transaction;
pub(in crate::sql) mod utility;
pub(in crate::sql) mod words;
