//! Reads key parts back. Only what the encoder writes is read; anything else is no value at all.

use std::borrow::Cow;
use std::sync::Arc;

use arrow::array::{
    ArrayRef, BinaryArray, BooleanArray, Date32Array, Decimal128Array, Decimal256Array, FixedSizeBinaryArray,
    Float32Array, Float64Array, Int16Array, Int32Array, Int64Array, StringArray, Time64MicrosecondArray,
    TimestampMicrosecondArray, UInt32Array,
};
use arrow::datatypes::i256;
use chrono::NaiveDate;

use super::encode::{hex_complement, nines_complement};
use super::escape::unescape;
use super::part::{KeyValue, NumberRange, PartKind, PartLayout};
use super::{KeyCodecError, KeyColumn};
use crate::sql_type::SqlType;

/// Most digits of a number that always fits 128 bits.
const I128_DIGITS: usize = 38;
/// Most digits of a number that always fits 64 bits.
const U64_DIGITS: usize = 19;
const DATE_CHARS: usize = "2014-08-22".len();
const TIME_CHARS: usize = "00:50:32.0000000".len();

/// The value at the start of `text`, and what follows it.
pub(super) fn take<'a>(layout: &PartLayout, text: &'a str) -> Option<(KeyValue<'a>, &'a str)> {
    match layout.kind {
        PartKind::Bool => {
            let (digit, rest) = text.split_at_checked(1)?;
            let set = match digit {
                "0" => false,
                "1" => true,
                _ => return None,
            };
            Some((KeyValue::Bool(set != layout.descending), rest))
        }
        PartKind::Number { digits, range, .. } => take_number(text, digits, range, layout.descending),
        PartKind::Float4 => {
            let (bytes, rest) = take_hex(layout, text, 8)?;
            Some((KeyValue::Float4(f32_of(u32::from_be_bytes(bytes.try_into().ok()?))?), rest))
        }
        PartKind::Float8 => {
            let (bytes, rest) = take_hex(layout, text, 16)?;
            Some((KeyValue::Float8(f64_of(u64::from_be_bytes(bytes.try_into().ok()?))?), rest))
        }
        PartKind::Uuid => {
            let (bytes, rest) = take_hex(layout, text, 32)?;
            Some((KeyValue::Bytes(Cow::Owned(bytes)), rest))
        }
        PartKind::Bytea => {
            let (hex, rest) = take_variable(layout, text)?;
            let (bytes, _) = take_hex(layout, hex, hex.len())?;
            Some((KeyValue::Bytes(Cow::Owned(bytes)), rest))
        }
        PartKind::Date => {
            let (date, rest) = take_digits(layout, text, DATE_CHARS)?;
            Some((KeyValue::Days(days(&date)?), rest))
        }
        PartKind::Time => {
            let (time, rest) = take_digits(layout, text, TIME_CHARS)?;
            let micros = micros_of_day(&time)?;
            Some((KeyValue::Micros(micros), rest))
        }
        PartKind::Timestamp { .. } => {
            let (stamp, rest) = take_digits(layout, text, DATE_CHARS + TIME_CHARS + 2)?;
            let (date, time) = stamp.split_at_checked(DATE_CHARS)?;
            let time = time.strip_prefix('T')?.strip_suffix('Z')?;
            let micros = micros_of_day(time).filter(|micros| *micros < 86_400_000_000)?;
            Some((KeyValue::Micros(i64::from(days(date)?) * 86_400_000_000 + micros), rest))
        }
        PartKind::Text { trim } => {
            let (inner, rest) = take_variable(layout, text)?;
            let value = if layout.is_escaped() { unescape(inner, layout.escape)? } else { Cow::Borrowed(inner) };
            (!trim || !value.ends_with(' ')).then_some((KeyValue::Text(value), rest))
        }
    }
}

/// The values of the wanted columns, row by row.
pub(super) struct Outputs<'a> {
    /// For each key column: its values, if it is wanted.
    values: Vec<Option<Vec<KeyValue<'a>>>>,
    columns: &'a [KeyColumn],
    wanted: &'a [usize],
}

impl<'a> Outputs<'a> {
    pub(super) fn new(columns: &'a [KeyColumn], wanted: &'a [usize], rows: usize) -> Self {
        let values =
            (0..columns.len()).map(|index| wanted.contains(&index).then(|| Vec::with_capacity(rows))).collect();
        Self { values, columns, wanted }
    }

    pub(super) fn push(&mut self, column: usize, value: KeyValue<'a>) {
        if let Some(values) = &mut self.values[column] {
            values.push(value);
        }
    }

    pub(super) fn finish(self) -> Result<Vec<ArrayRef>, KeyCodecError> {
        self.wanted
            .iter()
            .map(|index| {
                let values = self.values[*index].as_deref().ok_or(KeyCodecError::Shape)?;
                build(&self.columns[*index].sql_type, values).ok_or(KeyCodecError::Shape)
            })
            .collect()
    }
}

/// `None` when a value is not of the type, which the layouts rule out.
fn build(sql_type: &SqlType, values: &[KeyValue<'_>]) -> Option<ArrayRef> {
    macro_rules! collect {
        ($array:ty, $pattern:pat => $value:expr) => {{
            let collected: Option<Vec<_>> = values
                .iter()
                .map(|value| match value {
                    $pattern => Some($value),
                    _ => None,
                })
                .collect();
            <$array>::from(collected?)
        }};
    }
    macro_rules! integers {
        ($array:ty, $native:ty) => {
            Arc::new(collect!($array, KeyValue::Number(n) => <$native>::try_from(*n).ok()?))
        };
    }
    Some(match &*sql_type.bare() {
        SqlType::Bool => Arc::new(collect!(BooleanArray, KeyValue::Bool(b) => *b)),
        SqlType::Int2 => integers!(Int16Array, i16),
        SqlType::Int4 => integers!(Int32Array, i32),
        SqlType::Int8 => integers!(Int64Array, i64),
        SqlType::Oid => integers!(UInt32Array, u32),
        SqlType::Numeric(Some((p, s))) if usize::from(*p) <= I128_DIGITS => {
            let array = collect!(Decimal128Array, KeyValue::Number(n) => *n);
            Arc::new(array.with_precision_and_scale(*p, *s).ok()?)
        }
        SqlType::Numeric(Some((p, s))) => {
            let array = collect!(Decimal256Array, KeyValue::Wide(n) => *n);
            Arc::new(array.with_precision_and_scale(*p, *s).ok()?)
        }
        SqlType::Float4 => Arc::new(collect!(Float32Array, KeyValue::Float4(f) => *f)),
        SqlType::Float8 => Arc::new(collect!(Float64Array, KeyValue::Float8(f) => *f)),
        SqlType::Uuid => {
            let bytes = values.iter().map(|value| match value {
                KeyValue::Bytes(bytes) => Some(bytes.as_ref()),
                _ => None,
            });
            Arc::new(FixedSizeBinaryArray::try_from_sparse_iter_with_size(bytes, 16).ok()?)
        }
        SqlType::Bytea => {
            Arc::new(BinaryArray::from_iter_values(collect!(Vec<&[u8]>, KeyValue::Bytes(b) => b.as_ref())))
        }
        SqlType::Date => Arc::new(collect!(Date32Array, KeyValue::Days(d) => *d)),
        SqlType::Time => Arc::new(collect!(Time64MicrosecondArray, KeyValue::Micros(m) => *m)),
        SqlType::Timestamp => Arc::new(collect!(TimestampMicrosecondArray, KeyValue::Micros(m) => *m)),
        SqlType::Timestamptz => {
            Arc::new(collect!(TimestampMicrosecondArray, KeyValue::Micros(m) => *m).with_timezone("UTC"))
        }
        _ => Arc::new(StringArray::from_iter_values(collect!(Vec<&str>, KeyValue::Text(t) => t.as_ref()))),
    })
}

fn take_number(text: &str, digits: usize, range: NumberRange, inverted: bool) -> Option<(KeyValue<'_>, &str)> {
    let sign = if inverted { '~' } else { '-' };
    let (negative, behind_sign) = match text.strip_prefix(sign) {
        Some(rest) => (true, rest),
        None => (false, text),
    };
    let (written, rest) = behind_sign.split_at_checked(digits)?;
    if digits <= U64_DIGITS {
        let mut magnitude = 0_u64;
        for byte in written.bytes() {
            let digit = u64::from(byte.wrapping_sub(b'0'));
            if digit > 9 {
                return None;
            }
            magnitude = magnitude * 10 + if negative == inverted { digit } else { 9 - digit };
        }
        return in_range(negative, magnitude.into(), range).map(|number| (KeyValue::Number(number), rest));
    }
    if !written.bytes().all(|b| b.is_ascii_digit()) {
        return None;
    }
    let complemented = negative != inverted;
    let mut magnitude: String = written.to_owned();
    if complemented {
        magnitude = written.chars().map(nines_complement).collect();
    }
    if negative && magnitude.bytes().all(|b| b == b'0') {
        return None;
    }
    if digits > I128_DIGITS {
        let magnitude = i256::from_string(&magnitude)?;
        return Some((KeyValue::Wide(if negative { magnitude.checked_neg()? } else { magnitude }), rest));
    }
    in_range(negative, magnitude.parse().ok()?, range).map(|number| (KeyValue::Number(number), rest))
}

/// The number, if it is one that the column can have and that the encoder writes (it never writes a negative zero).
fn in_range(negative: bool, magnitude: i128, range: NumberRange) -> Option<i128> {
    let number = if negative { -magnitude } else { magnitude };
    let fits = range.bounds().is_none_or(|(min, max)| (min..=max).contains(&number));
    (fits && !(negative && magnitude == 0)).then_some(number)
}

/// The text up to the end mark, and what follows it.
fn take_variable<'a>(layout: &PartLayout, text: &'a str) -> Option<(&'a str, &'a str)> {
    if layout.is_terminated() { text.split_once(' ') } else { Some((text, "")) }
}

/// This many characters with the digits as they were before DESC.
fn take_digits<'a>(layout: &PartLayout, text: &'a str, chars: usize) -> Option<(Cow<'a, str>, &'a str)> {
    let (written, rest) = text.split_at_checked(chars)?;
    let plain = if layout.descending {
        Cow::Owned(written.chars().map(nines_complement).collect())
    } else {
        Cow::Borrowed(written)
    };
    Some((plain, rest))
}

fn take_hex<'a>(layout: &PartLayout, text: &'a str, chars: usize) -> Option<(Vec<u8>, &'a str)> {
    let (written, rest) = text.split_at_checked(chars)?;
    let digit = |c: u8| {
        let c = char::from(c);
        let c = if layout.descending { hex_complement(c) } else { c };
        let value = c.to_digit(16).filter(|_| !c.is_ascii_uppercase())?;
        u8::try_from(value).ok()
    };
    let (pairs, odd) = written.as_bytes().as_chunks::<2>();
    if !odd.is_empty() {
        return None;
    }
    // Lower case is checked on what is written: a complement is always lower case.
    if written.bytes().any(|b| b.is_ascii_uppercase()) {
        return None;
    }
    let bytes = pairs.iter().map(|[high, low]| Some(digit(*high)? << 4 | digit(*low)?)).collect::<Option<_>>()?;
    Some((bytes, rest))
}

fn f64_of(sortable: u64) -> Option<f64> {
    let bits = if sortable >> 63 == 1 { sortable ^ (1 << 63) } else { !sortable };
    let f = f64::from_bits(bits);
    (super::encode::sortable_f64(f) == sortable).then_some(f)
}

fn f32_of(sortable: u32) -> Option<f32> {
    let bits = if sortable >> 31 == 1 { sortable ^ (1 << 31) } else { !sortable };
    let f = f32::from_bits(bits);
    (super::encode::sortable_f32(f) == sortable).then_some(f)
}

/// Days since 1970-01-01 of `2014-08-22`.
fn days(text: &str) -> Option<i32> {
    let [year, month, day] = numbers(text, "dddd-dd-dd")?;
    let date = NaiveDate::from_ymd_opt(i32::try_from(year).ok()?, month, day).filter(|_| year > 0)?;
    i32::try_from(date.signed_duration_since(NaiveDate::default()).num_days()).ok()
}

/// Microseconds since midnight of `00:50:32.0000000`; midnight at the end of the day is `24:00:00.0000000`.
fn micros_of_day(text: &str) -> Option<i64> {
    let [hours, minutes, seconds, fraction] = numbers(text, "dd:dd:dd.ddddddd")?;
    if minutes > 59 || seconds > 59 || fraction % 10 != 0 {
        return None;
    }
    let seconds = (i64::from(hours) * 60 + i64::from(minutes)) * 60 + i64::from(seconds);
    let micros = seconds * 1_000_000 + i64::from(fraction / 10);
    (micros <= 86_400_000_000).then_some(micros)
}

/// The numbers in a text of exactly this form, where `d` is any digit.
fn numbers<const N: usize>(text: &str, form: &str) -> Option<[u32; N]> {
    let fits = text.len() == form.len()
        && text.bytes().zip(form.bytes()).all(|(c, f)| if f == b'd' { c.is_ascii_digit() } else { c == f });
    if !fits {
        return None;
    }
    let mut found = text.split(|c: char| !c.is_ascii_digit()).map(|digits| digits.parse().ok());
    let mut numbers = [0; N];
    for number in &mut numbers {
        *number = found.next()??;
    }
    Some(numbers)
}
