//! Walks through a syntax tree that are compiled once.
//!
//! The parser's `visit` is generic over the visitor, so each visitor would bring a copy of a walk through the whole grammar:
//! hundreds of functions. [`walk`] and [`walk_mut`] hand the parser one visitor, which calls the real one's hooks by `dyn`.

use std::ops::ControlFlow;

use sqlparser::ast::{
    Expr, ObjectName, Query, Select, Statement, TableFactor, ValueWithSpan, Visit, VisitMut, Visitor, VisitorMut,
};

/// Calls `visitor`'s hooks for `part` and all that is in it, until one breaks.
pub(crate) fn walk<V: Visitor>(part: &impl Visit, visitor: &mut V) -> ControlFlow<V::Break> {
    let mut kept = Kept { visitor, broke: None };
    let _ = part.visit(&mut Erased(&mut kept));
    kept.broke.map_or(ControlFlow::Continue(()), ControlFlow::Break)
}

/// [`walk`] for a visitor that changes what it visits.
pub(crate) fn walk_mut<V: VisitorMut>(part: &mut impl VisitMut, visitor: &mut V) -> ControlFlow<V::Break> {
    let mut kept = KeptMut { visitor, broke: None };
    let _ = part.visit(&mut ErasedMut(&mut kept));
    kept.broke.map_or(ControlFlow::Continue(()), ControlFlow::Break)
}

/// For `$visitor`: `$kept`, a visitor beside what it broke with; `$hooks`, its hooks without their type; `$erased`, the one
/// visitor that the parser sees.
macro_rules! erase {
    ($visitor:ident, $kept:ident, $hooks:ident, $erased:ident, $($hook:ident($node:ty);)*) => {
        struct $kept<'a, V: $visitor> {
            visitor: &'a mut V,
            broke: Option<V::Break>,
        }

        /// Each hook tells whether the walk stops.
        trait $hooks {
            $(fn $hook(&mut self, node: $node) -> bool;)*
        }

        impl<V: $visitor> $hooks for $kept<'_, V> {
            $(fn $hook(&mut self, node: $node) -> bool {
                self.broke = self.visitor.$hook(node).break_value();
                self.broke.is_some()
            })*
        }

        struct $erased<'a>(&'a mut dyn $hooks);

        impl $visitor for $erased<'_> {
            type Break = ();

            $(fn $hook(&mut self, node: $node) -> ControlFlow<()> {
                if self.0.$hook(node) { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
            })*
        }
    };
}

erase! {
    Visitor, Kept, Hooks, Erased,
    pre_visit_query(&Query);
    post_visit_query(&Query);
    pre_visit_select(&Select);
    post_visit_select(&Select);
    pre_visit_relation(&ObjectName);
    post_visit_relation(&ObjectName);
    pre_visit_table_factor(&TableFactor);
    post_visit_table_factor(&TableFactor);
    pre_visit_expr(&Expr);
    post_visit_expr(&Expr);
    pre_visit_statement(&Statement);
    post_visit_statement(&Statement);
    pre_visit_value(&ValueWithSpan);
    post_visit_value(&ValueWithSpan);
}

erase! {
    VisitorMut, KeptMut, HooksMut, ErasedMut,
    pre_visit_query(&mut Query);
    post_visit_query(&mut Query);
    pre_visit_select(&mut Select);
    post_visit_select(&mut Select);
    pre_visit_relation(&mut ObjectName);
    post_visit_relation(&mut ObjectName);
    pre_visit_table_factor(&mut TableFactor);
    post_visit_table_factor(&mut TableFactor);
    pre_visit_expr(&mut Expr);
    post_visit_expr(&mut Expr);
    pre_visit_statement(&mut Statement);
    post_visit_statement(&mut Statement);
    pre_visit_value(&mut ValueWithSpan);
    post_visit_value(&mut ValueWithSpan);
}
