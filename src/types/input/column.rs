//! Reads a column of texts straight into an Arrow builder, without a value object per cell.

use std::sync::Arc;

use arrow::array::{
    ArrayRef, BinaryBuilder, BooleanBuilder, Date32Builder, Decimal128Builder, Decimal256Builder,
    FixedSizeBinaryBuilder, Float32Builder, Float64Builder, Int16Builder, Int32Builder, Int64Builder,
    IntervalMonthDayNanoBuilder, ListArray, StringBuilder, Time64MicrosecondBuilder, TimestampMicrosecondBuilder,
    UInt32Builder, new_null_array,
};
use arrow::buffer::{NullBuffer, OffsetBuffer};
use arrow::datatypes::{DataType, Field};

use super::decimal::Digits;
use super::text::TextRule;
use super::{bytes, datetime, json, list, number};
use crate::allowance::Allowance;
use crate::built_in::read_function;
use crate::error::{ErrorKind, SqlError, SqlResult};
use crate::interrupt;
use crate::sql_type::{CatalogType, IntervalFields, SqlType, TimeLimits, TimeType};
use crate::style::Reading;

/// A column under construction.
#[derive(Debug)]
pub struct ColumnParser {
    sql_type: SqlType,
    builder: Builder,
    len: usize,
    reading: Reading,
}

#[derive(Debug)]
enum Builder {
    Bool(BooleanBuilder),
    Int2(Int16Builder),
    Int4(Int32Builder),
    Int8(Int64Builder),
    Float4(Float32Builder),
    Float8(Float64Builder),
    Decimal128(Decimal128Builder, Digits),
    Decimal256(Decimal256Builder, Digits),
    Text(StringBuilder, TextRule),
    Bytea(BinaryBuilder, Vec<u8>),
    Uuid(FixedSizeBinaryBuilder),
    Date(Date32Builder),
    Time(Time64MicrosecondBuilder, Option<TimeLimits>),
    Timestamp(TimestampMicrosecondBuilder, Option<TimeLimits>),
    Timestamptz(TimestampMicrosecondBuilder, Option<TimeLimits>),
    Interval(IntervalMonthDayNanoBuilder, Option<TimeLimits>),
    Oid(UInt32Builder),
    List(Box<Items>),
    Void,
}

/// An array column: its items one after the other, and how many each row has.
#[derive(Debug)]
struct Items {
    items: ColumnParser,
    lengths: Vec<usize>,
    valid: Vec<bool>,
    vector: bool,
}

/// Where the end of an item that is a text is kept.
const OFFSET_BYTES: usize = 4;
/// How many items of an array are read without a look at the memory, and at whether somebody waits for them.
const ITEMS_UNASKED: usize = 1024;

impl Items {
    fn new(item: &SqlType, vector: bool) -> Box<Self> {
        Box::new(Self { items: ColumnParser::new(item), lengths: Vec::new(), valid: Vec::new(), vector })
    }
}

impl ColumnParser {
    pub fn new(sql_type: &SqlType) -> Self {
        Self { sql_type: sql_type.clone(), builder: Builder::new(sql_type), len: 0, reading: Reading::default() }
    }

    /// The same, as a session reads texts.
    #[must_use]
    pub fn reading(mut self, reading: Reading) -> Self {
        self.reading = reading;
        if let Builder::List(list) = &mut self.builder {
            list.items.reading = reading;
        }
        self
    }

    /// Cells so far.
    pub fn len(&self) -> usize {
        self.len
    }

    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Reads one cell, `None` for NULL. After an error the column is of no use.
    ///
    /// # Errors
    /// What the type's input function says: 22P02, 22003, 22001, 22007, 22008, ...
    pub fn push(&mut self, text: Option<&str>) -> SqlResult<()> {
        match text {
            Some(text) => self.builder.push(&self.sql_type, text, self.reading)?,
            None => self.builder.push_null(),
        }
        self.len += 1;
        Ok(())
    }

    /// Reads one cell in the form the store keeps: arrays are JSON there, all else is as [`ColumnParser::push`] reads it.
    ///
    /// # Errors
    /// As [`ColumnParser::push`].
    pub fn push_stored(&mut self, text: &str) -> SqlResult<()> {
        let Builder::List(list) = &mut self.builder else { return self.push(Some(text)) };
        let Some(items) = json::items(text) else { return self.push(Some(text)) };
        for item in &items {
            list.items.push(match item {
                json::JsonItem::Null => None,
                json::JsonItem::Text(text) => Some(text),
                json::JsonItem::Bare(text) => Some(text),
            })?;
        }
        list.end_row(items.len());
        self.len += 1;
        Ok(())
    }

    /// The cells so far, as [`SqlType::arrow`]; the parser starts anew.
    pub fn finish(&mut self) -> ArrayRef {
        let len = std::mem::take(&mut self.len);
        self.builder.finish(len)
    }
}

impl Builder {
    fn new(sql_type: &SqlType) -> Self {
        if let Some(rule) = TextRule::of(sql_type) {
            return Builder::Text(StringBuilder::new(), rule);
        }
        match sql_type {
            SqlType::Bool => Builder::Bool(BooleanBuilder::new()),
            SqlType::Int2 => Builder::Int2(Int16Builder::new()),
            SqlType::Int4 => Builder::Int4(Int32Builder::new()),
            SqlType::Int8 => Builder::Int8(Int64Builder::new()),
            SqlType::Float4 => Builder::Float4(Float32Builder::new()),
            SqlType::Float8 => Builder::Float8(Float64Builder::new()),
            SqlType::Numeric(declared) => match sql_type.arrow() {
                arrow @ arrow::datatypes::DataType::Decimal128(..) => {
                    Builder::Decimal128(Decimal128Builder::new().with_data_type(arrow), Digits::of(*declared))
                }
                arrow => Builder::Decimal256(Decimal256Builder::new().with_data_type(arrow), Digits::of(*declared)),
            },
            SqlType::Bytea => Builder::Bytea(BinaryBuilder::new(), Vec::new()),
            SqlType::Uuid => Builder::Uuid(FixedSizeBinaryBuilder::new(16)),
            SqlType::Date => Builder::Date(Date32Builder::new()),
            SqlType::Time => Builder::of_time(TimeType::Time, None),
            SqlType::Timestamp => Builder::of_time(TimeType::Timestamp, None),
            SqlType::Timestamptz => Builder::of_time(TimeType::Timestamptz, None),
            SqlType::Interval => Builder::of_time(TimeType::Interval, None),
            SqlType::Limited(limits) => Builder::of_time(limits.of(), Some(*limits)),
            SqlType::Oid | SqlType::Regproc | SqlType::Catalog(CatalogType::Xid) => Builder::Oid(UInt32Builder::new()),
            SqlType::Int2Vector => Builder::List(Items::new(&SqlType::Int2, true)),
            SqlType::OidVector => Builder::List(Items::new(&SqlType::Oid, true)),
            SqlType::Array(item) => Builder::List(Items::new(item, false)),
            // The types that are text inside were dealt with above.
            _ => Builder::Void,
        }
    }

    fn of_time(of: TimeType, limits: Option<TimeLimits>) -> Self {
        match of {
            TimeType::Time => Builder::Time(Time64MicrosecondBuilder::new(), limits),
            TimeType::Timestamp => Builder::Timestamp(TimestampMicrosecondBuilder::new(), limits),
            TimeType::Timestamptz => {
                let builder = TimestampMicrosecondBuilder::new().with_data_type(of.bare().arrow());
                Builder::Timestamptz(builder, limits)
            }
            TimeType::Interval => Builder::Interval(IntervalMonthDayNanoBuilder::new(), limits),
        }
    }

    fn push(&mut self, sql_type: &SqlType, text: &str, reading: Reading) -> SqlResult<()> {
        match self {
            Builder::Bool(b) => b.append_value(number::boolean(text)?),
            Builder::Int2(b) => b.append_value(number::integer(sql_type, text)?),
            Builder::Int4(b) => b.append_value(number::integer(sql_type, text)?),
            Builder::Int8(b) => b.append_value(number::integer(sql_type, text)?),
            Builder::Float4(b) => b.append_value(number::float4(text)?),
            Builder::Float8(b) => b.append_value(number::float8(text)?),
            Builder::Decimal128(b, digits) => b.append_value(digits.parse(text)?.as_i128()),
            Builder::Decimal256(b, digits) => b.append_value(digits.parse(text)?),
            Builder::Text(b, rule) => b.append_value(rule.apply(text)?),
            Builder::Bytea(b, scratch) => {
                scratch.clear();
                bytes::bytea(text, scratch)?;
                b.append_value(&scratch);
            }
            Builder::Uuid(b) => b.append_value(bytes::uuid(text)?)?,
            Builder::Date(b) => b.append_value(datetime::date(text, reading)?),
            Builder::Time(b, limits) => {
                let time = datetime::time(text, reading)?;
                b.append_value(limits.map_or(time, |limits| limits.time(time)));
            }
            Builder::Timestamp(b, limits) => {
                let moment = datetime::timestamp(text, false, reading)?;
                b.append_value(limits.map_or(moment, |limits| limits.timestamp(moment)));
            }
            Builder::Timestamptz(b, limits) => {
                let moment = datetime::timestamp(text, true, reading)?;
                b.append_value(limits.map_or(moment, |limits| limits.timestamp(moment)));
            }
            Builder::Interval(b, limits) => {
                let fields = limits.map_or(IntervalFields::ALL, TimeLimits::fields);
                let interval = datetime::interval(text, fields, reading.style.intervals)?;
                b.append_value(limits.map_or(interval, |limits| limits.interval_of(interval)));
            }
            Builder::Oid(b) if *sql_type == SqlType::Regproc => b.append_value(read_function(text)?),
            Builder::Oid(b) => b.append_value(number::integer(sql_type, text)?),
            Builder::List(list) => list.push(text)?,
            Builder::Void => {
                let message = match sql_type {
                    SqlType::Record(_) => "input of composite types is not implemented",
                    _ => "cannot accept a value of type void",
                };
                return Err(SqlError::new(ErrorKind::FeatureNotSupported, message));
            }
        }
        Ok(())
    }

    fn push_null(&mut self) {
        match self {
            Builder::Bool(b) => b.append_null(),
            Builder::Int2(b) => b.append_null(),
            Builder::Int4(b) => b.append_null(),
            Builder::Int8(b) => b.append_null(),
            Builder::Float4(b) => b.append_null(),
            Builder::Float8(b) => b.append_null(),
            Builder::Decimal128(b, _) => b.append_null(),
            Builder::Decimal256(b, _) => b.append_null(),
            Builder::Text(b, _) => b.append_null(),
            Builder::Bytea(b, _) => b.append_null(),
            Builder::Uuid(b) => b.append_null(),
            Builder::Date(b) => b.append_null(),
            Builder::Time(b, _) => b.append_null(),
            Builder::Timestamp(b, _) | Builder::Timestamptz(b, _) => b.append_null(),
            Builder::Interval(b, _) => b.append_null(),
            Builder::Oid(b) => b.append_null(),
            Builder::List(list) => {
                list.lengths.push(0);
                list.valid.push(false);
            }
            Builder::Void => {}
        }
    }

    fn finish(&mut self, len: usize) -> ArrayRef {
        match self {
            Builder::Bool(b) => Arc::new(b.finish()),
            Builder::Int2(b) => Arc::new(b.finish()),
            Builder::Int4(b) => Arc::new(b.finish()),
            Builder::Int8(b) => Arc::new(b.finish()),
            Builder::Float4(b) => Arc::new(b.finish()),
            Builder::Float8(b) => Arc::new(b.finish()),
            Builder::Decimal128(b, _) => Arc::new(b.finish()),
            Builder::Decimal256(b, _) => Arc::new(b.finish()),
            Builder::Text(b, _) => Arc::new(b.finish()),
            Builder::Bytea(b, _) => Arc::new(b.finish()),
            Builder::Uuid(b) => Arc::new(b.finish()),
            Builder::Date(b) => Arc::new(b.finish()),
            Builder::Time(b, _) => Arc::new(b.finish()),
            Builder::Timestamp(b, _) | Builder::Timestamptz(b, _) => Arc::new(b.finish()),
            Builder::Interval(b, _) => Arc::new(b.finish()),
            Builder::Oid(b) => Arc::new(b.finish()),
            Builder::List(list) => list.finish(),
            Builder::Void => new_null_array(&DataType::Utf8, len),
        }
    }
}

impl Items {
    fn push(&mut self, text: &str) -> SqlResult<()> {
        let before = self.items.len();
        let items = &mut self.items;
        let (allowance, mut texts) = (Allowance::now(), 0);
        let width = items.sql_type.arrow().primitive_width();
        let take = |item: Option<&str>| {
            texts += item.map_or(0, str::len);
            let count = items.len() - before;
            if count.is_multiple_of(ITEMS_UNASKED) {
                interrupt::check_now()?;
                allowance.check(width.map_or(texts + count * OFFSET_BYTES, |width| count * width))?;
            }
            items.push(item)
        };
        if self.vector {
            list::vector_items(text, take)?;
        } else {
            list::array_items(text, take)?;
        }
        self.end_row(self.items.len() - before);
        Ok(())
    }

    fn end_row(&mut self, length: usize) {
        self.lengths.push(length);
        self.valid.push(true);
    }

    fn finish(&mut self) -> ArrayRef {
        let items = self.items.finish();
        let lengths = std::mem::take(&mut self.lengths);
        let valid = std::mem::take(&mut self.valid);
        let nulls = valid.contains(&false).then(|| NullBuffer::from(valid));
        let field = Arc::new(Field::new_list_field(items.data_type().clone(), true));
        Arc::new(ListArray::new(field, OffsetBuffer::from_lengths(lengths), items, nulls))
    }
}
