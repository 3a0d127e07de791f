//! Names in expressions, and which calls may stand in which clause.

use std::cmp::Ordering;
use std::ops::ControlFlow;

use sqlparser::ast::{Expr, Function, Query, SetExpr, Visitor, VisitorMut, WindowType};
use tablegate_types::built_in::routines;
use tablegate_types::error::{ErrorKind, SqlError, SqlResult};
use tablegate_types::interrupt;

use super::scope::Found;
use super::{Resolver, whole_row, windows};
use crate::expr::find_aggregate;
use crate::nesting::Nesting;
use crate::plan::forms::{rows, symmetric};
use crate::syntax::{fold, is_row_call, walk, walk_mut};

/// Where an expression stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Clause {
    SelectList,
    Where,
    JoinCondition,
    GroupBy,
    Having,
    OrderBy,
    DistinctOn,
    Window,
    Limit,
    Values,
    From,
}

impl Clause {
    /// The clause's name where neither aggregates nor window functions may stand.
    fn refuses_aggregates(self) -> Option<&'static str> {
        match self {
            Clause::Where => Some("WHERE"),
            Clause::JoinCondition => Some("JOIN conditions"),
            Clause::GroupBy => Some("GROUP BY"),
            Clause::Limit => Some("LIMIT"),
            Clause::Values => Some("VALUES"),
            Clause::From => Some("functions in FROM"),
            Clause::SelectList | Clause::Having | Clause::OrderBy | Clause::DistinctOn | Clause::Window => None,
        }
    }

    fn refuses_windows(self) -> Option<&'static str> {
        match self {
            Clause::Having => Some("HAVING"),
            Clause::Window => Some("window definitions"),
            other => other.refuses_aggregates(),
        }
    }
}

/// What stands in an expression.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Calls {
    /// An aggregate over the rows of the select it stands in.
    pub aggregate: bool,
}

impl Resolver<'_> {
    /// Resolves an expression in place.
    pub(super) fn expr(&mut self, expr: &mut Expr, clause: Clause) -> SqlResult<Calls> {
        let (nesting, calls) = (Nesting::default(), Calls::default());
        let mut visitor = Names { resolver: self, clause, nesting, open: Vec::new(), row_comparisons: 0, calls };
        match walk_mut(expr, &mut visitor) {
            ControlFlow::Continue(()) => Ok(visitor.calls),
            ControlFlow::Break(error) => Err(error),
        }
    }

    pub(super) fn is_aggregate(&self, function: &Function) -> bool {
        let name = function.name.0.last().and_then(|p| p.as_ident()).map(fold).unwrap_or_default();
        // Some that are not PostgreSQL's stand in queries of the catalogue that were written anew.
        let is_own = || find_aggregate(&name, None).is_some();
        function.over.is_none() && (name == "grouping" || routines::is_aggregate(&name) || is_own())
    }
}

/// One call whose arguments are being looked at.
struct OpenCall {
    is_aggregate: bool,
    is_window: bool,
    /// Whether a column of the innermost select, and of one around it, was named.
    own: bool,
    outer: bool,
}

struct Names<'r, 'a> {
    resolver: &'r mut Resolver<'a>,
    clause: Clause,
    nesting: Nesting,
    open: Vec<OpenCall>,
    /// Comparisons of rows around it: there a sub-query may have several columns.
    row_comparisons: usize,
    calls: Calls,
}

impl VisitorMut for Names<'_, '_> {
    type Break = Box<SqlError>;

    fn pre_visit_query(&mut self, query: &mut Query) -> ControlFlow<Self::Break> {
        self.nesting.enter(|| self.resolver.query(query).map(|_resolved| ()))
    }

    fn post_visit_query(&mut self, _query: &mut Query) -> ControlFlow<Self::Break> {
        self.nesting.leave()
    }

    fn pre_visit_expr(&mut self, expr: &mut Expr) -> ControlFlow<Self::Break> {
        if self.nesting.is_inside() {
            return ControlFlow::Continue(());
        }
        if let Err(stopped) = interrupt::check() {
            return ControlFlow::Break(stopped);
        }
        symmetric::expand(expr);
        self.resolver.plain_column(expr);
        whole_row::take_fields(expr);
        let opened = match expr {
            Expr::Function(function) => self.open_call(function),
            expr if compares_rows(expr) => {
                self.row_comparisons += 1;
                Ok(())
            }
            _ => Ok(()),
        };
        opened.map_or_else(ControlFlow::Break, ControlFlow::Continue)
    }

    fn post_visit_expr(&mut self, expr: &mut Expr) -> ControlFlow<Self::Break> {
        if self.nesting.is_inside() {
            return ControlFlow::Continue(());
        }
        let resolved = match expr {
            Expr::Identifier(ident) => self.resolver.bare(ident).map(|found| self.replace(expr, found)),
            Expr::CompoundIdentifier(parts) => match parts.as_slice() {
                // `schema.table.column`: tables are known by their last part.
                [.., table, column] => self.resolver.qualified(table, column).map(|found| self.replace(expr, found)),
                _ => Ok(()),
            },
            Expr::QualifiedWildcard(name, _) => {
                let alias = whole_row::table_of(name);
                let found = self.resolver.whole_row(&alias);
                let missing = || self.resolver.missing_table(&alias);
                let found = found.and_then(|found| found.ok_or_else(missing));
                found.map(|found| self.replace(expr, Some(found)))
            }
            Expr::Function(function) if is_row_call(function) => {
                self.resolver.spell_out(function).and_then(|()| self.close_call())
            }
            Expr::Function(_) => self.close_call(),
            Expr::Subquery(query) if self.row_comparisons == 0 && width(query).is_some_and(|w| w > 1) => {
                Err(SqlError::new(ErrorKind::Syntax, "subquery must return only one column"))
            }
            Expr::InSubquery { expr: operand, subquery, .. } if let Some(width) = width(subquery) => {
                check_width(rows::row_of(operand).map_or(1, |row| row.len()), width)
                    .and_then(|()| rows::expand(expr, &mut || self.resolver.next_alias()))
            }
            expr if compares_rows(expr) => {
                self.row_comparisons -= 1;
                rows::expand(expr, &mut || self.resolver.next_alias())
            }
            _ => rows::expand(expr, &mut || self.resolver.next_alias()),
        };
        resolved.map_or_else(ControlFlow::Break, ControlFlow::Continue)
    }
}

impl Names<'_, '_> {
    fn replace(&mut self, expr: &mut Expr, found: Option<Found>) {
        let Some(Found { levels_out, expr: column }) = found else { return };
        for call in &mut self.open {
            call.own |= levels_out == 0;
            call.outer |= levels_out > 0;
        }
        *expr = column;
    }

    fn open_call(&mut self, function: &mut Function) -> SqlResult<()> {
        let is_aggregate = self.resolver.is_aggregate(function);
        let is_window = function.over.is_some();
        let known = self.resolver.scopes.last().map(|s| s.windows.as_slice()).unwrap_or_default();
        match &mut function.over {
            Some(WindowType::NamedWindow(name)) => *name = windows::name_of(known, name)?,
            Some(WindowType::WindowSpec(spec)) => windows::extend(known, spec)?,
            None => {}
        }
        if is_window {
            if let Some(place) = self.clause.refuses_windows() {
                return Err(windowing(format!("window functions are not allowed in {place}")));
            }
            if self.open.iter().any(|c| c.is_window) {
                return Err(windowing("window function calls cannot be nested"));
            }
            if self.open.iter().any(|c| c.is_aggregate) {
                return Err(grouping("aggregate function calls cannot contain window function calls"));
            }
        }
        if is_aggregate && self.open.iter().any(|c| c.is_aggregate) {
            return Err(grouping("aggregate function calls cannot be nested"));
        }
        self.open.push(OpenCall { is_aggregate, is_window, own: false, outer: false });
        Ok(())
    }

    fn close_call(&mut self) -> SqlResult<()> {
        let Some(call) = self.open.pop() else { return Ok(()) };
        if !call.is_aggregate {
            return Ok(());
        }
        if call.outer && !call.own {
            return Err(SqlError::not_supported("an aggregate of the columns of a query around")
                .with_hint("Compute it in the query around, and give it a name there."));
        }
        if let Some(place) = self.clause.refuses_aggregates() {
            return Err(grouping(format!("aggregate functions are not allowed in {place}")));
        }
        self.calls.aggregate = true;
        Ok(())
    }
}

fn windowing(message: impl Into<String>) -> Box<SqlError> {
    SqlError::new(ErrorKind::Windowing, message)
}

fn grouping(message: impl Into<String>) -> Box<SqlError> {
    SqlError::new(ErrorKind::Grouping, message)
}

/// Whether the calls in a resolved expression may stand in a clause.
///
/// # Errors
/// 42803 for an aggregate, 42P20 for a window function, where the clause has none.
pub(super) fn check_calls(resolver: &Resolver<'_>, expr: &Expr, clause: Clause) -> SqlResult<()> {
    let Some(place) = clause.refuses_aggregates() else { return Ok(()) };
    let mut misplaced = Misplaced { resolver, place, nesting: Nesting::default() };
    match walk(expr, &mut misplaced) {
        ControlFlow::Continue(()) => Ok(()),
        ControlFlow::Break(error) => Err(error),
    }
}

struct Misplaced<'r, 'a> {
    resolver: &'r Resolver<'a>,
    place: &'static str,
    nesting: Nesting,
}

impl Visitor for Misplaced<'_, '_> {
    type Break = Box<SqlError>;

    fn pre_visit_query(&mut self, _query: &Query) -> ControlFlow<Self::Break> {
        self.nesting.enter(|| Ok(()))
    }

    fn post_visit_query(&mut self, _query: &Query) -> ControlFlow<Self::Break> {
        self.nesting.leave()
    }

    fn pre_visit_expr(&mut self, expr: &Expr) -> ControlFlow<Self::Break> {
        let Expr::Function(function) = expr else { return ControlFlow::Continue(()) };
        if self.nesting.is_inside() {
            return ControlFlow::Continue(());
        }
        if function.over.is_some() {
            return ControlFlow::Break(windowing(format!("window functions are not allowed in {}", self.place)));
        }
        if self.resolver.is_aggregate(function) {
            return ControlFlow::Break(grouping(format!("aggregate functions are not allowed in {}", self.place)));
        }
        ControlFlow::Continue(())
    }
}

/// Whether a row is compared, be it with a sub-query of several columns.
fn compares_rows(expr: &Expr) -> bool {
    match expr {
        Expr::BinaryOp { left, right, .. } => rows::is_row(left) || rows::is_row(right),
        Expr::AnyOp { left, .. } | Expr::AllOp { left, .. } => rows::is_row(left),
        _ => false,
    }
}

fn check_width(operand: usize, subquery: usize) -> SqlResult<()> {
    match operand.cmp(&subquery) {
        Ordering::Equal => Ok(()),
        Ordering::Less => Err(SqlError::new(ErrorKind::Syntax, "subquery has too many columns")),
        Ordering::Greater => Err(SqlError::new(ErrorKind::Syntax, "subquery has too few columns")),
    }
}

/// The number of columns of a resolved query.
fn width(query: &Query) -> Option<usize> {
    let mut body = query.body.as_ref();
    loop {
        body = match body {
            SetExpr::Select(select) => return Some(select.projection.len()),
            SetExpr::Values(values) => return values.rows.first().map(|row| row.len()),
            SetExpr::SetOperation { left, .. } => left,
            SetExpr::Query(query) => &query.body,
            _ => return None,
        };
    }
}
