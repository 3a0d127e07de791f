//! Aggregates that are functions of all values at once: `json_agg(x ORDER BY y)`.
//!
//! Each call becomes one of a function of the array that `array_agg` collects, which knows of DISTINCT, FILTER and ORDER BY.

use std::ops::ControlFlow;

use sqlparser::ast::helpers::attached_token::AttachedToken;
use sqlparser::ast::{
    Expr, Function, FunctionArg, FunctionArgExpr, FunctionArguments, Ident, ObjectName, ObjectNamePart, Visitor,
};

use super::syntax::last_name;
use crate::syntax::{call, walk};

/// Aggregates of their arguments: name, number of arguments, function of one row's arguments, function of all rows.
const OF_ARGUMENTS: &[(&str, usize, &str, &str)] = &[
    ("json_agg", 1, "json_item", "json_of_items"),
    ("jsonb_agg", 1, "json_item", "jsonb_of_items"),
    ("json_object_agg", 2, "json_member", "json_of_members"),
    ("jsonb_object_agg", 2, "json_member", "jsonb_of_members"),
    ("string_agg", 2, "string_agg_of_item", "string_agg_of_items"),
];

/// Whether [`rewritten`] gives an expression.
pub(super) fn is_collected(function: &Function) -> bool {
    of_arguments(function).is_some()
}

/// The call as a function of an array; `None` for what is none of these aggregates.
pub(super) fn rewritten(function: &Function) -> Option<Expr> {
    let (of_row, of_all) = of_arguments(function)?;
    let row = call(of_row, arguments(function)?);
    Some(call(of_all, vec![collecting(function, row)?]))
}

/// Whether the expression may differ from row to row. The planner forgets an order that is the same for all.
pub(super) fn names_a_column(expr: &Expr) -> bool {
    struct Names;
    impl Visitor for Names {
        type Break = ();
        fn pre_visit_expr(&mut self, expr: &Expr) -> ControlFlow<()> {
            let is_name = matches!(expr, Expr::Identifier(_) | Expr::CompoundIdentifier(_));
            if is_name { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
        }
    }
    walk(expr, &mut Names).is_break()
}

/// `t.*` among the arguments of a function is one value.
pub(super) fn whole_row(table: &ObjectName) -> Expr {
    Expr::QualifiedWildcard(table.clone(), AttachedToken::empty())
}

fn of_arguments(function: &Function) -> Option<(&'static str, &'static str)> {
    let name = last_name(function)?;
    let arguments = arguments(function)?;
    let count = arguments.len();
    // The engine joins texts by a delimiter that is the same for all.
    if name == "string_agg" && arguments.last().is_none_or(|delimiter| matches!(delimiter, Expr::Value(_))) {
        return None;
    }
    let found = OF_ARGUMENTS.iter().find(|(known, takes, ..)| *known == name && *takes == count);
    found.filter(|_| function.within_group.is_empty()).map(|(.., of_row, of_all)| (*of_row, *of_all))
}

fn arguments(function: &Function) -> Option<Vec<Expr>> {
    let list = match &function.args {
        FunctionArguments::List(list) => list,
        FunctionArguments::None => return Some(Vec::new()),
        FunctionArguments::Subquery(_) => return None,
    };
    let argument = |argument: &FunctionArg| match argument {
        FunctionArg::Unnamed(FunctionArgExpr::Expr(expr)) => Some(expr.clone()),
        FunctionArg::Unnamed(FunctionArgExpr::QualifiedWildcard(name)) => Some(whole_row(name)),
        _ => None,
    };
    list.args.iter().map(argument).collect()
}

/// `array_agg` of an expression, with all that the call says of its rows.
fn collecting(function: &Function, item: Expr) -> Option<Expr> {
    let mut collecting = function.clone();
    let FunctionArguments::List(list) = &mut collecting.args else { return None };
    list.args = vec![FunctionArg::Unnamed(FunctionArgExpr::Expr(item))];
    collecting.name = ObjectName(vec![ObjectNamePart::Identifier(Ident::new("array_agg"))]);
    Some(Expr::Function(collecting))
}
