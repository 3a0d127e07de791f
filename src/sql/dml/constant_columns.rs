//! Rows of constants as columns of their table's types, without a value object for each.

use arrow::record_batch::RecordBatch;
use tablegate_types::input::ColumnParser;
use tablegate_types::interrupt;
use tablegate_types::sql_type::SqlType;
use tablegate_types::style::Reading;

use super::listed_columns::{ListedColumns, ROWS_PER_BATCH};
use crate::syntax::{CellValue, ConstantCell, ConstantRows};

/// The rows, in batches of the columns that are given, each of which takes the value at its place in a row; `None` where a value is
/// not read as its column's type without more ado: what it means then, or what is wrong with it, is told by the statement itself; and
/// when the work is to stop.
pub(super) fn constant_columns(
    rows: &ConstantRows<'_>,
    places: &[usize],
    given: &ListedColumns,
    reading: Reading,
) -> Option<Vec<RecordBatch>> {
    let mut batches = Vec::with_capacity(rows.len().div_ceil(ROWS_PER_BATCH));
    for first in (0..rows.len()).step_by(ROWS_PER_BATCH) {
        interrupt::check_now().ok()?;
        let end = rows.len().min(first + ROWS_PER_BATCH);
        let values = places.iter().zip(given.types()).map(|(place, sql_type)| {
            let mut parser = ColumnParser::new(sql_type).reading(reading);
            for cell in rows.column(*place, first..end) {
                let cell = cell?;
                parser.push(text_of(&cell, sql_type)?).ok()?;
            }
            Some(parser.finish())
        });
        batches.push(RecordBatch::try_new(given.schema().clone(), values.collect::<Option<_>>()?).ok()?);
    }
    Some(batches)
}

/// The text that the type's input function makes the same value of as the assignment to a column of that type makes of the constant.
fn text_of<'c>(cell: &'c ConstantCell<'_>, to: &SqlType) -> Option<Option<&'c str>> {
    use SqlType as T;
    if cell.cast.is_some_and(|cast| !is_named(to, cast)) {
        return None;
    }
    let is_fractional = matches!(to, T::Float4 | T::Float8 | T::Numeric(_));
    match &cell.value {
        CellValue::Null => Some(None),
        CellValue::Text(text) => Some(Some(text)),
        CellValue::Bool(text) if *to == T::Bool => Some(Some(text)),
        CellValue::Integer(text) if is_fractional || matches!(to, T::Int2 | T::Int4 | T::Int8) => Some(Some(text)),
        CellValue::Decimal(text) if is_fractional => Some(Some(text)),
        CellValue::Bool(_) | CellValue::Integer(_) | CellValue::Decimal(_) => None,
    }
}

/// Whether a cast to this name is one to the type, but for its length.
fn is_named(sql_type: &SqlType, name: &str) -> bool {
    use SqlType as T;
    let names: &[&str] = match sql_type {
        T::Bool => &["bool", "boolean"],
        T::Int2 => &["int2", "smallint"],
        T::Int4 => &["int", "int4", "integer"],
        T::Int8 => &["bigint", "int8"],
        T::Float4 => &["float4", "real"],
        T::Float8 => &["float", "float8"],
        T::Numeric(_) => &["numeric"],
        T::Text | T::Varchar(_) => &["text", "varchar"],
        T::Json => &["json"],
        T::Jsonb => &["jsonb"],
        T::Bytea => &["bytea"],
        T::Uuid => &["uuid"],
        T::Date => &["date"],
        T::Time => &["time"],
        T::Timestamp => &["timestamp"],
        T::Timestamptz => &["timestamptz"],
        T::Interval => &["interval"],
        _ => &[],
    };
    names.contains(&name)
}
