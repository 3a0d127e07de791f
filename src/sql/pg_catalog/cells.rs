//! Single values of the catalogue, and how columns of them become Arrow arrays.

use std::sync::Arc;

use arrow::array::{
    ArrayBuilder, ArrayRef, AsArray, BooleanBuilder, Float32Builder, Float64Builder, Int16Builder, Int32Builder,
    Int64Builder, IntervalMonthDayNanoBuilder, ListBuilder, StringBuilder, TimestampMicrosecondBuilder, UInt32Builder,
    new_null_array,
};
use arrow::datatypes::{DataType, IntervalMonthDayNano, IntervalUnit, TimeUnit};
use datafusion::common::ScalarValue;
use tablegate_types::calendar::NANOS_PER_MICRO;

/// One value.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Cell {
    Null,
    Bool(bool),
    /// Also a time, in microseconds since 1970, and an interval, in microseconds.
    Int(i64),
    Float(f64),
    Text(String),
    List(Vec<Cell>),
}

impl Cell {
    pub(super) fn text(text: impl Into<String>) -> Self {
        Cell::Text(text.into())
    }

    /// Of what is counted.
    pub(super) fn count(n: u64) -> Self {
        Cell::Int(i64::try_from(n).unwrap_or(i64::MAX))
    }

    /// A list of numbers, such as `conkey`.
    pub(super) fn numbers<T: Into<i64>>(items: impl IntoIterator<Item = T>) -> Self {
        Cell::List(items.into_iter().map(|n| Cell::Int(n.into())).collect())
    }

    /// A list of texts.
    pub(super) fn texts<T: Into<String> + Clone>(items: &[T]) -> Self {
        Cell::List(items.iter().cloned().map(Cell::text).collect())
    }

    pub(super) fn as_text(&self) -> Option<String> {
        match self {
            Cell::Null | Cell::List(_) => None,
            Cell::Bool(b) => Some(b.to_string()),
            Cell::Int(n) => Some(n.to_string()),
            Cell::Float(n) => Some(n.to_string()),
            Cell::Text(text) => Some(text.clone()),
        }
    }

    /// A number, also when it is written as text.
    pub(super) fn as_int(&self) -> Option<i64> {
        match self {
            Cell::Int(n) => Some(*n),
            Cell::Text(text) => text.trim().parse().ok(),
            _ => None,
        }
    }

    pub(super) fn as_oid(&self) -> Option<u32> {
        self.as_int().and_then(|n| u32::try_from(n).ok())
    }

    pub(super) fn as_bool(&self) -> Option<bool> {
        match self {
            Cell::Bool(b) => Some(*b),
            Cell::Text(text) => Some(matches!(text.as_str(), "t" | "true" | "on" | "1")),
            _ => None,
        }
    }

    /// The value at a row of an array, as far as cells can hold it.
    pub(super) fn at(array: &ArrayRef, row: usize) -> Self {
        if array.is_null(row) {
            return Cell::Null;
        }
        if let Some(items) = array.as_list_opt::<i32>() {
            let items = items.value(row);
            return Cell::List((0..items.len()).map(|i| Cell::at(&items, i)).collect());
        }
        match ScalarValue::try_from_array(array, row) {
            Ok(scalar) => Cell::of_scalar(&scalar),
            Err(_) => Cell::Null,
        }
    }

    fn of_scalar(scalar: &ScalarValue) -> Self {
        match scalar {
            ScalarValue::Boolean(Some(b)) => Cell::Bool(*b),
            ScalarValue::Utf8(Some(s)) | ScalarValue::LargeUtf8(Some(s)) | ScalarValue::Utf8View(Some(s)) => {
                Cell::Text(s.clone())
            }
            ScalarValue::Float64(Some(n)) => Cell::Float(*n),
            ScalarValue::Int8(Some(n)) => Cell::Int((*n).into()),
            ScalarValue::Int16(Some(n)) => Cell::Int((*n).into()),
            ScalarValue::Int32(Some(n)) => Cell::Int((*n).into()),
            ScalarValue::Int64(Some(n)) => Cell::Int(*n),
            ScalarValue::UInt8(Some(n)) => Cell::Int((*n).into()),
            ScalarValue::UInt16(Some(n)) => Cell::Int((*n).into()),
            ScalarValue::UInt32(Some(n)) => Cell::Int((*n).into()),
            ScalarValue::UInt64(Some(n)) => i64::try_from(*n).map_or(Cell::Null, Cell::Int),
            other if other.is_null() => Cell::Null,
            other => Cell::Text(other.to_string()),
        }
    }
}

impl From<bool> for Cell {
    fn from(value: bool) -> Self {
        Cell::Bool(value)
    }
}

impl From<&str> for Cell {
    fn from(value: &str) -> Self {
        Cell::Text(value.to_owned())
    }
}

impl From<i64> for Cell {
    fn from(value: i64) -> Self {
        Cell::Int(value)
    }
}

impl From<String> for Cell {
    fn from(value: String) -> Self {
        Cell::Text(value)
    }
}

impl From<u32> for Cell {
    fn from(value: u32) -> Self {
        Cell::Int(value.into())
    }
}

impl From<i32> for Cell {
    fn from(value: i32) -> Self {
        Cell::Int(value.into())
    }
}

impl<T: Into<Cell>> From<Option<T>> for Cell {
    fn from(value: Option<T>) -> Self {
        value.map_or(Cell::Null, Into::into)
    }
}

/// Cells as an array of this type. A cell that does not fit its type is NULL.
pub(super) fn array_of(data_type: &DataType, cells: &[Cell]) -> ArrayRef {
    match builder(data_type) {
        Some(mut filled) => {
            cells.iter().for_each(|cell| append(&mut *filled, data_type, cell));
            filled.finish()
        }
        // Types that no row of the catalogue fills: dates, bytes.
        None => new_null_array(data_type, cells.len()),
    }
}

fn builder(data_type: &DataType) -> Option<Box<dyn ArrayBuilder>> {
    Some(match data_type {
        DataType::Boolean => Box::new(BooleanBuilder::new()),
        DataType::Int16 => Box::new(Int16Builder::new()),
        DataType::Int32 => Box::new(Int32Builder::new()),
        DataType::Int64 => Box::new(Int64Builder::new()),
        DataType::UInt32 => Box::new(UInt32Builder::new()),
        DataType::Float32 => Box::new(Float32Builder::new()),
        DataType::Float64 => Box::new(Float64Builder::new()),
        DataType::Utf8 => Box::new(StringBuilder::new()),
        DataType::Timestamp(TimeUnit::Microsecond, zone) => {
            Box::new(TimestampMicrosecondBuilder::new().with_timezone_opt(zone.clone()))
        }
        DataType::Interval(IntervalUnit::MonthDayNano) => Box::new(IntervalMonthDayNanoBuilder::new()),
        DataType::List(item) => Box::new(ListBuilder::new(builder(item.data_type())?).with_field(Arc::clone(item))),
        _ => return None,
    })
}

fn append(into: &mut dyn ArrayBuilder, data_type: &DataType, cell: &Cell) {
    let number = || if let Cell::Int(n) = cell { Some(*n) } else { None };
    let any = into.as_any_mut();
    match data_type {
        DataType::Boolean => put(any, |b: &mut BooleanBuilder| b.append_option(cell.as_bool())),
        DataType::Int16 => put(any, |b: &mut Int16Builder| b.append_option(number().and_then(|n| n.try_into().ok()))),
        DataType::Int32 => put(any, |b: &mut Int32Builder| b.append_option(number().and_then(|n| n.try_into().ok()))),
        DataType::Int64 => put(any, |b: &mut Int64Builder| b.append_option(number())),
        DataType::UInt32 => put(any, |b: &mut UInt32Builder| b.append_option(number().and_then(|n| n.try_into().ok()))),
        DataType::Float32 => {
            put(any, |b: &mut Float32Builder| {
                b.append_option(match cell {
                    #[expect(clippy::cast_possible_truncation, reason = "a real is what there is")]
                    Cell::Float(value) => Some(*value as f32),
                    _ => number().and_then(|n| i16::try_from(n).ok()).map(f32::from),
                })
            });
        }
        DataType::Float64 => {
            put(any, |b: &mut Float64Builder| {
                b.append_option(match cell {
                    Cell::Float(value) => Some(*value),
                    _ => number().and_then(|n| i32::try_from(n).ok()).map(f64::from),
                })
            });
        }
        DataType::Utf8 => put(any, |b: &mut StringBuilder| b.append_option(cell.as_text())),
        DataType::Timestamp(..) => put(any, |b: &mut TimestampMicrosecondBuilder| b.append_option(number())),
        DataType::Interval(IntervalUnit::MonthDayNano) => put(any, |b: &mut IntervalMonthDayNanoBuilder| {
            let nanos = number().and_then(|micros| micros.checked_mul(NANOS_PER_MICRO));
            b.append_option(nanos.map(|nanos| IntervalMonthDayNano::new(0, 0, nanos)));
        }),
        DataType::List(item) => put(any, |b: &mut ListBuilder<Box<dyn ArrayBuilder>>| match cell {
            Cell::List(items) => {
                items.iter().for_each(|i| append(&mut **b.values(), item.data_type(), i));
                b.append(true);
            }
            _ => b.append(false),
        }),
        _ => {}
    }
}

fn put<B: 'static>(builder: &mut dyn std::any::Any, append: impl FnOnce(&mut B)) {
    if let Some(builder) = builder.downcast_mut::<B>() {
        append(builder);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tablegate_types::sql_type::SqlType;

    #[test]
    fn cells_survive_an_array() {
        let list = SqlType::Array(Box::new(SqlType::Int2)).arrow();
        let cells = [Cell::numbers([1i64, 2]), Cell::Null, Cell::List(Vec::new())];
        let array = array_of(&list, &cells);
        assert_eq!([0, 1, 2].map(|row| Cell::at(&array, row)), cells);
        let texts = array_of(&DataType::Utf8, &["a".into(), Cell::Null]);
        assert_eq!((Cell::at(&texts, 0), Cell::at(&texts, 1)), ("a".into(), Cell::Null));
    }

    #[test]
    fn types_that_no_row_fills_are_null() {
        assert_eq!(array_of(&SqlType::Date.arrow(), &[Cell::Null, 1.into()]).null_count(), 2);
    }
}
