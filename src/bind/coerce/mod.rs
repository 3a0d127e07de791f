//! How a value of one type becomes one of another, after PostgreSQL's rules.
//!
//! ```text
//!     pathway      whether and how one type becomes another
//!     convert      expressions that do it
//!     common       the one type of several values: of a CASE, a COALESCE, an array
//!     polymorphic  any* and anycompatible*: the types that they stand for in a call
//!     orders       which values are sorted and told apart
//!     collation    by which rules a result is compared
//! ```

mod collation;
mod common;
mod convert;
mod orders;
mod pathway;
pub(crate) mod polymorphic;

pub(crate) use self::common::common_modifier;
pub(crate) use self::pathway::Pathway;
