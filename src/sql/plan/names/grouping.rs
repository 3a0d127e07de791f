//! What a grouped query may show: what it is grouped by, aggregates, and columns that a grouped primary key determines.

use std::ops::ControlFlow;

use sqlparser::ast::{Expr, Query, Value, VisitorMut};
use tablegate_types::error::{ErrorKind, SqlError};

use super::Resolver;
use super::scope::{Place, Scope};
use super::whole_row::MARKER;
use crate::syntax;
use crate::syntax::walk_mut;

/// Looks through the expressions of one grouped select.
pub(super) struct Check<'c, 'a> {
    resolver: &'c Resolver<'a>,
    scope: &'c Scope,
    groups: &'c [Expr],
    /// Columns that are not grouped, but determined by those that are. One that is not is among them as well: so the rest of
    /// the query is still looked at.
    determined: Vec<Expr>,
    /// What the query is refused for, if nothing else is wrong with it.
    refused: Option<Box<SqlError>>,
}

impl<'c, 'a> Check<'c, 'a> {
    pub(super) fn new(resolver: &'c Resolver<'a>, scope: &'c Scope, groups: &'c [Expr]) -> Self {
        Self { resolver, scope, groups, determined: Vec::new(), refused: None }
    }

    pub(super) fn expr(&mut self, expr: &Expr) {
        let mut walk = Walk { check: self, depth: 0 };
        // The walk leaves nothing in the place of what is grouped, so as not to look into it.
        let _ = walk_mut(&mut expr.clone(), &mut walk);
    }

    /// What else to group by, and 42803 naming the first column that is not grouped.
    pub(super) fn finish(self) -> (Vec<Expr>, Option<Box<SqlError>>) {
        (self.determined, self.refused)
    }

    fn column(&mut self, table: &str, column: &str) {
        let Some(source) = self.scope.source(table) else { return };
        let is_grouped = |key: &String| {
            let places = source.columns.iter().filter(|c| c.name == *key).map(|c| &c.place);
            places.into_iter().any(|place| match place {
                Place::Column { table, column } => self.groups.contains(&syntax::column(table, column)),
                Place::Merged(_) => false,
            })
        };
        let is_determined = !source.key.is_empty() && source.key.iter().all(is_grouped);
        let determined = syntax::column(table, column);
        if !self.determined.contains(&determined) {
            self.determined.push(determined);
        }
        if is_determined || self.refused.is_some() {
            return;
        }
        let shown =
            source.columns.iter().find(|c| matches!(&c.place, Place::Column { column: own, .. } if own == column));
        let name = if column == MARKER { "*" } else { shown.map_or(column, |c| c.name.as_str()) };
        let message =
            format!("column \"{table}.{name}\" must appear in the GROUP BY clause or be used in an aggregate function");
        self.refused = Some(SqlError::new(ErrorKind::Grouping, message));
    }
}

struct Walk<'w, 'c, 'a> {
    check: &'w mut Check<'c, 'a>,
    depth: usize,
}

impl VisitorMut for Walk<'_, '_, '_> {
    type Break = ();

    fn pre_visit_query(&mut self, _query: &mut Query) -> ControlFlow<Self::Break> {
        // What a sub-query takes from here is looked at when it is planned.
        self.depth += 1;
        ControlFlow::Continue(())
    }

    fn post_visit_query(&mut self, _query: &mut Query) -> ControlFlow<Self::Break> {
        self.depth -= 1;
        ControlFlow::Continue(())
    }

    fn pre_visit_expr(&mut self, expr: &mut Expr) -> ControlFlow<Self::Break> {
        if self.depth > 0 {
            return ControlFlow::Continue(());
        }
        let is_settled = match expr {
            Expr::Function(function) => self.check.resolver.is_aggregate(function) || self.check.groups.contains(expr),
            _ => self.check.groups.contains(expr),
        };
        if is_settled {
            *expr = syntax::value(Value::Null);
            return ControlFlow::Continue(());
        }
        if let Expr::CompoundIdentifier(parts) = &*expr
            && let [table, column] = parts.as_slice()
        {
            self.check.column(&table.value, &column.value);
        }
        ControlFlow::Continue(())
    }
}
