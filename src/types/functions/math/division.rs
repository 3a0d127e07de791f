//! Division with a remainder and what follows from it: `div`, `mod`, `gcd`, `lcm`; `factorial`.

use arrow::array::{ArrayRef, ArrowPrimitiveType};
use arrow::datatypes::{ArrowNativeTypeOp, Int16Type, Int32Type, Int64Type, i256};

use super::powers_of_ten::power_of_ten;
use crate::error::{ErrorKind, SqlError, SqlResult};
use crate::functions::call::Call;
use crate::functions::signature::Type::{Int2, Int4, Int8, Numeric};
use crate::functions::signature::{Arguments, Overload};
use crate::input::Digits;
use crate::sql_type::{BARE_NUMERIC_PRECISION, SqlType};

pub(super) const FUNCTIONS: &[Overload] = &[
    Overload::new("mod", &[Int2, Int2], Int2, remainder::<Int16Type>),
    Overload::new("mod", &[Int4, Int4], Int4, remainder::<Int32Type>),
    Overload::new("mod", &[Int8, Int8], Int8, remainder::<Int64Type>),
    Overload::new("mod", &[Numeric, Numeric], Numeric, |call| decimals(call, |a, b| Some(a.wrapping_rem(b)), true))
        .sized(wider_size),
    Overload::new("div", &[Numeric, Numeric], Numeric, quotient).sized(|_| Ok(SqlType::Numeric(Some((76, 0))))),
    Overload::new("gcd", &[Int4, Int4], Int4, |call| integers::<Int32Type>(call, gcd, "integer")),
    Overload::new("gcd", &[Int8, Int8], Int8, |call| integers::<Int64Type>(call, gcd, "bigint")),
    Overload::new("gcd", &[Numeric, Numeric], Numeric, |call| {
        decimals(call, |a, b| Some(gcd_of_decimals(a, b)), false)
    })
    .sized(wider_size),
    Overload::new("lcm", &[Int4, Int4], Int4, |call| integers::<Int32Type>(call, lcm, "integer")),
    Overload::new("lcm", &[Int8, Int8], Int8, |call| integers::<Int64Type>(call, lcm, "bigint")),
    Overload::new("lcm", &[Numeric, Numeric], Numeric, |call| decimals(call, lcm_of_decimals, false)).sized(long_size),
    Overload::new("factorial", &[Int8], Numeric, factorial).sized(|_| Ok(SqlType::Numeric(Some((76, 0))))),
];

fn by_zero() -> Box<SqlError> {
    SqlError::new(ErrorKind::DivisionByZero, "division by zero")
}

fn remainder<T: ArrowPrimitiveType>(call: &Call) -> SqlResult<ArrayRef>
where
    T::Native: ArrowNativeTypeOp,
{
    let (values, divisors) = (call.primitive::<T>(0)?, call.primitive::<T>(1)?);
    call.numbers::<T>(|row| {
        let divisor = divisors.at(row);
        // Wrapping, for the least number by -1 leaves nothing.
        if divisor.is_zero() { Err(by_zero()) } else { Ok(values.at(row).mod_wrapping(divisor)) }
    })
}

/// Two integers by way of 128 bits, where none of these overflows.
fn integers<T>(call: &Call, function: fn(i128, i128) -> i128, sql_type: &str) -> SqlResult<ArrayRef>
where
    T: ArrowPrimitiveType,
    T::Native: Into<i128> + TryFrom<i128>,
{
    let (a, b) = (call.primitive::<T>(0)?, call.primitive::<T>(1)?);
    call.numbers::<T>(|row| {
        let result = function(a.at(row).into(), b.at(row).into());
        let out_of_range = || SqlError::new(ErrorKind::NumericOutOfRange, format!("{sql_type} out of range"));
        T::Native::try_from(result).map_err(|_| out_of_range())
    })
}

fn gcd(a: i128, b: i128) -> i128 {
    let (mut a, mut b) = (a.abs(), b.abs());
    while b != 0 {
        (a, b) = (b, a % b);
    }
    a
}

fn lcm(a: i128, b: i128) -> i128 {
    if a == 0 || b == 0 { 0 } else { (a / gcd(a, b) * b).abs() }
}

fn gcd_of_decimals(a: i256, b: i256) -> i256 {
    let (mut a, mut b) = (a.wrapping_abs(), b.wrapping_abs());
    while b != i256::ZERO {
        (a, b) = (b, a.wrapping_rem(b));
    }
    a
}

fn lcm_of_decimals(a: i256, b: i256) -> Option<i256> {
    if a == i256::ZERO || b == i256::ZERO {
        return Some(i256::ZERO);
    }
    a.wrapping_div(gcd_of_decimals(a, b)).checked_mul(b).map(i256::wrapping_abs)
}

/// As many digits on each side of the point as the larger argument has.
#[expect(clippy::unnecessary_wraps, reason = "the shape that Overload::sized asks for")]
fn wider_size(arguments: &Arguments<'_>) -> SqlResult<SqlType> {
    let (Some((p1, s1)), Some((p2, s2))) = (arguments.digits(0), arguments.digits(1)) else {
        return Ok(SqlType::Numeric(None));
    };
    let before = |p: u8, s: i8| i32::from(p) - i32::from(s);
    let scale = s1.max(s2).max(0);
    let precision = before(p1, s1).max(before(p2, s2)) + i32::from(scale);
    Ok(SqlType::Numeric(u8::try_from(precision).ok().filter(|p| *p <= 76).map(|p| (p, scale))))
}

/// With the scale of the operands, and as many digits before the point as there can be.
#[expect(clippy::unnecessary_wraps, reason = "the shape that Overload::sized asks for")]
fn long_size(arguments: &Arguments<'_>) -> SqlResult<SqlType> {
    let (Some((_, s1)), Some((_, s2))) = (arguments.digits(0), arguments.digits(1)) else {
        return Ok(SqlType::Numeric(None));
    };
    Ok(SqlType::Numeric(Some((BARE_NUMERIC_PRECISION, s1.max(s2).max(0)))))
}

/// Two decimals brought to one scale.
fn decimals(call: &Call, function: fn(i256, i256) -> Option<i256>, is_division: bool) -> SqlResult<ArrayRef> {
    let (a, b) = (call.decimals(0)?, call.decimals(1)?);
    let scale = a.scale.max(b.scale);
    let common = Digits::of(Some((76, scale)));
    call.decimal_results(|row, digits| {
        let (a, b) = (common.rescale(a.at(row), a.scale)?, common.rescale(b.at(row), b.scale)?);
        if is_division && b == i256::ZERO {
            return Err(by_zero());
        }
        digits.rescale(function(a, b).ok_or_else(|| digits.overflow())?, scale)
    })
}

/// The whole part of a quotient.
fn quotient(call: &Call) -> SqlResult<ArrayRef> {
    let (a, b) = (call.decimals(0)?, call.decimals(1)?);
    let scale = a.scale.max(b.scale);
    let common = Digits::of(Some((76, scale)));
    call.decimal_results(|row, _| {
        let (a, b) = (common.rescale(a.at(row), a.scale)?, common.rescale(b.at(row), b.scale)?);
        if b == i256::ZERO { Err(by_zero()) } else { Ok(a.wrapping_div(b)) }
    })
}

fn factorial(call: &Call) -> SqlResult<ArrayRef> {
    let numbers = call.primitive::<Int64Type>(0)?;
    call.decimal_results(|row, _| {
        let number = numbers.at(row);
        if number < 0 {
            let message = "factorial of a negative number is undefined";
            return Err(SqlError::new(ErrorKind::NumericOutOfRange, message));
        }
        let mut product = i256::ONE;
        let bound = power_of_ten(76).unwrap_or(i256::MAX);
        for factor in 2..=number {
            let larger = product.checked_mul(i256::from_i128(factor.into())).filter(|p| *p < bound);
            product = larger.ok_or_else(|| Digits::of(None).overflow())?;
        }
        Ok(product)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn divisors_and_multiples() {
        assert_eq!((gcd(1071, 462), gcd(-4, 6), gcd(0, 0), gcd(0, -5)), (21, 2, 0, 5));
        assert_eq!((lcm(1071, 462), lcm(0, 5), lcm(-4, 6)), (23_562, 0, 12));
        assert_eq!(lcm_of_decimals(i256::MAX, i256::MAX.wrapping_sub(i256::ONE)), None);
    }
}
