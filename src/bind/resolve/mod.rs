//! Which operator or function is meant, by PostgreSQL's own steps.
//!
//! ```text
//!     candidates   the best of several that take the operands
//!     operator     operators, and expressions of them
//!     function     functions: by position, by name, with defaults and lists written out
//! ```

mod candidates;
mod function;
mod operator;

pub(crate) use self::candidates::Unresolved;
pub(crate) use self::function::{Asked, Chosen, Fit, signature};
