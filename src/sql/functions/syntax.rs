//! Syntax that means a function and that the planner does not know, as calls of that function.
//!
//! `(a, b) OVERLAPS (c, d)`, arguments by name, and functions that give rows.

use std::ops::ControlFlow;

use sqlparser::ast::{
    AccessExpr, BinaryOperator, Expr, Function, FunctionArg, FunctionArgExpr, FunctionArgumentClause,
    FunctionArguments, Ident, ObjectName, ObjectNamePart, OrderByExpr, Query, Select, SelectItem, Subscript,
    TableFactor, TableWithJoins, UnaryOperator, Value, Visitor, VisitorMut,
};
use tablegate_types::error::{ErrorKind, SqlError, SqlResult};

use super::collected::{self, is_collected};
use super::hypothetical::{self, is_hypothetical};
use super::sets::{SetColumn, columns_of};
use crate::expr::{RowLayout, row_function};
use crate::syntax::{boolean, call, fold, is_row_call, label_of, take, value, walk, walk_mut};

/// Functions whose arguments are called by name in practice, with the names.
const NAMED_ARGUMENTS: &[(&str, &[&str])] =
    &[("make_interval", &["years", "months", "weeks", "days", "hours", "mins", "secs"])];

/// The forms that `normalize` knows.
const FORMS: &[&str] = &["NFC", "NFD", "NFKC", "NFKD"];

/// # Errors
/// 42883 for an argument that the function does not have.
pub(crate) fn rewrite(query: &mut Query) -> SqlResult<()> {
    match walk_mut(query, &mut Rewriter) {
        ControlFlow::Continue(()) => Ok(()),
        ControlFlow::Break(error) => Err(error),
    }
}

struct Rewriter;

impl VisitorMut for Rewriter {
    type Break = Box<SqlError>;

    fn pre_visit_select(&mut self, select: &mut Select) -> ControlFlow<Self::Break> {
        select.projection.iter_mut().for_each(keep_label);
        let mut is_first = true;
        for table in &mut select.from {
            place_functions(table, &mut is_first);
        }
        ControlFlow::Continue(())
    }

    fn post_visit_expr(&mut self, expr: &mut Expr) -> ControlFlow<Self::Break> {
        let Some(columns) = set_columns(expr) else { return ControlFlow::Continue(()) };
        let Expr::Function(function) = expr else { return ControlFlow::Continue(()) };
        let mut lists = columns.iter().map(|column| rows_of(function, column));
        *expr = match lists.next() {
            Some(rows) if columns.len() == 1 => rows,
            first => {
                let named = |column: &SetColumn| column.name.unwrap_or(column.list).to_owned();
                let layout = RowLayout { table: None, names: columns.iter().map(named).collect() };
                call(&row_function(&layout), std::iter::once(boolean(true)).chain(first).chain(lists).collect())
            }
        };
        ControlFlow::Continue(())
    }

    fn pre_visit_expr(&mut self, expr: &mut Expr) -> ControlFlow<Self::Break> {
        match expr {
            Expr::BinaryOp { left, op: BinaryOperator::Overlaps, right } => {
                if let (Expr::Tuple(first), Expr::Tuple(second)) = (&mut **left, &mut **right) {
                    *expr = call("overlaps", first.drain(..).chain(second.drain(..)).collect());
                }
            }
            // `a[:2]` begins where the array does, `a[2:]` ends with it.
            Expr::CompoundFieldAccess { access_chain, .. } => {
                for access in access_chain {
                    if let AccessExpr::Subscript(Subscript::Slice { lower_bound, upper_bound, .. }) = access {
                        let number = |number: i32| value(Value::Number(number.to_string(), false));
                        lower_bound.get_or_insert_with(|| number(1));
                        upper_bound.get_or_insert_with(|| number(i32::MAX));
                    }
                }
            }
            Expr::IsNormalized { expr: text, form, negated } => {
                let form = form.map(|form| value(Value::SingleQuotedString(form.to_string())));
                let is_normalized = call("is_normalized", std::iter::once(take(text)).chain(form).collect());
                *expr = match *negated {
                    true => Expr::UnaryOp { op: UnaryOperator::Not, expr: Box::new(is_normalized) },
                    false => is_normalized,
                };
            }
            Expr::Function(function) => {
                place_whole_rows(function);
                if let Err(error) = place_named_arguments(function).and_then(|()| name_form(function)) {
                    return ControlFlow::Break(error);
                }
                order_by_constants(function);
                let rewritten = match hypothetical::rewritten(function) {
                    Ok(counted) => counted.or_else(|| collected::rewritten(function)),
                    Err(error) => return ControlFlow::Break(error),
                };
                if let Some(rewritten) = rewritten {
                    *expr = rewritten;
                }
            }
            _ => {}
        }
        ControlFlow::Continue(())
    }
}

/// A function in FROM may refer to what stands before it, whether LATERAL is said or not.
fn place_functions(table: &mut TableWithJoins, is_first: &mut bool) {
    let relations = std::iter::once(&mut table.relation).chain(table.joins.iter_mut().map(|join| &mut join.relation));
    for relation in relations {
        if let TableFactor::NestedJoin { table_with_joins, .. } = relation {
            place_functions(table_with_joins, is_first);
        } else if let TableFactor::Table { name, alias, args: Some(args), with_ordinality, .. } = relation {
            *relation = TableFactor::Function {
                lateral: !*is_first,
                name: name.clone(),
                args: std::mem::take(&mut args.args),
                with_ordinality: *with_ordinality,
                alias: alias.take(),
            };
        } else if let TableFactor::Function { lateral, .. } = relation {
            *lateral = !*is_first;
        }
        *is_first = false;
    }
}

/// One column of a function that gives rows: the items of a list that another function gives of the same arguments.
fn rows_of(function: &Function, column: &SetColumn) -> Expr {
    let name = ObjectName(vec![ObjectNamePart::Identifier(Ident::new(column.list))]);
    let rows = call("unnest", vec![Expr::Function(Function { name, ..function.clone() })]);
    match column.typed {
        Some(typed) => call(typed, vec![rows]),
        None => rows,
    }
}

/// The columns of a function that gives rows, when the expression calls one.
fn set_columns(expr: &Expr) -> Option<&'static [SetColumn]> {
    match expr {
        Expr::Function(function) if function.over.is_none() => columns_of(&last_name(function)?),
        _ => None,
    }
}

/// A column keeps its label when what it is computed by is spelled otherwise.
fn keep_label(item: &mut SelectItem) {
    struct Finds;
    impl Visitor for Finds {
        type Break = ();
        fn pre_visit_expr(&mut self, expr: &Expr) -> ControlFlow<()> {
            if is_respelled(expr) { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
        }
    }
    if let SelectItem::UnnamedExpr(expr) = item
        && walk(expr, &mut Finds).is_break()
    {
        let label = label_of(expr).unwrap_or_else(|| "?column?".to_owned());
        *item = SelectItem::ExprWithAlias { expr: take(expr), alias: Ident::with_quote('"', label) };
    }
}

pub(super) fn last_name(function: &Function) -> Option<String> {
    function.name.0.last().and_then(|part| part.as_ident()).map(fold)
}

/// Whether the expression will be computed by functions of other names.
fn is_respelled(expr: &Expr) -> bool {
    match expr {
        Expr::Function(function) => set_columns(expr).is_some() || is_collected(function) || is_hypothetical(function),
        Expr::IsNormalized { .. } | Expr::BinaryOp { op: BinaryOperator::Overlaps, .. } => true,
        _ => false,
    }
}

/// `count(t.*)` takes a row; `ROW(t.*)` has its columns.
fn place_whole_rows(function: &mut Function) {
    if is_row_call(function) {
        return;
    }
    let FunctionArguments::List(list) = &mut function.args else { return };
    for argument in &mut list.args {
        if let FunctionArg::Unnamed(FunctionArgExpr::QualifiedWildcard(table)) = argument {
            *argument = FunctionArg::Unnamed(FunctionArgExpr::Expr(collected::whole_row(table)));
        }
    }
}

/// Puts arguments given by name into their places; what is left out is 0.
fn place_named_arguments(function: &mut Function) -> SqlResult<()> {
    let name = last_name(function).unwrap_or_default();
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
    let zero = || FunctionArgExpr::Expr(value(Value::Number("0".to_owned(), false)));
    list.args = places.into_iter().map(|place| FunctionArg::Unnamed(place.unwrap_or_else(zero))).collect();
    Ok(())
}

/// The form of `normalize(x, NFD)` is a word of the syntax.
fn name_form(function: &mut Function) -> SqlResult<()> {
    let is_normalize =
        matches!(function.name.0.as_slice(), [part] if part.as_ident().map(fold).as_deref() == Some("normalize"));
    let FunctionArguments::List(list) = &mut function.args else { return Ok(()) };
    let (true, [_, FunctionArg::Unnamed(FunctionArgExpr::Expr(form))]) = (is_normalize, list.args.as_mut_slice())
    else {
        return Ok(());
    };
    let named = match form {
        Expr::Identifier(ident) if ident.quote_style.is_none() => Some(ident.value.to_ascii_uppercase()),
        _ => None,
    };
    let named = named.filter(|name| FORMS.contains(&name.as_str()));
    let Some(name) = named else {
        let message = format!("syntax error at or near \"{form}\"");
        return Err(SqlError::new(ErrorKind::Syntax, message));
    };
    *form = value(Value::SingleQuotedString(name));
    Ok(())
}

/// A number in ORDER BY of an aggregate is a constant, and not the number of a column.
fn order_by_constants(function: &mut Function) {
    let mut orders: Vec<&mut OrderByExpr> = function.within_group.iter_mut().collect();
    if let FunctionArguments::List(list) = &mut function.args {
        orders.extend(list.clauses.iter_mut().flat_map(|clause| match clause {
            FunctionArgumentClause::OrderBy(order) => order.iter_mut(),
            _ => [].iter_mut(),
        }));
    }
    for by in orders {
        if matches!(&by.expr, Expr::Value(_)) {
            by.expr = Expr::Nested(Box::new(take(&mut by.expr)));
        }
    }
}

fn no_such_argument(function: &str) -> Box<SqlError> {
    SqlError::new(ErrorKind::UndefinedFunction, format!("function {function} with these arguments does not exist"))
        .with_hint("No function matches the given name and argument types. You might need to add explicit type casts.")
}
