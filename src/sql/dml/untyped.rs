//! Which expressions have no type of their own: PostgreSQL reads their text as the type of what they are assigned to.

use sqlparser::ast::{Expr, Query, SelectItem, SetExpr, Value};

/// Whether PostgreSQL would give the expression the type `unknown`.
pub(crate) fn is_untyped(expr: &Expr) -> bool {
    match expr {
        Expr::Value(value) => matches!(
            value.value,
            Value::SingleQuotedString(_)
                | Value::EscapedStringLiteral(_)
                | Value::DollarQuotedString(_)
                | Value::Null
                | Value::Placeholder(_)
        ),
        Expr::Nested(inner) => is_untyped(inner),
        _ => false,
    }
}

/// Which columns of a query PostgreSQL would call `unknown`: bare string literals and NULLs.
pub(super) fn untyped_columns(query: &Query, width: usize) -> Vec<bool> {
    match &*query.body {
        SetExpr::Values(values) => {
            (0..width).map(|i| values.rows.iter().all(|row| row.get(i).is_some_and(is_untyped))).collect()
        }
        SetExpr::Select(select) => {
            let untyped = |item: Option<&SelectItem>| match item {
                Some(SelectItem::UnnamedExpr(expr) | SelectItem::ExprWithAlias { expr, .. }) => is_untyped(expr),
                _ => false,
            };
            (0..width).map(|i| untyped(select.projection.get(i))).collect()
        }
        SetExpr::Query(query) => untyped_columns(query, width),
        _ => vec![false; width],
    }
}
