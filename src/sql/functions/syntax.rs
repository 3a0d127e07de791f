//! Syntax that means a function and that the planner does not know, as calls of that function.
//!
//! `x AT TIME ZONE z`, `(a, b) OVERLAPS (c, d)`, arguments by name.

use std::ops::ControlFlow;

use datafusion::sql::sqlparser::ast::{
    BinaryOperator, Expr, Function, FunctionArg, FunctionArgExpr, FunctionArgumentList, FunctionArguments, Ident,
    ObjectName, ObjectNamePart, Query, Value, ValueWithSpan, VisitMut, VisitorMut,
};
use datafusion::sql::sqlparser::tokenizer::Span;

use crate::sql::error::{ErrorKind, SqlError, SqlResult};
use crate::sql::statement::fold;

/// Functions whose arguments are called by name in practice, with the names.
const NAMED_ARGUMENTS: &[(&str, &[&str])] =
    &[("make_interval", &["years", "months", "weeks", "days", "hours", "mins", "secs"])];

/// # Errors
/// 42883 for an argument that the function does not have.
pub(in crate::sql) fn rewrite(query: &mut Query) -> SqlResult<()> {
    match query.visit(&mut Rewriter) {
        ControlFlow::Continue(()) => Ok(()),
        ControlFlow::Break(error) => Err(error),
    }
}

struct Rewriter;

impl VisitorMut for Rewriter {
    type Break = Box<SqlError>;

    fn pre_visit_expr(&mut self, expr: &mut Expr) -> ControlFlow<Self::Break> {
        match expr {
            Expr::AtTimeZone { timestamp, time_zone } => {
                *expr = call("timezone", vec![take(time_zone), take(timestamp)]);
            }
            Expr::BinaryOp { left, op: BinaryOperator::Overlaps, right } => {
                if let (Expr::Tuple(first), Expr::Tuple(second)) = (&mut **left, &mut **right) {
                    *expr = call("overlaps", first.drain(..).chain(second.drain(..)).collect());
                }
            }
            Expr::Function(function) => {
                if let Err(error) = place_named_arguments(function) {
                    return ControlFlow::Break(error);
                }
            }
            _ => {}
        }
        ControlFlow::Continue(())
    }
}

/// `name(arguments)`.
fn call(name: &str, arguments: Vec<Expr>) -> Expr {
    let args = arguments.into_iter().map(|a| FunctionArg::Unnamed(FunctionArgExpr::Expr(a))).collect();
    let list = FunctionArgumentList { duplicate_treatment: None, args, clauses: Vec::new() };
    Expr::Function(Function {
        name: ObjectName(vec![ObjectNamePart::Identifier(Ident::new(name))]),
        uses_odbc_syntax: false,
        parameters: FunctionArguments::None,
        args: FunctionArguments::List(list),
        filter: None,
        null_treatment: None,
        over: None,
        within_group: Vec::new(),
    })
}

fn take(expr: &mut Expr) -> Expr {
    std::mem::replace(expr, literal(Value::Null))
}

fn literal(value: Value) -> Expr {
    Expr::Value(ValueWithSpan { value, span: Span::empty() })
}

/// Puts arguments given by name into their places; what is left out is 0.
fn place_named_arguments(function: &mut Function) -> SqlResult<()> {
    let name = function.name.0.last().and_then(|part| part.as_ident()).map(fold).unwrap_or_default();
    let Some((_, names)) = NAMED_ARGUMENTS.iter().find(|(function, _)| *function == name) else { return Ok(()) };
    let FunctionArguments::List(list) = &mut function.args else { return Ok(()) };
    if list.args.iter().all(|argument| matches!(argument, FunctionArg::Unnamed(_))) {
        return Ok(());
    }
    let mut places: Vec<Option<FunctionArgExpr>> = vec![None; names.len()];
    for (index, argument) in std::mem::take(&mut list.args).into_iter().enumerate() {
        let (place, value) = match argument {
            FunctionArg::Unnamed(value) => (Some(index), value),
            FunctionArg::Named { name, arg, .. } | FunctionArg::ExprNamed { name: Expr::Identifier(name), arg, .. } => {
                (names.iter().position(|known| *known == fold(&name)), arg)
            }
            FunctionArg::ExprNamed { arg, .. } => (None, arg),
        };
        let free = place.and_then(|place| places.get_mut(place)).filter(|place| place.is_none());
        *free.ok_or_else(|| no_such_argument(&name))? = Some(value);
    }
    let zero = || FunctionArgExpr::Expr(literal(Value::Number("0".to_owned(), false)));
    list.args = places.into_iter().map(|place| FunctionArg::Unnamed(place.unwrap_or_else(zero))).collect();
    Ok(())
}

fn no_such_argument(function: &str) -> Box<SqlError> {
    SqlError::new(ErrorKind::UndefinedFunction, format!("function {function} with these arguments does not exist"))
        .with_hint("No function matches the given name and argument types. You might need to add explicit type casts.")
}
