//! From SQL values to stored ones.

use arrow::array::{Array, ArrayRef, AsArray};
use arrow::datatypes::{
    DataType, Date32Type, Decimal128Type, Decimal256Type, Float32Type, Float64Type, Int8Type, Int16Type, Int32Type,
    Int64Type, TimeUnit, TimestampMicrosecondType, TimestampMillisecondType, TimestampNanosecondType,
    TimestampSecondType, UInt8Type, UInt16Type, UInt32Type, UInt64Type, i256,
};
use datafusion_common::ScalarValue;
use tablegate_store::model::{EdmDateTime, EdmValue};
use uuid::Uuid;

use crate::calendar::MICROS_PER_DAY;
use crate::error::{ErrorKind, SqlError, SqlResult};
use crate::input::write_json_string;
use crate::output::{ShownDigits, StackText, TextColumn, write_decimal};
use crate::sql_type::SqlType;

/// Longest text of a decimal: 76 digits, as many zeros, sign and point.
const DECIMAL_TEXT: usize = 242;

/// The stored value of one cell, `None` for NULL. Types the store does not have become their canonical text.
///
/// # Errors
/// 22008 for a time outside 1601 to 9999, 22003 for an integer beyond 64 bits, 54000 for more than 64 KiB.
pub fn to_edm(array: &ArrayRef, sql_type: &SqlType, row: usize) -> SqlResult<Option<EdmValue>> {
    if array.data_type() == &DataType::Null || array.is_null(row) {
        return Ok(None);
    }
    let value = match array.data_type() {
        DataType::Boolean => EdmValue::Boolean(array.as_boolean().value(row)),
        DataType::Int8 => EdmValue::Int32(array.as_primitive::<Int8Type>().value(row).into()),
        DataType::Int16 => EdmValue::Int32(array.as_primitive::<Int16Type>().value(row).into()),
        DataType::Int32 => EdmValue::Int32(array.as_primitive::<Int32Type>().value(row)),
        DataType::Int64 => EdmValue::Int64(array.as_primitive::<Int64Type>().value(row)),
        DataType::UInt8 => EdmValue::Int32(array.as_primitive::<UInt8Type>().value(row).into()),
        DataType::UInt16 => EdmValue::Int32(array.as_primitive::<UInt16Type>().value(row).into()),
        DataType::UInt32 => EdmValue::Int64(array.as_primitive::<UInt32Type>().value(row).into()),
        DataType::UInt64 => {
            let value = i64::try_from(array.as_primitive::<UInt64Type>().value(row));
            EdmValue::Int64(value.map_err(|_| SqlError::new(ErrorKind::NumericOutOfRange, "bigint out of range"))?)
        }
        DataType::Float32 => EdmValue::Double(array.as_primitive::<Float32Type>().value(row).into()),
        DataType::Float64 => EdmValue::Double(array.as_primitive::<Float64Type>().value(row)),
        DataType::Date32 | DataType::Timestamp(..) => EdmValue::DateTime(instant(array, sql_type, row)?),
        DataType::FixedSizeBinary(16) if *sql_type != SqlType::Bytea => guid(array.as_fixed_size_binary().value(row)),
        DataType::FixedSizeBinary(_) => EdmValue::Binary(array.as_fixed_size_binary().value(row).into()),
        DataType::Binary => EdmValue::Binary(array.as_binary::<i32>().value(row).into()),
        DataType::LargeBinary => EdmValue::Binary(array.as_binary::<i64>().value(row).into()),
        DataType::BinaryView => EdmValue::Binary(array.as_binary_view().value(row).into()),
        DataType::Utf8 => EdmValue::string(array.as_string::<i32>().value(row)),
        DataType::LargeUtf8 => EdmValue::string(array.as_string::<i64>().value(row)),
        DataType::Utf8View => EdmValue::string(array.as_string_view().value(row)),
        DataType::Decimal128(_, scale) => {
            decimal(i256::from_i128(array.as_primitive::<Decimal128Type>().value(row)), *scale, sql_type)
        }
        DataType::Decimal256(_, scale) => decimal(array.as_primitive::<Decimal256Type>().value(row), *scale, sql_type),
        DataType::List(_) => EdmValue::string(json(&array.as_list::<i32>().value(row), sql_type)),
        DataType::LargeList(_) => EdmValue::string(json(&array.as_list::<i64>().value(row), sql_type)),
        DataType::FixedSizeList(..) => EdmValue::string(json(&array.as_fixed_size_list().value(row), sql_type)),
        DataType::Dictionary(..) => {
            let dictionary = array.as_any_dictionary();
            return match dictionary.normalized_keys().get(row) {
                Some(key) => to_edm(dictionary.values(), sql_type, *key),
                None => Ok(None),
            };
        }
        _ => EdmValue::string(printed(array, sql_type, row)),
    };
    checked(value).map(Some)
}

/// As [`to_edm`], of one value.
///
/// # Errors
/// As [`to_edm`].
pub fn value_to_edm(value: &ScalarValue, sql_type: &SqlType) -> SqlResult<Option<EdmValue>> {
    let stored = match value {
        _ if value.is_null() => return Ok(None),
        ScalarValue::Boolean(Some(value)) => EdmValue::Boolean(*value),
        ScalarValue::Int16(Some(value)) => EdmValue::Int32((*value).into()),
        ScalarValue::Int32(Some(value)) => EdmValue::Int32(*value),
        ScalarValue::Int64(Some(value)) => EdmValue::Int64(*value),
        ScalarValue::Float64(Some(value)) => EdmValue::Double(*value),
        ScalarValue::Utf8(Some(text)) => EdmValue::string(text.as_str()),
        ScalarValue::FixedSizeBinary(16, Some(bytes)) if *sql_type != SqlType::Bytea => guid(bytes),
        ScalarValue::TimestampMicrosecond(Some(micros), _) => match EdmDateTime::from_unix_micros(*micros) {
            Some(instant) => EdmValue::DateTime(instant),
            None => return to_edm(&value.to_array()?, sql_type, 0),
        },
        _ => return to_edm(&value.to_array()?, sql_type, 0),
    };
    checked(stored).map(Some)
}

fn checked(value: EdmValue) -> SqlResult<EdmValue> {
    match value.as_ref().check() {
        Ok(()) => Ok(value),
        Err(error) => Err(error.into()),
    }
}

pub(super) fn instant(array: &ArrayRef, sql_type: &SqlType, row: usize) -> SqlResult<EdmDateTime> {
    let micros = |value: i64, per_unit: i64| value.checked_mul(per_unit).and_then(EdmDateTime::from_unix_micros);
    let instant = match array.data_type() {
        DataType::Date32 => micros(array.as_primitive::<Date32Type>().value(row).into(), MICROS_PER_DAY),
        DataType::Timestamp(TimeUnit::Second, _) => {
            micros(array.as_primitive::<TimestampSecondType>().value(row), 1_000_000)
        }
        DataType::Timestamp(TimeUnit::Millisecond, _) => {
            micros(array.as_primitive::<TimestampMillisecondType>().value(row), 1_000)
        }
        DataType::Timestamp(TimeUnit::Nanosecond, _) => {
            EdmDateTime::from_unix_ticks(array.as_primitive::<TimestampNanosecondType>().value(row).div_euclid(100))
        }
        _ => micros(array.as_primitive::<TimestampMicrosecondType>().value(row), 1),
    };
    instant.ok_or_else(|| {
        let message = format!("timestamp out of range: \"{}\"", printed(array, sql_type, row));
        SqlError::new(ErrorKind::DatetimeOverflow, message)
            .with_detail("The store holds times from 1601-01-01 to 9999-12-31.")
    })
}

fn guid(bytes: &[u8]) -> EdmValue {
    EdmValue::Guid(Uuid::from_slice(bytes).unwrap_or_default())
}

fn decimal(value: i256, scale: i8, sql_type: &SqlType) -> EdmValue {
    EdmValue::string(DecimalText::of(value, scale, sql_type).as_str())
}

/// A decimal as it is stored.
pub(super) struct DecimalText(StackText<DECIMAL_TEXT>);

impl DecimalText {
    pub(super) fn of(value: i256, scale: i8, sql_type: &SqlType) -> Self {
        let mut text = StackText::default();
        // It is long enough for any decimal.
        let _ = write_decimal(&mut text, value, scale, ShownDigits::of(sql_type));
        Self(text)
    }

    pub(super) fn as_str(&self) -> &str {
        self.0.as_str()
    }
}

fn printed(array: &ArrayRef, sql_type: &SqlType, row: usize) -> String {
    let mut text = String::new();
    // Writing to a String does not fail.
    let _ = TextColumn::plain(array, sql_type).write_to(row, &mut text);
    text
}

/// An array as JSON: numbers and booleans bare, everything else as strings.
fn json(items: &ArrayRef, sql_type: &SqlType) -> String {
    let item_type = match sql_type {
        SqlType::Array(item) => (**item).clone(),
        _ => SqlType::of_arrow(items.data_type()),
    };
    let column = TextColumn::plain(items, &item_type);
    let mut out = String::from("[");
    let mut text = String::new();
    for row in 0..items.len() {
        if row > 0 {
            out.push(',');
        }
        if column.is_null(row) {
            out.push_str("null");
            continue;
        }
        text.clear();
        // Writing to a String does not fail.
        let _ = column.write_to(row, &mut text);
        match &item_type {
            SqlType::Bool => out.push_str(if text == "t" { "true" } else { "false" }),
            SqlType::Int2 | SqlType::Int4 | SqlType::Int8 | SqlType::Oid | SqlType::Numeric(_) => out.push_str(&text),
            // NaN and the infinities are no JSON numbers.
            SqlType::Float4 | SqlType::Float8 if !text.contains(['N', 'I']) => out.push_str(&text),
            _ => write_json_string(&mut out, &text),
        }
    }
    out.push(']');
    out
}
