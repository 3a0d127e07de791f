//! Forms of SQL that catalogue queries use and the planner does not take, turned into ones it takes.
//!
//! Spelling ([`spelling`]), casts to types that name objects ([`casts`]) and arrays ([`arrays`]) are turned wherever
//! they stand. Sub-queries ([`subqueries`], [`unreached`]) only in queries that read system relations: there it is
//! known that they give at most one row, and which relations are empty.

mod arrays;
mod casts;
mod collection;
mod forms;
mod partitions;
mod recursion;
mod relations_of_functions;
mod scopes;
mod spelling;
mod subqueries;
mod true_types;
mod unreached;

use std::borrow::Cow;
use std::ops::ControlFlow;

use sqlparser::ast::{Expr, Ident, ObjectName, Query, Select, SelectItem, TableFactor, Visitor, VisitorMut};
use tablegate_types::error::{SqlError, SqlResult};

use self::scopes::Scope;
use super::{functions, layout};
use crate::syntax::{fold, label_of, walk, walk_mut};

/// A query in which functions that give a system relation are that relation.
pub(super) fn with_relations(query: &Query) -> Cow<'_, Query> {
    relations_of_functions::named(query)
}

/// # Errors
/// 0A000 for a form that cannot be turned.
pub(super) fn rewrite(query: &mut Query) -> SqlResult<()> {
    let mut rewriter = Rewriter { reads_system: reads_system_relations(query), scopes: Vec::new() };
    match walk_mut(query, &mut rewriter) {
        ControlFlow::Continue(()) => Ok(()),
        ControlFlow::Break(error) => Err(error),
    }
}

/// Whether a function of the catalogue is called, or a name cast to what it names.
pub(super) fn asks_the_catalog(query: &Query) -> bool {
    struct Asks;
    impl Visitor for Asks {
        type Break = ();
        fn pre_visit_expr(&mut self, expr: &Expr) -> ControlFlow<()> {
            let asks = match expr {
                Expr::Function(function) => functions::is_known(&forms::last_name(&function.name)),
                Expr::Cast { data_type, .. } => casts::names_objects(data_type),
                _ => false,
            };
            if asks { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
        }
    }
    walk(query, &mut Asks).is_break()
}

fn reads_system_relations(query: &Query) -> bool {
    struct Reads;
    impl Visitor for Reads {
        type Break = ();
        fn pre_visit_relation(&mut self, relation: &ObjectName) -> ControlFlow<()> {
            if layout_of(relation).is_some() { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
        }
    }
    walk(query, &mut Reads).is_break()
}

/// The system relation that a name in FROM means.
fn layout_of(name: &ObjectName) -> Option<&'static layout::Layout> {
    let parts: Vec<String> = name.0.iter().filter_map(|p| p.as_ident()).map(fold).collect();
    match parts.as_slice() {
        [table] => layout::find(None, table),
        [schema, table] | [_, schema, table] => layout::find(Some(schema), table),
        _ => None,
    }
}

struct Rewriter {
    reads_system: bool,
    /// The system relations around the place being visited, innermost last.
    scopes: Vec<Scope>,
}

impl VisitorMut for Rewriter {
    type Break = Box<SqlError>;

    fn pre_visit_select(&mut self, select: &mut Select) -> ControlFlow<Self::Break> {
        keep_labels(&mut select.projection);
        self.scopes.push(Scope::of(select));
        if self.reads_system {
            unreached::drop_from_projection(select);
            subqueries::spell_out_exists(&mut select.projection);
        }
        ControlFlow::Continue(())
    }

    fn post_visit_select(&mut self, _select: &mut Select) -> ControlFlow<Self::Break> {
        self.scopes.pop();
        ControlFlow::Continue(())
    }

    fn pre_visit_table_factor(&mut self, factor: &mut TableFactor) -> ControlFlow<Self::Break> {
        spelling::table_function(factor);
        ControlFlow::Continue(())
    }

    fn pre_visit_expr(&mut self, expr: &mut Expr) -> ControlFlow<Self::Break> {
        if self.reads_system {
            scopes::table_oid(expr, &self.scopes);
            partitions::expression(expr);
            true_types::expression(expr);
            recursion::expression(expr);
        }
        spelling::expression(expr);
        if let Err(error) = spelling::check_collation(expr) {
            return ControlFlow::Break(error);
        }
        casts::expression(expr);
        arrays::expression(expr, self.reads_system);
        if self.reads_system {
            subqueries::at_most_one_row(expr);
        }
        ControlFlow::Continue(())
    }
}

/// Computed columns get PostgreSQL's label before their expressions change.
fn keep_labels(projection: &mut [SelectItem]) {
    for item in projection {
        let SelectItem::UnnamedExpr(expr) = item else { continue };
        spelling::field_access(expr);
        let is_column = matches!(expr, Expr::Identifier(_) | Expr::CompoundIdentifier(_));
        if is_column && !scopes::is_table_oid(expr) {
            continue;
        }
        let label = label_of(expr).unwrap_or_else(|| "?column?".to_owned());
        let expr = forms::take(expr);
        *item = SelectItem::ExprWithAlias { expr, alias: Ident::with_quote('"', label) };
    }
}
