//! PostgreSQL 15's functions, in place of DataFusion's of the same names.
//!
//! Each family is a table of [`signature::Overload`]s, as in `pg_proc`. Which of them a call means follows from PostgreSQL's
//! rules ([`resolve`]); the pass that types expressions asks for it and converts the arguments, and the function makes a
//! whole column at once ([`call`]). Functions that answer from the catalogue or the session are in `pg_catalog::functions`.

mod arrays;
mod call;
mod collected;
mod column_size;
mod datetime;
mod formatting;
mod hypothetical;
mod json;
mod math;
mod misc;
mod moments;
mod regex;
mod resolve;
mod sets;
mod signature;
mod simplify;
mod strings;
mod syntax;
mod text_writer;
mod udf;

use std::collections::BTreeMap;
use std::sync::LazyLock;

pub(super) use self::json::sort_key as jsonb_sort_key;
pub(super) use self::moments::Moments;
pub(super) use self::resolve::{Asked, missing as missing_function};
pub(super) use self::sets::{Sets, column_names};
use self::signature::Overload;
pub(super) use self::syntax::rewrite;
pub(super) use self::udf::{Choice, Known};
use super::error::SqlResult;
use super::types::SqlType;

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
pub(super) fn known(name: &str) -> Option<&'static str> {
    FUNCTIONS.get_key_value(name).map(|(name, _)| *name)
}

/// The function that a name means for arguments of these types, `Unknown` for a literal without one.
///
/// # Errors
/// 42883 when none takes them, 42725 when several do and none is better than the others.
pub(super) fn choose(name: &str, given: &[SqlType]) -> SqlResult<Choice> {
    let overloads = FUNCTIONS.get(name).map_or(&[][..], Vec::as_slice);
    resolve::resolve(name, overloads, given).map(Choice::new)
}
