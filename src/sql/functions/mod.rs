//! Brings special calls into forms that can be planned: functions that return sets of rows, and aggregates that need
//! all their arguments at once.

mod collected;
mod hypothetical;
mod sets;
mod syntax;

pub(super) use self::sets::{Sets, column_names};
pub(super) use self::syntax::rewrite;
