//! Other spellings of the same: `pg_catalog.f(...)`, `OPERATOR(pg_catalog.~)`, `COLLATE "default"`.

use datafusion::sql::sqlparser::ast::{
    BinaryOperator, Expr, Function, FunctionArg, FunctionArgExpr, FunctionArgumentList, FunctionArguments, ObjectName,
    TableFactor,
};

use super::forms::{last_name, take};
use crate::sql::statement::fold;

pub(super) fn expression(expr: &mut Expr) {
    while let Expr::Collate { expr: inner, collation } = expr
        && matches!(last_name(collation).as_str(), "default" | "C" | "c" | "POSIX" | "posix" | "ucs_basic")
    {
        // All text is ordered by its bytes.
        *expr = take(inner);
    }
    match expr {
        Expr::Function(function) => function_name(function),
        Expr::BinaryOp { op, .. } | Expr::AnyOp { compare_op: op, .. } | Expr::AllOp { compare_op: op, .. } => {
            operator(op)
        }
        Expr::Identifier(ident)
            if ident.quote_style.is_none() && ident.value.eq_ignore_ascii_case("current_schema") =>
        {
            *expr = super::forms::call("current_schema", Vec::new());
        }
        _ => {}
    }
}

/// Functions are known by their last name; `current_user` is a call without parentheses.
fn function_name(function: &mut Function) {
    without_schema(&mut function.name);
    if matches!(function.args, FunctionArguments::None)
        && crate::sql::pg_catalog::functions::is_known(&last_name(&function.name))
    {
        let list = FunctionArgumentList { duplicate_treatment: None, args: Vec::new(), clauses: Vec::new() };
        function.args = FunctionArguments::List(list);
    }
}

fn without_schema(name: &mut ObjectName) {
    let in_catalog = name.0.first().and_then(|p| p.as_ident()).is_some_and(|i| fold(i) == "pg_catalog");
    if in_catalog && name.0.len() == 2 {
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

/// `FROM pg_catalog.f(...)`; `unnest` has a form of its own.
pub(super) fn table_function(factor: &mut TableFactor) {
    let TableFactor::Table { name, alias, args: Some(args), with_ordinality, .. } = factor else { return };
    without_schema(name);
    if last_name(name) != "unnest" {
        return;
    }
    let exprs = args.args.iter().filter_map(|argument| match argument {
        FunctionArg::Unnamed(FunctionArgExpr::Expr(expr)) => Some(expr.clone()),
        _ => None,
    });
    *factor = TableFactor::UNNEST {
        array_exprs: exprs.collect(),
        alias: alias.take(),
        with_offset: false,
        with_offset_alias: None,
        with_ordinality: *with_ordinality,
    };
}
