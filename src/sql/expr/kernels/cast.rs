//! CAST: values of one type as values of another, with PostgreSQL's rounding and its errors.

use std::sync::Arc;

use arrow::array::{Array, ArrayRef, AsArray, BooleanArray, Int32Array, ListArray, StringBuilder, new_null_array};
use arrow::datatypes::{DataType, Field, Int32Type};
use tablegate_types::conversion::is_text;
use tablegate_types::edm;
use tablegate_types::error::{ErrorKind, SqlError, SqlResult};
use tablegate_types::input::{ColumnParser, TextRule};
use tablegate_types::sql_type::SqlType;
use tablegate_types::style::Reading;

use super::Kernel;
use super::record::rows;
use crate::expr::typed::ValueType;

/// A time type with what its limits keep, which are those of the result's type.
pub(crate) static LIMIT: Kernel = Kernel {
    name: "limit",
    evaluate: |operands, _| {
        let values = operands.get(0)?.array;
        Ok(match &operands.result().sql_type {
            SqlType::Limited(limits) => edm::limited(&values, *limits),
            _ => values,
        })
    },
};
/// What an explicit cast does.
pub(crate) static CAST: Kernel = Kernel {
    name: "cast",
    evaluate: |operands, _| {
        let operand = operands.get(0)?;
        let moments = operands.moments();
        let now = if is_time(&operands.result().sql_type) { moments.known_transaction() } else { None };
        let reading = Reading { style: moments.style(), now };
        convert(&operand.array, &operands.declared_type_of(0), operands.result(), reading)
    },
};
/// The same values under another name.
pub(crate) static RELABEL: Kernel = Kernel { name: "relabel", evaluate: |operands, _| Ok(operands.get(0)?.array) };

/// Whether the value of a text depends on the time, as that of `now` does.
pub(in crate::expr) fn is_time(sql_type: &SqlType) -> bool {
    match sql_type {
        SqlType::Array(item) => is_time(item),
        other => matches!(*other.bare(), SqlType::Date | SqlType::Time | SqlType::Timestamp | SqlType::Timestamptz),
    }
}

/// Values of type `from` as CAST makes them values of type `to`, in a session's style.
///
/// # Errors
/// 22P02, 22003, 22007, 22008, ... for values that the type does not have, 42804 when there is no cast.
pub(in crate::expr) fn convert(
    values: &ArrayRef,
    from: &SqlType,
    to: &ValueType,
    reading: Reading,
) -> SqlResult<ArrayRef> {
    converted(values, from, &laid_out(&to.sql_type, &to.data_type), reading)
}

/// The type whose own layout is this one: a numeric without precision is computed in a layout of its own.
fn laid_out(sql_type: &SqlType, data_type: &DataType) -> SqlType {
    match (sql_type, data_type) {
        (SqlType::Numeric(_), data_type) => SqlType::of_arrow(data_type),
        (SqlType::Array(item), DataType::List(field)) => SqlType::Array(Box::new(laid_out(item, field.data_type()))),
        _ => sql_type.clone(),
    }
}

fn converted(values: &ArrayRef, from: &SqlType, to: &SqlType, reading: Reading) -> SqlResult<ArrayRef> {
    use SqlType as T;
    let item = match from {
        T::Int2Vector => Some(T::Int2),
        T::OidVector => Some(T::Oid),
        _ => None,
    };
    if let (Some(item), T::Array(_)) = (item, to) {
        return converted(values, &T::Array(Box::new(item)), to, reading);
    }
    if values.data_type() == &DataType::Null {
        return Ok(new_null_array(&to.arrow(), values.len()));
    }
    // How a value is written depends on more than its type.
    let bare = from.bare();
    match (&*bare, to) {
        (_, _) if is_text_inside(to) => shortened(&edm::texts(values, from, reading.style)?, to),
        (_, T::Json | T::Jsonb) => ruled(&edm::texts(values, from, reading.style)?, to),
        (_, _) if is_text_inside(from) => parsed(values, to, reading),
        (T::Bool, T::Int4) => {
            let values = values.as_boolean();
            Ok(Arc::new(values.iter().map(|value| value.map(i32::from)).collect::<Int32Array>()))
        }
        (T::Int4, T::Bool) => {
            let values = values.as_primitive::<Int32Type>();
            Ok(Arc::new(values.iter().map(|value| value.map(|value| value != 0)).collect::<BooleanArray>()))
        }
        (T::Jsonb, _) => from_jsonb(values, to),
        (T::Array(from_item), T::Array(to_item)) => items(values, from_item, to_item, reading),
        (T::Record(from), T::Record(to)) => rows(values, from, to, reading),
        (from, to) => edm::assign_as(values, from, to, false, reading),
    }
}

/// Whether the values are texts, and what they say is the value.
fn is_text_inside(sql_type: &SqlType) -> bool {
    is_text(sql_type) || matches!(sql_type, SqlType::InternalChar)
}

fn parsed(values: &ArrayRef, to: &SqlType, reading: Reading) -> SqlResult<ArrayRef> {
    let texts = arrow::compute::cast(values, &DataType::Utf8)?;
    let mut column = ColumnParser::new(to).reading(reading);
    texts.as_string::<i32>().iter().try_for_each(|text| column.push(text))?;
    Ok(column.finish())
}

/// Texts as a type with a length: what is too long is cut, as only an explicit cast does.
fn shortened(values: &ArrayRef, to: &SqlType) -> SqlResult<ArrayRef> {
    let length = match to {
        SqlType::Varchar(Some(length)) | SqlType::Char(length) => usize::try_from(*length).unwrap_or(usize::MAX),
        SqlType::Name | SqlType::InternalChar => return ruled(values, to),
        _ => return Ok(values.clone()),
    };
    let texts = values.as_string::<i32>();
    let mut out = StringBuilder::with_capacity(texts.len(), texts.value_data().len());
    for text in texts {
        out.append_option(text.map(|text| {
            let end = text.char_indices().nth(length).map_or(text.len(), |(end, _)| end);
            match to {
                // The padding is added where it is shown.
                SqlType::Char(_) => text[..end].trim_end_matches(' '),
                _ => &text[..end],
            }
        }));
    }
    Ok(Arc::new(out.finish()))
}

fn ruled(values: &ArrayRef, to: &SqlType) -> SqlResult<ArrayRef> {
    let Some(rule) = TextRule::of(to) else { return Ok(values.clone()) };
    let texts = values.as_string::<i32>();
    let mut out = StringBuilder::with_capacity(texts.len(), texts.value_data().len());
    for text in texts {
        match text {
            Some(text) => out.append_value(rule.apply(text)?),
            None => out.append_null(),
        }
    }
    Ok(Arc::new(out.finish()))
}

/// The number or truth value that a jsonb is.
fn from_jsonb(values: &ArrayRef, to: &SqlType) -> SqlResult<ArrayRef> {
    let texts = arrow::compute::cast(values, &DataType::Utf8)?;
    let mut column = ColumnParser::new(&SqlType::Numeric(None));
    let mut truths = ColumnParser::new(&SqlType::Bool);
    let wants_truth = *to == SqlType::Bool;
    for text in texts.as_string::<i32>() {
        let kind = text.map(json_kind);
        let fits = match kind {
            None => true,
            Some("boolean") => wants_truth,
            Some("numeric") => !wants_truth,
            Some(_) => false,
        };
        if !fits {
            let message = format!("cannot cast jsonb {} to type {to}", kind.unwrap_or("null"));
            return Err(SqlError::new(ErrorKind::InvalidParameterValue, message));
        }
        if wants_truth { truths.push(text)? } else { column.push(text)? }
    }
    if wants_truth {
        return Ok(truths.finish());
    }
    edm::assign(&column.finish(), &SqlType::Numeric(None), to, false)
}

fn json_kind(text: &str) -> &'static str {
    match text.trim_start().bytes().next() {
        Some(b'"') => "string",
        Some(b'{') => "object",
        Some(b'[') => "array",
        Some(b't' | b'f') => "boolean",
        Some(b'n') => "null",
        _ => "numeric",
    }
}

fn items(values: &ArrayRef, from: &SqlType, to: &SqlType, reading: Reading) -> SqlResult<ArrayRef> {
    let list = values.as_list::<i32>();
    let items = converted(list.values(), from, to, reading)?;
    let field = Arc::new(Field::new_list_field(items.data_type().clone(), true));
    Ok(Arc::new(ListArray::new(field, list.offsets().clone(), items, list.nulls().cloned())))
}
