//! Other spellings of the same: `pg_catalog.f(...)`, `OPERATOR(pg_catalog.~)`, `COLLATE "default"`.

use sqlparser::ast::{
    AccessExpr, BinaryOperator, Expr, Function, FunctionArgumentList, FunctionArguments, ObjectName, TableFactor,
};
use tablegate_types::error::{ErrorKind, SqlError, SqlResult};

use super::forms::{call, last_name, take};
use crate::syntax::fold;

pub(super) fn expression(expr: &mut Expr) {
    while let Expr::Collate { expr: inner, collation } = expr
        && matches!(last_name(collation).as_str(), "default" | "C" | "c" | "POSIX" | "posix" | "ucs_basic")
    {
        // All text is ordered by its bytes.
        *expr = take(inner);
    }
    field_access(expr);
    match expr {
        Expr::Function(function) => function_name(function),
        Expr::BinaryOp { op, .. } | Expr::AnyOp { compare_op: op, .. } | Expr::AllOp { compare_op: op, .. } => {
            operator(op)
        }
        Expr::Identifier(ident)
            if ident.quote_style.is_none() && matches!(fold(ident).as_str(), "current_schema" | "current_role") =>
        {
            *expr = call(&fold(ident), Vec::new());
        }
        _ => {}
    }
}

/// A collation that is left is another one than that of bytes.
///
/// # Errors
/// 0A000 for one of a language, 42704 for one that PostgreSQL has not either.
pub(super) fn check_collation(expr: &Expr) -> SqlResult<()> {
    let Expr::Collate { collation, .. } = expr else { return Ok(()) };
    let name = last_name(collation);
    let language = name.split(['_', '-', '.']).next().unwrap_or_default();
    let is_language = matches!(language.len(), 2 | 3) && language.bytes().all(|b| b.is_ascii_lowercase());
    if is_language || name == "unicode" {
        return Err(SqlError::not_supported(format!("collation \"{name}\""))
            .with_hint("Text is ordered by its bytes: leave COLLATE out, or write COLLATE \"C\"."));
    }
    let parts: Vec<String> = collation.0.iter().filter_map(|part| part.as_ident()).map(fold).collect();
    let message = format!("collation \"{}\" for encoding \"UTF8\" does not exist", parts.join("."));
    Err(SqlError::new(ErrorKind::UndefinedObject, message))
}

/// Functions are known by their last name; `current_user` is a call without parentheses.
fn function_name(function: &mut Function) {
    without_schema(&mut function.name);
    if matches!(function.args, FunctionArguments::None)
        && crate::pg_catalog::functions::is_known(&last_name(&function.name))
    {
        let list = FunctionArgumentList { duplicate_treatment: None, args: Vec::new(), clauses: Vec::new() };
        function.args = FunctionArguments::List(list);
    }
}

fn without_schema(name: &mut ObjectName) {
    let schema = name.0.first().and_then(|p| p.as_ident()).map(fold).unwrap_or_default();
    let in_standard = schema == "information_schema" && last_name(name).starts_with("_pg_");
    if name.0.len() == 2 && (schema == "pg_catalog" || in_standard) {
        name.0.remove(0);
    }
}

fn operator(op: &mut BinaryOperator) {
    let BinaryOperator::PGCustomBinaryOperator(parts) = op else { return };
    let Some(symbol) = parts.last() else { return };
    *op = match symbol.as_str() {
        "~" => BinaryOperator::PGRegexMatch,
        "~*" => BinaryOperator::PGRegexIMatch,
        "!~" => BinaryOperator::PGRegexNotMatch,
        "!~*" => BinaryOperator::PGRegexNotIMatch,
        "~~" => BinaryOperator::PGLikeMatch,
        "!~~" => BinaryOperator::PGNotLikeMatch,
        "~~*" => BinaryOperator::PGILikeMatch,
        "!~~*" => BinaryOperator::PGNotILikeMatch,
        "=" => BinaryOperator::Eq,
        "<>" | "!=" => BinaryOperator::NotEq,
        "<" => BinaryOperator::Lt,
        "<=" => BinaryOperator::LtEq,
        ">" => BinaryOperator::Gt,
        ">=" => BinaryOperator::GtEq,
        "||" => BinaryOperator::StringConcat,
        "+" => BinaryOperator::Plus,
        "-" => BinaryOperator::Minus,
        _ => return,
    };
}

/// `t.list[1]` is an item of the column `t.list`.
pub(super) fn field_access(expr: &mut Expr) {
    let Expr::CompoundFieldAccess { root, access_chain } = expr else { return };
    let Expr::Identifier(table) = &**root else { return };
    if let Some(AccessExpr::Dot(Expr::Identifier(column))) = access_chain.first() {
        **root = Expr::CompoundIdentifier(vec![table.clone(), column.clone()]);
        access_chain.remove(0);
    }
}

/// Functions in FROM, without their schema.
pub(super) fn table_function(factor: &mut TableFactor) {
    match factor {
        TableFactor::Function { name, .. } | TableFactor::Table { name, args: Some(_), .. } => without_schema(name),
        _ => {}
    }
}
