//! Functions and operators on arrays.

mod assign;
mod change;
mod compare;
mod dimensions;
mod lists;
mod search;
mod series;
mod subscript;
mod vectors;

pub use self::dimensions::lengths;
use super::signature::Overload;

pub(super) static FUNCTIONS: &[&[Overload]] = &[
    assign::FUNCTIONS,
    change::FUNCTIONS,
    compare::FUNCTIONS,
    dimensions::FUNCTIONS,
    search::FUNCTIONS,
    series::FUNCTIONS,
    subscript::FUNCTIONS,
    vectors::FUNCTIONS,
];
