//! A query only reads: a change that stands in the place of one is refused before it is planned.

use std::ops::ControlFlow;

use sqlparser::ast::{Query, SetExpr, Visitor};
use tablegate_types::error::{ErrorKind, SqlError, SqlResult};

use crate::syntax::walk;

/// A change may be a statement, or stand in the WITH clause of one. The code that runs those has taken it out before.
///
/// # Errors
/// 0A000 for a change anywhere in the query.
pub(super) fn only_reads(query: &Query) -> SqlResult<()> {
    if is_change(query) {
        return Err(SqlError::not_supported("a change of rows in the place of a query")
            .with_hint("Run it as a statement of its own, with RETURNING."));
    }
    match walk(query, &mut Changes) {
        ControlFlow::Continue(()) => Ok(()),
        ControlFlow::Break(()) => {
            let message = "WITH clause containing a data-modifying statement must be at the top level";
            Err(SqlError::new(ErrorKind::FeatureNotSupported, message))
        }
    }
}

struct Changes;

impl Visitor for Changes {
    type Break = ();

    fn pre_visit_query(&mut self, query: &Query) -> ControlFlow<()> {
        if is_change(query) { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    }
}

fn is_change(query: &Query) -> bool {
    matches!(&*query.body, SetExpr::Insert(_) | SetExpr::Update(_) | SetExpr::Delete(_) | SetExpr::Merge(_))
}
