//! Functions on text and bytea.

mod bytes;
mod characters;
mod concat;
mod encoding;
mod fill;
mod format;
mod hash;
mod joined;
mod like_escape;
mod measure;
mod parts;
mod quote;
mod split;
mod substring;
mod trim;
mod unicode;

pub(super) use self::measure::int4;
use super::signature::Overload;

pub(super) static FUNCTIONS: &[&[Overload]] = &[
    bytes::FUNCTIONS,
    characters::FUNCTIONS,
    concat::FUNCTIONS,
    encoding::FUNCTIONS,
    fill::FUNCTIONS,
    format::FUNCTIONS,
    hash::FUNCTIONS,
    joined::FUNCTIONS,
    like_escape::FUNCTIONS,
    measure::FUNCTIONS,
    parts::FUNCTIONS,
    quote::FUNCTIONS,
    split::FUNCTIONS,
    substring::FUNCTIONS,
    trim::FUNCTIONS,
    unicode::FUNCTIONS,
];
