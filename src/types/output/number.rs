//! Text of numbers: integers, floats in their shortest form that reads back, decimals with their scale.

use std::fmt;
use std::fmt::Write as _;

use arrow::datatypes::i256;

use super::digits::ShownDigits;
use super::stack::{StackText, fill_digits};

/// Most bytes of a decimal's text: 77 digits, up to 127 zeros for the scale, sign and point.
const DECIMAL_BYTES: usize = 240;
/// The shortest digits of a double with sign, point and exponent take less.
const FLOAT_BYTES: usize = 40;
/// Digits behind the first that tell every float8 from its neighbours.
const MAX_FLOAT8_PRECISION: usize = 16;
/// The same of float4.
const MAX_FLOAT4_PRECISION: usize = 8;
/// Digits that every float8 has, and every float4.
const FLOAT8_DIGITS: i8 = 15;
const FLOAT4_DIGITS: i8 = 6;
/// From this exponent up PostgreSQL prints a float8 with an exponent.
const FLOAT8_LIMIT: i32 = 15;
/// Magnitudes of float8 that PostgreSQL prints without an exponent, and `ryu` does too.
const PLAIN_FLOAT8: std::ops::Range<f64> = 1e-4..1e15;
/// From this exponent up PostgreSQL prints a float4 with an exponent.
const FLOAT4_LIMIT: i32 = 6;

pub(super) fn write_i64(out: &mut impl fmt::Write, value: i64) -> fmt::Result {
    let mut buffer = [0; 21];
    let mut start = fill_digits(&mut buffer, value.unsigned_abs());
    if value < 0 {
        start -= 1;
        buffer[start] = b'-';
    }
    out.write_str(ascii(&buffer[start..]))
}

pub(super) fn write_u64(out: &mut impl fmt::Write, value: u64) -> fmt::Result {
    let mut buffer = [0; 20];
    let start = fill_digits(&mut buffer, value);
    out.write_str(ascii(&buffer[start..]))
}

/// `extra_digits` above 0: as many digits as the value needs; else so many more than a float8 always has.
pub fn write_f64(out: &mut impl fmt::Write, value: f64, extra_digits: i8) -> fmt::Result {
    if !value.is_finite() {
        return write_not_finite(out, value);
    }
    if extra_digits <= 0 {
        return write_rounded(out, value, FLOAT8_DIGITS, extra_digits);
    }
    if value == 0.0 || PLAIN_FLOAT8.contains(&value.abs()) {
        let mut buffer = ryu::Buffer::new();
        let text = buffer.format_finite(value);
        return out.write_str(text.strip_suffix(".0").unwrap_or(text));
    }
    write_shortest_f64(out, value)
}

/// As many digits as the value needs, whatever its magnitude.
fn write_shortest_f64(out: &mut impl fmt::Write, value: f64) -> fmt::Result {
    let mut text = scientific(ryu::Buffer::new().format_finite(value))?;
    if value.abs() >= FIRST_UNIT_ABOVE_ONE && is_halfway(text.as_str(), value) {
        // The shortest form was that short only because it was allowed to sit on the boundary.
        for precision in 1..=MAX_FLOAT8_PRECISION {
            text = StackText::default();
            write!(text, "{value:.precision$e}")?;
            if text.as_str().parse() == Ok(value) && !is_halfway(text.as_str(), value) {
                break;
            }
        }
    }
    write_scientific(out, text.as_str(), FLOAT8_LIMIT)
}

/// As [`write_f64`], of a float4.
pub(super) fn write_f32(out: &mut impl fmt::Write, value: f32, extra_digits: i8) -> fmt::Result {
    if !value.is_finite() {
        return write_not_finite(out, value.into());
    }
    if extra_digits <= 0 {
        return write_rounded(out, value.into(), FLOAT4_DIGITS, extra_digits);
    }
    let mut text = scientific(ryu::Buffer::new().format_finite(value))?;
    if is_halfway_between_reals(text.as_str(), value) {
        for precision in 1..=MAX_FLOAT4_PRECISION {
            text = StackText::default();
            write!(text, "{value:.precision$e}")?;
            if text.as_str().parse() == Ok(value) && !is_halfway_between_reals(text.as_str(), value) {
                break;
            }
        }
    }
    write_scientific(out, text.as_str(), FLOAT4_LIMIT)
}

/// The text of `ryu` with an exponent: `-125.0` as `-1.25e2`. Rust's own `{:e}` takes the upper one of two shortest forms
/// that are equally near, `ryu` and PostgreSQL the even one.
fn scientific(shortest: &str) -> Result<StackText<FLOAT_BYTES>, fmt::Error> {
    let mut text = StackText::default();
    let Some((whole, fraction)) = shortest.split_once('.').filter(|_| !shortest.contains('e')) else {
        text.write_str(shortest)?;
        return Ok(text);
    };
    let (sign, whole) = whole.strip_prefix('-').map_or(("", whole), |whole| ("-", whole));
    let significant = fraction.trim_start_matches('0');
    let (digits, exponent) = match (whole, significant.len()) {
        ("0", 0) => ([whole, ""], 0),
        ("0", len) => ([significant, ""], -i64::try_from(fraction.len() - len + 1).unwrap_or_default()),
        (_, 0) => ([whole.trim_end_matches('0'), ""], i64::try_from(whole.len() - 1).unwrap_or_default()),
        _ => ([whole, fraction], i64::try_from(whole.len() - 1).unwrap_or_default()),
    };
    let (first, rest) = digits[0].split_at(1);
    text.write_str(sign)?;
    text.write_str(first)?;
    if !(rest.is_empty() && digits[1].is_empty()) {
        text.push(b'.');
        text.write_str(rest)?;
        text.write_str(digits[1])?;
    }
    write!(text, "e{exponent}")?;
    Ok(text)
}

/// C's `%.*g`: so many digits, without zeros at the end.
fn write_rounded(out: &mut impl fmt::Write, value: f64, digits: i8, extra_digits: i8) -> fmt::Result {
    let digits = digits.saturating_add(extra_digits).max(1);
    let precision = usize::try_from(digits - 1).unwrap_or(0);
    let mut text = StackText::<FLOAT_BYTES>::default();
    write!(text, "{value:.precision$e}")?;
    let (number, exponent) = text.as_str().split_once('e').unwrap_or((text.as_str(), "0"));
    let number = if number.contains('.') { number.trim_end_matches('0').trim_end_matches('.') } else { number };
    let mut trimmed = StackText::<FLOAT_BYTES>::default();
    write!(trimmed, "{number}e{exponent}")?;
    write_scientific(out, trimmed.as_str(), digits.into())
}

fn write_not_finite(out: &mut impl fmt::Write, value: f64) -> fmt::Result {
    out.write_str(if value.is_nan() {
        "NaN"
    } else if value > 0.0 {
        "Infinity"
    } else {
        "-Infinity"
    })
}

/// 2^53: from here on doubles are two or more apart.
const FIRST_UNIT_ABOVE_ONE: f64 = 9_007_199_254_740_992.0;

/// Whether these digits lie exactly between two doubles. They read back as the even one, but PostgreSQL does not count
/// on its readers to round so. That can only be with doubles that have no fraction.
fn is_halfway(scientific: &str, value: f64) -> bool {
    const MANTISSA_BITS: u64 = 52;
    let bits = value.abs().to_bits();
    let exponent = bits >> MANTISSA_BITS;
    let mantissa = (bits & ((1 << MANTISSA_BITS) - 1)) | 1 << MANTISSA_BITS;
    let Some(shift) = exponent.checked_sub(1023 + MANTISSA_BITS).and_then(|s| u32::try_from(s).ok()) else {
        return false;
    };
    let (Some(decimal), true) = (integer_of(scientific), (1..=72).contains(&shift)) else { return false };
    let half = 1_u128 << (shift - 1);
    let exact = u128::from(mantissa) << shift;
    decimal == exact + half || decimal == exact - half
}

/// The same of reals: what lies between two of them is a double.
fn is_halfway_between_reals(scientific: &str, value: f32) -> bool {
    let Ok(read) = scientific.trim_start_matches('-').parse::<f64>() else { return false };
    let magnitude = value.abs();
    let bits = magnitude.to_bits();
    let between = |neighbour: u32| f64::midpoint(f32::from_bits(neighbour).into(), magnitude.into());
    read == between(bits + 1) || bits.checked_sub(1).is_some_and(|below| read == between(below))
}

/// `-1.5e3` as 1500: the magnitude, when it is an integer that fits.
fn integer_of(scientific: &str) -> Option<u128> {
    let (digits, exponent) = scientific.trim_start_matches('-').split_once('e')?;
    let (whole, fraction) = digits.split_once('.').unwrap_or((digits, ""));
    let zeros = exponent.parse::<u32>().ok()?.checked_sub(u32::try_from(fraction.len()).ok()?)?;
    let mantissa: u128 = whole.parse().ok()?;
    let fraction_value: u128 = if fraction.is_empty() { 0 } else { fraction.parse().ok()? };
    let scale = 10_u128.checked_pow(u32::try_from(fraction.len()).ok()?)?;
    mantissa.checked_mul(scale)?.checked_add(fraction_value)?.checked_mul(10_u128.checked_pow(zeros)?)
}

/// Lays out Rust's `-1.25e-7`: plain up to `limit` digits before the point and down to four zeros behind it, else with
/// an exponent of a sign and at least two digits.
fn write_scientific(out: &mut impl fmt::Write, scientific: &str, limit: i32) -> fmt::Result {
    let (digits, exponent) = scientific.split_once('e').unwrap_or((scientific, "0"));
    let exponent: i32 = exponent.parse().unwrap_or_default();
    let (sign, digits) = digits.strip_prefix('-').map_or(("", digits), |rest| ("-", rest));
    let (first, rest) = digits.split_once('.').unwrap_or((digits, ""));
    let mut text = StackText::<FLOAT_BYTES>::default();
    text.write_str(sign)?;
    if (-4..limit).contains(&exponent) {
        write_plain(&mut text, first, rest, exponent)?;
    } else {
        text.write_str(first)?;
        if !rest.is_empty() {
            text.push(b'.');
            text.write_str(rest)?;
        }
        text.push(b'e');
        text.push(if exponent < 0 { b'-' } else { b'+' });
        text.digits(exponent.unsigned_abs().into(), 2);
    }
    out.write_str(text.as_str())
}

fn write_plain<const N: usize>(text: &mut StackText<N>, first: &str, rest: &str, exponent: i32) -> fmt::Result {
    let Ok(whole) = usize::try_from(exponent) else {
        text.write_str("0.")?;
        (1..exponent.unsigned_abs()).for_each(|_| text.push(b'0'));
        text.write_str(first)?;
        return text.write_str(rest);
    };
    let (before, behind) = rest.split_at(whole.min(rest.len()));
    text.write_str(first)?;
    text.write_str(before)?;
    (before.len()..whole).for_each(|_| text.push(b'0'));
    if !behind.is_empty() {
        text.push(b'.');
        text.write_str(behind)?;
    }
    Ok(())
}

/// A decimal with at most `scale` digits behind the point: how many of the zeros at its end are shown is for `shown` to say.
pub fn write_decimal(out: &mut impl fmt::Write, value: i256, scale: i8, shown: ShownDigits) -> fmt::Result {
    let mut buffer = [b'0'; DECIMAL_BYTES];
    let digits = decimal_digits(&mut buffer, value);
    let negative = value < i256::ZERO;
    let behind = usize::from(scale.max(0).unsigned_abs());
    // At least one digit before the point; the buffer is all zeros before the digits.
    let start = digits.min(DECIMAL_BYTES - behind - 1);
    let point = DECIMAL_BYTES - behind;
    let mut end = DECIMAL_BYTES;
    let least = point + shown.least(behind, &buffer[digits..]);
    while end > least && buffer[end - 1] == b'0' {
        end -= 1;
    }
    let mut text = StackText::<{ DECIMAL_BYTES + 2 }>::default();
    if negative {
        text.push(b'-');
    }
    text.write_str(ascii(&buffer[start..point]))?;
    if scale < 0 && value != i256::ZERO {
        (0..scale.unsigned_abs()).for_each(|_| text.push(b'0'));
    }
    if end > point {
        text.push(b'.');
        text.write_str(ascii(&buffer[point..end]))?;
    }
    out.write_str(text.as_str())
}

/// The digits of the magnitude at the end of `buffer`; gives where they start.
fn decimal_digits(buffer: &mut [u8], value: i256) -> usize {
    const CHUNK: u64 = 1_000_000_000_000_000_000;
    const CHUNK_DIGITS: usize = 18;
    let mut end = buffer.len();
    let mut rest = Magnitude::of(value);
    loop {
        let chunk = rest.divide(CHUNK);
        let start = fill_digits(&mut buffer[..end], chunk);
        if rest.is_zero() {
            return start;
        }
        end -= CHUNK_DIGITS;
    }
}

/// The magnitude of a decimal: most fit 128 bits, where division is cheap.
enum Magnitude {
    Short(u128),
    Long(i256),
}

impl Magnitude {
    fn of(value: i256) -> Self {
        match value.to_i128() {
            Some(short) => Magnitude::Short(short.unsigned_abs()),
            None => Magnitude::Long(value.wrapping_abs()),
        }
    }

    /// Divides by `divisor` and gives the remainder.
    fn divide(&mut self, divisor: u64) -> u64 {
        match self {
            Magnitude::Short(value) => {
                let remainder = *value % u128::from(divisor);
                *value /= u128::from(divisor);
                u64::try_from(remainder).unwrap_or_default()
            }
            Magnitude::Long(value) => {
                let by = i256::from_i128(divisor.into());
                let remainder = value.wrapping_rem(by);
                let quotient = value.wrapping_div(by);
                *self = Magnitude::of(quotient);
                remainder.to_i128().and_then(|r| u64::try_from(r).ok()).unwrap_or_default()
            }
        }
    }

    fn is_zero(&self) -> bool {
        match self {
            Magnitude::Short(value) => *value == 0,
            Magnitude::Long(value) => *value == i256::ZERO,
        }
    }
}

fn ascii(bytes: &[u8]) -> &str {
    std::str::from_utf8(bytes).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn float8(value: f64) -> String {
        let mut out = String::new();
        write_f64(&mut out, value, 1).unwrap();
        out
    }

    #[test]
    fn float8_is_laid_out_as_postgresql_does() {
        for (value, text) in [
            (0.0, "0"),
            (-0.0, "-0"),
            (1.0, "1"),
            (123_456.789, "123456.789"),
            (1e20, "1e+20"),
            (1e-5, "1e-05"),
            (0.0001, "0.0001"),
            (-0.00012, "-0.00012"),
            (5e-324, "5e-324"),
            (1e15, "1e+15"),
            (123_456_789_012_345.0, "123456789012345"),
            (100.0, "100"),
            (2e16, "2e+16"),
            (9_007_199_254_740_992.0, "9.007199254740992e+15"),
            (1e23, "9.999999999999999e+22"),
            (5e22, "4.9999999999999996e+22"),
            (2e23, "1.9999999999999998e+23"),
            (1e22, "1e+22"),
            (9.5e22, "9.5e+22"),
            (1.801_439_850_948_198_8e16, "1.8014398509481988e+16"),
            (2.225_073_858_507_201_4e-308, "2.2250738585072014e-308"),
            (1.797_693_134_862_315_7e308, "1.7976931348623157e+308"),
            (272_462_695_000_954.0 + 0.125, "272462695000954.12"),
            (79_526_726_147_213.0 + 0.625, "79526726147213.62"),
            (1_234_567_890_123_456.0 + 0.25, "1.2345678901234562e+15"),
            (1_234_567_890_123_457.0 + 0.75, "1.2345678901234578e+15"),
            (41.0 / 4_194_304.0, "9.775161743164062e-06"),
            (43.0 / 4_194_304.0, "1.0251998901367188e-05"),
            (f64::NAN, "NaN"),
            (f64::INFINITY, "Infinity"),
            (f64::NEG_INFINITY, "-Infinity"),
        ] {
            assert_eq!(float8(value), text);
        }
    }

    proptest! {
        #[test]
        fn the_short_way_of_plain_float8_writes_the_same(mantissa in any::<i64>(), scale in -6_i32..20, bits in any::<u64>()) {
            #[expect(clippy::cast_precision_loss, reason = "any double will do")]
            let decimal = (mantissa as f64) / 10_f64.powi(scale);
            for value in [decimal, f64::from_bits(bits)] {
                if value.is_finite() {
                    let mut long = String::new();
                    write_shortest_f64(&mut long, value).unwrap();
                    prop_assert_eq!(float8(value), long);
                }
            }
        }
    }

    #[test]
    fn float4_is_laid_out_as_postgresql_does() {
        for (value, text) in [
            (1e5_f32, "100000"),
            (1e6, "1e+06"),
            (1_234_567.0, "1.234567e+06"),
            (0.1, "0.1"),
            (1e-4, "0.0001"),
            (262_144.03, "262144.03"),
            (131_072.02, "131072.02"),
            (41.0 / 2_097_152.0, "1.9550323e-05"),
            (3.402_823_5e38, "3.4028235e+38"),
            (f32::NAN, "NaN"),
        ] {
            let mut out = String::new();
            write_f32(&mut out, value, 1).unwrap();
            assert_eq!(out, text);
        }
    }

    #[test]
    fn integers_keep_their_ends() {
        let mut out = String::new();
        write_i64(&mut out, i64::MIN).unwrap();
        out.push(' ');
        write_i64(&mut out, 0).unwrap();
        out.push(' ');
        write_u64(&mut out, u64::MAX).unwrap();
        assert_eq!(out, "-9223372036854775808 0 18446744073709551615");
    }

    #[test]
    fn decimals_keep_their_scale() {
        for (value, scale, shown, text) in [
            (1250, 2, ShownDigits::All, "12.50"),
            (-5, 2, ShownDigits::All, "-0.05"),
            (0, 2, ShownDigits::All, "0.00"),
            (123, -2, ShownDigits::All, "12300"),
            (0, -2, ShownDigits::All, "0"),
            (150, 2, ShownDigits::Needed, "1.5"),
            (-100, 2, ShownDigits::Needed, "-1"),
            (0, 20, ShownDigits::Needed, "0"),
            (10, 0, ShownDigits::Needed, "10"),
        ] {
            let mut out = String::new();
            write_decimal(&mut out, i256::from_i128(value), scale, shown).unwrap();
            assert_eq!(out, text);
        }
    }

    #[test]
    fn decimals_beyond_128_bits_keep_every_digit() {
        for digits in [
            "1234567890123456789012345678901234567890123456789012345678901234567890123456",
            "100000000000000000000000000000000000000000000000000000000000000000000000001",
        ] {
            let mut out = String::new();
            write_decimal(&mut out, i256::from_string(digits).unwrap(), 20, ShownDigits::All).unwrap();
            let (whole, fraction) = digits.split_at(digits.len() - 20);
            assert_eq!(out, format!("{whole}.{fraction}"));
        }
    }
}
