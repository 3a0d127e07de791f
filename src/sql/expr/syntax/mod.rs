//! Forms of expressions that the planner reads otherwise than PostgreSQL, or not at all, turned into calls.
//!
//! [`set_right`] sets right what the parser binds otherwise; then each form becomes a call that waits for the types of its
//! arguments ([`super::pending`]).

mod bits;
mod conditions;
mod numbers;
mod rows;
mod sorted_sets;
mod subqueries;
mod values;

use std::ops::ControlFlow;

use sqlparser::ast::{
    CastKind, DataType, DateTimeField, Expr, Function, FunctionArg, FunctionArgExpr, FunctionArguments, Ident,
    Interval, ObjectName, ObjectNamePart, Query, Select, UnaryOperator, Value, ValueWithSpan, VisitorMut,
};
use tablegate_bind::set_right;
use tablegate_types::error::{ErrorKind, SqlError, SqlResult};
use tablegate_types::interrupt;
use tablegate_types::sql_type::{IntervalFields, SqlType, TimeLimits};

use self::subqueries::Subqueries;
use super::aggregates::SUM_OF;
use super::pending;
use crate::syntax::{call, fold, sql_type, take, walk_mut};

/// # Errors
/// 42601 for what is not PostgreSQL's, 0A000 for what is not done here.
pub(crate) fn lower(query: &mut Query) -> SqlResult<()> {
    match walk_mut(query, &mut Lowering::default()) {
        ControlFlow::Continue(()) => Ok(()),
        ControlFlow::Break(error) => Err(error),
    }
}

#[derive(Default)]
struct Lowering {
    subqueries: Subqueries,
}

impl VisitorMut for Lowering {
    type Break = Box<SqlError>;

    fn pre_visit_query(&mut self, query: &mut Query) -> ControlFlow<Self::Break> {
        values::keep_types(&mut query.body);
        conditions::keep_types(&mut query.body);
        ControlFlow::Continue(())
    }

    fn post_visit_select(&mut self, select: &mut Select) -> ControlFlow<Self::Break> {
        subqueries::group_once(select);
        ControlFlow::Continue(())
    }

    fn pre_visit_expr(&mut self, expr: &mut Expr) -> ControlFlow<Self::Break> {
        if let Err(stopped) = interrupt::check() {
            return ControlFlow::Break(stopped);
        }
        set_right(expr);
        match numbers::fit(expr) {
            Ok(()) => ControlFlow::Continue(()),
            Err(error) => ControlFlow::Break(error),
        }
    }

    fn post_visit_expr(&mut self, expr: &mut Expr) -> ControlFlow<Self::Break> {
        Subqueries::bare(expr);
        match lower_one(expr) {
            Ok(()) => {
                self.subqueries.number(expr);
                ControlFlow::Continue(())
            }
            Err(error) => ControlFlow::Break(error),
        }
    }
}

fn lower_one(expr: &mut Expr) -> SqlResult<()> {
    if let Some(row) = rows::of_values(expr) {
        *expr = row;
        return Ok(());
    }
    match expr {
        // A minus before a number belongs to it.
        Expr::UnaryOp { op: UnaryOperator::Minus, expr: operand } if is_number(operand) => {}
        Expr::UnaryOp { op, expr: operand } => {
            *expr = call(&pending::prefix_function(&op.to_string()), vec![take(operand)]);
        }
        Expr::IsDistinctFrom(left, right) => *expr = call(pending::IS_DISTINCT, vec![take(left), take(right)]),
        Expr::IsNotDistinctFrom(left, right) => *expr = call(pending::IS_NOT_DISTINCT, vec![take(left), take(right)]),
        Expr::AnyOp { left, compare_op, right, .. } if !is_query(right) => {
            *expr = call(&pending::any_function(&compare_op.to_string()), vec![take(left), take(right)]);
        }
        Expr::AllOp { left, compare_op, right } if !is_query(right) => {
            *expr = call(&pending::all_function(&compare_op.to_string()), vec![take(left), take(right)]);
        }
        Expr::Cast { kind: CastKind::TryCast | CastKind::SafeCast, .. } => {
            return Err(SqlError::new(ErrorKind::Syntax, "TRY_CAST is not PostgreSQL's").with_hint("Use CAST."));
        }
        // The catalogue's own rewriting makes unsigned numbers of what names objects: that is for the planner.
        Expr::Cast { data_type: DataType::IntUnsigned(_), .. } => {}
        Expr::Cast { expr: operand, data_type, array: false, format: None, .. } => {
            *expr = cast(take(operand), &sql_type(data_type)?);
        }
        // The planner knows escapes of one character.
        Expr::Like { pattern, escape_char, .. } | Expr::ILike { pattern, escape_char, .. }
            if escape_char.as_ref().is_some_and(|escape| !is_one_character(escape)) =>
        {
            if let Some(escape) = escape_char.take() {
                **pattern = call("like_escape", vec![take(pattern), Expr::Value(escape)]);
            }
        }
        Expr::Interval(interval) => *expr = interval_cast(interval)?,
        // The planner would read the items as if there were no query around.
        Expr::Array(array) => *expr = call(pending::ARRAY, std::mem::take(&mut array.elem)),
        Expr::AtTimeZone { timestamp, time_zone } => {
            *expr = call("timezone", vec![take(time_zone), take(timestamp)]);
        }
        Expr::Function(function) if is_average(function) => *expr = average(function),
        Expr::Function(function) => match sorted_sets::apart(function)? {
            Some(apart) => *expr = apart,
            None => sorted_sets::order_by_constants(function),
        },
        Expr::Value(ValueWithSpan { value: Value::UnicodeStringLiteral(text), span }) => {
            let value = Value::SingleQuotedString(std::mem::take(text));
            *expr = Expr::Value(ValueWithSpan { value, span: *span });
        }
        Expr::Value(ValueWithSpan { value: Value::SingleQuotedByteStringLiteral(digits), .. }) => {
            *expr = bits::of_binary(digits)?;
        }
        Expr::Value(ValueWithSpan { value: Value::HexStringLiteral(digits), .. }) => {
            *expr = bits::of_hexadecimal(digits)?;
        }
        _ => {}
    }
    Ok(())
}

/// The planner leaves casts out of the names of columns, and two columns would have one name.
fn cast(operand: Expr, sql_type: &SqlType) -> Expr {
    call(&pending::cast_function(sql_type), vec![operand])
}

fn is_one_character(value: &ValueWithSpan) -> bool {
    match &value.value {
        Value::SingleQuotedString(text) | Value::EscapedStringLiteral(text) => text.chars().count() == 1,
        _ => false,
    }
}

fn is_number(expr: &Expr) -> bool {
    matches!(expr, Expr::Value(ValueWithSpan { value: Value::Number(..), .. }))
}

fn is_query(expr: &Expr) -> bool {
    match expr {
        Expr::Subquery(_) => true,
        Expr::Nested(inner) => is_query(inner),
        _ => false,
    }
}

/// `INTERVAL '1' DAY` is a text read as an interval of days. `INTERVAL '1' WEEK`, which PostgreSQL does not have, is the text
/// `1 week`.
fn interval_cast(interval: &mut Interval) -> SqlResult<Expr> {
    let value = take(&mut interval.value);
    let Some(first) = &interval.leading_field else {
        return Ok(cast(value, &SqlType::Interval));
    };
    let words = match &interval.last_field {
        Some(last) => format!("{first} TO {last}"),
        None => first.to_string(),
    };
    // The digits of SECOND stand where other fields have none.
    let digits = interval.fractional_seconds_precision.or(interval.leading_precision);
    match (IntervalFields::named(&words), value) {
        (Some(fields), value) => Ok(cast(value, &SqlType::Limited(TimeLimits::interval(fields, digits)))),
        (None, Expr::Value(ValueWithSpan { value: Value::SingleQuotedString(text), span }))
            if interval.last_field.is_none() && text.trim().parse::<f64>().is_ok() =>
        {
            let text = Value::SingleQuotedString(format!("{} {}", text.trim(), unit(first)));
            Ok(cast(Expr::Value(ValueWithSpan { value: text, span }), &SqlType::Interval))
        }
        _ => Err(SqlError::new(ErrorKind::Syntax, format!("syntax error at or near \"{first}\""))),
    }
}

fn unit(field: &DateTimeField) -> String {
    field.to_string().to_lowercase()
}

fn is_average(function: &Function) -> bool {
    let [part] = function.name.0.as_slice() else { return false };
    let FunctionArguments::List(list) = &function.args else { return false };
    let is_expr = |argument: &FunctionArg| matches!(argument, FunctionArg::Unnamed(FunctionArgExpr::Expr(_)));
    part.as_ident().is_some_and(|ident| fold(ident) == "avg") && list.args.len() == 1 && list.args.iter().all(is_expr)
}

/// The average is a sum and a count, which the engine computes together with those that are asked for.
fn average(function: &Function) -> Expr {
    let named = |name: &str| {
        let mut part = function.clone();
        part.name = object_name(name);
        Expr::Function(part)
    };
    call(pending::AVERAGE, vec![named(SUM_OF), named("count")])
}

fn object_name(name: &str) -> ObjectName {
    ObjectName(vec![ObjectNamePart::Identifier(Ident::with_quote('"', name))])
}
