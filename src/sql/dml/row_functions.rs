//! Functions that give rows, where a statement writes them out.

use std::ops::ControlFlow;

use sqlparser::ast::{Expr, Query, Visit, Visitor};

use crate::expr::set_columns;

/// Whether an expression calls such a function itself: what queries inside of it read is theirs.
pub(super) fn gives_rows<N: Visit>(node: &N) -> bool {
    node.visit(&mut Finder { queries: 0 }).is_break()
}

struct Finder {
    /// Queries that are gone into.
    queries: usize,
}

impl Visitor for Finder {
    type Break = ();

    fn pre_visit_query(&mut self, _query: &Query) -> ControlFlow<()> {
        self.queries += 1;
        ControlFlow::Continue(())
    }

    fn post_visit_query(&mut self, _query: &Query) -> ControlFlow<()> {
        self.queries -= 1;
        ControlFlow::Continue(())
    }

    fn pre_visit_expr(&mut self, expr: &Expr) -> ControlFlow<()> {
        let is_one = match expr {
            Expr::Function(function) if self.queries == 0 => {
                let name = function.name.0.last().and_then(|part| part.as_ident());
                name.is_some_and(|name| set_columns(&name.value.to_lowercase()).is_some())
            }
            _ => false,
        };
        if is_one { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    }
}
