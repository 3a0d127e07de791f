//! Reads integers, floats and booleans as PostgreSQL's input functions do.

use std::num::IntErrorKind;
use std::str::FromStr;

use super::{invalid, trim};
use crate::sql::error::{ErrorKind, SqlError, SqlResult};
use crate::sql::types::SqlType;

/// Any integer type; `sql_type` is for the messages.
pub(super) fn integer<T: FromStr<Err = std::num::ParseIntError>>(sql_type: &SqlType, text: &str) -> SqlResult<T> {
    let trimmed = trim(text);
    trimmed.parse().map_err(|error: std::num::ParseIntError| {
        let digits = trimmed.strip_prefix(['+', '-']).unwrap_or(trimmed);
        let overflow = matches!(error.kind(), IntErrorKind::PosOverflow | IntErrorKind::NegOverflow);
        // The parser may stop before it sees that the rest are no digits. A negative value is none of an unsigned type.
        let is_number = !digits.is_empty() && digits.bytes().all(|b| b.is_ascii_digit());
        if is_number && (overflow || trimmed.starts_with('-')) {
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
    float(&SqlType::Float8, text, f64::is_infinite, |v| *v == 0.0)
}

pub(super) fn float4(text: &str) -> SqlResult<f32> {
    float(&SqlType::Float4, text, f32::is_infinite, |v| *v == 0.0)
}

fn float<T: FromStr + Copy>(
    sql_type: &SqlType,
    text: &str,
    is_infinite: impl Fn(T) -> bool,
    is_zero: impl Fn(&T) -> bool,
) -> SqlResult<T> {
    let trimmed = trim(text);
    let value: T = trimmed.parse().map_err(|_| invalid(sql_type, text))?;
    let has_digits = || trimmed.bytes().any(|b| b.is_ascii_digit());
    let mantissa = || trimmed.split(['e', 'E']).next().unwrap_or_default();
    let vanished = is_zero(&value) && mantissa().bytes().any(|b| matches!(b, b'1'..=b'9'));
    if vanished || (is_infinite(value) && has_digits()) {
        let message = format!("\"{trimmed}\" is out of range for type {sql_type}");
        return Err(SqlError::new(ErrorKind::NumericOutOfRange, message));
    }
    Ok(value)
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
            ("99999999999x", "invalid input syntax for type integer: \"99999999999x\""),
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
