//! `SELECT set_config('a.b', '1', false), current_setting('a.b')`: what is set shows in what is computed after it.
//!
//! Elsewhere a setting is the same for the whole statement, and computed before anything is read: predicates on it find
//! keys. So only beside `set_config` it is asked for row by row.

use std::ops::ControlFlow;

use sqlparser::ast::{Expr, Ident, ObjectName, Query, Visitor, VisitorMut};

use crate::syntax::{fold, walk, walk_mut};

/// The function under which a setting is asked for row by row.
pub(crate) const SETTING_BY_ROW: &str = "current setting by row";

/// Asks for settings row by row where the query sets some.
pub(super) fn asked(query: &mut Query) {
    if walk(query, &mut Sets).is_break() {
        let _ = walk_mut(query, &mut Asks);
    }
}

fn is_named(name: &ObjectName, wanted: &str) -> bool {
    name.0.last().and_then(|part| part.as_ident()).is_some_and(|ident| fold(ident) == wanted)
}

struct Sets;

impl Visitor for Sets {
    type Break = ();

    fn pre_visit_expr(&mut self, expr: &Expr) -> ControlFlow<()> {
        match expr {
            Expr::Function(function) if is_named(&function.name, "set_config") => ControlFlow::Break(()),
            _ => ControlFlow::Continue(()),
        }
    }
}

struct Asks;

impl VisitorMut for Asks {
    type Break = ();

    fn pre_visit_expr(&mut self, expr: &mut Expr) -> ControlFlow<()> {
        if let Expr::Function(function) = expr
            && is_named(&function.name, "current_setting")
        {
            function.name = ObjectName::from(vec![Ident::with_quote('"', SETTING_BY_ROW)]);
        }
        ControlFlow::Continue(())
    }
}
