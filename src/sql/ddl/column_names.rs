//! The columns that declared expressions name: finding and renaming them.
//!
//! Declared expressions name columns of one table, so an unquoted identifier means the column it equals ignoring case.

use std::ops::ControlFlow;

use sqlparser::ast::{Expr, Ident, Visitor, VisitorMut};
use tablegate_types::error::SqlResult;
use tablegate_types::quoting::quote_ident;

use crate::syntax::{parse_expression, walk, walk_mut};

/// A column's name as an identifier, quoted where it has to be.
pub(super) fn identifier(column: &str) -> Ident {
    if quote_ident(column) == column { Ident::new(column) } else { Ident::with_quote('"', column) }
}

/// Whether an identifier means the column.
pub(super) fn means(ident: &Ident, column: &str) -> bool {
    match ident.quote_style {
        Some(_) => ident.value == column,
        None => ident.value.eq_ignore_ascii_case(column),
    }
}

/// Whether an expression names the column.
pub(super) fn names_column(expression: &Expr, column: &str) -> bool {
    struct Search<'a>(&'a str);
    impl Visitor for Search<'_> {
        type Break = ();
        fn pre_visit_expr(&mut self, expr: &Expr) -> ControlFlow<()> {
            let ident = match expr {
                Expr::Identifier(ident) => Some(ident),
                Expr::CompoundIdentifier(parts) => parts.last(),
                _ => None,
            };
            match ident {
                Some(ident) if means(ident, self.0) => ControlFlow::Break(()),
                _ => ControlFlow::Continue(()),
            }
        }
    }
    walk(expression, &mut Search(column)).is_break()
}

/// Gives the column its new name wherever the expression has the old one.
pub(super) fn rename_column(expression: &mut Expr, from: &str, to: &str) {
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
                && means(ident, self.0)
            {
                *ident = identifier(self.1);
            }
            ControlFlow::Continue(())
        }
    }
    let _ = walk_mut(expression, &mut Rename(from, to));
}

/// Whether an expression, given as text, names the column.
pub(super) fn mentions(expression: &str, column: &str) -> bool {
    parse_expression(expression).is_ok_and(|expression| names_column(&expression, column))
}

/// An expression's text, a column having got another name; what does not name it stays as it was written.
///
/// # Errors
/// None are expected: the expression was parsed when it was declared.
pub(super) fn renamed(expression: &str, from: &str, to: &str) -> SqlResult<String> {
    let mut parsed = parse_expression(expression)?;
    if !names_column(&parsed, from) {
        return Ok(expression.to_owned());
    }
    rename_column(&mut parsed, from, to);
    Ok(parsed.to_string())
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
}
