//! The binary form of a result column: its writer is chosen once, then called for each cell.

use std::ops::Range;
use std::sync::Arc;

use arrow::array::{
    Array, ArrayRef, AsArray, BinaryArray, BooleanArray, FixedSizeBinaryArray, Float32Array, Float64Array, Int16Array,
    Int32Array, Int64Array, ListArray, PrimitiveArray, StringArray, StringViewArray, StructArray, UInt32Array,
};
use arrow::compute::cast;
use arrow::datatypes::{
    DataType, Date32Type, Decimal128Type, Decimal256Type, DecimalType, Field, Float32Type, Float64Type, Int16Type,
    Int32Type, Int64Type, IntervalMonthDayNanoType, Time64MicrosecondType, TimestampMicrosecondType, UInt32Type, i256,
};
use bytes::{BufMut, BytesMut};
use tablegate_sql::outcome::Value;
use tablegate_types::error::{ErrorKind, SqlError, SqlResult};
use tablegate_types::oid;
use tablegate_types::output::{ShownDigits, padding};
use tablegate_types::sql_type::{CatalogType, SqlType};

use super::{catalog_values, numeric};

/// Days from 1970-01-01 to 2000-01-01, where PostgreSQL's dates begin.
pub(super) const EPOCH_DAYS: i32 = 10_957;
/// The same in microseconds.
pub(super) const EPOCH_MICROS: i64 = 946_684_800_000_000;
/// Version byte before a `jsonb`.
pub(super) const JSONB_VERSION: u8 = 1;
/// First index of an array.
const ARRAY_START: i32 = 1;
/// First index of the catalogue's vectors.
const VECTOR_START: i32 = 0;

/// The array in the one layout that [`BinaryColumn`] knows for the type.
///
/// # Errors
/// When the array does not hold values of the type at all.
pub(super) fn normalised(array: &ArrayRef, sql_type: &SqlType) -> SqlResult<ArrayRef> {
    if let SqlType::Catalog(catalog) = sql_type
        && let Some(encoded) = catalog_values::encoded(array, *catalog)
    {
        return Ok(encoded);
    }
    if sql_type.is_of_references() {
        return Ok(array.clone());
    }
    let wanted = sql_type.arrow();
    let as_it_is = (array.data_type() == &wanted && !holds_rows(sql_type))
        || is_of_any_scale(sql_type, array.data_type())
        || matches!((array.data_type(), &wanted), (DataType::Utf8View, DataType::Utf8) | (DataType::Null, _));
    if as_it_is {
        return Ok(array.clone());
    }
    match (sql_type, array.as_struct_opt(), array.as_list_opt::<i32>()) {
        (SqlType::Record(_), Some(rows), _) => return normalised_rows(rows),
        (SqlType::Array(item), _, Some(list)) if matches!(**item, SqlType::Record(_)) => {
            let items = normalised(list.values(), item)?;
            let field = Arc::new(Field::new_list_field(items.data_type().clone(), true));
            return Ok(Arc::new(ListArray::try_new(field, list.offsets().clone(), items, list.nulls().cloned())?));
        }
        _ => {}
    }
    cast(array, &wanted).map_err(|error| {
        SqlError::new(ErrorKind::Internal, format!("a column of type {sql_type} holds {}: {error}", array.data_type()))
    })
}

/// Whether these are numerics of as many digits as each column of them has: all are written.
fn is_of_any_scale(sql_type: &SqlType, of: &DataType) -> bool {
    match (sql_type, of) {
        (SqlType::Numeric(None) | SqlType::Quotient, of) => {
            matches!(of, DataType::Decimal128(..) | DataType::Decimal256(..))
        }
        (SqlType::Array(item), DataType::List(field)) => is_of_any_scale(item, field.data_type()),
        _ => false,
    }
}

/// Whether the layout of values says of parts of them that they are laid out otherwise than their types say.
fn holds_rows(sql_type: &SqlType) -> bool {
    match sql_type {
        SqlType::Record(_) => true,
        SqlType::Array(item) => holds_rows(item),
        _ => false,
    }
}

/// Rows with the columns of their fields normalised.
fn normalised_rows(rows: &StructArray) -> SqlResult<ArrayRef> {
    let mut fields = Vec::with_capacity(rows.num_columns());
    let mut columns = Vec::with_capacity(rows.num_columns());
    for (field, column) in rows.fields().iter().zip(rows.columns()) {
        let sql_type = SqlType::declared_in(field);
        let column = normalised(column, &sql_type)?;
        fields.push(field.as_ref().clone().with_data_type(column.data_type().clone()));
        columns.push(column);
    }
    Ok(Arc::new(StructArray::try_new_with_length(fields.into(), columns, rows.nulls().cloned(), rows.len())?))
}

/// One column of a batch, ready to write cells.
pub(super) struct BinaryColumn<'a> {
    array: &'a ArrayRef,
    values: Values<'a>,
}

enum Values<'a> {
    Null,
    Bool(&'a BooleanArray),
    Int2(&'a Int16Array),
    Int4(&'a Int32Array),
    Int8(&'a Int64Array),
    Oid(&'a UInt32Array),
    Float4(&'a Float32Array),
    Float8(&'a Float64Array),
    Decimal128(Decimals<'a, Decimal128Type>),
    Decimal256(Decimals<'a, Decimal256Type>),
    Text(&'a StringArray),
    TextView(&'a StringViewArray),
    /// Texts that are filled up with blanks to a number of characters.
    Padded(Box<Values<'a>>, usize),
    InternalChar(Box<Values<'a>>),
    Jsonb(Box<Values<'a>>),
    Bytes(&'a BinaryArray),
    Uuid(&'a FixedSizeBinaryArray),
    Date(&'a PrimitiveArray<Date32Type>),
    Time(&'a PrimitiveArray<Time64MicrosecondType>),
    Timestamp(&'a PrimitiveArray<TimestampMicrosecondType>),
    Interval(&'a PrimitiveArray<IntervalMonthDayNanoType>),
    List(Box<List<'a>>),
    Record(Vec<RecordField<'a>>),
}

/// The column of a field of rows.
struct RecordField<'a> {
    oid: u32,
    column: BinaryColumn<'a>,
}

struct Decimals<'a, T: DecimalType> {
    array: &'a PrimitiveArray<T>,
    scale: i8,
    /// The type has no scale of its own.
    shown: ShownDigits,
}

struct List<'a> {
    array: &'a ListArray,
    items: BinaryColumn<'a>,
    item_oid: u32,
    first_index: i32,
}

impl<'a> BinaryColumn<'a> {
    /// # Errors
    /// 0A000 for a type that has no binary form here.
    pub(crate) fn new(array: &'a ArrayRef, sql_type: &SqlType) -> SqlResult<Self> {
        Ok(Self { array, values: Values::new(array, sql_type)? })
    }

    pub(crate) fn is_null(&self, row: usize) -> bool {
        matches!(self.values, Values::Null) || self.array.is_null(row)
    }

    /// Appends a cell's bytes. The cell is not NULL.
    pub(crate) fn write(&self, row: usize, out: &mut BytesMut) {
        self.values.write(row, out);
    }
}

impl<'a> Values<'a> {
    fn new(array: &'a ArrayRef, sql_type: &SqlType) -> SqlResult<Self> {
        if array.data_type() == &DataType::Null {
            return Ok(Values::Null);
        }
        let values = match sql_type {
            SqlType::Regclass | SqlType::Regtype | SqlType::Regproc => Some(references(array, sql_type)?),
            SqlType::Catalog(catalog) if catalog.names_objects() => Some(references(array, sql_type)?),
            SqlType::Bool => array.as_boolean_opt().map(Values::Bool),
            SqlType::Int2 => array.as_primitive_opt::<Int16Type>().map(Values::Int2),
            SqlType::Int4 => array.as_primitive_opt::<Int32Type>().map(Values::Int4),
            SqlType::Int8 => array.as_primitive_opt::<Int64Type>().map(Values::Int8),
            SqlType::Oid | SqlType::Catalog(CatalogType::Xid) => {
                array.as_primitive_opt::<UInt32Type>().map(Values::Oid)
            }
            SqlType::Catalog(CatalogType::Inet | CatalogType::Lsn | CatalogType::Bit) => {
                array.as_binary_opt::<i32>().map(Values::Bytes)
            }
            SqlType::Catalog(CatalogType::AclItem) => return Err(catalog_values::without_binary_form(sql_type)),
            SqlType::Float4 => array.as_primitive_opt::<Float32Type>().map(Values::Float4),
            SqlType::Float8 => array.as_primitive_opt::<Float64Type>().map(Values::Float8),
            SqlType::Numeric(_) | SqlType::Quotient => decimals(array, ShownDigits::of(sql_type)),
            SqlType::InternalChar => text(array).map(|values| Values::InternalChar(Box::new(values))),
            SqlType::Jsonb => text(array).map(|values| Values::Jsonb(Box::new(values))),
            SqlType::Char(width) => {
                let width = usize::try_from(*width).unwrap_or(usize::MAX);
                text(array).map(|values| Values::Padded(Box::new(values), width))
            }
            SqlType::Text
            | SqlType::Varchar(_)
            | SqlType::Name
            | SqlType::Json
            | SqlType::Catalog(_)
            | SqlType::Void
            | SqlType::Unknown => text(array),
            SqlType::Bytea => array.as_binary_opt::<i32>().map(Values::Bytes),
            SqlType::Uuid => array.as_fixed_size_binary_opt().map(Values::Uuid),
            SqlType::Date => array.as_primitive_opt().map(Values::Date),
            SqlType::Time => array.as_primitive_opt().map(Values::Time),
            SqlType::Timestamp | SqlType::Timestamptz => array.as_primitive_opt().map(Values::Timestamp),
            SqlType::Interval => array.as_primitive_opt().map(Values::Interval),
            SqlType::Limited(limits) => return Values::new(array, limits.of().bare()),
            SqlType::Int2Vector => list(array, &SqlType::Int2, VECTOR_START)?,
            SqlType::OidVector => list(array, &SqlType::Oid, VECTOR_START)?,
            // Nothing is asked of items that there are none of: some have no binary form.
            SqlType::Array(_) if array.null_count() == array.len() => Some(Values::Null),
            SqlType::Array(item) => list(array, item, ARRAY_START)?,
            SqlType::Record(_) => record(array)?,
        };
        values.ok_or_else(|| {
            let message = format!("a column of type {sql_type} holds {}", array.data_type());
            SqlError::new(ErrorKind::Internal, message)
        })
    }

    fn write(&self, row: usize, out: &mut BytesMut) {
        match self {
            // A cell that is NULL is never written.
            Values::Null => {}
            Values::Bool(array) => out.put_u8(u8::from(array.value(row))),
            Values::Int2(array) => out.put_i16(array.value(row)),
            Values::Int4(array) => out.put_i32(array.value(row)),
            Values::Int8(array) => out.put_i64(array.value(row)),
            Values::Oid(array) => out.put_u32(array.value(row)),
            Values::Float4(array) => out.put_f32(array.value(row)),
            Values::Float8(array) => out.put_f64(array.value(row)),
            Values::Decimal128(d) => numeric::write(i256::from_i128(d.array.value(row)), d.scale, d.shown, out),
            Values::Decimal256(d) => numeric::write(d.array.value(row), d.scale, d.shown, out),
            Values::Text(array) => out.put_slice(array.value(row).as_bytes()),
            Values::TextView(array) => out.put_slice(array.value(row).as_bytes()),
            Values::Padded(values, width) => {
                let start = out.len();
                values.write(row, out);
                let characters = out[start..].iter().filter(|byte| !matches!(byte, 0x80..=0xBF)).count();
                out.put_bytes(b' ', width.saturating_sub(characters));
            }
            Values::InternalChar(values) => {
                let start = out.len();
                values.write(row, out);
                if out.len() == start {
                    out.put_u8(0);
                }
            }
            Values::Jsonb(values) => {
                out.put_u8(JSONB_VERSION);
                values.write(row, out);
            }
            Values::Bytes(array) => out.put_slice(array.value(row)),
            Values::Uuid(array) => out.put_slice(array.value(row)),
            Values::Date(array) => out.put_i32(array.value(row).saturating_sub(EPOCH_DAYS)),
            Values::Time(array) => out.put_i64(array.value(row)),
            Values::Timestamp(array) => out.put_i64(array.value(row).saturating_sub(EPOCH_MICROS)),
            Values::Interval(array) => {
                let interval = array.value(row);
                out.put_i64(interval.nanoseconds / 1000);
                out.put_i32(interval.days);
                out.put_i32(interval.months);
            }
            Values::List(list) => list.write(row, out),
            Values::Record(fields) => {
                out.put_i32(i32::try_from(fields.len()).unwrap_or(i32::MAX));
                for RecordField { oid, column } in fields {
                    out.put_u32(*oid);
                    put_cell(out, column.is_null(row), |out| column.write(row, out));
                }
            }
        }
    }
}

impl List<'_> {
    fn write(&self, row: usize, out: &mut BytesMut) {
        let mut range = self.items_of(row..row + 1);
        let (mut inner, mut lengths) = (self, vec![range.len()]);
        // Each list in it is as long as the first of them.
        while let Values::List(list) = &inner.items.values
            && !range.is_empty()
        {
            let items = list.items_of(range.clone());
            lengths.push(items.len() / range.len());
            (inner, range) = (list, items);
        }
        let has_nulls = range.clone().any(|item| inner.items.is_null(item));
        out.put_i32(if range.is_empty() { 0 } else { length(lengths.len()) });
        out.put_i32(i32::from(has_nulls));
        out.put_u32(inner.item_oid);
        if range.is_empty() {
            return;
        }
        for items in lengths {
            out.put_i32(length(items));
            out.put_i32(self.first_index);
        }
        for item in range {
            put_cell(out, inner.items.is_null(item), |out| inner.items.write(item, out));
        }
    }

    /// Where the items of these rows are.
    fn items_of(&self, rows: Range<usize>) -> Range<usize> {
        let offsets = self.array.value_offsets();
        index(offsets[rows.start])..index(offsets[rows.end])
    }
}

fn length(items: usize) -> i32 {
    i32::try_from(items).unwrap_or(i32::MAX)
}

/// Appends the bytes of a value, which is not NULL.
pub(super) fn put_value(value: Value<'_>, out: &mut BytesMut) {
    match value {
        Value::Null => {}
        Value::Bool(value) => out.put_u8(u8::from(value)),
        Value::Int2(value) => out.put_i16(value),
        Value::Int4(value) => out.put_i32(value),
        Value::Int8(value) => out.put_i64(value),
        Value::Float4(value) => out.put_f32(value),
        Value::Float8(value) => out.put_f64(value),
        Value::Decimal { unscaled, scale } => {
            numeric::write(i256::from(unscaled), i8::try_from(scale).unwrap_or(i8::MAX), ShownDigits::All, out);
        }
        Value::Text(text) => out.put_slice(text.as_bytes()),
        Value::Char(text, width) => {
            out.put_slice(text.as_bytes());
            out.put_bytes(b' ', padding(text, width));
        }
        Value::Jsonb(text) => {
            out.put_u8(JSONB_VERSION);
            out.put_slice(text.as_bytes());
        }
        Value::Bytea(bytes) => out.put_slice(bytes),
        Value::Uuid(bytes) => out.put_slice(&bytes),
        Value::Date(days) => out.put_i32(days.saturating_sub(EPOCH_DAYS)),
        Value::Timestamp(micros) | Value::Timestamptz(micros) => out.put_i64(micros.saturating_sub(EPOCH_MICROS)),
    }
}

/// Appends a length and what `write` appends, or the mark of NULL.
pub(super) fn put_cell(out: &mut BytesMut, is_null: bool, write: impl FnOnce(&mut BytesMut)) {
    if is_null {
        out.put_i32(-1);
        return;
    }
    let start = out.len();
    out.put_i32(0);
    write(out);
    // A longer cell makes its message too long, which is refused when the message is closed.
    let length = i32::try_from(out.len() - start - 4).unwrap_or(i32::MAX);
    out[start..start + 4].copy_from_slice(&length.to_be_bytes());
}

/// The OIDs of what values name. Those inside rows are names still.
fn references<'a>(array: &'a ArrayRef, sql_type: &SqlType) -> SqlResult<Values<'a>> {
    array.as_primitive_opt::<UInt32Type>().map(Values::Oid).ok_or_else(|| {
        SqlError::not_supported(format!("binary output of type {sql_type} inside a row"))
            .with_hint("Cast the column to text, or ask for the result in text format.")
    })
}

fn decimals(array: &ArrayRef, shown: ShownDigits) -> Option<Values<'_>> {
    match array.data_type() {
        DataType::Decimal128(_, scale) => {
            array.as_primitive_opt().map(|array| Values::Decimal128(Decimals { array, scale: *scale, shown }))
        }
        DataType::Decimal256(_, scale) => {
            array.as_primitive_opt().map(|array| Values::Decimal256(Decimals { array, scale: *scale, shown }))
        }
        _ => None,
    }
}

fn text(array: &ArrayRef) -> Option<Values<'_>> {
    array.as_string_opt::<i32>().map(Values::Text).or_else(|| array.as_string_view_opt().map(Values::TextView))
}

fn list<'a>(array: &'a ArrayRef, item: &SqlType, first_index: i32) -> SqlResult<Option<Values<'a>>> {
    let Some(array) = array.as_list_opt::<i32>() else { return Ok(None) };
    let items = BinaryColumn::new(array.values(), item)?;
    Ok(Some(Values::List(Box::new(List { array, items, item_oid: oid::sent_oid(item), first_index }))))
}

fn record(array: &ArrayRef) -> SqlResult<Option<Values<'_>>> {
    let Some(rows) = array.as_struct_opt() else { return Ok(None) };
    let field = |(field, column)| {
        let sql_type = SqlType::declared_in(field);
        Ok(RecordField { oid: oid::sent_oid(&sql_type), column: BinaryColumn::new(column, &sql_type)? })
    };
    let columns = rows.fields().iter().map(AsRef::as_ref).zip(rows.columns());
    Ok(Some(Values::Record(columns.map(field).collect::<SqlResult<_>>()?)))
}

/// Offsets of a list are never negative.
fn index(offset: i32) -> usize {
    usize::try_from(offset).unwrap_or(0)
}
