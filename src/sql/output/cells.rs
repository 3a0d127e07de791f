//! The layouts a column can have, chosen once per batch, and how a cell of each is written.

use std::fmt;

use arrow::array::{
    Array, ArrayRef, AsArray, BinaryArray, BinaryViewArray, BooleanArray, FixedSizeBinaryArray, LargeBinaryArray,
    LargeStringArray, PrimitiveArray, RunArray, StringArray, StringViewArray,
};
use arrow::datatypes::{
    ArrowPrimitiveType, DataType, Date32Type, Date64Type, Decimal32Type, Decimal64Type, Decimal128Type, Decimal256Type,
    DurationMicrosecondType, DurationMillisecondType, DurationNanosecondType, DurationSecondType, Float16Type,
    Float32Type, Float64Type, Int8Type, Int16Type, Int32Type, Int64Type, IntervalDayTimeType, IntervalMonthDayNano,
    IntervalMonthDayNanoType, IntervalUnit, IntervalYearMonthType, RunEndIndexType, Time32MillisecondType,
    Time32SecondType, Time64MicrosecondType, Time64NanosecondType, TimeUnit, TimestampMicrosecondType,
    TimestampMillisecondType, TimestampNanosecondType, TimestampSecondType, UInt8Type, UInt16Type, UInt32Type,
    UInt64Type, i256,
};
use arrow::util::display::{ArrayFormatter, FormatOptions};

use super::list::ListCells;
use super::number::{write_decimal, write_f32, write_f64, write_i64, write_u64};
use super::record::RecordCells;
use super::temporal::{write_date, write_interval, write_time, write_timestamp};
use crate::sql::types::SqlType;

/// One column's values in their layout.
pub(super) enum Cells<'a> {
    Null,
    Bool(&'a BooleanArray),
    Int8(&'a [i8]),
    Int16(&'a [i16]),
    Int32(&'a [i32]),
    Int64(&'a [i64]),
    UInt8(&'a [u8]),
    UInt16(&'a [u16]),
    UInt32(&'a [u32]),
    UInt64(&'a [u64]),
    Float16(&'a PrimitiveArray<Float16Type>),
    Float32(&'a [f32]),
    Float64(&'a [f64]),
    Decimal {
        values: Decimals<'a>,
        scale: i8,
        trimmed: bool,
    },
    Utf8(&'a StringArray),
    LargeUtf8(&'a LargeStringArray),
    Utf8View(&'a StringViewArray),
    /// Padded with blanks to so many characters.
    Padded(Box<Cells<'a>>, usize),
    Binary(&'a BinaryArray),
    LargeBinary(&'a LargeBinaryArray),
    BinaryView(&'a BinaryViewArray),
    FixedBinary(&'a FixedSizeBinaryArray),
    Uuid(&'a FixedSizeBinaryArray),
    /// Days since 1970-01-01.
    Date32(&'a [i32]),
    /// Milliseconds since 1970-01-01.
    Date64(&'a [i64]),
    Time32(&'a [i32], Unit),
    Time64(&'a [i64], Unit),
    Timestamp {
        values: &'a [i64],
        unit: Unit,
        zone: bool,
    },
    Months(&'a [i32]),
    DayTime(&'a PrimitiveArray<IntervalDayTimeType>),
    Interval(&'a [IntervalMonthDayNano]),
    Duration(&'a [i64], Unit),
    List(ListCells<'a>),
    Record(RecordCells<'a>),
    /// Each row's place among the values of a dictionary or of runs.
    Indirect {
        places: Vec<usize>,
        values: Box<Cells<'a>>,
    },
    /// Nothing PostgreSQL has: printed as Arrow does.
    Other(Box<ArrayFormatter<'a>>),
}

/// Decimals by width.
#[derive(Clone, Copy)]
pub(super) enum Decimals<'a> {
    D32(&'a [i32]),
    D64(&'a [i64]),
    D128(&'a [i128]),
    D256(&'a [i256]),
}

/// How many of a unit make a second.
#[derive(Clone, Copy)]
pub(super) struct Unit(i64);

impl Unit {
    fn new(unit: TimeUnit) -> Self {
        Unit(match unit {
            TimeUnit::Second => 1,
            TimeUnit::Millisecond => 1_000,
            TimeUnit::Microsecond => 1_000_000,
            TimeUnit::Nanosecond => 1_000_000_000,
        })
    }

    /// Microseconds, rounded down.
    fn micros(self, value: i64) -> i64 {
        if self.0 > 1_000_000 { value.div_euclid(self.0 / 1_000_000) } else { value.saturating_mul(1_000_000 / self.0) }
    }
}

impl<'a> Cells<'a> {
    pub fn new(array: &'a ArrayRef, sql_type: &SqlType) -> Self {
        if let SqlType::Char(width) = sql_type {
            let width = usize::try_from(*width).unwrap_or(usize::MAX);
            return Cells::Padded(Box::new(Cells::new(array, &SqlType::Text)), width);
        }
        let direct = Cells::scalar(array, sql_type).or_else(|| Cells::temporal(array, sql_type));
        if let Some(cells) = direct {
            return cells;
        }
        if let Some(list) = ListCells::new(array, sql_type) {
            return Cells::List(list);
        }
        if let Some(rows) = RecordCells::new(array) {
            return Cells::Record(rows);
        }
        Cells::indirect(array, sql_type).unwrap_or_else(|| Cells::other(array))
    }

    fn scalar(array: &'a ArrayRef, sql_type: &SqlType) -> Option<Self> {
        let trimmed = *sql_type == SqlType::Numeric(None);
        Some(match array.data_type() {
            DataType::Null => Cells::Null,
            DataType::Boolean => Cells::Bool(array.as_boolean()),
            DataType::Int8 => Cells::Int8(values::<Int8Type>(array)),
            DataType::Int16 => Cells::Int16(values::<Int16Type>(array)),
            DataType::Int32 => Cells::Int32(values::<Int32Type>(array)),
            DataType::Int64 => Cells::Int64(values::<Int64Type>(array)),
            DataType::UInt8 => Cells::UInt8(values::<UInt8Type>(array)),
            DataType::UInt16 => Cells::UInt16(values::<UInt16Type>(array)),
            DataType::UInt32 => Cells::UInt32(values::<UInt32Type>(array)),
            DataType::UInt64 => Cells::UInt64(values::<UInt64Type>(array)),
            DataType::Float16 => Cells::Float16(array.as_primitive()),
            DataType::Float32 => Cells::Float32(values::<Float32Type>(array)),
            DataType::Float64 => Cells::Float64(values::<Float64Type>(array)),
            DataType::Decimal32(_, s) => {
                Cells::Decimal { values: Decimals::D32(values::<Decimal32Type>(array)), scale: *s, trimmed }
            }
            DataType::Decimal64(_, s) => {
                Cells::Decimal { values: Decimals::D64(values::<Decimal64Type>(array)), scale: *s, trimmed }
            }
            DataType::Decimal128(_, s) => {
                Cells::Decimal { values: Decimals::D128(values::<Decimal128Type>(array)), scale: *s, trimmed }
            }
            DataType::Decimal256(_, s) => {
                Cells::Decimal { values: Decimals::D256(values::<Decimal256Type>(array)), scale: *s, trimmed }
            }
            DataType::Utf8 => Cells::Utf8(array.as_string()),
            DataType::LargeUtf8 => Cells::LargeUtf8(array.as_string()),
            DataType::Utf8View => Cells::Utf8View(array.as_string_view()),
            DataType::Binary => Cells::Binary(array.as_binary()),
            DataType::LargeBinary => Cells::LargeBinary(array.as_binary()),
            DataType::BinaryView => Cells::BinaryView(array.as_binary_view()),
            DataType::FixedSizeBinary(16) if *sql_type != SqlType::Bytea => Cells::Uuid(array.as_fixed_size_binary()),
            DataType::FixedSizeBinary(_) => Cells::FixedBinary(array.as_fixed_size_binary()),
            _ => return None,
        })
    }

    fn temporal(array: &'a ArrayRef, sql_type: &SqlType) -> Option<Self> {
        Some(match array.data_type() {
            DataType::Date32 => Cells::Date32(values::<Date32Type>(array)),
            DataType::Date64 => Cells::Date64(values::<Date64Type>(array)),
            DataType::Time32(unit) => Cells::Time32(
                match unit {
                    TimeUnit::Second => values::<Time32SecondType>(array),
                    _ => values::<Time32MillisecondType>(array),
                },
                Unit::new(*unit),
            ),
            DataType::Time64(unit) => Cells::Time64(
                match unit {
                    TimeUnit::Nanosecond => values::<Time64NanosecondType>(array),
                    _ => values::<Time64MicrosecondType>(array),
                },
                Unit::new(*unit),
            ),
            DataType::Timestamp(unit, stored_zone) => Cells::Timestamp {
                values: timestamps(array, *unit),
                unit: Unit::new(*unit),
                zone: match &*sql_type.bare() {
                    SqlType::Timestamptz => true,
                    SqlType::Timestamp => false,
                    _ => stored_zone.is_some(),
                },
            },
            DataType::Interval(IntervalUnit::YearMonth) => Cells::Months(values::<IntervalYearMonthType>(array)),
            DataType::Interval(IntervalUnit::DayTime) => Cells::DayTime(array.as_primitive()),
            DataType::Interval(IntervalUnit::MonthDayNano) => {
                Cells::Interval(values::<IntervalMonthDayNanoType>(array))
            }
            DataType::Duration(unit) => Cells::Duration(durations(array, *unit), Unit::new(*unit)),
            _ => return None,
        })
    }

    fn indirect(array: &'a ArrayRef, sql_type: &SqlType) -> Option<Self> {
        let (places, values) = match array.data_type() {
            DataType::Dictionary(..) => {
                let dictionary = array.as_any_dictionary_opt()?;
                if dictionary.values().is_empty() {
                    return Some(Cells::Null);
                }
                (dictionary.normalized_keys(), dictionary.values())
            }
            DataType::RunEndEncoded(ends, _) => match ends.data_type() {
                DataType::Int16 => run_places(array.as_run_opt::<Int16Type>()?),
                DataType::Int32 => run_places(array.as_run_opt::<Int32Type>()?),
                DataType::Int64 => run_places(array.as_run_opt::<Int64Type>()?),
                _ => return None,
            },
            _ => return None,
        };
        Some(Cells::Indirect { places, values: Box::new(Cells::new(values, sql_type)) })
    }

    fn other(array: &'a ArrayRef) -> Self {
        const OPTIONS: FormatOptions<'static> = FormatOptions::new();
        ArrayFormatter::try_new(array.as_ref(), &OPTIONS).map_or(Cells::Null, |f| Cells::Other(Box::new(f)))
    }

    pub fn write<W: fmt::Write>(&self, row: usize, out: &mut W) -> fmt::Result {
        match self {
            Cells::Null => Ok(()),
            Cells::Bool(values) => out.write_str(if values.value(row) { "t" } else { "f" }),
            Cells::Int8(values) => write_i64(out, values[row].into()),
            Cells::Int16(values) => write_i64(out, values[row].into()),
            Cells::Int32(values) => write_i64(out, values[row].into()),
            Cells::Int64(values) => write_i64(out, values[row]),
            Cells::UInt8(values) => write_u64(out, values[row].into()),
            Cells::UInt16(values) => write_u64(out, values[row].into()),
            Cells::UInt32(values) => write_u64(out, values[row].into()),
            Cells::UInt64(values) => write_u64(out, values[row]),
            Cells::Float16(values) => write_f32(out, values.value(row).to_f32()),
            Cells::Float32(values) => write_f32(out, values[row]),
            Cells::Float64(values) => write_f64(out, values[row]),
            Cells::Decimal { values, scale, trimmed } => write_decimal(out, values.get(row), *scale, *trimmed),
            Cells::Utf8(values) => out.write_str(values.value(row)),
            Cells::LargeUtf8(values) => out.write_str(values.value(row)),
            Cells::Utf8View(values) => out.write_str(values.value(row)),
            Cells::Padded(cells, width) => {
                let mut counted = Counted { out, chars: 0 };
                cells.write(row, &mut (&mut counted as &mut dyn fmt::Write))?;
                let chars = counted.chars;
                (chars..*width).try_for_each(|_| out.write_char(' '))
            }
            Cells::Binary(values) => write_hex(out, "\\x", values.value(row)),
            Cells::LargeBinary(values) => write_hex(out, "\\x", values.value(row)),
            Cells::BinaryView(values) => write_hex(out, "\\x", values.value(row)),
            Cells::FixedBinary(values) => write_hex(out, "\\x", values.value(row)),
            Cells::Uuid(values) => write_uuid(out, values.value(row)),
            Cells::Date32(values) => write_date(out, values[row].into()),
            Cells::Date64(values) => write_date(out, values[row].div_euclid(86_400_000)),
            Cells::Time32(values, unit) => write_time(out, unit.micros(values[row].into())),
            Cells::Time64(values, unit) => write_time(out, unit.micros(values[row])),
            Cells::Timestamp { values, unit, zone } => write_timestamp(out, unit.micros(values[row]), *zone),
            Cells::Months(values) => write_interval(out, IntervalMonthDayNano::new(values[row], 0, 0)),
            Cells::DayTime(values) => {
                let value = values.value(row);
                let nanos = i64::from(value.milliseconds) * 1_000_000;
                write_interval(out, IntervalMonthDayNano::new(0, value.days, nanos))
            }
            Cells::Interval(values) => write_interval(out, values[row]),
            Cells::Duration(values, unit) => {
                let nanos = unit.micros(values[row]).saturating_mul(1_000);
                write_interval(out, IntervalMonthDayNano::new(0, 0, nanos))
            }
            Cells::List(list) => list.write(row, out),
            Cells::Record(rows) => rows.write(row, out),
            Cells::Indirect { places, values } => values.write(places[row], out),
            Cells::Other(formatter) => write!(out, "{}", formatter.value(row)),
        }
    }
}

impl Decimals<'_> {
    fn get(self, row: usize) -> i256 {
        match self {
            Decimals::D32(values) => i256::from_i128(values[row].into()),
            Decimals::D64(values) => i256::from_i128(values[row].into()),
            Decimals::D128(values) => i256::from_i128(values[row]),
            Decimals::D256(values) => values[row],
        }
    }
}

/// Counts characters on their way.
struct Counted<'w, W> {
    out: &'w mut W,
    chars: usize,
}

impl<W: fmt::Write> fmt::Write for Counted<'_, W> {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        self.chars += text.chars().count();
        self.out.write_str(text)
    }
}

fn values<T: ArrowPrimitiveType>(array: &ArrayRef) -> &[T::Native] {
    array.as_primitive::<T>().values()
}

fn timestamps(array: &ArrayRef, unit: TimeUnit) -> &[i64] {
    match unit {
        TimeUnit::Second => values::<TimestampSecondType>(array),
        TimeUnit::Millisecond => values::<TimestampMillisecondType>(array),
        TimeUnit::Microsecond => values::<TimestampMicrosecondType>(array),
        TimeUnit::Nanosecond => values::<TimestampNanosecondType>(array),
    }
}

fn durations(array: &ArrayRef, unit: TimeUnit) -> &[i64] {
    match unit {
        TimeUnit::Second => values::<DurationSecondType>(array),
        TimeUnit::Millisecond => values::<DurationMillisecondType>(array),
        TimeUnit::Microsecond => values::<DurationMicrosecondType>(array),
        TimeUnit::Nanosecond => values::<DurationNanosecondType>(array),
    }
}

fn run_places<R: RunEndIndexType>(runs: &RunArray<R>) -> (Vec<usize>, &ArrayRef) {
    ((0..runs.len()).map(|row| runs.get_physical_index(row)).collect(), runs.values())
}

const HEX: &[u8; 16] = b"0123456789abcdef";

fn write_hex(out: &mut impl fmt::Write, prefix: &str, bytes: &[u8]) -> fmt::Result {
    out.write_str(prefix)?;
    let mut text = [0; 128];
    for chunk in bytes.chunks(64) {
        for (pair, byte) in text.chunks_exact_mut(2).zip(chunk) {
            pair[0] = HEX[usize::from(byte >> 4)];
            pair[1] = HEX[usize::from(byte & 15)];
        }
        out.write_str(std::str::from_utf8(&text[..chunk.len() * 2]).unwrap_or_default())?;
    }
    Ok(())
}

fn write_uuid(out: &mut impl fmt::Write, bytes: &[u8]) -> fmt::Result {
    let mut text = [b'-'; 36];
    let mut at = 0;
    for (index, byte) in bytes.iter().take(16).enumerate() {
        if matches!(index, 4 | 6 | 8 | 10) {
            at += 1;
        }
        text[at] = HEX[usize::from(byte >> 4)];
        text[at + 1] = HEX[usize::from(byte & 15)];
        at += 2;
    }
    out.write_str(std::str::from_utf8(&text).unwrap_or_default())
}
