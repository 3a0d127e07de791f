//! The text of a single value, as that of a column's cell would be.

use std::fmt;

use arrow::datatypes::i256;
use bytes::{BufMut, BytesMut};

use super::bytea::write_bytea;
use super::cells::write_uuid;
use super::digits::ShownDigits;
use super::number::{write_decimal, write_f32, write_f64, write_i64};
use super::temporal::{write_date, write_timestamp};
use crate::single_row::Value;
use crate::style::Style;

/// Appends the text of a value, which is not NULL.
pub fn write_value(value: Value<'_>, style: &Style, out: &mut BytesMut) {
    // Writing to memory does not fail.
    let _ = write(value, style, out);
}

/// How many spaces stand behind a text of type `char(n)`.
pub fn padding(text: &str, width: u32) -> usize {
    usize::try_from(width).unwrap_or(usize::MAX).saturating_sub(text.chars().count())
}

fn write(value: Value<'_>, style: &Style, out: &mut BytesMut) -> fmt::Result {
    use fmt::Write as _;
    match value {
        Value::Null => Ok(()),
        Value::Bool(value) => out.write_str(if value { "t" } else { "f" }),
        Value::Int2(value) => write_i64(out, value.into()),
        Value::Int4(value) => write_i64(out, value.into()),
        Value::Int8(value) => write_i64(out, value),
        Value::Float4(value) => write_f32(out, value, style.float_digits),
        Value::Float8(value) => write_f64(out, value, style.float_digits),
        Value::Decimal { unscaled, scale } => {
            let scale = i8::try_from(scale).unwrap_or(i8::MAX);
            write_decimal(out, i256::from(unscaled), scale, ShownDigits::All)
        }
        Value::Text(text) | Value::Jsonb(text) => out.write_str(text),
        Value::Char(text, width) => {
            out.write_str(text)?;
            out.put_bytes(b' ', padding(text, width));
            Ok(())
        }
        Value::Bytea(bytes) => write_bytea(out, bytes, style.bytea),
        Value::Uuid(bytes) => write_uuid(out, &bytes),
        Value::Date(days) => write_date(out, days.into(), style.dates),
        Value::Timestamp(micros) => write_timestamp(out, micros, None, style.dates),
        Value::Timestamptz(micros) => write_timestamp(out, micros, Some(style.zone), style.dates),
    }
}
