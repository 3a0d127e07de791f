//! Assignment casts: computed values on their way into a column of another type.
//!
//! What PostgreSQL casts on assignment is cast here, with its rounding and its errors; what it would not is 42804.

use std::sync::Arc;

use arrow::array::{Array, ArrayRef, AsArray, ListArray, PrimitiveArray, StringBuilder, new_null_array};
use arrow::compute::cast;
use arrow::datatypes::{
    ArrowPrimitiveType, DataType, Date32Type, Field, IntervalMonthDayNano, IntervalMonthDayNanoType,
    Time64MicrosecondType, TimestampMicrosecondType,
};

use super::numbers;
use crate::calendar::MICROS_PER_DAY;
use crate::conversion::dimensions;
use crate::error::{ErrorKind, SqlError, SqlResult};
use crate::input::{ColumnParser, TextRule};
use crate::output::TextColumn;
use crate::sql_type::{SqlType, TimeLimits, TimeType};
use crate::style::{Reading, Style};

/// Values of type `from` as values of type `to`. `untyped` values are literals without a type: their text is read as
/// the target type.
///
/// # Errors
/// 42804 when PostgreSQL has no assignment cast, 22003, 22001, 22008 for values that do not fit, and for untyped ones
/// what the type's input function says.
pub fn assign(array: &ArrayRef, from: &SqlType, to: &SqlType, untyped: bool) -> SqlResult<ArrayRef> {
    assign_as(array, from, to, untyped, Reading::default())
}

/// As [`assign`], in a session's style.
///
/// # Errors
/// As [`assign`].
pub fn assign_as(
    array: &ArrayRef,
    from: &SqlType,
    to: &SqlType,
    untyped: bool,
    reading: Reading,
) -> SqlResult<ArrayRef> {
    if array.data_type() == &DataType::Null {
        return Ok(new_null_array(&to.arrow(), array.len()));
    }
    let is_text = matches!(SqlType::of_arrow(array.data_type()), SqlType::Text);
    if (untyped || *from == SqlType::Unknown) && is_text {
        return parsed(array, to, reading);
    }
    if from == to && *array.data_type() == to.arrow() {
        return Ok(array.clone());
    }
    let values = as_declared(array, from)?;
    match to {
        SqlType::Limited(limits) => {
            let values = converted(&values, &from.bare(), limits.of().bare(), reading.style)?;
            Ok(limited(&values, *limits))
        }
        _ => converted(&values, &from.bare(), to, reading.style),
    }
}

/// Values of a time type with what its limits keep of them.
pub fn limited(values: &ArrayRef, limits: TimeLimits) -> ArrayRef {
    match limits.of() {
        TimeType::Time => Arc::new(
            values.as_primitive::<Time64MicrosecondType>().unary::<_, Time64MicrosecondType>(|t| limits.time(t)),
        ),
        TimeType::Timestamp | TimeType::Timestamptz => {
            let moments = values.as_primitive::<TimestampMicrosecondType>();
            let kept = moments.unary::<_, TimestampMicrosecondType>(|t| limits.timestamp(t));
            Arc::new(kept.with_timezone_opt(moments.timezone().map(Arc::<str>::from)))
        }
        TimeType::Interval => Arc::new(
            values
                .as_primitive::<IntervalMonthDayNanoType>()
                .unary::<_, IntervalMonthDayNanoType>(|interval| limits.interval_of(interval)),
        ),
    }
}

fn parsed(array: &ArrayRef, to: &SqlType, reading: Reading) -> SqlResult<ArrayRef> {
    let texts = cast(array, &DataType::Utf8)?;
    let mut column = ColumnParser::new(to).reading(reading);
    texts.as_string::<i32>().iter().try_for_each(|text| column.push(text))?;
    Ok(column.finish())
}

/// The values in the one layout that [`SqlType::arrow`] says.
fn as_declared(array: &ArrayRef, from: &SqlType) -> SqlResult<ArrayRef> {
    let declared = from.arrow();
    // A computed numeric has a layout of its own.
    if *array.data_type() == declared || matches!(from, SqlType::Numeric(_) | SqlType::Record(_)) {
        return Ok(array.clone());
    }
    // Exact where it can be: an unsigned 64-bit integer may be beyond int8.
    let options = arrow::compute::CastOptions { safe: false, ..Default::default() };
    arrow::compute::cast_with_options(array, &declared, &options).map_err(|error| match from {
        SqlType::Int8 => SqlError::new(ErrorKind::NumericOutOfRange, "bigint out of range"),
        _ => error.into(),
    })
}

fn converted(values: &ArrayRef, from: &SqlType, to: &SqlType, style: Style) -> SqlResult<ArrayRef> {
    use SqlType as T;
    match (from, to) {
        _ if numbers::has_cast(from, to) => numbers::convert(values, to),
        (T::Json | T::Jsonb, T::Json | T::Jsonb) => ruled(values, to),
        (_, T::Json | T::Jsonb) => Err(mismatch(from, to)),
        (_, _) if TextRule::of(to).is_some() => ruled(&texts(values, from, style)?, to),
        (T::Date, T::Date)
        | (T::Time, T::Time)
        | (T::Interval, T::Interval)
        | (T::Bytea, T::Bytea)
        | (T::Uuid, T::Uuid) => Ok(values.clone()),
        (T::Bool, T::Bool) | (T::Int2Vector, T::Int2Vector) | (T::OidVector, T::OidVector) => Ok(values.clone()),
        (T::Timestamp, T::Timestamp) | (T::Timestamptz, T::Timestamptz) => Ok(values.clone()),
        (T::Timestamptz, T::Timestamp) => local_times(values, style),
        (T::Timestamp, T::Timestamptz) => {
            let moments = values.as_primitive::<TimestampMicrosecondType>();
            let moments = moments.try_unary::<_, TimestampMicrosecondType, Box<SqlError>>(|t| style.zone.to_utc(t))?;
            Ok(Arc::new(moments.with_timezone("UTC")))
        }
        (T::Timestamptz, T::Date | T::Time) => converted(&local_times(values, style)?, &T::Timestamp, to, style),
        (T::Date, T::Timestamp | T::Timestamptz) => from_dates(values, to, style),
        (T::Timestamp, T::Date) => mapped::<TimestampMicrosecondType, Date32Type>(values, |micros| {
            i32::try_from(micros.div_euclid(MICROS_PER_DAY)).ok()
        })
        .ok_or_else(|| SqlError::new(ErrorKind::DatetimeOverflow, "date out of range")),
        (T::Timestamp, T::Time) => {
            mapped::<TimestampMicrosecondType, Time64MicrosecondType>(values, |m| Some(m.rem_euclid(MICROS_PER_DAY)))
                .ok_or_else(|| mismatch(from, to))
        }
        (T::Interval, T::Time) => mapped::<IntervalMonthDayNanoType, Time64MicrosecondType>(values, |interval| {
            Some((interval.nanoseconds / 1_000).rem_euclid(MICROS_PER_DAY))
        })
        .ok_or_else(|| mismatch(from, to)),
        (T::Time, T::Interval) => mapped::<Time64MicrosecondType, IntervalMonthDayNanoType>(values, |micros| {
            Some(IntervalMonthDayNano::new(0, 0, micros.checked_mul(1_000)?))
        })
        .ok_or_else(|| mismatch(from, to)),
        (T::Array(_), T::Array(_)) if dimensions(from) > dimensions(to) => {
            Err(SqlError::not_supported("an array of several dimensions in a column")
                .with_hint("Keep it as jsonb, or keep its items in rows of their own."))
        }
        (T::Array(from_item), T::Array(to_item)) => items(values, from_item, to_item, style)
            .map_err(|error| if error.kind == ErrorKind::DatatypeMismatch { mismatch(from, to) } else { error }),
        _ => Err(mismatch(from, to)),
    }
}

/// PostgreSQL has no assignment cast between the types (42804).
fn mismatch(from: &SqlType, to: &SqlType) -> Box<SqlError> {
    let message = format!("column is of type {to} but expression is of type {from}");
    SqlError::new(ErrorKind::DatatypeMismatch, message).with_hint("You will need to rewrite or cast the expression.")
}

/// Texts under the rule of a type that is text inside.
fn ruled(values: &ArrayRef, to: &SqlType) -> SqlResult<ArrayRef> {
    let texts = values.as_string::<i32>();
    let Some(rule) = TextRule::of(to) else { return Ok(values.clone()) };
    if rule == TextRule::Any {
        return Ok(values.clone());
    }
    let mut out = StringBuilder::with_capacity(texts.len(), texts.value_data().len());
    for text in texts {
        match text {
            Some(text) => out.append_value(rule.apply(text)?),
            None => out.append_null(),
        }
    }
    Ok(Arc::new(out.finish()))
}

/// Moments as the session's clock shows them.
fn local_times(values: &ArrayRef, style: Style) -> SqlResult<ArrayRef> {
    let moments = values.as_primitive::<TimestampMicrosecondType>();
    let local = moments.try_unary::<_, TimestampMicrosecondType, Box<SqlError>>(|t| style.zone.to_local(t))?;
    Ok(Arc::new(local))
}

/// The values' text, as a cast to text gives it.
///
/// # Errors
/// None are expected: the text is written to memory.
pub fn texts(values: &ArrayRef, from: &SqlType, style: Style) -> SqlResult<ArrayRef> {
    if values.data_type() == &DataType::Utf8 {
        return Ok(values.clone());
    }
    let mut out = StringBuilder::new();
    let column = TextColumn::new(values, from, &style);
    let booleans = values.as_boolean_opt();
    for row in 0..values.len() {
        if column.is_null(row) {
            out.append_null();
        } else if let Some(booleans) = booleans {
            out.append_value(if booleans.value(row) { "true" } else { "false" });
        } else {
            column.write_to(row, &mut out).map_err(|e| SqlError::new(ErrorKind::Internal, e.to_string()))?;
            // Ends the value that was written.
            out.append_value("");
        }
    }
    Ok(Arc::new(out.finish()))
}

fn from_dates(values: &ArrayRef, to: &SqlType, style: Style) -> SqlResult<ArrayRef> {
    let instants =
        mapped::<Date32Type, TimestampMicrosecondType>(values, |day| i64::from(day).checked_mul(MICROS_PER_DAY));
    let instants =
        instants.ok_or_else(|| SqlError::new(ErrorKind::DatetimeOverflow, "date out of range for timestamp"))?;
    converted(&instants, &SqlType::Timestamp, to, style)
}

/// Each value by a conversion; `None` when it refuses one.
fn mapped<From, To>(values: &ArrayRef, convert: impl Fn(From::Native) -> Option<To::Native>) -> Option<ArrayRef>
where
    From: ArrowPrimitiveType,
    To: ArrowPrimitiveType,
{
    let converted = values.as_primitive::<From>().iter().map(|value| match value {
        Some(value) => convert(value).map(Some),
        None => Some(None),
    });
    Some(Arc::new(converted.collect::<Option<PrimitiveArray<To>>>()?))
}

fn items(values: &ArrayRef, from: &SqlType, to: &SqlType, style: Style) -> SqlResult<ArrayRef> {
    let list = values.as_list::<i32>();
    let items = assign_as(list.values(), from, to, false, Reading { style, now: None })?;
    let field = Arc::new(Field::new_list_field(items.data_type().clone(), true));
    Ok(Arc::new(ListArray::new(field, list.offsets().clone(), items, list.nulls().cloned())))
}
