//! Views: queries with a name.
//!
//! A view is kept as its query's text in which nothing is left to chance: `*` is spelled out, relations have their schemas
//! and columns their relations ([`fixed`]), so that a column added to a table later changes nothing. Where a statement
//! reads it, the query takes its place like a sub-query, and predicates go through it to the keys of its tables.

mod dependents;
mod fixed;
mod from;
mod renaming;
mod scope;

use sqlparser::ast::{Ident, Query};
use tablegate_types::error::{ErrorKind, SqlError, SqlResult};
use tablegate_types::quoting::quote_ident;

use super::catalog::View;
use crate::syntax::dialect::respell::SYMMETRIC;
use crate::syntax::{Command, parse};
pub(super) use dependents::{Dependent, Needed, cascades, dependents_of, needed_by_views};
pub(super) use fixed::{ColumnRenaming, fix};
pub(super) use renaming::{in_schema, label, rename_relation};

/// Most views that lie on top of each other: each is a sub-query more to plan.
pub(super) const MOST_LEVELS: usize = 16;

/// The query of a view, parsed.
///
/// # Errors
/// XX001 when its text is no query.
pub(super) fn query_of(view: &View) -> SqlResult<Query> {
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
pub(super) fn text_of(query: &Query) -> String {
    // What the parser reads in place of SYMMETRIC.
    query.to_string().replace(&format!("\"{SYMMETRIC}\" || "), "SYMMETRIC ")
}

/// A name as an identifier, quoted where it must be.
fn ident(name: &str) -> Ident {
    if quote_ident(name) == name { Ident::new(name) } else { Ident::with_quote('"', name) }
}
