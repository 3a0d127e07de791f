//! Comparisons become the planner's own: scans read key ranges out of them, and joins are planned from them.
//!
//! So a column is left as it is wherever that is possible: a constant of another numeric type becomes one of the column's
//! type if that holds it exactly. Values that the engine compares otherwise than PostgreSQL are compared by their keys.

use datafusion::logical_expr::expr::Placeholder;
use datafusion::logical_expr::{BinaryExpr, Expr, Operator};
use tablegate_types::conversion::{Category, category, is_implicit, is_same};
use tablegate_types::error::SqlResult;
use tablegate_types::sql_type::SqlType;

use super::operand::Operand;
use super::operators::{self, missing};
use super::parameters::Parameters;
use super::sort_key::{Purpose, keyed};
use super::typed::{Shape, ValueType};
use super::{literal, record, references};

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
    let (left, right, common) = converted(operator, left, right, parameters)?;
    let keyed = |side: Expr| match &common {
        Some(common) => keyed(side, common, purpose(operator)),
        None => side,
    };
    Ok((keyed(left), keyed(right)))
}

/// What an operator compares for.
pub(super) fn purpose(operator: Operator) -> Purpose {
    match operator {
        Operator::Eq | Operator::NotEq | Operator::IsDistinctFrom | Operator::IsNotDistinctFrom => Purpose::Equality,
        _ => Purpose::Order,
    }
}

/// Both operands in one type, and that type unless they are numbers.
///
/// # Errors
/// As [`compare`].
pub(super) fn converted(
    operator: Operator,
    left: Operand,
    right: Operand,
    parameters: &Parameters<'_>,
) -> SqlResult<(Expr, Expr, Option<SqlType>)> {
    let name = symbol(operator).unwrap_or("=");
    let (left, right) = references::aligned(left, right, parameters)?;
    if let Some(common) = array_type(&left, &right) {
        let Some(common) = common else { return Err(missing(name, Some(left.sql_type()), right.sql_type())) };
        let target = ValueType::of(common.clone());
        return Ok((left.converted_to(&target, parameters)?, right.converted_to(&target, parameters)?, Some(common)));
    }
    if let Some((left, right, rows)) = record::aligned(name, &left, &right, parameters)? {
        return Ok((left, right, Some(rows)));
    }
    let chosen = operators::binary(name, left.sql_type(), right.sql_type())?;
    let asked = (chosen.left.unwrap_or_else(|| chosen.right.clone()), chosen.right);
    let (left, right) = match asked {
        (SqlType::Numeric(_), SqlType::Numeric(_)) => numerics(left, right, parameters)?,
        (left_type, right_type) if is_same(&left_type, &right_type) => {
            let (left, right) = (left.coerced(&left_type, parameters)?, right.coerced(&right_type, parameters)?);
            return Ok((left, right, Some(left_type)));
        }
        (left_type, right_type) => mixed(left, right, &left_type, &right_type, parameters)?,
    };
    Ok((left, right, None))
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

/// The type that two arrays are compared as; `Some(None)` when there is none, `None` when neither is an array.
fn array_type(left: &Operand, right: &Operand) -> Option<Option<SqlType>> {
    let is_array = |operand: &Operand| matches!(operand.sql_type(), SqlType::Array(_));
    match (is_array(left), is_array(right)) {
        (false, false) => None,
        (true, true) => Some(
            is_same(left.sql_type(), right.sql_type())
                .then(|| tablegate_types::conversion::without_parameters(left.sql_type())),
        ),
        (true, false) if right.is_unknown() => Some(Some(left.sql_type().clone())),
        (false, true) if left.is_unknown() => Some(Some(right.sql_type().clone())),
        _ => Some(None),
    }
}
