//! Functions and operators on json and jsonb.
//!
//! Both are text here: json as it was written, jsonb in the one form PostgreSQL prints it in. So a part of a value is a part
//! of its text ([`cursor`]), and what is put together of parts of jsonb is jsonb again.

mod access;
mod aggregate;
mod build;
mod change;
mod compare;
mod cursor;
mod reshape;
mod sets;
mod sort_key;
mod write;

pub use self::sort_key::sort_key;
use super::signature::Overload;

pub(super) static FUNCTIONS: &[&[Overload]] = &[
    access::FUNCTIONS,
    aggregate::FUNCTIONS,
    build::FUNCTIONS,
    change::FUNCTIONS,
    compare::FUNCTIONS,
    reshape::FUNCTIONS,
    sets::FUNCTIONS,
];
