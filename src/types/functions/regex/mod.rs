//! Regular expressions: PostgreSQL's syntax, and the matches POSIX asks for.

mod find;
mod matches;
mod options;
mod pattern;
mod replace;
mod similar;
mod split;
mod translate;

use super::signature::Overload;

pub(super) static FUNCTIONS: &[&[Overload]] =
    &[find::FUNCTIONS, replace::FUNCTIONS, similar::FUNCTIONS, split::FUNCTIONS];
