//! SQL values and stored values. (Placeholder until the values branch is merged.)
use arrow::array::{Array, ArrayRef, AsArray};
use arrow::datatypes::*;
use uuid::Uuid;

use super::error::SqlResult;
use super::types::SqlType;
use crate::model::{EdmDateTime, EdmType, EdmValue};
use crate::table::{ColumnType, TypeSet};

pub fn column_type(t: &SqlType) -> ColumnType {
    match t {
        SqlType::Int2 | SqlType::Int4 => ColumnType::Int32,
        SqlType::Int8 => ColumnType::Int64,
        SqlType::Float4 | SqlType::Float8 => ColumnType::Double,
        SqlType::Bool => ColumnType::Boolean,
        SqlType::Timestamp | SqlType::Timestamptz | SqlType::Date => ColumnType::DateTime,
        SqlType::Uuid => ColumnType::Guid,
        SqlType::Bytea => ColumnType::Binary,
        _ => ColumnType::Text,
    }
}

pub fn sql_type_of(types: TypeSet) -> SqlType {
    let all: Vec<EdmType> = types.iter().collect();
    match all.as_slice() {
        [EdmType::Int32] => SqlType::Int4,
        [EdmType::Int64] => SqlType::Int8,
        [EdmType::Double] => SqlType::Float8,
        [EdmType::Boolean] => SqlType::Bool,
        [EdmType::DateTime] => SqlType::Timestamptz,
        [EdmType::Guid] => SqlType::Uuid,
        [EdmType::Binary] => SqlType::Bytea,
        [EdmType::Int32, EdmType::Int64] => SqlType::Int8,
        _ => SqlType::Text,
    }
}

pub fn to_edm(array: &ArrayRef, _t: &SqlType, row: usize) -> SqlResult<Option<EdmValue>> {
    if array.is_null(row) {
        return Ok(None);
    }
    Ok(Some(match array.data_type() {
        DataType::Int16 => EdmValue::Int32(array.as_primitive::<Int16Type>().value(row).into()),
        DataType::Int32 => EdmValue::Int32(array.as_primitive::<Int32Type>().value(row)),
        DataType::Int64 => EdmValue::Int64(array.as_primitive::<Int64Type>().value(row)),
        DataType::Float64 => EdmValue::Double(array.as_primitive::<Float64Type>().value(row)),
        DataType::Boolean => EdmValue::Boolean(array.as_boolean().value(row)),
        DataType::Timestamp(..) => EdmValue::DateTime(EdmDateTime::from_unix_micros_saturating(
            array.as_primitive::<TimestampMicrosecondType>().value(row),
        )),
        DataType::FixedSizeBinary(16) => {
            EdmValue::Guid(Uuid::from_slice(array.as_fixed_size_binary().value(row)).unwrap_or_default())
        }
        DataType::Binary => EdmValue::Binary(array.as_binary::<i32>().value(row).into()),
        DataType::Utf8 => EdmValue::string(array.as_string::<i32>().value(row)),
        _ => EdmValue::string(arrow::util::display::array_value_to_string(array, row)?),
    }))
}

pub fn assign(array: &ArrayRef, _from: &SqlType, to: &SqlType, _untyped: bool) -> SqlResult<ArrayRef> {
    Ok(arrow::compute::cast(array, &to.arrow())?)
}

pub fn to_sql(array: &ArrayRef, to: &SqlType) -> SqlResult<ArrayRef> {
    Ok(arrow::compute::cast(array, &to.arrow())?)
}
