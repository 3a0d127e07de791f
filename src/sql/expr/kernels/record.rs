//! Rows taken apart, and the bytes that rows are compared by.

use std::sync::Arc;

use arrow::array::{Array, ArrayRef, AsArray, BinaryArray, StructArray};
use arrow::buffer::OffsetBuffer;
use arrow::compute::{SortOptions, is_null, nullif};
use arrow::datatypes::Int32Type;
use arrow::row::{RowConverter, SortField};
use tablegate_types::error::{ErrorKind, SqlError, SqlResult};
use tablegate_types::sql_type::{RowType, SqlType};
use tablegate_types::style::Reading;

use super::Kernel;
use super::cast::convert;
use super::sort_key::comparable;
use crate::expr::typed::ValueType;

/// One field of rows, by its place from 0: NULL where there is no row.
pub(crate) static RECORD_FIELD: Kernel = Kernel {
    name: "field",
    evaluate: |operands, _| {
        let (row, place) = (operands.get(0)?, operands.get(1)?);
        let rows = rows_of(&row.array)?;
        let place = place.array.as_primitive_opt::<Int32Type>().filter(|places| !places.is_empty());
        let column = place.and_then(|places| usize::try_from(places.value(0)).ok()).and_then(|i| rows.columns().get(i));
        let Some(column) = column else { return Err(internal("a row has no such field")) };
        match rows.null_count() {
            0 => Ok(column.clone()),
            _ => Ok(nullif(column, &is_null(rows)?)?),
        }
    },
};

/// Bytes in the order of rows, which is that of their first fields that differ, NULL being greater than all values.
pub(crate) static RECORD_KEY: Kernel =
    Kernel { name: "record_key", evaluate: |operands, _| keys(rows_of(&operands.get(0)?.array)?) };

/// Rows with the fields of another type of as many.
pub(super) fn rows(values: &ArrayRef, from: &RowType, to: &RowType, reading: Reading) -> SqlResult<ArrayRef> {
    let rows = rows_of(values)?;
    let columns = rows.columns().iter().zip(from.types()).zip(&to.fields);
    let columns = columns.map(|((column, from), to)| convert(column, &from, &ValueType::of_field(to), reading));
    let columns = columns.collect::<SqlResult<Vec<_>>>()?;
    let converted = StructArray::try_new_with_length(to.fields.clone(), columns, rows.nulls().cloned(), rows.len())?;
    Ok(Arc::new(converted))
}

/// The keys of rows.
pub(super) fn keys(rows: &StructArray) -> SqlResult<ArrayRef> {
    let ascending = SortOptions { descending: false, nulls_first: false };
    let columns = rows.fields().iter().zip(rows.columns());
    let columns = columns.map(|(field, column)| comparable(column, &SqlType::of_field(field)));
    let columns: Vec<ArrayRef> = columns.collect::<SqlResult<_>>()?;
    if columns.is_empty() {
        let none = OffsetBuffer::from_lengths(std::iter::repeat_n(0, rows.len()));
        return Ok(Arc::new(BinaryArray::try_new(none, Vec::<u8>::new().into(), rows.nulls().cloned())?));
    }
    let fields = columns.iter().map(|column| SortField::new_with_options(column.data_type().clone(), ascending));
    let encoded = RowConverter::new(fields.collect())?.convert_columns(&columns)?.try_into_binary()?;
    let (offsets, bytes, _) = encoded.into_parts();
    Ok(Arc::new(BinaryArray::try_new(offsets, bytes, rows.nulls().cloned())?))
}

fn rows_of(array: &ArrayRef) -> SqlResult<&StructArray> {
    array.as_struct_opt().ok_or_else(|| internal("an operand holds no rows"))
}

fn internal(message: &str) -> Box<SqlError> {
    SqlError::new(ErrorKind::Internal, message)
}
