//! From columns of SQL values to columns of stored ones, without an object for each value.

use arrow::array::{Array, ArrayRef, AsArray, Int32Array, Int64Array, Int64Builder, StringBuilder};
use arrow::datatypes::{
    DataType, Decimal128Type, Decimal256Type, Float32Type, Float64Type, Int8Type, Int16Type, Int32Type, Int64Type,
    UInt8Type, UInt16Type, UInt32Type, i256,
};
use tablegate_store::model::EdmValue;
use tablegate_store::table::EdmColumn;

use super::save::{DecimalText, instant, to_edm};
use crate::sql_type::SqlType;

/// The stored values of a column: each as [`to_edm`] makes it. `None` where one has no stored form, which
/// [`to_edm`] tells of, and where the values have not one type.
pub fn to_edm_column(array: &ArrayRef, sql_type: &SqlType) -> Option<EdmColumn> {
    Some(match array.data_type() {
        DataType::Null => EdmColumn::Int32(Int32Array::new_null(array.len())),
        DataType::Boolean => EdmColumn::Boolean(array.as_boolean().clone()),
        DataType::Int8 => EdmColumn::Int32(array.as_primitive::<Int8Type>().unary(i32::from)),
        DataType::Int16 => EdmColumn::Int32(array.as_primitive::<Int16Type>().unary(i32::from)),
        DataType::Int32 => EdmColumn::Int32(array.as_primitive::<Int32Type>().clone()),
        DataType::Int64 => EdmColumn::Int64(array.as_primitive::<Int64Type>().clone()),
        DataType::UInt8 => EdmColumn::Int32(array.as_primitive::<UInt8Type>().unary(i32::from)),
        DataType::UInt16 => EdmColumn::Int32(array.as_primitive::<UInt16Type>().unary(i32::from)),
        DataType::UInt32 => EdmColumn::Int64(array.as_primitive::<UInt32Type>().unary(i64::from)),
        DataType::Float32 => EdmColumn::Double(array.as_primitive::<Float32Type>().unary(f64::from)),
        DataType::Float64 => EdmColumn::Double(array.as_primitive::<Float64Type>().clone()),
        DataType::Date32 | DataType::Timestamp(..) => EdmColumn::DateTime(ticks(array, sql_type)?),
        DataType::FixedSizeBinary(16) if *sql_type != SqlType::Bytea => {
            EdmColumn::Guid(array.as_fixed_size_binary().clone())
        }
        DataType::Binary => EdmColumn::Binary(array.as_binary::<i32>().clone()),
        DataType::Utf8 => EdmColumn::String(array.as_string::<i32>().clone()),
        DataType::Decimal128(_, scale) => {
            let values = array.as_primitive::<Decimal128Type>();
            decimals(values.iter().map(|value| value.map(i256::from_i128)), *scale, sql_type)
        }
        DataType::Decimal256(_, scale) => decimals(array.as_primitive::<Decimal256Type>().iter(), *scale, sql_type),
        _ => texts(array, sql_type)?,
    })
}

fn ticks(array: &ArrayRef, sql_type: &SqlType) -> Option<Int64Array> {
    let mut ticks = Int64Builder::with_capacity(array.len());
    for row in 0..array.len() {
        match array.is_null(row) {
            true => ticks.append_null(),
            false => ticks.append_value(instant(array, sql_type, row).ok()?.unix_ticks()),
        }
    }
    Some(ticks.finish())
}

fn decimals(values: impl ExactSizeIterator<Item = Option<i256>>, scale: i8, sql_type: &SqlType) -> EdmColumn {
    let mut texts = StringBuilder::with_capacity(values.len(), values.len() * 8);
    for value in values {
        texts.append_option(
            value.map(|value| DecimalText::of(value, scale, sql_type)).as_ref().map(DecimalText::as_str),
        );
    }
    EdmColumn::String(texts.finish())
}

/// Values that are stored as texts.
fn texts(array: &ArrayRef, sql_type: &SqlType) -> Option<EdmColumn> {
    let mut texts = StringBuilder::with_capacity(array.len(), array.len() * 16);
    for row in 0..array.len() {
        match to_edm(array, sql_type, row).ok()? {
            None => texts.append_null(),
            Some(EdmValue::String(text)) => texts.append_value(text),
            Some(_) => return None,
        }
    }
    Some(EdmColumn::String(texts.finish()))
}
