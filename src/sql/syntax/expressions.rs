//! What an expression's text tells, and what else it can be made to say: names, and calls of `nextval`.
//!
//! Declared expressions name columns of one table, so an unquoted identifier means the column it equals ignoring case.

use std::ops::ControlFlow;

use sqlparser::ast::{
    CastKind, Expr, Function, FunctionArg, FunctionArgExpr, FunctionArguments, Ident, Value, Visitor, VisitorMut,
};
use tablegate_bind::{Identifier, ParsedExpression};
use tablegate_types::error::{ErrorKind, SqlError, SqlResult};
use tablegate_types::quoting::split_name;

use crate::syntax::{parse_expression, walk, walk_mut};

/// The names of columns in an expression, without what stands before them.
pub(crate) fn column_names(expression: &ParsedExpression) -> Vec<Identifier> {
    struct Names(Vec<Identifier>);
    impl Visitor for Names {
        type Break = ();
        fn pre_visit_expr(&mut self, expr: &Expr) -> ControlFlow<()> {
            match expr {
                Expr::Identifier(ident) => self.0.push(ident.into()),
                Expr::CompoundIdentifier(parts) => self.0.extend(parts.last().map(Identifier::from)),
                _ => {}
            }
            ControlFlow::Continue(())
        }
    }
    let mut names = Names(Vec::new());
    let _ = walk(expression.tree(), &mut names);
    names.0
}

/// Whether an expression names the column.
pub(crate) fn names_column(expression: &ParsedExpression, column: &str) -> bool {
    column_names(expression).iter().any(|name| name.means(column))
}

/// Gives the column its new name wherever the expression has the old one.
pub(crate) fn rename_column(expression: &mut ParsedExpression, from: &str, to: &str) {
    struct Rename<'a>(&'a str, &'a str);
    impl VisitorMut for Rename<'_> {
        type Break = ();
        fn pre_visit_expr(&mut self, expr: &mut Expr) -> ControlFlow<()> {
            let ident = match expr {
                Expr::Identifier(ident) => Some(ident),
                Expr::CompoundIdentifier(parts) => parts.last_mut(),
                _ => None,
            };
            if let Some(ident) = ident
                && Identifier::from(&*ident).means(self.0)
            {
                *ident = Identifier::shown(self.1).tree().clone();
            }
            ControlFlow::Continue(())
        }
    }
    let _ = walk_mut(expression.tree_mut(), &mut Rename(from, to));
}

/// Whether an expression, given as text, names the column.
pub(crate) fn mentions(expression: &str, column: &str) -> bool {
    parse_expression(expression).is_ok_and(|expression| names_column(&expression, column))
}

/// An expression's text, a column having got another name; what does not name it stays as it was written.
///
/// # Errors
/// None are expected: the expression was parsed when it was declared.
pub(crate) fn renamed(expression: &str, from: &str, to: &str) -> SqlResult<String> {
    let mut parsed = parse_expression(expression)?;
    if !names_column(&parsed, from) {
        return Ok(expression.to_owned());
    }
    rename_column(&mut parsed, from, to);
    Ok(parsed.to_string())
}

/// An expression whose calls of `nextval` name their sequences anew, where there is a new name for the parts of the old one.
pub(crate) fn with_sequences_renamed(text: &str, rename: impl Fn(&[String]) -> Option<String>) -> String {
    struct Rename<F> {
        rename: F,
    }
    impl<F: Fn(&[String]) -> Option<String>> VisitorMut for Rename<F> {
        type Break = ();
        fn pre_visit_expr(&mut self, expr: &mut Expr) -> ControlFlow<()> {
            if let Expr::Function(function) = expr
                && let Some(sequence) = sequence_in(function)
                && !is_oid(sequence)
                && let Some(name) = (self.rename)(&split_name(sequence))
            {
                *sequence = name;
            }
            ControlFlow::Continue(())
        }
    }
    // Most defaults count nothing, and stay as they were written.
    if !text.to_ascii_lowercase().contains("nextval") {
        return text.to_owned();
    }
    let Ok(mut expression) = parse_expression(text) else { return text.to_owned() };
    let _ = walk_mut(expression.tree_mut(), &mut Rename { rename });
    expression.to_string()
}

/// Replaces the calls of `nextval` in an expression by the columns that `column` names for them; gives the texts that
/// name their sequences, in order. `waits` tells the functions that a plan cannot wait for.
///
/// # Errors
/// 0A000 for a call whose sequence is not a constant, and for `setval`.
pub(crate) fn take_next_calls(
    expression: &mut ParsedExpression,
    waits: &dyn Fn(&str) -> bool,
    column: &dyn Fn(usize) -> String,
) -> SqlResult<Vec<String>> {
    struct Take<'a> {
        waits: &'a dyn Fn(&str) -> bool,
        column: &'a dyn Fn(usize) -> String,
        taken: Vec<String>,
    }
    impl VisitorMut for Take<'_> {
        type Break = Box<SqlError>;
        fn pre_visit_expr(&mut self, expr: &mut Expr) -> ControlFlow<Self::Break> {
            let Expr::Function(function) = &mut *expr else { return ControlFlow::Continue(()) };
            if !(self.waits)(&name_of(function)) {
                return ControlFlow::Continue(());
            }
            let Some(sequence) = sequence_in(function).cloned() else {
                let what = format!("{expr} in a DEFAULT expression");
                return ControlFlow::Break(
                    SqlError::new(ErrorKind::FeatureNotSupported, format!("{what} is not supported"))
                        .with_hint("Name the sequence: nextval('name')."),
                );
            };
            *expr = Expr::Identifier(Ident::with_quote('"', (self.column)(self.taken.len())));
            self.taken.push(sequence);
            ControlFlow::Continue(())
        }
    }
    let mut take = Take { waits, column, taken: Vec::new() };
    match walk_mut(expression.tree_mut(), &mut take) {
        ControlFlow::Continue(()) => Ok(take.taken),
        ControlFlow::Break(error) => Err(error),
    }
}

/// A number names a relation by its OID.
fn is_oid(text: &str) -> bool {
    text.trim().parse::<u32>().is_ok()
}

/// The text in `nextval('s')`, `nextval('s'::regclass)` and `nextval(('s'::text)::regclass)`.
fn sequence_in(function: &mut Function) -> Option<&mut String> {
    if name_of(function) != "nextval" {
        return None;
    }
    let FunctionArguments::List(list) = &mut function.args else { return None };
    let [FunctionArg::Unnamed(FunctionArgExpr::Expr(argument))] = list.args.as_mut_slice() else { return None };
    let mut literal = argument;
    while let Expr::Cast { expr, kind: CastKind::DoubleColon | CastKind::Cast, .. } | Expr::Nested(expr) = literal {
        literal = expr;
    }
    match literal {
        Expr::Value(value) => match &mut value.value {
            Value::SingleQuotedString(text) | Value::EscapedStringLiteral(text) => Some(text),
            Value::DollarQuotedString(quoted) => Some(&mut quoted.value),
            _ => None,
        },
        _ => None,
    }
}

fn name_of(function: &Function) -> String {
    function.name.0.last().and_then(|part| part.as_ident()).map(super::fold).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn expressions_follow_their_columns() {
        for (expression, expected) in [
            ("a > 0 AND b <> 'a'", "\"x y\" > 0 AND b <> 'a'"),
            ("length(A) > a", "length(\"x y\") > \"x y\""),
            ("\"A\" = 1", "\"A\" = 1"),
            ("a IN (1, 2) OR t.a IS NULL", "\"x y\" IN (1, 2) OR t.\"x y\" IS NULL"),
        ] {
            assert_eq!(renamed(expression, "a", "x y").unwrap(), expected);
        }
        assert!(!mentions("a(1) + 'a'::text", "a"));
    }

    fn taken(text: &str) -> SqlResult<(String, Vec<String>)> {
        let mut expression = parse_expression(text)?;
        let sequences = take_next_calls(&mut expression, &|name| name == "nextval", &|n| format!("n{n}"))?;
        Ok((expression.to_string(), sequences))
    }

    #[test]
    fn calls_become_columns() {
        assert_eq!(taken("nextval('s'::regclass)").unwrap(), ("\"n0\"".to_owned(), vec!["s".to_owned()]));
        let (text, sequences) = taken("'A' || pg_catalog.nextval('\"My s\"') || nextval('t')").unwrap();
        assert_eq!(text, "'A' || \"n0\" || \"n1\"");
        assert_eq!(sequences, ["\"My s\"", "t"]);
        assert_eq!(taken("nextval('s' || 't')").unwrap_err().kind, ErrorKind::FeatureNotSupported);
        assert_eq!(taken("nextval('\"My''s\"'::regclass)").unwrap().1, ["\"My's\""]);
    }
}
