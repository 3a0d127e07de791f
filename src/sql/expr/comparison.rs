//! Comparisons become the planner's own: scans read key ranges out of them, and joins are planned from them.
//!
//! So a column is left as it is wherever that is possible: a constant of another numeric type becomes one of the column's
//! type if that holds it exactly.

use datafusion::logical_expr::expr::Placeholder;
use datafusion::logical_expr::{BinaryExpr, Expr, Operator};

use super::conversion::{Category, category, is_implicit, is_same};
use super::kernels::{Computation, INTERVAL_SPAN};
use super::literal;
use super::operand::Operand;
use super::operators::{self, missing};
use super::parameters::Parameters;
use super::record;
use super::typed::{Shape, ValueType};
use crate::sql::error::SqlResult;
use crate::sql::types::SqlType;

/// Digits of the longest interval in microseconds.
const SPAN_DIGITS: (u8, i8) = (38, 0);

/// PostgreSQL's name of a comparison; `None` for other operators. To be distinct is to be not equal.
pub(super) fn symbol(operator: Operator) -> Option<&'static str> {
    Some(match operator {
        Operator::Eq | Operator::IsNotDistinctFrom | Operator::IsDistinctFrom => "=",
        Operator::NotEq => "<>",
        Operator::Lt => "<",
        Operator::LtEq => "<=",
        Operator::Gt => ">",
        Operator::GtEq => ">=",
        _ => return None,
    })
}

/// `left operator right`
///
/// # Errors
/// 42883 when the types have no such operator, and what is wrong with a literal that had no type.
pub(super) fn compare(
    operator: Operator,
    left: Operand,
    right: Operand,
    parameters: &Parameters<'_>,
) -> SqlResult<Expr> {
    let (left, right) = aligned(operator, left, right, parameters)?;
    Ok(Expr::BinaryExpr(BinaryExpr { left: Box::new(left), op: operator, right: Box::new(right) }))
}

/// Both operands in one type, ready to be compared.
///
/// # Errors
/// As [`compare`].
pub(super) fn aligned(
    operator: Operator,
    left: Operand,
    right: Operand,
    parameters: &Parameters<'_>,
) -> SqlResult<(Expr, Expr)> {
    let name = symbol(operator).unwrap_or("=");
    if let Some(common) = array_type(&left, &right) {
        let Some(common) = common else { return Err(missing(name, Some(left.sql_type()), right.sql_type())) };
        let common = ValueType::of(common);
        return Ok((left.converted_to(&common, parameters)?, right.converted_to(&common, parameters)?));
    }
    if let Some(keys) = record::aligned(name, &left, &right, parameters)? {
        return Ok(keys);
    }
    let chosen = operators::binary(name, left.sql_type(), right.sql_type())?;
    let asked = (chosen.left.unwrap_or_else(|| chosen.right.clone()), chosen.right);
    match asked {
        (SqlType::Numeric(_), SqlType::Numeric(_)) => numerics(left, right, parameters),
        (left_type, right_type) if is_same(&left_type, &right_type) => {
            let sides = (left.coerced(&left_type, parameters)?, right.coerced(&right_type, parameters)?);
            Ok(if left_type == SqlType::Interval { (span(sides.0), span(sides.1)) } else { sides })
        }
        (left_type, right_type) => mixed(left, right, &left_type, &right_type, parameters),
    }
}

/// Operands of two types that are compared as they are: the narrower one is widened, unless a constant can be narrowed.
fn mixed(
    left: Operand,
    right: Operand,
    left_type: &SqlType,
    right_type: &SqlType,
    parameters: &Parameters<'_>,
) -> SqlResult<(Expr, Expr)> {
    if category(left_type) == Category::Number
        && let Some(sides) = narrowed(&left, &right)
    {
        return Ok(sides);
    }
    let wide = if is_implicit(left_type, right_type) { right_type } else { left_type };
    Ok((left.coerced(wide, parameters)?, right.coerced(wide, parameters)?))
}

fn numerics(left: Operand, right: Operand, parameters: &Parameters<'_>) -> SqlResult<(Expr, Expr)> {
    if let Some(sides) = narrowed(&left, &right) {
        return Ok(sides);
    }
    let read = |operand: Operand| -> SqlResult<Operand> {
        if !operand.is_unknown() {
            return Ok(operand);
        }
        let expr = operand.coerced(&SqlType::Numeric(None), parameters)?;
        let value_type = match &expr {
            Expr::Literal(value, _) => {
                ValueType { sql_type: SqlType::of_arrow(&value.data_type()), data_type: value.data_type() }
            }
            Expr::Placeholder(Placeholder { field: Some(field), .. }) => ValueType::of_field(field),
            _ => ValueType::of(SqlType::Numeric(None)),
        };
        Ok(Operand { expr, value_type })
    };
    let (left, right) = (read(left)?, read(right)?);
    if let Some(sides) = narrowed(&left, &right) {
        return Ok(sides);
    }
    let shape = |operand: &Operand| operand.shape().unwrap_or_else(Shape::bare);
    let common = shape(&left).union(shape(&right)).value_type();
    // Two of one layout are compared as they are.
    if left.value_type.data_type == right.value_type.data_type {
        return Ok((left.expr, right.expr));
    }
    Ok((left.converted_to(&common, parameters)?, right.converted_to(&common, parameters)?))
}

/// An exact number beside a constant that its type holds: the constant in that type.
fn narrowed(left: &Operand, right: &Operand) -> Option<(Expr, Expr)> {
    let narrow = |column: &Operand, constant: &Operand| {
        if column.constant().is_some() {
            return None;
        }
        let value = literal::exactly(constant.constant()?, &column.value_type.data_type)?;
        Some(Expr::Literal(value, None))
    };
    if let Some(constant) = narrow(left, right) {
        return Some((left.expr.clone(), constant));
    }
    narrow(right, left).map(|constant| (constant, right.expr.clone()))
}

/// Intervals are compared by their length, a month being 30 days.
pub(super) fn span(interval: Expr) -> Expr {
    Computation::call(&INTERVAL_SPAN, None, ValueType::of(SqlType::Numeric(Some(SPAN_DIGITS))), vec![interval])
}

/// What values are ordered and grouped by that are not their own order: intervals and rows; `None` for all others.
///
/// # Errors
/// 42883 for a row with a field that cannot be compared.
pub(super) fn sort_key(operand: Operand) -> SqlResult<Option<Expr>> {
    match operand.sql_type() {
        SqlType::Interval => Ok(Some(span(operand.expr))),
        SqlType::Record(_) => record::key(operand).map(Some),
        _ => Ok(None),
    }
}

/// The type that two arrays are compared as; `Some(None)` when there is none, `None` when neither is an array.
fn array_type(left: &Operand, right: &Operand) -> Option<Option<SqlType>> {
    let is_array = |operand: &Operand| matches!(operand.sql_type(), SqlType::Array(_));
    match (is_array(left), is_array(right)) {
        (false, false) => None,
        (true, true) => Some(
            is_same(left.sql_type(), right.sql_type()).then(|| super::conversion::without_parameters(left.sql_type())),
        ),
        (true, false) if right.is_unknown() => Some(Some(left.sql_type().clone())),
        (false, true) if left.is_unknown() => Some(Some(right.sql_type().clone())),
        _ => Some(None),
    }
}
