//! The text that is a view's query.

use tablegate_bind::ParsedQuery;
use tablegate_types::error::{ErrorKind, SqlError, SqlResult};

use super::View;
use crate::syntax::{Command, parse};

/// The query of a view, parsed.
///
/// # Errors
/// XX001 when its text is no query.
pub(crate) fn query_of(view: &View) -> SqlResult<ParsedQuery> {
    let damaged = || {
        let message = format!("the query of view \"{}\" cannot be read", view.name);
        SqlError::new(ErrorKind::DataCorrupted, message)
    };
    match parse(&view.query).map_err(|_| damaged())?.pop().map(|statement| statement.command) {
        Some(Command::Query(query)) => Ok(*query),
        _ => Err(damaged()),
    }
}
