//! Decimals: reading them, moving their scale, checking their precision.
//!
//! Values are i256 here, whatever width a column has; almost all fit 128 bits, where the arithmetic is done then.

use arrow::datatypes::i256;

use super::trim;
use crate::error::{ErrorKind, SqlError, SqlResult};
use crate::sql_type::{BARE_NUMERIC_PRECISION, BARE_NUMERIC_SCALE, SqlType};

/// Most digits that an i128 always holds.
const I128_DIGITS: u32 = 38;

/// How many digits a decimal type holds, and how many of them behind the point.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Digits {
    pub precision: u8,
    pub scale: i8,
    /// It is `numeric` without precision, whose bounds are ours and not declared.
    bare: bool,
}

impl Digits {
    /// Of `numeric` or `numeric(p, s)`.
    pub fn of(declared: Option<(u8, i8)>) -> Self {
        match declared {
            Some((precision, scale)) => Digits { precision, scale, bare: false },
            None => Digits { precision: BARE_NUMERIC_PRECISION, scale: BARE_NUMERIC_SCALE, bare: true },
        }
    }

    fn before_point(self) -> i64 {
        i64::from(self.precision) - i64::from(self.scale)
    }

    /// # Errors
    /// 22003 when the value has more digits than the type holds.
    pub fn check(self, value: i256) -> SqlResult<i256> {
        let bound = power_of_ten(self.precision.into());
        if bound.is_some_and(|bound| value < bound && value > bound.wrapping_neg()) {
            Ok(value)
        } else {
            Err(self.overflow())
        }
    }

    /// The value with another scale, rounded half away from zero.
    ///
    /// # Errors
    /// 22003 when it has more digits than the type holds.
    pub fn rescale(self, value: i256, from_scale: i8) -> SqlResult<i256> {
        let shift = i32::from(self.scale) - i32::from(from_scale);
        let moved =
            if shift >= 0 { multiply(value, shift.unsigned_abs()) } else { Some(divide(value, shift.unsigned_abs())) };
        self.check(moved.ok_or_else(|| self.overflow())?)
    }

    /// The value has too many digits (22003).
    pub fn overflow(self) -> Box<SqlError> {
        if self.bare {
            return SqlError::new(ErrorKind::NumericOutOfRange, "value overflows numeric format").with_detail(format!(
                "Without a declared precision a numeric holds {} digits before the point and {} behind it.",
                self.before_point(),
                self.scale
            ));
        }
        let bound = match self.before_point() {
            0 => "1".to_owned(),
            digits => format!("10^{digits}"),
        };
        SqlError::new(ErrorKind::NumericOutOfRange, "numeric field overflow").with_detail(format!(
            "A field with precision {}, scale {} must round to an absolute value less than {bound}.",
            self.precision, self.scale
        ))
    }

    /// NaN and the infinities have no place in a decimal column (22003).
    pub fn not_finite(self, text: &str) -> Box<SqlError> {
        SqlError::new(ErrorKind::NumericOutOfRange, format!("numeric value \"{text}\" cannot be held"))
            .with_detail("NaN and infinity are not supported in numeric columns.")
            .with_hint("double precision has them, and NULL says that there is no number.")
    }

    /// Reads `-12.5e3`, rounding half away from zero to the scale.
    ///
    /// # Errors
    /// 22P02 for what is not a number, 22003 for one with too many digits.
    pub fn parse(self, text: &str) -> SqlResult<i256> {
        if let Some(short) = self.parse_short(text) {
            return Ok(short);
        }
        let trimmed = trim(text);
        let Some(number) = Number::split(trimmed) else {
            let word = trimmed.trim_start_matches(['+', '-']);
            let not_finite = ["nan", "inf", "infinity"].iter().any(|w| w.eq_ignore_ascii_case(word));
            return Err(if not_finite {
                self.not_finite(trimmed)
            } else {
                super::invalid(&SqlType::Numeric(None), text)
            });
        };
        let magnitude = number.magnitude(self)?;
        self.check(if number.negative { magnitude.wrapping_neg() } else { magnitude })
    }

    /// Reads what most numbers are: few digits, of which none has to be rounded away. `None` for all others.
    fn parse_short(self, text: &str) -> Option<i256> {
        /// As many as 64 bits hold.
        const DIGITS: usize = 18;
        let (is_negative, bytes) = match text.as_bytes() {
            [b'-', bytes @ ..] => (true, bytes),
            bytes => (false, bytes),
        };
        let (mut value, mut digits, mut behind_point) = (0_i64, 0_usize, None);
        for byte in bytes {
            match byte {
                b'0'..=b'9' if digits < DIGITS => {
                    value = value * 10 + i64::from(byte - b'0');
                    digits += 1;
                    behind_point = behind_point.map(|behind: u32| behind + 1);
                }
                b'.' if behind_point.is_none() => behind_point = Some(0),
                _ => return None,
            }
        }
        let missing = u32::try_from(self.scale).ok()?.checked_sub(behind_point.unwrap_or_default())?;
        let value = i128::from(value).checked_mul(10_i128.checked_pow(missing)?)?;
        let bound = 10_i128.checked_pow(self.precision.into());
        let fits = digits > 0 && bound.is_none_or(|bound| value < bound);
        fits.then(|| i256::from_i128(if is_negative { -value } else { value }))
    }
}

/// A decimal number's text in parts.
struct Number<'a> {
    negative: bool,
    whole: &'a str,
    fraction: &'a str,
    exponent: i64,
}

impl<'a> Number<'a> {
    fn split(text: &'a str) -> Option<Self> {
        let (negative, unsigned) = match text.strip_prefix('-') {
            Some(rest) => (true, rest),
            None => (false, text.strip_prefix('+').unwrap_or(text)),
        };
        let (mantissa, exponent) = match unsigned.find(['e', 'E']) {
            Some(at) => (&unsigned[..at], exponent(&unsigned[at + 1..])?),
            None => (unsigned, 0),
        };
        let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
        let digits = |part: &str| part.bytes().all(|b| b.is_ascii_digit());
        let valid = digits(whole) && digits(fraction) && whole.len() + fraction.len() > 0;
        valid.then_some(Number { negative, whole, fraction, exponent })
    }

    fn magnitude(&self, digits: Digits) -> SqlResult<i256> {
        let whole = self.whole.trim_start_matches('0');
        let mut significant = whole.bytes().chain(self.fraction.bytes());
        let mut before_point = length(whole) + self.exponent;
        let mut left = length(whole) + length(self.fraction);
        if whole.is_empty() {
            let zeros = self.fraction.len() - self.fraction.trim_start_matches('0').len();
            significant.by_ref().take(zeros).for_each(drop);
            before_point -= i64::try_from(zeros).unwrap_or(i64::MAX);
            left -= i64::try_from(zeros).unwrap_or(i64::MAX);
        }
        if left == 0 {
            return Ok(i256::ZERO);
        }
        if before_point > digits.before_point() {
            return Err(digits.overflow());
        }
        let keep = before_point + i64::from(digits.scale);
        if keep < 0 {
            return Ok(i256::ZERO);
        }
        let mut value = Accumulator::default();
        for _ in 0..keep.min(left) {
            value.push(significant.next().unwrap_or(b'0') - b'0');
        }
        let missing = u32::try_from((keep - left).max(0)).unwrap_or(u32::MAX);
        let rounds_up = keep < left && significant.next().is_some_and(|next| next >= b'5');
        let value = multiply(value.value(), missing).ok_or_else(|| digits.overflow())?;
        Ok(if rounds_up { value.wrapping_add(i256::ONE) } else { value })
    }
}

fn length(text: &str) -> i64 {
    i64::try_from(text.len()).unwrap_or(i64::MAX)
}

fn exponent(text: &str) -> Option<i64> {
    const FAR: i64 = 1_000_000;
    let digits = text.strip_prefix(['+', '-']).unwrap_or(text);
    if digits.is_empty() || !digits.bytes().all(|b| b.is_ascii_digit()) {
        return None;
    }
    Some(text.parse::<i64>().unwrap_or(if text.starts_with('-') { -FAR } else { FAR }).clamp(-FAR, FAR))
}

/// Collects digits, in 128 bits as long as they last.
#[derive(Default)]
struct Accumulator {
    short: i128,
    digits: u32,
    long: Option<i256>,
}

impl Accumulator {
    fn push(&mut self, digit: u8) {
        if let Some(long) = &mut self.long {
            *long = long.wrapping_mul(i256::from_i128(10)).wrapping_add(i256::from_i128(digit.into()));
        } else {
            self.short = self.short * 10 + i128::from(digit);
            self.digits += 1;
            if self.digits == I128_DIGITS {
                self.long = Some(i256::from_i128(self.short));
            }
        }
    }

    fn value(self) -> i256 {
        self.long.unwrap_or_else(|| i256::from_i128(self.short))
    }
}

fn multiply(value: i256, zeros: u32) -> Option<i256> {
    if let Some(short) = value.to_i128()
        && let Some(factor) = 10_i128.checked_pow(zeros)
        && let Some(product) = short.checked_mul(factor)
    {
        return Some(i256::from_i128(product));
    }
    if value == i256::ZERO { Some(value) } else { value.checked_mul(power_of_ten(zeros)?) }
}

/// Rounds half away from zero.
fn divide(value: i256, zeros: u32) -> i256 {
    if let Some(short) = value.to_i128()
        && let Some(divisor) = 10_i128.checked_pow(zeros)
    {
        let (quotient, remainder) = (short / divisor, short % divisor);
        let up = i128::from(remainder.unsigned_abs() >= divisor.unsigned_abs().div_ceil(2)) * short.signum();
        return i256::from_i128(quotient + if zeros == 0 { 0 } else { up });
    }
    let Some(divisor) = power_of_ten(zeros) else { return i256::ZERO };
    let (quotient, remainder) = (value.wrapping_div(divisor), value.wrapping_rem(divisor));
    let twice = remainder.wrapping_abs().wrapping_mul(i256::from_i128(2));
    if zeros == 0 || twice < divisor {
        quotient
    } else if value < i256::ZERO {
        quotient.wrapping_sub(i256::ONE)
    } else {
        quotient.wrapping_add(i256::ONE)
    }
}

fn power_of_ten(zeros: u32) -> Option<i256> {
    match 10_i128.checked_pow(zeros) {
        Some(short) => Some(i256::from_i128(short)),
        None => i256::from_i128(10).checked_pow(zeros),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(text: &str, p: u8, s: i8) -> SqlResult<i128> {
        Digits::of(Some((p, s))).parse(text).map(|v| v.to_i128().unwrap())
    }

    #[test]
    fn short_numbers_are_what_the_long_way_reads() {
        let long_way = |digits: Digits, text: &str| {
            let number = Number::split(text).unwrap();
            let magnitude = number.magnitude(digits).and_then(|magnitude| digits.check(magnitude)).ok()?;
            Some(if number.negative { magnitude.wrapping_neg() } else { magnitude })
        };
        let all = [Digits::of(Some((10, 2))), Digits::of(Some((3, 0))), Digits::of(Some((3, -1))), Digits::of(None)];
        for digits in all {
            for text in
                ["0", "-0.5", "12.25", "007", "999", "1000", "12345678.91", "-99999999.99", "100000000", ".5", "5."]
            {
                if let Some(short) = digits.parse_short(text) {
                    assert_eq!(Some(short), long_way(digits, text), "{digits:?} {text}");
                }
            }
        }
        assert_eq!(all[0].parse_short("-12.3"), Some(i256::from_i128(-1230)));
        for text in ["", "-", ".", "+1", "1e1", " 1", "1.234", "1234567890123456789", "123456789.00"] {
            assert_eq!(all[0].parse_short(text), None, "{text}");
        }
    }

    #[test]
    fn rounds_half_away_from_zero() {
        for (text, value) in [
            ("2.345", 235),
            ("-2.345", -235),
            ("2.344999", 234),
            ("1e1", 1000),
            ("1.5E-1", 15),
            (".5", 50),
            ("5.", 500),
            ("0.004", 0),
            ("0.005", 1),
            ("-0.0049", 0),
            ("1e-999999999999", 0),
            ("000000123.45", 12345),
            ("0e99999", 0),
        ] {
            assert_eq!(parse(text, 5, 2).unwrap(), value, "{text}");
        }
        assert_eq!(parse("12345", 5, -2).unwrap(), 123);
        assert_eq!(parse("50", 5, -2).unwrap(), 1);
        assert_eq!(parse("4", 5, -2).unwrap(), 0);
    }

    #[test]
    fn overflow_names_the_bound() {
        let detail = |text, p, s| parse(text, p, s).unwrap_err().detail.unwrap();
        assert_eq!(
            detail("99999", 5, 2),
            "A field with precision 5, scale 2 must round to an absolute value less than 10^3."
        );
        assert_eq!(
            detail("999.995", 5, 2),
            "A field with precision 5, scale 2 must round to an absolute value less than 10^3."
        );
        assert_eq!(
            detail("1.5", 2, 2),
            "A field with precision 2, scale 2 must round to an absolute value less than 1."
        );
        assert_eq!(parse("1e400", 5, 2).unwrap_err().message, "numeric field overflow");
    }

    #[test]
    fn what_is_no_number_is_refused() {
        for text in ["", ".", "e5", "1e", "1.2.3", "--1", "0x10", "1 2"] {
            assert_eq!(
                parse(text, 5, 2).unwrap_err().message,
                format!("invalid input syntax for type numeric: \"{text}\"")
            );
        }
        assert_eq!(parse("NaN", 5, 2).unwrap_err().kind, ErrorKind::NumericOutOfRange);
    }

    #[test]
    fn bare_numerics_hold_56_digits_and_20_behind_the_point() {
        let bare = Digits::of(None);
        assert_eq!(bare.parse("1.5").unwrap(), i256::from_i128(150_000_000_000_000_000_000));
        let widest = format!("{}.{}", "9".repeat(56), "9".repeat(20));
        assert_eq!(bare.parse(&widest).unwrap(), i256::from_string(&"9".repeat(76)).unwrap());
        assert_eq!(bare.parse(&format!("1{}", "0".repeat(56))).unwrap_err().message, "value overflows numeric format");
    }

    #[test]
    fn rescaling_rounds_and_checks() {
        let digits = Digits::of(Some((5, 2)));
        assert_eq!(digits.rescale(i256::from_i128(12_345), 4).unwrap(), i256::from_i128(123));
        assert_eq!(digits.rescale(i256::from_i128(-12_350), 4).unwrap(), i256::from_i128(-124));
        assert_eq!(digits.rescale(i256::from_i128(7), 0).unwrap(), i256::from_i128(700));
        assert!(digits.rescale(i256::from_i128(12_345), 0).is_err());
        let wide = i256::from_string(&format!("5{}", "0".repeat(59))).unwrap();
        assert_eq!(digits.rescale(wide, 62).unwrap(), i256::from_i128(1));
    }
}
