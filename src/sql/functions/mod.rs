//! Calls that are no plain calls, brought into forms that can be planned: sets of rows, and aggregates whose arguments are
//! collected first.

mod collected;
mod hypothetical;
mod sets;
mod syntax;

pub(super) use self::sets::{Sets, column_names};
pub(super) use self::syntax::rewrite;
