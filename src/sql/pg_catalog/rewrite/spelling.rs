//! Other spellings of the same: `pg_catalog.f(...)`, `OPERATOR(pg_catalog.~)`, `COLLATE "default"`.

use datafusion::sql::sqlparser::ast::{
    AccessExpr, BinaryOperator, Expr, Function, FunctionArg, FunctionArgExpr, FunctionArgumentList, FunctionArguments,
    Ident, ObjectName, TableAlias, TableAliasColumnDef, TableFactor, TableFunctionArgs,
};

use super::forms::{call, last_name, take};
use crate::sql::statement::fold;

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
            if ident.quote_style.is_none() && ident.value.eq_ignore_ascii_case("current_schema") =>
        {
            *expr = call("current_schema", Vec::new());
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

/// `t.list[1]` is an item of the column `t.list`.
pub(super) fn field_access(expr: &mut Expr) {
    let Expr::CompoundFieldAccess { root, access_chain } = expr else { return };
    let Expr::Identifier(table) = &**root else { return };
    if let Some(AccessExpr::Dot(Expr::Identifier(column))) = access_chain.first() {
        **root = Expr::CompoundIdentifier(vec![table.clone(), column.clone()]);
        access_chain.remove(0);
    }
}

/// Functions in FROM: without their schema; `unnest`, and series whose ends are computed, as the planner's UNNEST. The
/// only column of such a function is named as the function is.
pub(super) fn table_function(factor: &mut TableFactor) {
    if let TableFactor::Function { name, args, alias, with_ordinality, lateral: _ } = factor
        && (last_name(name) == "unnest" || last_name(name) == "generate_series")
    {
        *factor = TableFactor::Table {
            name: name.clone(),
            alias: alias.take(),
            args: Some(TableFunctionArgs { args: std::mem::take(args), settings: None }),
            with_ordinality: *with_ordinality,
            with_hints: Vec::new(),
            version: None,
            partitions: Vec::new(),
            json_path: None,
            sample: None,
            index_hints: Vec::new(),
        };
    }
    match factor {
        TableFactor::Table { name, alias, args: Some(args), with_ordinality, .. } => {
            without_schema(name);
            let function = last_name(name);
            if function != "unnest" && function != "generate_series" {
                return;
            }
            name_column(alias, &function);
            let ends: Vec<Expr> = args
                .args
                .iter()
                .filter_map(|argument| match argument {
                    FunctionArg::Unnamed(FunctionArgExpr::Expr(expr)) => Some(expr.clone()),
                    _ => None,
                })
                .collect();
            let array_exprs = match function.as_str() {
                "unnest" => ends,
                _ if ends.iter().all(|end| matches!(end, Expr::Value(_) | Expr::UnaryOp { .. })) => return,
                _ => vec![call("catalog_series", ends)],
            };
            *factor = TableFactor::UNNEST {
                array_exprs,
                alias: alias.take(),
                with_offset: false,
                with_offset_alias: None,
                with_ordinality: *with_ordinality,
            };
        }
        TableFactor::UNNEST { alias, array_exprs, .. } if array_exprs.len() == 1 => name_column(alias, "unnest"),
        _ => {}
    }
}

fn name_column(alias: &mut Option<TableAlias>, function: &str) {
    let alias = alias.get_or_insert_with(|| TableAlias {
        explicit: true,
        name: Ident::new(function),
        columns: Vec::new(),
        at: None,
    });
    if alias.columns.is_empty() {
        alias.columns.push(TableAliasColumnDef { name: alias.name.clone(), data_type: None });
    }
}
