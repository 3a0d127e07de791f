//! The text of a single value, as that of a column's cell would be.

use std::fmt;

use bytes::BytesMut;

use super::bytea::write_bytea;
use super::cells::write_uuid;
use super::number::{write_f64, write_i64};
use super::temporal::{write_date, write_timestamp};
use crate::single_row::Value;
use crate::style::Style;

/// Appends the text of a value, which is not NULL.
pub fn write_value(value: Value<'_>, style: &Style, out: &mut BytesMut) {
    // Writing to memory does not fail.
    let _ = write(value, style, out);
}

fn write(value: Value<'_>, style: &Style, out: &mut BytesMut) -> fmt::Result {
    use fmt::Write as _;
    match value {
        Value::Null => Ok(()),
        Value::Bool(value) => out.write_str(if value { "t" } else { "f" }),
        Value::Int2(value) => write_i64(out, value.into()),
        Value::Int4(value) => write_i64(out, value.into()),
        Value::Int8(value) => write_i64(out, value),
        Value::Float8(value) => write_f64(out, value, style.float_digits),
        Value::Text(text) => out.write_str(text),
        Value::Bytea(bytes) => write_bytea(out, bytes, style.bytea),
        Value::Uuid(bytes) => write_uuid(out, &bytes),
        Value::Date(days) => write_date(out, days.into(), style.dates),
        Value::Timestamp(micros) => write_timestamp(out, micros, None, style.dates),
        Value::Timestamptz(micros) => write_timestamp(out, micros, Some(style.zone), style.dates),
    }
}
