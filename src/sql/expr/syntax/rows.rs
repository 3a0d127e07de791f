//! `ROW(a, b)` and `(a, b)` where they are values: comparisons of rows were taken apart before.

use sqlparser::ast::{Expr, FunctionArg, FunctionArgExpr, FunctionArguments};

use crate::expr::pending::row_function;
use crate::expr::record::RowLayout;
use crate::syntax::{boolean, call, is_row_call, take};

/// The call that makes the row; `None` for what is not a row of values.
pub(super) fn of_values(expr: &mut Expr) -> Option<Expr> {
    let values = match expr {
        Expr::Tuple(values) if !values.is_empty() => std::mem::take(values),
        Expr::Function(function) if is_row_call(function) => match &mut function.args {
            FunctionArguments::List(list) => list.args.iter_mut().map(value).collect::<Option<Vec<_>>>()?,
            FunctionArguments::None | FunctionArguments::Subquery(_) => return None,
        },
        _ => return None,
    };
    let function = row_function(&RowLayout::of_values(values.len()));
    Some(call(&function, std::iter::once(boolean(true)).chain(values).collect()))
}

fn value(argument: &mut FunctionArg) -> Option<Expr> {
    match argument {
        FunctionArg::Unnamed(FunctionArgExpr::Expr(value)) => Some(take(value)),
        _ => None,
    }
}
