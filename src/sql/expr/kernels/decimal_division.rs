//! Division of numerics, each quotient rounded where PostgreSQL rounds it.
//!
//! PostgreSQL gives a quotient at least 16 significant digits, and counts them in groups of four: how many digits it gets
//! behind the point follows from the first groups of both operands (`select_div_scale`).

use arrow::array::ArrayRef;
use arrow::datatypes::{DataType, Decimal256Type, i256};
use num_bigint::BigUint;
use tablegate_types::error::{ErrorKind, SqlError, SqlResult};
use tablegate_types::sql_type::BARE_NUMERIC_PRECISION;

use super::decimal::{from_long, long, overflow, scale_of, stripped};
use super::operands::pairs;
use super::{Kernel, Operands};
use crate::expr::typed::digits_of;

pub(crate) static DECIMAL_DIVIDE: Kernel = Kernel { name: "numeric_divide", evaluate: divide };

/// Decimal digits in a group.
const GROUP: i32 = 4;
/// Significant digits that a quotient has at least.
const SIGNIFICANT_DIGITS: i32 = 16;

fn divide(operands: &Operands<'_>, result: &DataType) -> SqlResult<ArrayRef> {
    let (left, right) = (long(operands.get(0)?)?, long(operands.get(1)?)?);
    let (left_scale, right_scale) = (scale_of(&left), scale_of(&right));
    let (left_shown, right_shown) = (operands.shown_scale(0), operands.shown_scale(1));
    let (_, scale) = digits_of(result).unwrap_or_default();
    let quotients = pairs::<Decimal256Type, Decimal256Type, Decimal256Type>(&left, &right, |left, right| {
        let dividend = Number::new(left, left_scale, left_shown);
        let divisor = Number::new(right, right_scale, right_shown);
        dividend.divided_by(divisor, scale.into())
    })?;
    from_long(quotients, result)
}

/// A decimal without zeros at its end.
#[derive(Clone, Copy)]
pub(in crate::expr) struct Number {
    digits: i256,
    scale: i32,
    /// Digits behind the point that it is shown with.
    shown: i32,
}

impl Number {
    /// `shown` is how many digits behind the point are shown always; `None` for as many as are needed.
    pub(crate) fn new(value: i256, scale: i8, shown: Option<i8>) -> Self {
        let (digits, scale) = stripped(value, scale);
        Self { digits, scale: scale.into(), shown: shown.unwrap_or(scale).into() }
    }

    /// The place of the first group that is not zero (0 just before the point), and its value.
    fn first_group(self) -> (i32, i32) {
        let length = decimal_digits(self.digits);
        if length == 0 {
            return (0, 0);
        }
        let exponent = length - 1 - self.scale;
        let in_group = exponent.rem_euclid(GROUP) + 1;
        let magnitude = self.digits.wrapping_abs();
        let first = if length >= in_group {
            power_of_ten(length - in_group).map_or(i256::ZERO, |divisor| magnitude.wrapping_div(divisor))
        } else {
            power_of_ten(in_group - length).map_or(i256::ZERO, |factor| magnitude.wrapping_mul(factor))
        };
        (exponent.div_euclid(GROUP), first.to_i128().and_then(|first| i32::try_from(first).ok()).unwrap_or(0))
    }

    /// Digits behind the point that PostgreSQL gives the quotient.
    fn quotient_scale(self, divisor: Self) -> i32 {
        let ((weight, first), (divisor_weight, divisor_first)) = (self.first_group(), divisor.first_group());
        let quotient_weight = weight - divisor_weight - i32::from(first <= divisor_first);
        (SIGNIFICANT_DIGITS - quotient_weight * GROUP).max(self.shown).max(divisor.shown).max(0)
    }

    /// The quotient in digits of the given scale.
    ///
    /// # Errors
    /// 22012 for a divisor of zero, 22003 for a quotient of more digits than there are.
    pub(crate) fn divided_by(self, divisor: Self, scale: i32) -> SqlResult<i256> {
        let (quotient, rounded_to) = self.quotient(divisor, scale)?;
        rescaled(quotient, scale - rounded_to)
    }

    /// The square root of the quotient in digits of the given scale; neither number is negative.
    ///
    /// # Errors
    /// As [`Number::divided_by`].
    pub(crate) fn root_of_quotient(self, divisor: Self, scale: i32) -> SqlResult<i256> {
        let (quotient, rounded_to) = self.quotient(divisor, scale)?;
        // The root of a number with twice as many digits behind the point has as many as are wanted.
        rescaled(rounded_root(quotient, rounded_to)?, scale - rounded_to)
    }

    /// The quotient rounded as PostgreSQL rounds it, and how many digits it then has behind the point.
    fn quotient(self, divisor: Self, most: i32) -> SqlResult<(i256, i32)> {
        if divisor.digits == i256::ZERO {
            return Err(SqlError::new(ErrorKind::DivisionByZero, "division by zero"));
        }
        let rounded_to = self.quotient_scale(divisor).min(most);
        let quotient = rounded_quotient(self.digits, divisor.digits, rounded_to + divisor.scale - self.scale)?;
        Ok((quotient, rounded_to))
    }
}

/// With more zeros at its end.
fn rescaled(value: i256, zeros: i32) -> SqlResult<i256> {
    let scaled = power_of_ten(zeros).and_then(|factor| value.checked_mul(factor));
    scaled.filter(|scaled| decimal_digits(*scaled) <= BARE_NUMERIC_PRECISION.into()).ok_or_else(overflow)
}

/// The nearest integer to the root of a number that is not negative, with so many zeros more at its end.
fn rounded_root(value: i256, zeros: i32) -> SqlResult<i256> {
    let zeros = u32::try_from(zeros).unwrap_or(0);
    let value = BigUint::from_bytes_le(&value.to_le_bytes()) * BigUint::from(10_u32).pow(zeros);
    let root = value.sqrt();
    let rest = value - &root * &root;
    let nearest = if rest > root { root + 1_u32 } else { root };
    let mut bytes = nearest.to_bytes_le();
    bytes.resize(size_of::<i256>(), 0);
    let bytes = bytes.try_into().map_err(|_| overflow())?;
    let root = i256::from_le_bytes(bytes);
    if root.is_negative() { Err(overflow()) } else { Ok(root) }
}

/// `dividend * 10^shift / divisor`, rounded half away from zero.
fn rounded_quotient(dividend: i256, divisor: i256, shift: i32) -> SqlResult<i256> {
    if let (Some(dividend), Some(divisor), Ok(shift)) = (dividend.to_i128(), divisor.to_i128(), u32::try_from(shift))
        && let Some(numerator) = 10_i128.checked_pow(shift).and_then(|factor| dividend.checked_mul(factor))
    {
        let (quotient, remainder) = (numerator / divisor, numerator % divisor);
        let up = remainder.unsigned_abs() >= divisor.unsigned_abs().div_ceil(2);
        let sign = if (numerator < 0) == (divisor < 0) { 1 } else { -1 };
        return Ok(i256::from_i128(quotient + if up { sign } else { 0 }));
    }
    let negative = dividend.is_negative() != divisor.is_negative();
    let magnitude = long_quotient(dividend.wrapping_abs(), divisor.wrapping_abs(), shift)?;
    Ok(if negative { magnitude.wrapping_neg() } else { magnitude })
}

/// Of numbers that are not negative; digit by digit where the dividend with all its zeros would be too long.
fn long_quotient(dividend: i256, divisor: i256, shift: i32) -> SqlResult<i256> {
    let divisor = if shift < 0 {
        power_of_ten(-shift).and_then(|factor| divisor.checked_mul(factor)).ok_or_else(overflow)?
    } else {
        divisor
    };
    let (mut quotient, mut remainder) = (dividend.wrapping_div(divisor), dividend.wrapping_rem(divisor));
    let ten = i256::from_i128(10);
    for _ in 0..shift.max(0) {
        let numerator = remainder.checked_mul(ten).ok_or_else(overflow)?;
        let digit = numerator.wrapping_div(divisor);
        quotient = quotient.checked_mul(ten).and_then(|quotient| quotient.checked_add(digit)).ok_or_else(overflow)?;
        remainder = numerator.wrapping_rem(divisor);
    }
    let rounds_up = remainder >= divisor.wrapping_sub(remainder);
    if rounds_up { quotient.checked_add(i256::ONE).ok_or_else(overflow) } else { Ok(quotient) }
}

/// How many decimal digits a number has; 0 has none.
fn decimal_digits(value: i256) -> i32 {
    if let Some(short) = value.to_i128() {
        return short.unsigned_abs().checked_ilog10().map_or(0, |log| log.cast_signed() + 1);
    }
    let magnitude = value.wrapping_abs();
    // More than the 38 digits of 128 bits.
    (38..=77).find(|digits| power_of_ten(*digits).is_none_or(|power| magnitude < power)).unwrap_or(77)
}

fn power_of_ten(exponent: i32) -> Option<i256> {
    let exponent = u32::try_from(exponent).ok()?;
    match 10_i128.checked_pow(exponent) {
        Some(short) => Some(i256::from_i128(short)),
        None => i256::from_i128(10).checked_pow(exponent),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tablegate_types::input::Digits;
    use tablegate_types::output::{ShownDigits, write_decimal};

    fn quotient(left: &str, right: &str) -> String {
        let number = |text: &str| {
            let behind_point = text.split_once('.').map_or(0, |(_, digits)| i8::try_from(digits.len()).unwrap());
            Number::new(Digits::of(Some((76, 30))).parse(text).unwrap(), 30, Some(behind_point))
        };
        let mut text = String::new();
        write_decimal(&mut text, number(left).divided_by(number(right), 36).unwrap(), 36, ShownDigits::Needed).unwrap();
        text
    }

    /// Each was asked of PostgreSQL 15.
    #[test]
    fn quotients_have_the_digits_that_postgresql_gives_them() {
        for (left, right, expected) in [
            ("1", "3", "0.33333333333333333333"),
            ("10", "3", "3.3333333333333333"),
            ("100000", "3", "33333.333333333333"),
            ("1", "7", "0.14285714285714285714"),
            ("5", "9", "0.55555555555555555556"),
            ("-5", "9", "-0.55555555555555555556"),
            ("1", "30000", "0.000033333333333333333333"),
            ("0.001", "7", "0.00014285714285714286"),
            ("12345678901234567890", "7.0", "1763668414462081127.1"),
            ("7", "2", "3.5"),
            ("0", "3", "0"),
        ] {
            assert_eq!(quotient(left, right), expected, "{left} / {right}");
        }
    }

    #[test]
    fn long_operands_are_divided_too() {
        let nines = "9".repeat(40);
        assert_eq!(quotient(&nines, &nines), "1");
        assert_eq!(quotient("1", &nines), "0");
        let divisor = i256::from_string(&"9".repeat(74)).unwrap();
        assert_eq!(long_quotient(i256::from_i128(5), divisor, 74).unwrap(), i256::from_i128(5));
    }

    #[test]
    fn division_by_zero_is_refused() {
        let zero = Number::new(i256::ZERO, 0, None);
        assert_eq!(zero.divided_by(zero, 20).unwrap_err().kind, ErrorKind::DivisionByZero);
    }
}
