//! Arithmetic of numerics, whose operands may be integers and numerics of any scale.
//!
//! Results that 128 bits hold are computed in 128 bits. A result with more digits than its type is 22003.

use std::sync::Arc;

use arrow::array::{ArrayRef, AsArray, Datum, PrimitiveArray};
use arrow::compute::kernels::numeric;
use arrow::datatypes::{DataType, Decimal128Type, Decimal256Type, DecimalType, i256};
use arrow::error::ArrowError;
use tablegate_types::error::{ErrorKind, SqlError, SqlResult};
use tablegate_types::input::Digits;
use tablegate_types::sql_type::BARE_NUMERIC_PRECISION;

use super::operands::{Operand, pairs};
use super::{Kernel, Operands};
use crate::expr::typed::digits_of;

type Arithmetic = fn(&dyn Datum, &dyn Datum) -> Result<ArrayRef, ArrowError>;

pub(crate) static DECIMAL_ADD: Kernel = Kernel { name: "numeric_add", evaluate: |o, t| arithmetic(numeric::add, o, t) };
pub(crate) static DECIMAL_SUBTRACT: Kernel =
    Kernel { name: "numeric_subtract", evaluate: |o, t| arithmetic(numeric::sub, o, t) };
pub(crate) static DECIMAL_MULTIPLY: Kernel = Kernel { name: "numeric_multiply", evaluate: multiply };
/// Has the sign of the dividend.
pub(crate) static DECIMAL_REMAINDER: Kernel =
    Kernel { name: "numeric_remainder", evaluate: |o, t| arithmetic(numeric::rem, o, t) };
pub(crate) static DECIMAL_NEGATE: Kernel =
    Kernel { name: "numeric_negate", evaluate: |o, t| relabelled(&numeric::neg(&*o.get(0)?.array)?, t) };
pub(crate) static DECIMAL_ABSOLUTE: Kernel = Kernel { name: "numeric_absolute", evaluate: absolute };

/// Sums, differences and remainders: their scale is the greater one of the operands.
fn arithmetic(compute: Arithmetic, operands: &Operands<'_>, result: &DataType) -> SqlResult<ArrayRef> {
    let (left, right) = (decimal(operands.get(0)?, result)?, decimal(operands.get(1)?, result)?);
    rescaled(&compute(&*left.datum(), &*right.datum()).map_err(refused)?, result)
}

fn multiply(operands: &Operands<'_>, result: &DataType) -> SqlResult<ArrayRef> {
    let (left, right) = (decimal(operands.get(0)?, result)?, decimal(operands.get(1)?, result)?);
    match numeric::mul(&*left.datum(), &*right.datum()) {
        Ok(values) => rescaled(&values, result),
        // The product of the digits, zeros included, may be too long although the result is not.
        Err(_) => multiply_stripped(operands, result),
    }
}

/// Multiplies without the zeros at the end of the factors.
fn multiply_stripped(operands: &Operands<'_>, result: &DataType) -> SqlResult<ArrayRef> {
    let (left, right) = (long(operands.get(0)?)?, long(operands.get(1)?)?);
    let (left_scale, right_scale) = (scale_of(&left), scale_of(&right));
    let digits = Digits::of(digits_of(result));
    let product = |left: i256, right: i256| {
        let ((left, left_scale), (right, right_scale)) = (stripped(left, left_scale), stripped(right, right_scale));
        let product = left.checked_mul(right).ok_or_else(overflow)?;
        digits.rescale(product, left_scale + right_scale).map_err(|_| overflow())
    };
    let values = pairs::<Decimal256Type, Decimal256Type, Decimal256Type>(&left, &right, product)?;
    from_long(values, result)
}

fn absolute(operands: &Operands<'_>, result: &DataType) -> SqlResult<ArrayRef> {
    let values = match result {
        DataType::Decimal128(..) => operands.map::<Decimal128Type, Decimal128Type>(|value| Ok(value.wrapping_abs())),
        _ => operands.map::<Decimal256Type, Decimal256Type>(|value| Ok(value.wrapping_abs())),
    };
    relabelled(&values?, result)
}

/// An integer or numeric as a decimal of the result's width, with the scale it has.
fn decimal(operand: Operand, result: &DataType) -> SqlResult<Operand> {
    let (_, scale) = digits_of(operand.array.data_type()).unwrap_or_default();
    match result {
        DataType::Decimal128(..) => {
            // What fits is cast without a look at each value.
            let precision = digits_of(operand.array.data_type()).map_or(19, |(precision, _)| precision.min(38));
            operand.cast(&DataType::Decimal128(precision, scale))
        }
        _ => operand.cast(&DataType::Decimal256(BARE_NUMERIC_PRECISION, scale)),
    }
}

/// An integer or numeric as a decimal of 256 bits.
pub(super) fn long(operand: Operand) -> SqlResult<Operand> {
    let (_, scale) = digits_of(operand.array.data_type()).unwrap_or_default();
    operand.cast(&DataType::Decimal256(BARE_NUMERIC_PRECISION, scale))
}

pub(super) fn scale_of(operand: &Operand) -> i8 {
    digits_of(operand.array.data_type()).map_or(0, |(_, scale)| scale)
}

/// A value without zeros at its end, and the scale that it then has.
pub(super) fn stripped(mut value: i256, mut scale: i8) -> (i256, i8) {
    if let Some(mut short) = value.to_i128() {
        while scale > 0 && short % 10 == 0 {
            short /= 10;
            scale -= 1;
        }
        return (i256::from_i128(short), scale);
    }
    let ten = i256::from_i128(10);
    while scale > 0 && value.wrapping_rem(ten) == i256::ZERO {
        value = value.wrapping_div(ten);
        scale -= 1;
    }
    (value, scale)
}

/// The values with the scale of the result.
fn rescaled(values: &ArrayRef, result: &DataType) -> SqlResult<ArrayRef> {
    let (Some((_, from)), Some((precision, to))) = (digits_of(values.data_type()), digits_of(result)) else {
        return Err(SqlError::new(ErrorKind::Internal, "arithmetic of numerics gave no numeric"));
    };
    if from == to && precision < BARE_NUMERIC_PRECISION {
        return relabelled(values, result);
    }
    // Only types of the greatest precision can be too small for the result.
    let digits = Digits::of(Some((precision, to)));
    let values = values.as_primitive_opt::<Decimal256Type>().ok_or_else(other_width)?;
    let moved = values
        .try_unary::<_, Decimal256Type, Box<SqlError>>(|value| digits.rescale(value, from).map_err(|_| overflow()))?;
    from_long(moved, result)
}

/// The same digits, said to be of the result's type, which has their scale.
fn relabelled(values: &ArrayRef, result: &DataType) -> SqlResult<ArrayRef> {
    Ok(match result {
        DataType::Decimal128(..) => with_type::<Decimal128Type>(values, result)?,
        _ => with_type::<Decimal256Type>(values, result)?,
    })
}

fn with_type<T: DecimalType>(values: &ArrayRef, result: &DataType) -> SqlResult<ArrayRef> {
    let values = values.as_primitive_opt::<T>().ok_or_else(other_width)?;
    Ok(Arc::new(values.clone().with_data_type(result.clone())))
}

fn other_width() -> Box<SqlError> {
    SqlError::new(ErrorKind::Internal, "a numeric has another width")
}

/// Digits of 256 bits, already at the result's scale, as the result's type.
pub(super) fn from_long(values: PrimitiveArray<Decimal256Type>, result: &DataType) -> SqlResult<ArrayRef> {
    Ok(match result {
        DataType::Decimal128(..) => {
            let short =
                values.try_unary::<_, Decimal128Type, Box<SqlError>>(|value| value.to_i128().ok_or_else(overflow))?;
            Arc::new(short.with_data_type(result.clone()))
        }
        _ => Arc::new(values.with_data_type(result.clone())),
    })
}

fn refused(error: ArrowError) -> Box<SqlError> {
    match error {
        ArrowError::ArithmeticOverflow(_) => overflow(),
        other => other.into(),
    }
}

/// The result has more digits than there is room for (22003).
pub(in crate::expr) fn overflow() -> Box<SqlError> {
    SqlError::new(ErrorKind::NumericOutOfRange, "value overflows numeric format")
}
