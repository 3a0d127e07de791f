//! The text that is a view's query.

use sqlparser::ast::{Ident, Query};
use tablegate_types::error::{ErrorKind, SqlError, SqlResult};
use tablegate_types::quoting::quote_ident;

use super::View;
use crate::syntax::dialect::respell::SYMMETRIC;
use crate::syntax::{Command, parse};

/// The query of a view, parsed.
///
/// # Errors
/// XX001 when its text is no query.
pub(crate) fn query_of(view: &View) -> SqlResult<Query> {
    let damaged = || {
        let message = format!("the query of view \"{}\" cannot be read", view.name);
        SqlError::new(ErrorKind::DataCorrupted, message)
    };
    match parse(&view.query).map_err(|_| damaged())?.pop().map(|statement| statement.command) {
        Some(Command::Query(query)) => Ok(*query),
        _ => Err(damaged()),
    }
}

/// A query's text, as it is kept.
pub(crate) fn text_of(query: &Query) -> String {
    // What the parser reads in place of SYMMETRIC.
    query.to_string().replace(&format!("\"{SYMMETRIC}\" || "), "SYMMETRIC ")
}

/// A name as an identifier, quoted where it must be.
pub(crate) fn ident(name: &str) -> Ident {
    if quote_ident(name) == name { Ident::new(name) } else { Ident::with_quote('"', name) }
}
