//! `$filter`: read, checked, and evaluated with the service's own logic.
//!
//! The logic has two values. A comparison with a property that an entity lacks is false, `ne` too, so `not (p eq 1)` is
//! true of an entity without `p`. Only like is compared with like: a constant is widened to the property's type (Int32
//! to Int64 and Double, Int64 to Double) and never narrowed; of two types that do not meet only `ne` is true.
//!
//! ```text
//! lexer    words, constants, parentheses, each with where it ends
//! parser   tokens into a Filter, of bounded depth and at most 15 comparisons
//! eval     whether it is true of an entity
//! keys     in which ranges of keys it can be true
//! hint     what a store may leave out
//! ```

mod eval;
mod hint;
mod keys;
mod lexer;
mod parser;
#[cfg(test)]
mod tests;

use tablegate_store::model::EdmValue;
pub(crate) use tablegate_store::table::predicate::CompareOp;

pub(crate) use self::eval::Values;
pub(crate) use self::keys::ranges;
pub(crate) use self::lexer::parse_guid;
use crate::error::RestResult;

/// What is asked of entities.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Filter {
    All(Vec<Filter>),
    Any(Vec<Filter>),
    Not(Box<Filter>),
    Compare(Comparison),
    /// `true` or `false`.
    Constant(bool),
}

/// A property and a constant.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Comparison {
    pub property: Property,
    pub op: CompareOp,
    pub constant: EdmValue,
}

/// What is compared.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Property {
    PartitionKey,
    RowKey,
    Timestamp,
    Custom(String),
}

impl Filter {
    /// Reads a filter; `None` for an empty text, which asks nothing.
    ///
    /// # Errors
    /// Says where the text is none, or what the service does not take.
    pub(crate) fn parse(text: &str) -> RestResult<Option<Self>> {
        if text.trim().is_empty() { Ok(None) } else { parser::parse(text).map(Some) }
    }
}

impl Property {
    pub(crate) fn of(name: &str) -> Self {
        match name {
            "PartitionKey" => Property::PartitionKey,
            "RowKey" => Property::RowKey,
            "Timestamp" => Property::Timestamp,
            other => Property::Custom(other.to_owned()),
        }
    }
}
