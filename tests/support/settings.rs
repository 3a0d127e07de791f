//! What the environment says of a run: how long it takes, and which cases it makes.

use std::env;
use std::str::FromStr;
use std::time::{SystemTime, UNIX_EPOCH};

/// A number of the environment, or what holds without it.
pub(crate) fn setting<T: FromStr>(name: &str, otherwise: T) -> T {
    let given = env::var(name).ok();
    given.map_or(otherwise, |text| text.parse().unwrap_or_else(|_| panic!("{name} is {text:?}, not a number")))
}

/// Seconds since 1970: other cases each time.
#[allow(clippy::disallowed_methods, reason = "the run says its seed, and can be repeated with it")]
pub(crate) fn todays_seed() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs())
}
