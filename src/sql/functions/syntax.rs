//! Syntax that means a function and that the planner does not know, as calls of that function.
//!
//! `x AT TIME ZONE z`, `(a, b) OVERLAPS (c, d)`, `x = ANY (array)`, `x SIMILAR TO p`, arguments by name, and functions that
//! give rows.

use std::ops::ControlFlow;

use datafusion::sql::sqlparser::ast::{
    BinaryOperator, Expr, Function, FunctionArg, FunctionArgExpr, FunctionArgumentList, FunctionArguments, Ident,
    ObjectName, ObjectNamePart, Query, Select, SelectItem, TableFactor, Value, ValueWithSpan, Visit, VisitMut, Visitor,
    VisitorMut,
};
use datafusion::sql::sqlparser::tokenizer::Span;

use super::arrays::Quantifier;
use super::sets::{SetColumn, columns_of};
use crate::sql::error::{ErrorKind, SqlError, SqlResult};
use crate::sql::plan::label_of;
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

    fn pre_visit_select(&mut self, select: &mut Select) -> ControlFlow<Self::Break> {
        select.projection.iter_mut().for_each(keep_label);
        ControlFlow::Continue(())
    }

    fn pre_visit_table_factor(&mut self, factor: &mut TableFactor) -> ControlFlow<Self::Break> {
        // A function in FROM may refer to what stands before it, whether LATERAL is said or not.
        if let TableFactor::Table { name, alias, args: Some(args), with_ordinality, .. } = factor {
            *factor = TableFactor::Function {
                lateral: true,
                name: name.clone(),
                args: std::mem::take(&mut args.args),
                with_ordinality: *with_ordinality,
                alias: alias.take(),
            };
        } else if let TableFactor::Function { lateral, .. } = factor {
            *lateral = true;
        }
        ControlFlow::Continue(())
    }

    fn post_visit_expr(&mut self, expr: &mut Expr) -> ControlFlow<Self::Break> {
        let Some(columns) = set_columns(expr) else { return ControlFlow::Continue(()) };
        let [column] = columns else {
            let error = SqlError::not_supported("a function that gives rows of several columns, outside of FROM,");
            return ControlFlow::Break(error.with_hint("Call it in FROM."));
        };
        if let Expr::Function(function) = expr {
            function.name = ObjectName(vec![ObjectNamePart::Identifier(Ident::new(column.list))]);
        }
        let rows = call("unnest", vec![take(expr)]);
        *expr = match column.typed {
            Some(typed) => call(typed, vec![rows]),
            None => rows,
        };
        ControlFlow::Continue(())
    }

    fn pre_visit_expr(&mut self, expr: &mut Expr) -> ControlFlow<Self::Break> {
        match expr {
            Expr::AnyOp { left, compare_op, right, .. } if !matches!(**right, Expr::Subquery(_)) => {
                if let Some(function) = Quantifier::Any.function(compare_op) {
                    *expr = call(function, vec![take(left), take(right)]);
                }
            }
            Expr::AllOp { left, compare_op, right } if !matches!(**right, Expr::Subquery(_)) => {
                if let Some(function) = Quantifier::All.function(compare_op) {
                    *expr = call(function, vec![take(left), take(right)]);
                }
            }
            Expr::SimilarTo { negated, expr: text, pattern, escape_char } => {
                let escape = escape_char.take().map(Expr::Value);
                let pattern = call("similar_to_escape", std::iter::once(take(pattern)).chain(escape).collect());
                let function = if *negated { "textregexne" } else { "textregexeq" };
                *expr = call(function, vec![take(text), pattern]);
            }
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

/// The columns of a function that gives rows, when the expression calls one.
fn set_columns(expr: &Expr) -> Option<&'static [SetColumn]> {
    match expr {
        Expr::Function(Function { name, over: None, .. }) => {
            columns_of(&name.0.last().and_then(|part| part.as_ident()).map(fold)?)
        }
        _ => None,
    }
}

/// A column keeps its label when what it is computed by is spelled otherwise.
fn keep_label(item: &mut SelectItem) {
    struct Finds;
    impl Visitor for Finds {
        type Break = ();
        fn pre_visit_expr(&mut self, expr: &Expr) -> ControlFlow<()> {
            let respelled = set_columns(expr).is_some() || matches!(expr, Expr::SimilarTo { .. });
            if respelled { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
        }
    }
    if let SelectItem::UnnamedExpr(expr) = item
        && expr.visit(&mut Finds).is_break()
    {
        let label = label_of(expr).unwrap_or_else(|| "?column?".to_owned());
        *item = SelectItem::ExprWithAlias { expr: take(expr), alias: Ident::with_quote('"', label) };
    }
}

/// `name(arguments)`.
pub(super) fn call(name: &str, arguments: Vec<Expr>) -> Expr {
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
