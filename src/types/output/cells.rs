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

use super::bytea::{HEX, write_bytea};
use super::digits::ShownDigits;
use super::interval::write_interval;
use super::list::ListCells;
use super::number::{write_decimal, write_f32, write_f64, write_i64, write_u64};
use super::record::RecordCells;
use super::temporal::{write_date, write_time, write_timestamp};
use crate::built_in::printed_function;
use crate::calendar::Zone;
use crate::sql_type::SqlType;
use crate::style::{ByteaOutput, DateStyle, IntervalStyle, Style};

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
    Functions(&'a [u32]),
    UInt64(&'a [u64]),
    /// With `extra_float_digits`.
    Float16(&'a PrimitiveArray<Float16Type>, i8),
    Float32(&'a [f32], i8),
    Float64(&'a [f64], i8),
    Decimal {
        values: Decimals<'a>,
        scale: i8,
        shown: ShownDigits,
    },
    Utf8(&'a StringArray),
    LargeUtf8(&'a LargeStringArray),
    Utf8View(&'a StringViewArray),
    /// Padded with blanks to so many characters.
    Padded(Box<Cells<'a>>, usize),
    Binary(&'a BinaryArray, ByteaOutput),
    LargeBinary(&'a LargeBinaryArray, ByteaOutput),
    BinaryView(&'a BinaryViewArray, ByteaOutput),
    FixedBinary(&'a FixedSizeBinaryArray, ByteaOutput),
    Uuid(&'a FixedSizeBinaryArray),
    /// Days since 1970-01-01.
    Date32(&'a [i32], DateStyle),
    /// Milliseconds since 1970-01-01.
    Date64(&'a [i64], DateStyle),
    Time32(&'a [i32], Unit),
    Time64(&'a [i64], Unit),
    Timestamp {
        values: &'a [i64],
        unit: Unit,
        zone: Option<Zone>,
        dates: DateStyle,
    },
    Months(&'a [i32], IntervalStyle),
    DayTime(&'a PrimitiveArray<IntervalDayTimeType>, IntervalStyle),
    Interval(&'a [IntervalMonthDayNano], IntervalStyle),
    Duration(&'a [i64], Unit, IntervalStyle),
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
    pub(super) fn new(array: &'a ArrayRef, sql_type: &SqlType, style: Style) -> Self {
        if let SqlType::Char(width) = sql_type {
            let width = usize::try_from(*width).unwrap_or(usize::MAX);
            return Cells::Padded(Box::new(Cells::new(array, &SqlType::Text, style)), width);
        }
        let direct = Cells::scalar(array, sql_type, style).or_else(|| Cells::temporal(array, sql_type, style));
        if let Some(cells) = direct {
            return cells;
        }
        if let Some(list) = ListCells::new(array, sql_type, style) {
            return Cells::List(list);
        }
        if let Some(rows) = RecordCells::new(array, style) {
            return Cells::Record(rows);
        }
        Cells::indirect(array, sql_type, style).unwrap_or_else(|| Cells::other(array))
    }

    fn scalar(array: &'a ArrayRef, sql_type: &SqlType, style: Style) -> Option<Self> {
        let shown = ShownDigits::of(sql_type);
        Some(match array.data_type() {
            DataType::Null => Cells::Null,
            DataType::Boolean => Cells::Bool(array.as_boolean()),
            DataType::Int8 => Cells::Int8(values::<Int8Type>(array)),
            DataType::Int16 => Cells::Int16(values::<Int16Type>(array)),
            DataType::Int32 => Cells::Int32(values::<Int32Type>(array)),
            DataType::Int64 => Cells::Int64(values::<Int64Type>(array)),
            DataType::UInt8 => Cells::UInt8(values::<UInt8Type>(array)),
            DataType::UInt16 => Cells::UInt16(values::<UInt16Type>(array)),
            DataType::UInt32 if *sql_type == SqlType::Regproc => Cells::Functions(values::<UInt32Type>(array)),
            DataType::UInt32 => Cells::UInt32(values::<UInt32Type>(array)),
            DataType::UInt64 => Cells::UInt64(values::<UInt64Type>(array)),
            DataType::Float16 => Cells::Float16(array.as_primitive(), style.float_digits),
            DataType::Float32 => Cells::Float32(values::<Float32Type>(array), style.float_digits),
            DataType::Float64 => Cells::Float64(values::<Float64Type>(array), style.float_digits),
            DataType::Decimal32(_, s) => {
                Cells::Decimal { values: Decimals::D32(values::<Decimal32Type>(array)), scale: *s, shown }
            }
            DataType::Decimal64(_, s) => {
                Cells::Decimal { values: Decimals::D64(values::<Decimal64Type>(array)), scale: *s, shown }
            }
            DataType::Decimal128(_, s) => {
                Cells::Decimal { values: Decimals::D128(values::<Decimal128Type>(array)), scale: *s, shown }
            }
            DataType::Decimal256(_, s) => {
                Cells::Decimal { values: Decimals::D256(values::<Decimal256Type>(array)), scale: *s, shown }
            }
            DataType::Utf8 => Cells::Utf8(array.as_string()),
            DataType::LargeUtf8 => Cells::LargeUtf8(array.as_string()),
            DataType::Utf8View => Cells::Utf8View(array.as_string_view()),
            DataType::Binary => Cells::Binary(array.as_binary(), style.bytea),
            DataType::LargeBinary => Cells::LargeBinary(array.as_binary(), style.bytea),
            DataType::BinaryView => Cells::BinaryView(array.as_binary_view(), style.bytea),
            DataType::FixedSizeBinary(16) if *sql_type != SqlType::Bytea => Cells::Uuid(array.as_fixed_size_binary()),
            DataType::FixedSizeBinary(_) => Cells::FixedBinary(array.as_fixed_size_binary(), style.bytea),
            _ => return None,
        })
    }

    fn temporal(array: &'a ArrayRef, sql_type: &SqlType, style: Style) -> Option<Self> {
        Some(match array.data_type() {
            DataType::Date32 => Cells::Date32(values::<Date32Type>(array), style.dates),
            DataType::Date64 => Cells::Date64(values::<Date64Type>(array), style.dates),
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
                    SqlType::Timestamptz => Some(style.zone),
                    SqlType::Timestamp => None,
                    _ => stored_zone.is_some().then_some(style.zone),
                },
                dates: style.dates,
            },
            DataType::Interval(IntervalUnit::YearMonth) => {
                Cells::Months(values::<IntervalYearMonthType>(array), style.intervals)
            }
            DataType::Interval(IntervalUnit::DayTime) => Cells::DayTime(array.as_primitive(), style.intervals),
            DataType::Interval(IntervalUnit::MonthDayNano) => {
                Cells::Interval(values::<IntervalMonthDayNanoType>(array), style.intervals)
            }
            DataType::Duration(unit) => Cells::Duration(durations(array, *unit), Unit::new(*unit), style.intervals),
            _ => return None,
        })
    }

    fn indirect(array: &'a ArrayRef, sql_type: &SqlType, style: Style) -> Option<Self> {
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
        Some(Cells::Indirect { places, values: Box::new(Cells::new(values, sql_type, style)) })
    }

    fn other(array: &'a ArrayRef) -> Self {
        const OPTIONS: FormatOptions<'static> = FormatOptions::new();
        ArrayFormatter::try_new(array.as_ref(), &OPTIONS).map_or(Cells::Null, |f| Cells::Other(Box::new(f)))
    }

    pub(super) fn write<W: fmt::Write>(&self, row: usize, out: &mut W) -> fmt::Result {
        match self {
            Cells::Null => Ok(()),
            Cells::Bool(values) => out.write_str(if values.value(row) { "t" } else { "f" }),
            Cells::Int8(values) => write_i64(out, values[row].into()),
            Cells::Int16(values) => write_i64(out, values[row].into()),
            Cells::Int32(values) => write_i64(out, values[row].into()),
            Cells::Int64(values) => write_i64(out, values[row]),
            Cells::UInt8(values) => write_u64(out, values[row].into()),
            Cells::UInt16(values) => write_u64(out, values[row].into()),
            Cells::Functions(values) => out.write_str(&printed_function(values[row])),
            Cells::UInt32(values) => write_u64(out, values[row].into()),
            Cells::UInt64(values) => write_u64(out, values[row]),
            Cells::Float16(values, digits) => write_f32(out, values.value(row).to_f32(), *digits),
            Cells::Float32(values, digits) => write_f32(out, values[row], *digits),
            Cells::Float64(values, digits) => write_f64(out, values[row], *digits),
            Cells::Decimal { values, scale, shown } => write_decimal(out, values.get(row), *scale, *shown),
            Cells::Utf8(values) => out.write_str(values.value(row)),
            Cells::LargeUtf8(values) => out.write_str(values.value(row)),
            Cells::Utf8View(values) => out.write_str(values.value(row)),
            Cells::Padded(cells, width) => {
                let mut counted = Counted { out, chars: 0 };
                cells.write(row, &mut (&mut counted as &mut dyn fmt::Write))?;
                let chars = counted.chars;
                (chars..*width).try_for_each(|_| out.write_char(' '))
            }
            Cells::Binary(values, form) => write_bytea(out, values.value(row), *form),
            Cells::LargeBinary(values, form) => write_bytea(out, values.value(row), *form),
            Cells::BinaryView(values, form) => write_bytea(out, values.value(row), *form),
            Cells::FixedBinary(values, form) => write_bytea(out, values.value(row), *form),
            Cells::Uuid(values) => write_uuid(out, values.value(row)),
            Cells::Date32(values, style) => write_date(out, values[row].into(), *style),
            Cells::Date64(values, style) => write_date(out, values[row].div_euclid(86_400_000), *style),
            Cells::Time32(values, unit) => write_time(out, unit.micros(values[row].into())),
            Cells::Time64(values, unit) => write_time(out, unit.micros(values[row])),
            Cells::Timestamp { values, unit, zone, dates } => {
                write_timestamp(out, unit.micros(values[row]), *zone, *dates)
            }
            Cells::Months(values, style) => write_interval(out, IntervalMonthDayNano::new(values[row], 0, 0), *style),
            Cells::DayTime(values, style) => {
                let value = values.value(row);
                let nanos = i64::from(value.milliseconds) * 1_000_000;
                write_interval(out, IntervalMonthDayNano::new(0, value.days, nanos), *style)
            }
            Cells::Interval(values, style) => write_interval(out, values[row], *style),
            Cells::Duration(values, unit, style) => {
                let nanos = unit.micros(values[row]).saturating_mul(1_000);
                write_interval(out, IntervalMonthDayNano::new(0, 0, nanos), *style)
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

pub(super) fn write_uuid(out: &mut impl fmt::Write, bytes: &[u8]) -> fmt::Result {
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
