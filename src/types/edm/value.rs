//! A stored value as one SQL value: what [`super::to_sql`] makes of a column of it, where that takes no more than a look.

use tablegate_store::model::EdmRef;

use super::load::{PLAIN_CHARS_MAX, is_own_form, narrow, plain_number};
use crate::calendar::MICROS_PER_DAY;
use crate::input::TextRule;
use crate::single_row::Value;
use crate::sql_type::SqlType;

/// `None` where it is stored as another type, or more than a look says whether it is one of this.
pub fn to_value<'a>(stored: EdmRef<'a>, sql_type: &SqlType) -> Option<Value<'a>> {
    Some(match (&*sql_type.bare(), stored) {
        (SqlType::Int4, EdmRef::Int32(value)) => Value::Int4(value),
        (SqlType::Int2, EdmRef::Int32(value)) => Value::Int2(i16::try_from(value).ok()?),
        (SqlType::Int8, EdmRef::Int64(value)) => Value::Int8(value),
        (SqlType::Int8, EdmRef::Int32(value)) => Value::Int8(value.into()),
        (SqlType::Float4, EdmRef::Double(value)) => Value::Float4(narrow(value)?),
        (SqlType::Float8, EdmRef::Double(value)) => Value::Float8(value),
        (SqlType::Bool, EdmRef::Boolean(value)) => Value::Bool(value),
        (SqlType::Numeric(size), EdmRef::String(text)) => decimal(text, *size)?,
        (SqlType::Text | SqlType::Varchar(None), EdmRef::String(text)) => Value::Text(text),
        (SqlType::Varchar(Some(_)) | SqlType::Json, EdmRef::String(text)) => Value::Text(own_form(text, sql_type)?),
        (SqlType::Char(width), EdmRef::String(text)) => Value::Char(own_form(text, sql_type)?, *width),
        (SqlType::Jsonb, EdmRef::String(text)) => Value::Jsonb(own_form(text, sql_type)?),
        (SqlType::Timestamptz, EdmRef::DateTime(value)) => Value::Timestamptz(value.unix_micros()),
        (SqlType::Timestamp, EdmRef::DateTime(value)) => Value::Timestamp(value.unix_micros()),
        (SqlType::Date, EdmRef::DateTime(value)) => {
            let micros = value.unix_micros();
            let days = i32::try_from(micros.div_euclid(MICROS_PER_DAY)).ok()?;
            Value::Date(Some(days).filter(|_| micros.rem_euclid(MICROS_PER_DAY) == 0)?)
        }
        (SqlType::Uuid, EdmRef::Guid(value)) => Value::Uuid(value.into_bytes()),
        (SqlType::Bytea, EdmRef::Binary(bytes)) => Value::Bytea(bytes),
        _ => return None,
    })
}

/// The text, if it is what the type makes of it.
fn own_form<'a>(text: &'a str, sql_type: &SqlType) -> Option<&'a str> {
    let is_own = is_own_form(text, TextRule::of(sql_type)?, sql_type).ok()?;
    is_own.then_some(text)
}

/// A number as it is saved, which 64 bits hold.
fn decimal(text: &str, size: Option<(u8, i8)>) -> Option<Value<'static>> {
    if let Some((precision, scale)) = size {
        let scale = u8::try_from(scale).ok()?;
        let bound = 10_i64.checked_pow(precision.into()).unwrap_or(i64::MAX);
        let unscaled = plain_number(text.as_bytes(), scale.into()).filter(|number| number.abs() < bound)?;
        return Some(Value::Decimal { unscaled, scale });
    }
    // Of one without a size, the zeros at the end are not shown.
    let behind = text.split_once('.').map_or(0, |(_, behind)| behind.len());
    let mut unscaled = plain_number(text.as_bytes(), behind)?;
    let mut scale = u8::try_from(behind.min(PLAIN_CHARS_MAX)).ok()?;
    while scale > 0 && unscaled % 10 == 0 {
        (unscaled, scale) = (unscaled / 10, scale - 1);
    }
    Some(Value::Decimal { unscaled, scale })
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use arrow::array::{ArrayRef, StringArray};
    use bytes::BytesMut;

    use super::*;
    use crate::edm::to_sql;
    use crate::output::{TextColumn, write_value};
    use crate::style::Style;

    /// What a column of the stored text shows; `None` where it is refused.
    fn as_column(text: &str, sql_type: &SqlType) -> Option<String> {
        let stored: ArrayRef = Arc::new(StringArray::from(vec![text]));
        let array = to_sql(&stored, sql_type).ok()?;
        let mut shown = String::new();
        TextColumn::plain(&array, sql_type).write_to(0, &mut shown).unwrap();
        Some(shown)
    }

    fn as_value(text: &str, sql_type: &SqlType) -> Option<String> {
        let value = to_value(EdmRef::String(text), sql_type)?;
        let mut shown = BytesMut::new();
        write_value(value, &Style::default(), &mut shown);
        Some(String::from_utf8(shown.to_vec()).unwrap())
    }

    #[test]
    fn texts_are_shown_as_in_a_column() {
        let texts = [
            "",
            "0",
            "-0.05",
            "12.50",
            "1.5",
            "100",
            "100.00",
            "007.10",
            "-0",
            "12345678901234567",
            "1.2345",
            ".5",
            "x",
            "ab",
            "ab ",
            "abcde",
            "é",
            "{\"a\": 1}",
            "{\"a\":1}",
            "[1, 2]",
            "null",
            "1e3",
            "9999999999.99",
        ];
        let types = [
            SqlType::Numeric(None),
            SqlType::Numeric(Some((12, 2))),
            SqlType::Numeric(Some((3, 0))),
            SqlType::Numeric(Some((40, 20))),
            SqlType::Char(4),
            SqlType::Varchar(Some(4)),
            SqlType::Json,
            SqlType::Jsonb,
            SqlType::Text,
        ];
        let mut looked_at = 0;
        for sql_type in &types {
            for text in texts {
                if let Some(shown) = as_value(text, sql_type) {
                    assert_eq!(as_column(text, sql_type), Some(shown), "{text:?} as {sql_type}");
                    looked_at += 1;
                }
            }
        }
        assert!(looked_at > texts.len() * 3, "{looked_at}");
        assert_eq!(as_value("12.50", &types[1]).as_deref(), Some("12.50"));
        assert_eq!(as_value("ab", &types[4]).as_deref(), Some("ab  "));
    }
}
