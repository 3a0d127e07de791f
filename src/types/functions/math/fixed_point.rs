//! Roots, powers and logarithms of decimals, with as many digits as PostgreSQL gives.
//!
//! A result has at least 16 significant digits, and no fewer behind the point than an argument. PostgreSQL estimates from
//! the arguments how many digits come before the point; the same estimates are made here, so that the results have the
//! same number of digits. What is computed on the way has more.

use arrow::datatypes::i256;
use num_bigint::{BigInt, Sign};

use super::numerics::{logarithm_of_negative, logarithm_of_zero, power_is_complex, root_of_negative, zero_to_negative};
use crate::error::{ErrorKind, SqlError, SqlResult};
use crate::input::Digits;

/// PostgreSQL's least number of significant digits.
const SIGNIFICANT_DIGITS: i32 = 16;
/// Digits computed beyond those of the result.
const GUARD_DIGITS: u32 = 15;
/// Digits of PostgreSQL's own, in which its estimates are made.
const BASE_DIGITS: i32 = 4;
/// More digits than these no result can have.
const SCALE_MAX: i32 = 76;
/// A result with more digits before the point than this has no place in any `numeric` here.
const WEIGHT_MAX: f64 = 76.0;

/// A decimal of any size.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Decimal {
    value: BigInt,
    /// Digits behind the point.
    scale: u32,
}

impl Decimal {
    /// Of an unscaled value.
    pub(super) fn new(value: i256, scale: i8) -> Self {
        let value = BigInt::from_signed_bytes_le(&value.to_le_bytes());
        match u32::try_from(scale) {
            Ok(scale) => Decimal { value, scale },
            Err(_) => Decimal { value: value * ten_to(scale.unsigned_abs().into()), scale: 0 },
        }
    }

    pub(super) fn scale(&self) -> u32 {
        self.scale
    }

    /// Without the zeros at its end.
    pub(super) fn trimmed(mut self) -> Self {
        let ten = BigInt::from(10);
        while self.scale > 0 && (&self.value % &ten).sign() == Sign::NoSign {
            self.value /= &ten;
            self.scale -= 1;
        }
        self
    }

    /// The value times 10^scale, rounded half away from zero.
    pub(super) fn unscaled(&self, scale: i32) -> BigInt {
        let from = i32::try_from(self.scale).unwrap_or(i32::MAX);
        if scale >= from {
            return &self.value * ten_to(scale.abs_diff(from));
        }
        rounded_quotient(&self.value, &ten_to(from.abs_diff(scale)))
    }

    /// The value in the form of a column with these digits.
    ///
    /// # Errors
    /// 22003 when it has more digits.
    pub(super) fn fit(&self, digits: Digits) -> SqlResult<i256> {
        let bytes = self.unscaled(digits.scale.into()).to_signed_bytes_le();
        let sign = if bytes.last().is_some_and(|last| last & 0x80 != 0) { 0xff } else { 0 };
        let mut wide = [sign; 32];
        let Some(low) = wide.get_mut(..bytes.len()) else { return Err(digits.overflow()) };
        low.copy_from_slice(&bytes);
        digits.check(i256::from_le_bytes(wide))
    }

    fn is_zero(&self) -> bool {
        self.value.sign() == Sign::NoSign
    }

    fn is_negative(&self) -> bool {
        self.value.sign() == Sign::Minus
    }

    fn to_float(&self) -> f64 {
        format!("{}e-{}", self.value, self.scale).parse().unwrap_or(f64::NAN)
    }

    fn as_integer(&self) -> Option<BigInt> {
        let unit = ten_to(self.scale);
        ((&self.value % &unit).sign() == Sign::NoSign).then(|| &self.value / unit)
    }

    fn dscale(&self) -> i32 {
        i32::try_from(self.scale).unwrap_or(SCALE_MAX)
    }

    /// PostgreSQL's weight, the power of 10,000 of its first digit, and up to two of its digits as one number.
    fn leading(&self) -> Option<(i32, f64, i32)> {
        let digits = self.value.magnitude().to_string();
        if self.is_zero() {
            return None;
        }
        let before_point = i32::try_from(digits.len()).ok()? - self.dscale();
        let weight = (before_point - 1).div_euclid(BASE_DIGITS);
        let first = usize::try_from(before_point - BASE_DIGITS * weight).ok()?;
        let has_second = digits.get(first..).is_some_and(|rest| rest.bytes().any(|b| b != b'0'));
        let width = if has_second { first + 4 } else { first };
        let mut shown: String = digits.chars().take(width).collect();
        (shown.len()..width).for_each(|_| shown.push('0'));
        let exponent = BASE_DIGITS * (if has_second { weight - 1 } else { weight });
        Some((weight, shown.parse().ok()?, exponent))
    }
}

fn ten_to(exponent: u32) -> BigInt {
    BigInt::from(10).pow(exponent)
}

fn rounded_quotient(value: &BigInt, divisor: &BigInt) -> BigInt {
    let doubled = value.magnitude() * 2_u32 + divisor.magnitude();
    let magnitude = doubled / (divisor.magnitude() * 2_u32);
    let sign = if (value.sign() == Sign::Minus) == (divisor.sign() == Sign::Minus) { Sign::Plus } else { Sign::Minus };
    BigInt::from_biguint(sign, magnitude)
}

/// The whole part, as C's cast to `int`.
fn whole(value: f64) -> i32 {
    #[expect(
        clippy::cast_possible_truncation,
        reason = "cutting off the fraction is what is meant; the cast saturates"
    )]
    let whole = value as i32;
    whole
}

/// Digits behind the point of a result whose first digit is so many places before it.
fn result_scale(weight: i32, arguments: &[&Decimal]) -> i32 {
    let scale = SIGNIFICANT_DIGITS.saturating_sub(weight);
    arguments.iter().map(|a| a.dscale()).fold(scale, i32::max).clamp(0, SCALE_MAX)
}

/// A scale that [`result_scale`] gave.
fn unsigned(scale: i32) -> u32 {
    scale.unsigned_abs()
}

fn overflow() -> Box<SqlError> {
    SqlError::new(ErrorKind::NumericOutOfRange, "value overflows numeric format")
}

/// # Errors
/// 2201F for a negative number.
pub(super) fn sqrt(arguments: &[Decimal]) -> SqlResult<Decimal> {
    let [x] = arguments else { return Err(overflow()) };
    if x.is_negative() {
        return Err(root_of_negative());
    }
    let weight = x.leading().map_or(0, |(weight, ..)| weight);
    let scale = result_scale((weight + 1) * BASE_DIGITS / 2 - 1, &[x]);
    // One digit more, by which it is rounded.
    let root = x.unscaled(2 * (scale + 1)).sqrt();
    Ok(Decimal { value: rounded_quotient(&root, &BigInt::from(10)), scale: unsigned(scale) })
}

/// # Errors
/// 22003 for what is too large.
pub(super) fn exp(arguments: &[Decimal]) -> SqlResult<Decimal> {
    let [x] = arguments else { return Err(overflow()) };
    let weight = x.to_float() * std::f64::consts::LOG10_E;
    let scale = result_scale(whole(weight.clamp(-2000.0, 2000.0)), &[x]);
    exp_to_scale(x, weight, unsigned(scale))
}

fn exp_to_scale(x: &Decimal, weight: f64, scale: u32) -> SqlResult<Decimal> {
    if weight > WEIGHT_MAX {
        return Err(overflow());
    }
    let working = scale + GUARD_DIGITS + unsigned(whole(weight.max(0.0)));
    let working_scale = i32::try_from(working).unwrap_or(i32::MAX);
    let power = if weight < -2.0 * WEIGHT_MAX { BigInt::ZERO } else { exp_of(&x.unscaled(working_scale), working) };
    let value = Decimal { value: power, scale: working }.unscaled(i32::try_from(scale).unwrap_or(SCALE_MAX));
    Ok(Decimal { value, scale })
}

/// e^x, both times 10^scale.
fn exp_of(x: &BigInt, scale: u32) -> BigInt {
    /// Halvings that are made up for by squarings; the series converges the faster.
    const EXTRA_HALVINGS: u64 = 8;
    // Each squaring doubles the error, and a negative power is the reciprocal of the positive one.
    let guard = 20;
    let one = ten_to(scale + guard);
    let magnitude = BigInt::from(x.magnitude().clone()) * ten_to(guard);
    let halvings = (magnitude.bits() + EXTRA_HALVINGS).saturating_sub(one.bits()).max(EXTRA_HALVINGS);
    let reduced = &magnitude >> halvings;
    let (mut sum, mut term) = (one.clone(), one.clone());
    for n in 1_u32.. {
        term = term * &reduced / &one / n;
        if term.sign() == Sign::NoSign {
            break;
        }
        sum += &term;
    }
    for _ in 0..halvings {
        sum = &sum * &sum / &one;
    }
    if x.sign() == Sign::Minus {
        sum = &one * &one / sum;
    }
    rounded_quotient(&sum, &ten_to(guard))
}

/// # Errors
/// 2201E for zero and negative numbers.
pub(super) fn ln(arguments: &[Decimal]) -> SqlResult<Decimal> {
    let [x] = arguments else { return Err(overflow()) };
    check_logarithm(x)?;
    let scale = unsigned(result_scale(logarithm_weight(x), &[x]));
    let working = scale + GUARD_DIGITS;
    let value = Decimal { value: ln_of(x, working), scale: working };
    Ok(Decimal { value: value.unscaled(i32::try_from(scale).unwrap_or(SCALE_MAX)), scale })
}

fn check_logarithm(x: &Decimal) -> SqlResult<()> {
    if x.is_zero() {
        return Err(logarithm_of_zero());
    }
    if x.is_negative() { Err(logarithm_of_negative()) } else { Ok(()) }
}

/// About where the first digit of a logarithm is.
fn logarithm_weight(x: &Decimal) -> i32 {
    let value = x.to_float();
    if (0.9..=1.1).contains(&value) {
        let difference = Decimal { value: &x.value - ten_to(x.scale), scale: x.scale };
        let Some((weight, ..)) = difference.leading() else { return 0 };
        // Its first digit alone, of which there are up to four of ours.
        let digits = difference.value.magnitude().to_string();
        let before_point = i32::try_from(digits.len()).unwrap_or(i32::MAX) - difference.dscale();
        return weight * BASE_DIGITS + (before_point - BASE_DIGITS * weight - 1).max(0);
    }
    let Some((_, digits, exponent)) = x.leading() else { return 0 };
    let estimate = digits.ln() + f64::from(exponent) * std::f64::consts::LN_10;
    whole(estimate.abs().log10())
}

/// The logarithm of a positive number, times 10^scale.
fn ln_of(x: &Decimal, scale: u32) -> BigInt {
    // x = m * 10^k, m between 1 and 10.
    let digits = i32::try_from(x.value.magnitude().to_string().len()).unwrap_or(i32::MAX);
    let exponent = digits - 1 - x.dscale();
    let guard = 5;
    let working = scale + guard;
    let mantissa = Decimal { value: x.value.clone(), scale: unsigned(digits - 1) };
    let mut sum = ln_of_mantissa(&mantissa, working);
    if exponent != 0 {
        sum += ln_of_mantissa(&Decimal { value: BigInt::from(10), scale: 0 }, working) * exponent;
    }
    rounded_quotient(&sum, &ten_to(guard))
}

/// By Newton's method with Halley's correction, from the processor's logarithm: each step has three times the digits.
fn ln_of_mantissa(x: &Decimal, scale: u32) -> BigInt {
    const STEPS_MAX: usize = 8;
    let target = x.unscaled(i32::try_from(scale).unwrap_or(i32::MAX));
    let first = format!("{:.15}", x.to_float().ln()).replace('.', "");
    let first: BigInt = first.parse().unwrap_or(BigInt::ZERO);
    let mut y = Decimal { value: first, scale: 15 }.unscaled(i32::try_from(scale).unwrap_or(i32::MAX));
    for _ in 0..STEPS_MAX {
        let power = exp_of(&y, scale);
        let step = (&target - &power) * 2 * ten_to(scale) / (&target + &power);
        y += &step;
        if *step.magnitude() <= num_bigint::BigUint::from(1_u32) {
            break;
        }
    }
    y
}

/// The logarithm of the second argument to the base of the first.
///
/// # Errors
/// 2201E for zero and negative numbers, 22012 for base 1.
pub(super) fn log(arguments: &[Decimal]) -> SqlResult<Decimal> {
    let [base, x] = arguments else { return Err(overflow()) };
    check_logarithm(base)?;
    check_logarithm(x)?;
    let (base_weight, weight) = (logarithm_weight(base), logarithm_weight(x));
    let scale = unsigned(result_scale(weight - base_weight, &[base, x]));
    let working = scale + GUARD_DIGITS + base_weight.unsigned_abs() + weight.unsigned_abs();
    let divisor = ln_of(base, working);
    if divisor.sign() == Sign::NoSign {
        return Err(SqlError::new(ErrorKind::DivisionByZero, "division by zero"));
    }
    Ok(Decimal { value: rounded_quotient(&(ln_of(x, working) * ten_to(scale)), &divisor), scale })
}

/// The logarithm to the base of 10.
///
/// # Errors
/// As [`log`].
pub(super) fn log10(arguments: &[Decimal]) -> SqlResult<Decimal> {
    let ten = Decimal { value: BigInt::from(10), scale: 0 };
    let arguments: Vec<Decimal> = std::iter::once(ten).chain(arguments.iter().cloned()).collect();
    log(&arguments)
}

/// # Errors
/// 2201F where the power is not defined, 22003 for what is too large.
pub(super) fn power(arguments: &[Decimal]) -> SqlResult<Decimal> {
    let [base, exponent] = arguments else { return Err(overflow()) };
    if base.is_zero() && exponent.is_negative() {
        return Err(zero_to_negative());
    }
    if let Some(whole_exponent) = exponent.as_integer().and_then(|e| i32::try_from(e).ok()) {
        return integer_power(base, whole_exponent);
    }
    if base.is_negative() {
        return Err(power_is_complex());
    }
    if base.is_zero() {
        return Ok(Decimal { value: BigInt::ZERO, scale: unsigned(SIGNIFICANT_DIGITS) });
    }
    let weight = base.to_float().log10() * exponent.to_float();
    if weight > WEIGHT_MAX {
        return Err(overflow());
    }
    let scale = unsigned(result_scale(whole(weight), &[base, exponent]));
    let working = scale + GUARD_DIGITS + unsigned(whole(weight.max(0.0))) + exponent.scale;
    let product = Decimal { value: ln_of(base, working) * &exponent.value, scale: working + exponent.scale };
    exp_to_scale(&product, weight, scale)
}

fn integer_power(base: &Decimal, times: i32) -> SqlResult<Decimal> {
    let weight = if base.is_zero() { 0.0 } else { base.to_float().abs().log10() * f64::from(times) };
    if weight > WEIGHT_MAX {
        return Err(overflow());
    }
    // Here PostgreSQL makes no estimate.
    let scale = unsigned(SIGNIFICANT_DIGITS.max(base.dscale()));
    let to_scale = i32::try_from(scale).unwrap_or(SCALE_MAX);
    if weight < -2.0 * WEIGHT_MAX {
        return Ok(Decimal { value: BigInt::ZERO, scale });
    }
    /// From here on the exact power has too many digits to be computed.
    const EXACT_MAX: u32 = 1_000;
    let magnitude = times.unsigned_abs();
    if magnitude > EXACT_MAX {
        // An absolute base: the sign is that of the parity.
        let working = scale + GUARD_DIGITS + unsigned(whole(weight.max(0.0))) + 10;
        let positive = Decimal { value: BigInt::from(base.value.magnitude().clone()), scale: base.scale };
        let product = Decimal { value: ln_of(&positive, working) * times, scale: working };
        let mut power = exp_to_scale(&product, weight, scale)?;
        if base.is_negative() && magnitude % 2 == 1 {
            power.value = -power.value;
        }
        return Ok(power);
    }
    let power = Decimal { value: base.value.pow(magnitude), scale: base.scale * magnitude };
    let value = if times >= 0 {
        power.unscaled(to_scale)
    } else {
        rounded_quotient(&ten_to(scale + power.scale), &power.value)
    };
    Ok(Decimal { value, scale })
}

#[cfg(test)]
mod tests;
