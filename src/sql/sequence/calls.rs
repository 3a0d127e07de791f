//! Calls of `nextval` in syntax: where a plan cannot wait for the store, they are taken out of expressions.

use std::ops::ControlFlow;

use sqlparser::ast::{Expr, Ident, VisitorMut};
use tablegate_types::error::{ErrorKind, SqlError, SqlResult};

use super::functions;
use crate::catalog::{name_of, sequence_in};
use crate::syntax::walk_mut;

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
}
