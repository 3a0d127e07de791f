//! PostgreSQL 15's functions on values.
//!
//! Each family is a table of [`Overload`]s, as in `pg_proc`. Which of them a call means follows from PostgreSQL's rules
//! ([`resolve`]); a function makes a whole column at once ([`Call`]).

mod arrays;
mod call;
mod column_size;
mod datetime;
mod formatting;
mod json;
mod math;
mod misc;
mod moments;
mod regex;
mod resolve;
mod signature;
mod strings;
mod text_writer;

use std::collections::BTreeMap;
use std::sync::LazyLock;

pub use self::arrays::lengths as array_lengths;
pub use self::call::{Argument, Call};
pub use self::json::sort_key as jsonb_sort_key;
pub use self::moments::Moments;
pub use self::resolve::{Asked, Resolved, missing};
pub use self::signature::{Arguments, Overload, Type, Volatility};
use crate::error::SqlResult;
use crate::sql_type::SqlType;

/// Every function here, by name.
static FUNCTIONS: LazyLock<BTreeMap<&'static str, Vec<&'static Overload>>> = LazyLock::new(|| {
    let mut by_name: BTreeMap<&'static str, Vec<&'static Overload>> = BTreeMap::new();
    let families = [
        arrays::FUNCTIONS,
        datetime::FUNCTIONS,
        formatting::FUNCTIONS,
        json::FUNCTIONS,
        math::FUNCTIONS,
        regex::FUNCTIONS,
        strings::FUNCTIONS,
        &[misc::FUNCTIONS, column_size::FUNCTIONS],
    ];
    for overload in families.into_iter().flatten().copied().flatten() {
        by_name.entry(overload.name).or_default().push(overload);
    }
    by_name
});

/// The name, if there are functions of it.
pub fn known(name: &str) -> Option<&'static str> {
    FUNCTIONS.get_key_value(name).map(|(name, _)| *name)
}

/// The function that a name means for arguments of these types, `Unknown` for a literal without one.
///
/// # Errors
/// 42883 when none takes them, 42725 when several do and none is better than the others.
pub fn choose(name: &str, given: &[SqlType]) -> SqlResult<Resolved> {
    let overloads = FUNCTIONS.get(name).map_or(&[][..], Vec::as_slice);
    resolve::resolve(name, overloads, given)
}
