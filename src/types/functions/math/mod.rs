//! Mathematical functions.
//!
//! Those of double precision are the processor's and libm's. Those of `numeric` are exact where PostgreSQL's are, and
//! else have as many digits as PostgreSQL's.

mod buckets;
mod degrees;
mod division;
mod fixed_point;
mod floats;
mod numerics;
mod powers_of_ten;
mod rounding;
mod scales;

use super::signature::Overload;

pub(super) static FUNCTIONS: &[&[Overload]] = &[
    buckets::FUNCTIONS,
    degrees::FUNCTIONS,
    division::FUNCTIONS,
    floats::FUNCTIONS,
    numerics::FUNCTIONS,
    rounding::FUNCTIONS,
    scales::FUNCTIONS,
];
