//! Building and recognising pieces of syntax.

use sqlparser::ast::{
    Expr, Function, FunctionArg, FunctionArgExpr, FunctionArguments, ObjectName, Value, ValueWithSpan,
};

use crate::expr::{FIRST_OF, ITEMS_OF, ONLY_OF};
use crate::syntax::fold;
pub(super) use crate::syntax::{call, number, take, value};
use tablegate_types::built_in::routines;

pub(super) fn string(text: &str) -> Expr {
    value(Value::SingleQuotedString(text.to_owned()))
}

/// The text of a string literal.
pub(super) fn literal(expr: &Expr) -> Option<&str> {
    match expr {
        Expr::Value(ValueWithSpan {
            value: Value::SingleQuotedString(text) | Value::EscapedStringLiteral(text),
            ..
        }) => Some(text),
        Expr::Nested(inner) => literal(inner),
        _ => None,
    }
}

/// A name without its schema, folded.
pub(super) fn last_name(name: &ObjectName) -> String {
    name.0.last().and_then(|p| p.as_ident()).map(fold).unwrap_or_default()
}

/// The folded name of a plain column, without its table.
pub(super) fn column_name(expr: &Expr) -> Option<String> {
    match expr {
        Expr::Identifier(ident) => Some(fold(ident)),
        Expr::CompoundIdentifier(parts) => parts.last().map(fold),
        Expr::Nested(inner) => column_name(inner),
        _ => None,
    }
}

/// The arguments of a plain call.
pub(super) fn arguments(function: &mut Function) -> impl Iterator<Item = &mut Expr> {
    let list = match &mut function.args {
        FunctionArguments::List(list) => Some(list),
        _ => None,
    };
    list.into_iter().flat_map(|list| &mut list.args).filter_map(|argument| match argument {
        FunctionArg::Unnamed(FunctionArgExpr::Expr(expr)) => Some(expr),
        _ => None,
    })
}

/// Functions whose value is of many rows.
pub(super) fn is_aggregate(name: &str) -> bool {
    routines::is_aggregate(name) || [FIRST_OF, ITEMS_OF, ONLY_OF].contains(&name)
}
