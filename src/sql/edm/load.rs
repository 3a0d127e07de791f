//! From stored values, as the store hands them out, to SQL values.

use std::sync::Arc;

use arrow::array::{Array, ArrayRef, AsArray, Date32Array, Float32Array, Int16Array, StringArray, UInt32Array};
use arrow::compute::cast;
use arrow::datatypes::{DataType, Float64Type, Int32Type, Int64Type, TimeUnit, TimestampMicrosecondType};

use crate::sql::error::{ErrorKind, SqlError, SqlResult};
use crate::sql::input::{ColumnParser, TextRule};
use crate::sql::types::SqlType;

const MICROS_PER_DAY: i64 = 86_400_000_000;
/// Enough of a stored value to recognise it by.
const SHOWN_CHARS: usize = 64;

/// A stored column, of the type [`super::column_type`] asks for, as a column of SQL type `to`. Columns that need no
/// change are passed through.
///
/// # Errors
/// 22P02 for a stored value that is not one of the type.
pub fn to_sql(array: &ArrayRef, to: &SqlType) -> SqlResult<ArrayRef> {
    match array.data_type() {
        DataType::Utf8 => from_text(array, to),
        DataType::LargeUtf8 | DataType::Utf8View => from_text(&cast(array, &DataType::Utf8)?, to),
        same if *same == to.arrow() => Ok(array.clone()),
        DataType::Int32 if *to == SqlType::Int2 => {
            checked::<Int16Array, _>(array.as_primitive::<Int32Type>(), to, |v| i16::try_from(v).ok())
        }
        DataType::Int64 if *to == SqlType::Oid => {
            checked::<UInt32Array, _>(array.as_primitive::<Int64Type>(), to, |v| u32::try_from(v).ok())
        }
        DataType::Float64 if *to == SqlType::Float4 => {
            checked::<Float32Array, _>(array.as_primitive::<Float64Type>(), to, narrow)
        }
        DataType::Timestamp(TimeUnit::Microsecond, _) => from_instants(array, to),
        _ => cast(array, &to.arrow()).map_err(|error| {
            SqlError::new(ErrorKind::InvalidTextRepresentation, format!("a stored value is not a value of type {to}"))
                .with_detail(error.to_string())
        }),
    }
}

/// Rounded to the nearest float4; `None` when it is beyond them.
fn narrow(value: f64) -> Option<f32> {
    #[expect(clippy::cast_possible_truncation, reason = "rounding is what float4 means")]
    let narrowed = value as f32;
    (narrowed.is_finite() || !value.is_finite()).then_some(narrowed)
}

/// Each value by a conversion that may refuse it.
fn checked<A, T>(
    values: &arrow::array::PrimitiveArray<T>,
    to: &SqlType,
    convert: impl Fn(T::Native) -> Option<<A as ArrayValues>::Value>,
) -> SqlResult<ArrayRef>
where
    T: arrow::datatypes::ArrowPrimitiveType,
    T::Native: std::fmt::Display,
    A: ArrayValues + FromIterator<Option<<A as ArrayValues>::Value>> + Array + 'static,
{
    let convert = |value: Option<T::Native>| match value {
        Some(value) => convert(value).map(Some).ok_or_else(|| unfit(&value.to_string(), to)),
        None => Ok(None),
    };
    Ok(Arc::new(values.iter().map(convert).collect::<SqlResult<A>>()?))
}

/// The native values an array is made of.
trait ArrayValues {
    type Value;
}

impl<T: arrow::datatypes::ArrowPrimitiveType> ArrayValues for arrow::array::PrimitiveArray<T> {
    type Value = T::Native;
}

fn from_instants(array: &ArrayRef, to: &SqlType) -> SqlResult<ArrayRef> {
    let bare = to.bare();
    let instants = array.as_primitive::<TimestampMicrosecondType>();
    match &*bare {
        SqlType::Timestamp => Ok(Arc::new(instants.clone().with_timezone_opt(None::<Arc<str>>))),
        SqlType::Timestamptz => Ok(Arc::new(instants.clone().with_timezone("UTC"))),
        SqlType::Date => {
            let day = |micros: i64| {
                let whole = micros.rem_euclid(MICROS_PER_DAY) == 0;
                whole.then(|| i32::try_from(micros.div_euclid(MICROS_PER_DAY)).ok()).flatten()
            };
            let days = instants.iter().map(|micros| match micros {
                Some(micros) => {
                    let refused =
                        || unfit(&crate::model::EdmDateTime::from_unix_micros_saturating(micros).to_string(), to);
                    day(micros).map(Some).ok_or_else(refused)
                }
                None => Ok(None),
            });
            Ok(Arc::new(days.collect::<SqlResult<Date32Array>>()?))
        }
        _ => Ok(cast(array, &to.arrow())?),
    }
}

fn from_text(array: &ArrayRef, to: &SqlType) -> SqlResult<ArrayRef> {
    let texts = array.as_string::<i32>();
    match TextRule::of(to) {
        Some(TextRule::Any | TextRule::Name | TextRule::InternalChar) => Ok(array.clone()),
        // Checked, but the same texts: unless one of them is not in the type's own form.
        Some(rule) if has_own_form(texts, rule, to)? => Ok(array.clone()),
        _ => parsed(texts, to),
    }
}

/// Whether every text is the type's own form of its value.
fn has_own_form(texts: &StringArray, rule: TextRule, to: &SqlType) -> SqlResult<bool> {
    for text in texts.iter().flatten() {
        if *rule.apply(text).map_err(|error| unfit(text, to).with_detail(error.message))? != *text {
            return Ok(false);
        }
    }
    Ok(true)
}

fn parsed(texts: &StringArray, to: &SqlType) -> SqlResult<ArrayRef> {
    let mut column = ColumnParser::new(to);
    for text in texts {
        match text {
            Some(text) => {
                column.push_stored(text).map_err(|error| unfit(text, to).with_detail(error.message))?;
            }
            None => column.push(None)?,
        }
    }
    Ok(column.finish())
}

fn unfit(value: &str, to: &SqlType) -> Box<SqlError> {
    let shown: String = value.chars().take(SHOWN_CHARS).collect();
    let message = format!("stored value \"{shown}\" is not a value of type {to}");
    SqlError::new(ErrorKind::InvalidTextRepresentation, message)
}
