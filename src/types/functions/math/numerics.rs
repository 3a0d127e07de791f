//! Roots, powers and logarithms of `numeric`.
//!
//! How many digits a result has depends on its value. Of constants it is known when the call is planned; else the result
//! is a `numeric` without declared size, which shows no zeros at its end.

use arrow::array::ArrayRef;
use arrow::datatypes::i256;
use datafusion_common::ScalarValue;

use super::fixed_point::{Decimal, exp, ln, log, log10, power, sqrt};
use crate::error::{ErrorKind, SqlError, SqlResult};
use crate::functions::call::{Call, Decimals};
use crate::functions::signature::Type::Numeric;
use crate::functions::signature::{Arguments, Overload};
use crate::sql_type::{BARE_NUMERIC_PRECISION, SqlType};

pub(super) const FUNCTIONS: &[Overload] = &[
    Overload::new("sqrt", &[Numeric], Numeric, |call| evaluate(call, sqrt)).sized(|a| size(a, sqrt)),
    Overload::new("exp", &[Numeric], Numeric, |call| evaluate(call, exp)).sized(|a| size(a, exp)),
    Overload::new("ln", &[Numeric], Numeric, |call| evaluate(call, ln)).sized(|a| size(a, ln)),
    Overload::new("log", &[Numeric], Numeric, |call| evaluate(call, log10)).sized(|a| size(a, log10)),
    Overload::new("log10", &[Numeric], Numeric, |call| evaluate(call, log10)).sized(|a| size(a, log10)),
    Overload::new("log", &[Numeric, Numeric], Numeric, |call| evaluate(call, log)).sized(|a| size(a, log)),
    Overload::new("power", &[Numeric, Numeric], Numeric, |call| evaluate(call, power)).sized(|a| size(a, power)),
    Overload::new("pow", &[Numeric, Numeric], Numeric, |call| evaluate(call, power)).sized(|a| size(a, power)),
];

type Function = fn(&[Decimal]) -> SqlResult<Decimal>;

fn evaluate(call: &Call, function: Function) -> SqlResult<ArrayRef> {
    let columns: Vec<(Decimals<'_>, bool)> = (0..call.arguments.len())
        .map(|index| Ok((call.decimals(index)?, call.arguments[index].sql_type == SqlType::Numeric(None))))
        .collect::<SqlResult<_>>()?;
    let mut arguments = Vec::with_capacity(columns.len());
    call.decimal_results(|row, digits| {
        arguments.clear();
        arguments.extend(columns.iter().map(|(values, bare)| shown(values.at(row), values.scale, *bare)));
        function(&arguments)?.fit(digits)
    })
}

/// A value with the digits it shows.
fn shown(value: i256, scale: i8, bare: bool) -> Decimal {
    let value = Decimal::new(value, scale);
    if bare { value.trimmed() } else { value }
}

/// The size of the result, when all arguments are constants.
#[expect(clippy::unnecessary_wraps, reason = "the shape that Overload::sized asks for")]
fn size(arguments: &Arguments<'_>, function: Function) -> SqlResult<SqlType> {
    let constants: Option<Vec<Decimal>> = (0..arguments.types.len())
        .map(|index| {
            let bare = arguments.types[index] == SqlType::Numeric(None);
            decimal(arguments.constant(index)?).map(|(value, scale)| shown(value, scale, bare))
        })
        .collect();
    // What fails here fails when it is evaluated.
    let result = constants.and_then(|constants| function(&constants).ok());
    let scale = result.and_then(|result| i8::try_from(result.scale()).ok());
    Ok(SqlType::Numeric(scale.map(|scale| (BARE_NUMERIC_PRECISION, scale))))
}

fn decimal(constant: &ScalarValue) -> Option<(i256, i8)> {
    match constant {
        ScalarValue::Decimal128(value, _, scale) => Some((i256::from_i128((*value)?), *scale)),
        ScalarValue::Decimal256(value, _, scale) => Some(((*value)?, *scale)),
        ScalarValue::Int16(value) => Some((i256::from_i128((*value)?.into()), 0)),
        ScalarValue::Int32(value) => Some((i256::from_i128((*value)?.into()), 0)),
        ScalarValue::Int64(value) => Some((i256::from_i128((*value)?.into()), 0)),
        _ => None,
    }
}

pub(super) fn root_of_negative() -> Box<SqlError> {
    SqlError::new(ErrorKind::InvalidPower, "cannot take square root of a negative number")
}

pub(super) fn logarithm_of_zero() -> Box<SqlError> {
    SqlError::new(ErrorKind::InvalidLogarithmArgument, "cannot take logarithm of zero")
}

pub(super) fn logarithm_of_negative() -> Box<SqlError> {
    SqlError::new(ErrorKind::InvalidLogarithmArgument, "cannot take logarithm of a negative number")
}

pub(super) fn zero_to_negative() -> Box<SqlError> {
    SqlError::new(ErrorKind::InvalidPower, "zero raised to a negative power is undefined")
}

pub(super) fn power_is_complex() -> Box<SqlError> {
    let message = "a negative number raised to a non-integer power yields a complex result";
    SqlError::new(ErrorKind::InvalidPower, message)
}
