//! Functions and operators on arrays.

mod change;
mod compare;
mod dimensions;
mod lists;
mod quantified;
mod search;
mod series;
mod subscript;

pub(super) use self::quantified::Quantifier;
use super::signature::Overload;

pub(super) static FUNCTIONS: &[&[Overload]] = &[
    change::FUNCTIONS,
    compare::FUNCTIONS,
    dimensions::FUNCTIONS,
    quantified::FUNCTIONS,
    search::FUNCTIONS,
    series::FUNCTIONS,
    subscript::FUNCTIONS,
];
