//! Reads integers, floats and booleans as PostgreSQL's input functions do.

use std::num::IntErrorKind;
use std::str::FromStr;

use super::{invalid, trim};
use crate::error::{ErrorKind, SqlError, SqlResult};
use crate::sql_type::SqlType;

/// Any integer type; `sql_type` is for the messages.
pub(super) fn integer<T: FromStr<Err = std::num::ParseIntError>>(sql_type: &SqlType, text: &str) -> SqlResult<T> {
    let trimmed = trim(text);
    trimmed.parse().map_err(|_: std::num::ParseIntError| {
        // Digits are read first: too many of them are told before what is behind them and is no digit. An oid is read at once.
        let unsigned = trimmed.strip_prefix(['+', '-']).unwrap_or(trimmed);
        let digits = unsigned.bytes().take_while(u8::is_ascii_digit).count();
        let number = &trimmed[..trimmed.len() - unsigned.len() + digits];
        let overflow = |error: std::num::ParseIntError| {
            matches!(error.kind(), IntErrorKind::PosOverflow | IntErrorKind::NegOverflow)
        };
        // A negative value is none of an unsigned type.
        let is_whole = digits == unsigned.len();
        let is_told = digits > 0 && (is_whole || *sql_type != SqlType::Oid);
        if is_told && (is_whole && trimmed.starts_with('-') || number.parse::<T>().is_err_and(overflow)) {
            out_of_range(sql_type, text)
        } else {
            invalid(sql_type, text)
        }
    })
}

fn out_of_range(sql_type: &SqlType, text: &str) -> Box<SqlError> {
    SqlError::new(ErrorKind::NumericOutOfRange, format!("value \"{text}\" is out of range for type {sql_type}"))
}

pub(super) fn float8(text: &str) -> SqlResult<f64> {
    float(&SqlType::Float8, text, f64::is_infinite, |v| *v == 0.0, |v| v)
}

pub(super) fn float4(text: &str) -> SqlResult<f32> {
    #[expect(clippy::cast_possible_truncation, reason = "rounding is what float4 means")]
    let narrow = |v: f64| v as f32;
    float(&SqlType::Float4, text, f32::is_infinite, |v| *v == 0.0, narrow)
}

fn float<T: FromStr + Copy>(
    sql_type: &SqlType,
    text: &str,
    is_infinite: impl Fn(T) -> bool,
    is_zero: impl Fn(&T) -> bool,
    narrow: impl Fn(f64) -> T,
) -> SqlResult<T> {
    let trimmed = trim(text);
    let read = trimmed.parse().ok().or_else(|| hexadecimal(trimmed).map(narrow));
    let value: T = read.ok_or_else(|| invalid(sql_type, text))?;
    let has_digits = || trimmed.bytes().any(|b| b.is_ascii_digit());
    let mantissa = || trimmed.split(['e', 'E']).next().unwrap_or_default();
    let vanished = is_zero(&value) && mantissa().bytes().any(|b| matches!(b, b'1'..=b'9'));
    if vanished || (is_infinite(value) && has_digits()) {
        let message = format!("\"{trimmed}\" is out of range for type {sql_type}");
        return Err(SqlError::new(ErrorKind::NumericOutOfRange, message));
    }
    Ok(value)
}

/// `0x1F`, `-0x1.8p3`: C's hexadecimal form of a float, whose exponent is one of two.
fn hexadecimal(text: &str) -> Option<f64> {
    const BITS_PER_DIGIT: i32 = 4;
    let unsigned = text.strip_prefix(['+', '-']).unwrap_or(text);
    let digits = unsigned.strip_prefix("0x").or_else(|| unsigned.strip_prefix("0X"))?;
    let (digits, exponent) = match digits.split_once(['p', 'P']) {
        Some((digits, exponent)) => (digits, exponent.parse::<i32>().ok()?),
        None => (digits, 0),
    };
    let (whole, fraction) = digits.split_once('.').unwrap_or((digits, ""));
    if whole.is_empty() && fraction.is_empty() {
        return None;
    }
    let (mut mantissa, mut exponent) = (0_u64, exponent);
    for (place, digit) in whole.chars().chain(fraction.chars()).enumerate() {
        let digit = u64::from(digit.to_digit(16)?);
        let is_fraction = place >= whole.len();
        if mantissa.leading_zeros() >= BITS_PER_DIGIT.unsigned_abs() {
            mantissa = mantissa << BITS_PER_DIGIT | digit;
            exponent = exponent.saturating_sub(if is_fraction { BITS_PER_DIGIT } else { 0 });
        } else {
            // What there is no room for only says which way to round.
            mantissa |= u64::from(digit != 0);
            exponent = exponent.saturating_add(if is_fraction { 0 } else { BITS_PER_DIGIT });
        }
    }
    #[expect(clippy::cast_precision_loss, reason = "rounding to the nearest is what is asked for")]
    let mantissa = mantissa as f64;
    // In two steps, each of which a double holds.
    let half = exponent.clamp(-4_000, 4_000) / 2;
    let value = mantissa * 2_f64.powi(half) * 2_f64.powi(exponent.clamp(-4_000, 4_000) - half);
    Some(if text.starts_with('-') { -value } else { value })
}

/// `t`, `true`, `y`, `yes`, `on`, `1` and their opposites, and every prefix that is unique.
pub(super) fn boolean(text: &str) -> SqlResult<bool> {
    let word = trim(text);
    let prefix_of = |whole: &str, least: usize| {
        word.len() >= least && whole.get(..word.len()).is_some_and(|prefix| prefix.eq_ignore_ascii_case(word))
    };
    if prefix_of("true", 1) || prefix_of("yes", 1) || prefix_of("on", 2) || word == "1" {
        Ok(true)
    } else if prefix_of("false", 1) || prefix_of("no", 1) || prefix_of("off", 2) || word == "0" {
        Ok(false)
    } else {
        Err(invalid(&SqlType::Bool, text))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn message<T>(result: SqlResult<T>) -> String {
        result.map(|_| ()).unwrap_err().message
    }

    #[test]
    fn integers_are_read_and_refused_as_postgresql_does() {
        assert_eq!(integer::<i32>(&SqlType::Int4, " +42 ").unwrap(), 42);
        assert_eq!(integer::<i64>(&SqlType::Int8, "-9223372036854775808").unwrap(), i64::MIN);
        for (text, expected) in [
            ("abc", "invalid input syntax for type integer: \"abc\""),
            ("", "invalid input syntax for type integer: \"\""),
            ("1.5", "invalid input syntax for type integer: \"1.5\""),
            ("99999999999", "value \"99999999999\" is out of range for type integer"),
            ("99999999999x", "value \"99999999999x\" is out of range for type integer"),
            ("99999x", "invalid input syntax for type integer: \"99999x\""),
        ] {
            assert_eq!(message(integer::<i32>(&SqlType::Int4, text)), expected);
        }
        assert_eq!(
            message(integer::<i16>(&SqlType::Int2, "99999")),
            "value \"99999\" is out of range for type smallint"
        );
        assert_eq!(
            message(integer::<u32>(&SqlType::Oid, "4294967296")),
            "value \"4294967296\" is out of range for type oid"
        );
        assert_eq!(message(integer::<u32>(&SqlType::Oid, "x")), "invalid input syntax for type oid: \"x\"");
    }

    #[test]
    fn floats_are_read_and_refused_as_postgresql_does() {
        assert_eq!(float8(" 1.5 ").unwrap(), 1.5);
        assert_eq!(float8("-Infinity").unwrap(), f64::NEG_INFINITY);
        assert_eq!(float8("inf").unwrap(), f64::INFINITY);
        assert!(float8("nan").unwrap().is_nan());
        assert_eq!(float8("0e-999").unwrap(), 0.0);
        assert_eq!(float8("0x10").unwrap(), 16.0);
        assert_eq!(float8("-0X1.8p3").unwrap(), -12.0);
        assert_eq!(float8("0x.8").unwrap(), 0.5);
        assert_eq!(float8("0x1fffffffffffff").unwrap(), 9_007_199_254_740_991.0);
        assert_eq!(float8("0x1p-1074").unwrap(), 5e-324);
        assert_eq!(float4("0x1.000001p0").unwrap(), 1.0);
        assert_eq!(message(float8("0x1p1024")), "\"0x1p1024\" is out of range for type double precision");
        assert_eq!(message(float8("0x1p-2000")), "\"0x1p-2000\" is out of range for type double precision");
        for text in ["0x", "0x.", "0xg", "0x1p", "0x1.2.3"] {
            assert_eq!(message(float8(text)), format!("invalid input syntax for type double precision: \"{text}\""));
        }
        assert_eq!(message(float8("1e400")), "\"1e400\" is out of range for type double precision");
        assert_eq!(message(float8("1e-400")), "\"1e-400\" is out of range for type double precision");
        assert_eq!(message(float4("1e40")), "\"1e40\" is out of range for type real");
        assert_eq!(message(float4("x")), "invalid input syntax for type real: \"x\"");
    }

    #[test]
    fn booleans_take_unique_prefixes() {
        for text in ["t", "TRUE", "tru", "y", "yes", "on", " ON ", "1"] {
            assert!(boolean(text).unwrap(), "{text}");
        }
        for text in ["f", "false", "n", "no", "of", "off", "0"] {
            assert!(!boolean(text).unwrap(), "{text}");
        }
        for text in ["", "o", "truer", "2", "tf", "é"] {
            assert_eq!(message(boolean(text)), format!("invalid input syntax for type boolean: \"{text}\""));
        }
    }
}
