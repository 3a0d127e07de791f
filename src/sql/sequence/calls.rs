//! Calls of `nextval` in syntax: where a plan cannot wait for the store, they are taken out of expressions.

use std::ops::ControlFlow;

use sqlparser::ast::{Expr, Ident, Query, SelectItem, SetExpr, SetOperator, SetQuantifier, Visitor, VisitorMut};
use tablegate_types::error::{ErrorKind, SqlError, SqlResult};

use super::functions;
use crate::catalog::{name_of, sequence_in};
use crate::syntax::{Command, parse, walk, walk_mut};

/// Replaces the calls of `nextval` in an expression by the columns that `column` names for them; gives the texts that
/// name their sequences, in order.
///
/// # Errors
/// 0A000 for a call whose sequence is not a constant, and for `setval`.
pub(crate) fn take_next_calls(expr: &mut Expr, column: impl Fn(usize) -> Ident) -> SqlResult<Vec<String>> {
    struct Take<F> {
        column: F,
        taken: Vec<String>,
    }
    impl<F: Fn(usize) -> Ident> VisitorMut for Take<F> {
        type Break = Box<SqlError>;
        fn pre_visit_expr(&mut self, expr: &mut Expr) -> ControlFlow<Self::Break> {
            let Expr::Function(function) = &mut *expr else { return ControlFlow::Continue(()) };
            if !functions::waits(&name_of(function)) {
                return ControlFlow::Continue(());
            }
            let Some(sequence) = sequence_in(function).cloned() else {
                let what = format!("{expr} in a DEFAULT expression");
                return ControlFlow::Break(
                    SqlError::new(ErrorKind::FeatureNotSupported, format!("{what} is not supported"))
                        .with_hint("Name the sequence: nextval('name')."),
                );
            };
            *expr = Expr::Identifier((self.column)(self.taken.len()));
            self.taken.push(sequence);
            ControlFlow::Continue(())
        }
    }
    let mut take = Take { column, taken: Vec::new() };
    match walk_mut(expr, &mut take) {
        ControlFlow::Continue(()) => Ok(take.taken),
        ControlFlow::Break(error) => Err(error),
    }
}

/// Turns `VALUES (nextval('s')), ...` into selects: a plan evaluates asynchronous functions in those only.
pub(crate) fn values_as_selects(query: &mut Query) -> SqlResult<()> {
    struct Turn;
    impl VisitorMut for Turn {
        type Break = Box<SqlError>;
        fn pre_visit_query(&mut self, query: &mut Query) -> ControlFlow<Self::Break> {
            match turned(&query.body) {
                Ok(Some(body)) => *query.body = body,
                Ok(None) => {}
                Err(error) => return ControlFlow::Break(error),
            }
            ControlFlow::Continue(())
        }
    }
    match walk_mut(query, &mut Turn) {
        ControlFlow::Continue(()) => Ok(()),
        ControlFlow::Break(error) => Err(error),
    }
}

fn turned(body: &SetExpr) -> SqlResult<Option<SetExpr>> {
    let SetExpr::Values(values) = body else { return Ok(None) };
    if !values.rows.iter().flat_map(|row| row.iter()).any(waits) {
        return Ok(None);
    }
    let mut selects = Vec::with_capacity(values.rows.len());
    for row in &values.rows {
        let Some(Command::Query(mut template)) = parse("SELECT 1")?.pop().map(|s| s.command) else { return Ok(None) };
        if let SetExpr::Select(select) = &mut *template.body {
            let item = |(i, expr): (usize, &Expr)| SelectItem::ExprWithAlias {
                expr: expr.clone(),
                alias: Ident::new(format!("column{}", i + 1)),
            };
            select.projection = row.iter().enumerate().map(item).collect();
        }
        selects.push(*template.body);
    }
    let union = |left: SetExpr, right: SetExpr| SetExpr::SetOperation {
        op: SetOperator::Union,
        set_quantifier: SetQuantifier::All,
        left: Box::new(left),
        right: Box::new(right),
    };
    Ok(selects.into_iter().reduce(union))
}

/// Whether an expression calls a function that may wait for the store.
pub(crate) fn waits(expr: &Expr) -> bool {
    struct Waits;
    impl Visitor for Waits {
        type Break = ();
        fn pre_visit_expr(&mut self, expr: &Expr) -> ControlFlow<()> {
            match expr {
                Expr::Function(function) if functions::waits(&name_of(function)) => ControlFlow::Break(()),
                _ => ControlFlow::Continue(()),
            }
        }
    }
    walk(expr, &mut Waits).is_break()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::catalog::next_call;
    use crate::place::Place;
    use crate::syntax::parse_expression;

    fn taken(text: &str) -> (String, Vec<String>) {
        let mut expr = parse_expression(text).unwrap();
        let sequences = take_next_calls(&mut expr, |n| Ident::new(format!("n{n}"))).unwrap();
        (expr.to_string(), sequences)
    }

    #[test]
    fn calls_become_columns() {
        assert_eq!(taken("nextval('s'::regclass)"), ("n0".to_owned(), vec!["s".to_owned()]));
        let (text, sequences) = taken("'A' || pg_catalog.nextval('\"My s\"') || nextval('t')");
        assert_eq!(
            (text.as_str(), sequences.as_slice()),
            ("'A' || n0 || n1", &["\"My s\"".to_owned(), "t".to_owned()][..])
        );
        let mut computed = parse_expression("nextval('s' || 't')").unwrap();
        let error = take_next_calls(&mut computed, |_| Ident::new("n")).unwrap_err();
        assert_eq!(error.kind, ErrorKind::FeatureNotSupported);
        assert_eq!(taken(&next_call(Place::Public, "My's")).1, ["\"My's\""]);
    }

    #[test]
    fn values_that_wait_become_selects() {
        let turned = |sql: &str| {
            let Some(Command::Query(mut query)) = parse(sql).unwrap().pop().map(|s| s.command) else { panic!("{sql}") };
            values_as_selects(&mut query).unwrap();
            query.to_string()
        };
        assert_eq!(turned("VALUES (1)"), "VALUES (1)");
        assert_eq!(
            turned("VALUES (nextval('s'), 1), (2, 3)"),
            "SELECT nextval('s') AS column1, 1 AS column2 UNION ALL SELECT 2 AS column1, 3 AS column2"
        );
    }
}
