//! Reads values from text, as PostgreSQL 15's input functions do.

mod bytes;
mod column;
mod datetime;
mod decimal;
mod json;
mod json_fault;
mod jsonb;
mod list;
mod number;
mod own_jsonb;
mod text;

use std::sync::Arc;

use arrow::datatypes::DataType;
use datafusion_common::ScalarValue;

pub use self::column::ColumnParser;
pub use self::decimal::Digits;
pub use self::json::{MAX_JSON_DEPTH, write_string as write_json_string};
pub(crate) use self::json::{Reader as JsonReader, check_is_text};
pub use self::jsonb::canonical as canonical_json;
pub use self::own_jsonb::is_own_jsonb;
pub use self::text::{TextRule, shortened_name};
use super::error::{ErrorKind, SqlError, SqlResult};
use super::sql_type::{CatalogType, IntervalFields, SqlType};
use super::style::Reading;

/// The value of type `sql_type` that a text stands for in the plain style; its Arrow type is exactly [`SqlType::arrow`].
///
/// # Errors
/// What the type's input function says: 22P02 for text that is not a value of the type, 22003, 22001, 22007, 22008, ...
/// And 0A000 for words like `now`, whose value [`parse_text_as`] may know.
pub fn parse_text(sql_type: &SqlType, text: &str) -> SqlResult<ScalarValue> {
    parse_text_as(sql_type, text, Reading::default())
}

/// As [`parse_text`], as a session reads it.
///
/// # Errors
/// As [`parse_text`].
pub fn parse_text_as(sql_type: &SqlType, text: &str, reading: Reading) -> SqlResult<ScalarValue> {
    if let Some(rule) = TextRule::of(sql_type) {
        return Ok(ScalarValue::Utf8(Some(rule.apply(text)?.into_owned())));
    }
    Ok(match sql_type {
        SqlType::Bool => ScalarValue::Boolean(Some(number::boolean(text)?)),
        SqlType::Int2 => ScalarValue::Int16(Some(number::integer(sql_type, text)?)),
        SqlType::Int4 => ScalarValue::Int32(Some(number::integer(sql_type, text)?)),
        SqlType::Int8 => ScalarValue::Int64(Some(number::integer(sql_type, text)?)),
        SqlType::Oid | SqlType::Catalog(CatalogType::Xid) => {
            ScalarValue::UInt32(Some(number::integer(sql_type, text)?))
        }
        SqlType::Float4 => ScalarValue::Float32(Some(number::float4(text)?)),
        SqlType::Float8 => ScalarValue::Float64(Some(number::float8(text)?)),
        SqlType::Numeric(declared) => {
            let value = Digits::of(*declared).parse(text)?;
            match sql_type.arrow() {
                DataType::Decimal128(p, s) => ScalarValue::Decimal128(Some(value.as_i128()), p, s),
                _ => {
                    let digits = Digits::of(*declared);
                    ScalarValue::Decimal256(Some(value), digits.precision, digits.scale)
                }
            }
        }
        SqlType::Bytea => {
            let mut value = Vec::with_capacity(text.len() / 2);
            bytes::bytea(text, &mut value)?;
            ScalarValue::Binary(Some(value))
        }
        SqlType::Uuid => ScalarValue::FixedSizeBinary(16, Some(bytes::uuid(text)?.to_vec())),
        SqlType::Date => ScalarValue::Date32(Some(datetime::date(text, reading)?)),
        SqlType::Time => ScalarValue::Time64Microsecond(Some(datetime::time(text, reading)?)),
        SqlType::Timestamp => ScalarValue::TimestampMicrosecond(Some(datetime::timestamp(text, false, reading)?), None),
        SqlType::Timestamptz => {
            ScalarValue::TimestampMicrosecond(Some(datetime::timestamp(text, true, reading)?), Some(Arc::from("UTC")))
        }
        SqlType::Interval => {
            let style = reading.style.intervals;
            ScalarValue::IntervalMonthDayNano(Some(datetime::interval(text, IntervalFields::ALL, style)?))
        }
        _ => {
            let mut column = ColumnParser::new(sql_type).reading(reading);
            column.push(Some(text))?;
            ScalarValue::try_from_array(&column.finish(), 0)?
        }
    })
}

/// The text is no value of the type (22P02).
fn invalid(sql_type: &SqlType, text: &str) -> Box<SqlError> {
    let message = format!("invalid input syntax for type {sql_type}: \"{text}\"");
    SqlError::new(ErrorKind::InvalidTextRepresentation, message)
}

/// Without the blanks that input functions skip at both ends.
fn trim(text: &str) -> &str {
    text.trim_matches(is_blank)
}

/// What C's `isspace` says of ASCII; blanks beyond ASCII are data.
fn is_blank(c: char) -> bool {
    c.is_ascii_whitespace() || c == '\u{b}'
}

#[cfg(test)]
mod tests;
