//! Which expressions have no type of their own: PostgreSQL reads their text as the type of what they are assigned to.

use sqlparser::ast::{Expr, Value};

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
