//! Forms of expressions that the planner reads otherwise than PostgreSQL, or not at all, turned into calls.
//!
//! [`precedence`] sets right what the parser binds otherwise; then each form becomes a call that waits for the types of its
//! arguments ([`super::pending`]).

mod numbers;
mod precedence;
mod rows;
mod sorted_sets;
mod values;

use std::ops::ControlFlow;

use datafusion::sql::sqlparser::ast::{
    CastKind, DataType, DateTimeField, Expr, Function, FunctionArg, FunctionArgExpr, FunctionArguments, Ident,
    Interval, ObjectName, ObjectNamePart, Query, UnaryOperator, Value, ValueWithSpan, VisitMut, VisitorMut,
};

use super::aggregates::SUM_OF;
use super::pending;
use crate::sql::ddl::sql_type;
use crate::sql::error::{ErrorKind, SqlError, SqlResult};
use crate::sql::statement::fold;
use crate::sql::syntax::{call, take};

/// # Errors
/// 42601 for what is not PostgreSQL's, 0A000 for what is not done here.
pub(in crate::sql) fn lower(query: &mut Query) -> SqlResult<()> {
    match query.visit(&mut Lowering) {
        ControlFlow::Continue(()) => Ok(()),
        ControlFlow::Break(error) => Err(error),
    }
}

struct Lowering;

impl VisitorMut for Lowering {
    type Break = Box<SqlError>;

    fn pre_visit_query(&mut self, query: &mut Query) -> ControlFlow<Self::Break> {
        values::keep_types(&mut query.body);
        ControlFlow::Continue(())
    }

    fn pre_visit_expr(&mut self, expr: &mut Expr) -> ControlFlow<Self::Break> {
        precedence::set_right(expr);
        match numbers::fit(expr) {
            Ok(()) => ControlFlow::Continue(()),
            Err(error) => ControlFlow::Break(error),
        }
    }

    fn post_visit_expr(&mut self, expr: &mut Expr) -> ControlFlow<Self::Break> {
        match lower_one(expr) {
            Ok(()) => ControlFlow::Continue(()),
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
            *expr = cast(take(operand), data_type)?;
        }
        Expr::Interval(interval) => *expr = interval_cast(interval)?,
        // The planner would read the items as if there were no query around.
        Expr::Array(array) => *expr = call(pending::ARRAY, std::mem::take(&mut array.elem)),
        Expr::AtTimeZone { timestamp, time_zone } => {
            *expr = call("timezone", vec![take(time_zone), take(timestamp)]);
        }
        Expr::Function(function) if is_average(function) => *expr = average(function),
        Expr::Function(function) => {
            if let Some(apart) = sorted_sets::apart(function)? {
                *expr = apart;
            }
        }
        Expr::Value(ValueWithSpan { value: Value::UnicodeStringLiteral(text), span }) => {
            let value = Value::SingleQuotedString(std::mem::take(text));
            *expr = Expr::Value(ValueWithSpan { value, span: *span });
        }
        Expr::Value(ValueWithSpan {
            value: Value::SingleQuotedByteStringLiteral(_) | Value::HexStringLiteral(_),
            ..
        }) => return Err(SqlError::not_supported("type bit")),
        _ => {}
    }
    Ok(())
}

/// The planner leaves casts out of the names of columns, and two columns would have one name.
fn cast(operand: Expr, data_type: &DataType) -> SqlResult<Expr> {
    let cast = call(&pending::cast_function(&sql_type(data_type)?), vec![operand]);
    Ok(match digits_of_seconds(data_type) {
        Some(digits) => {
            let digits = Expr::Value(Value::Number(digits.to_string(), false).into());
            call(pending::ROUNDED, vec![cast, digits])
        }
        None => cast,
    })
}

/// What is said in `timestamp(3)`.
fn digits_of_seconds(data_type: &DataType) -> Option<u64> {
    match data_type {
        DataType::Timestamp(digits, _) | DataType::Time(digits, _) => *digits,
        DataType::Interval { precision, .. } => *precision,
        DataType::Custom(name, arguments) => {
            let is_timestamp = name.0.last().and_then(|part| part.as_ident()).is_some_and(|i| fold(i) == "timestamptz");
            arguments.first().filter(|_| is_timestamp)?.parse().ok()
        }
        _ => None,
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

/// `INTERVAL '1' DAY` is the text `1 DAY` read as an interval.
fn interval_cast(interval: &mut Interval) -> SqlResult<Expr> {
    let mut value = take(&mut interval.value);
    let whole = interval.leading_precision.is_none()
        && interval.fractional_seconds_precision.is_none()
        && interval.last_field.is_none();
    match (&interval.leading_field, &value) {
        (None, _) if whole => {}
        (Some(field), Expr::Value(ValueWithSpan { value: Value::SingleQuotedString(text), span })) if whole => {
            let is_count = text.trim().parse::<f64>().is_ok();
            if !is_count {
                return Err(SqlError::not_supported(format!("INTERVAL '{text}' {field}"))
                    .with_hint("Name the units in the text: INTERVAL '1 day 2 hours'."));
            }
            let text = Value::SingleQuotedString(format!("{} {}", text.trim(), unit(field)));
            value = Expr::Value(ValueWithSpan { value: text, span: *span });
        }
        _ => {
            return Err(SqlError::not_supported("INTERVAL with a precision or a range of fields")
                .with_hint("Name the units in the text: INTERVAL '1 day 2 hours'."));
        }
    }
    cast(value, &DataType::Interval { fields: None, precision: None })
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
