//! Writes values as key parts.

use std::borrow::Cow;
use std::fmt::Write;
use std::ops::Range;

use arrow::array::{Array, ArrayRef, AsArray};
use arrow::compute::{CastOptions, cast_with_options};
use arrow::datatypes::{
    Date32Type, Decimal128Type, Decimal256Type, Float32Type, Float64Type, Int16Type, Int32Type, Int64Type,
    Time64MicrosecondType, TimestampMicrosecondType, UInt32Type, i256,
};
use chrono::{DateTime, Datelike};
use tablegate_store::model::{KeyError, is_legal_in_keys};

use super::escape::push_escaped;
use super::part::{KeyValue, PartKind, PartLayout};
use super::{KeyCodecError, KeyColumn};
use crate::sql_type::{BARE_NUMERIC_PRECISION, SqlType};

/// Digits of the widest decimal.
const MAX_DIGITS: usize = BARE_NUMERIC_PRECISION as usize;
/// Microseconds of a day; `24:00:00` is a time of day in PostgreSQL.
const DAY_MICROS: i64 = 86_400_000_000;

/// The arrays of the key columns, in the types the codec reads.
pub(super) struct Inputs<'a> {
    columns: &'a [KeyColumn],
    layouts: &'a [PartLayout],
    arrays: Vec<ArrayRef>,
}

impl<'a> Inputs<'a> {
    pub(super) fn new(
        columns: &'a [KeyColumn],
        layouts: &'a [PartLayout],
        arrays: &[ArrayRef],
    ) -> Result<Self, KeyCodecError> {
        let strict = CastOptions { safe: false, ..CastOptions::default() };
        let arrays = columns
            .iter()
            .zip(arrays)
            .map(|(column, array)| {
                let wanted = column.sql_type.arrow();
                if *array.data_type() == wanted {
                    Ok(array.clone())
                } else {
                    cast_with_options(array, &wanted, &strict)
                }
            })
            .collect::<Result<_, _>>()?;
        Ok(Self { columns, layouts, arrays })
    }

    /// Appends the text of the parts at these indexes, one after the other.
    pub(super) fn write(&self, row: usize, parts: Range<usize>, out: &mut String) -> Result<(), KeyCodecError> {
        for index in parts {
            let (column, layout, array) = (&self.columns[index], &self.layouts[index], &self.arrays[index]);
            if array.is_null(row) {
                return Err(KeyCodecError::Null { column: column.name.clone() });
            }
            let value = value_at(&column.sql_type, array, row);
            push(layout, &value, out).map_err(|refusal| refusal.for_column(column))?;
        }
        Ok(())
    }
}

/// Why a value has no part.
#[derive(Debug)]
pub(super) enum Refusal {
    Datetime,
    Number,
    Key(KeyError),
}

impl Refusal {
    fn for_column(self, column: &KeyColumn) -> KeyCodecError {
        let (name, sql_type) = (column.name.clone(), column.sql_type.clone());
        match self {
            Refusal::Datetime => KeyCodecError::DatetimeOutOfRange { column: name, sql_type },
            Refusal::Number => KeyCodecError::NumberOutOfRange { column: name, sql_type },
            Refusal::Key(error) => KeyCodecError::Key(error),
        }
    }
}

/// Appends the part of one value, which must be of the layout's kind.
pub(super) fn push(layout: &PartLayout, value: &KeyValue<'_>, out: &mut String) -> Result<(), Refusal> {
    let start = out.len();
    let invert = layout.descending;
    match (value, layout.kind) {
        (KeyValue::Bool(b), _) => out.push(if *b != invert { '1' } else { '0' }),
        (KeyValue::Number(n), PartKind::Number { digits, .. }) => {
            let magnitude = n.unsigned_abs();
            match u64::try_from(magnitude) {
                Ok(magnitude) => push_short(*n < 0, magnitude, digits, invert, out)?,
                Err(_) => push_number(*n < 0, format_args!("{magnitude:0digits$}"), digits, invert, out)?,
            }
        }
        (KeyValue::Wide(n), PartKind::Number { digits, .. }) => {
            let magnitude = n.wrapping_abs().to_string();
            push_number(*n < i256::ZERO, format_args!("{magnitude:0>digits$}"), digits, invert, out)?;
        }
        (KeyValue::Float4(f), _) => {
            push_hex(&sortable_f32(*f).to_be_bytes(), out);
            invert_tail(out, start, invert);
        }
        (KeyValue::Float8(f), _) => {
            push_hex(&sortable_f64(*f).to_be_bytes(), out);
            invert_tail(out, start, invert);
        }
        (KeyValue::Days(days), _) => {
            push_day(i64::from(*days) * 86_400, out)?;
            invert_digits(out, start, invert);
        }
        (KeyValue::Micros(micros), PartKind::Time) => {
            push_time_of_day(*micros, out)?;
            invert_digits(out, start, invert);
        }
        (KeyValue::Micros(micros), _) => {
            push_day(micros.div_euclid(1_000_000), out)?;
            out.push('T');
            push_time_of_day(micros.rem_euclid(DAY_MICROS), out)?;
            out.push('Z');
            invert_digits(out, start, invert);
        }
        (KeyValue::Bytes(bytes), _) => {
            push_hex(bytes, out);
            invert_tail(out, start, invert);
            if layout.is_terminated() {
                out.push(' ');
            }
        }
        (KeyValue::Text(text), _) => {
            check_text(layout, text).map_err(Refusal::Key)?;
            push_text(layout, text, out);
            if layout.is_terminated() {
                out.push(' ');
            }
        }
        (KeyValue::Number(_) | KeyValue::Wide(_), _) => return Err(Refusal::Number),
    }
    Ok(())
}

/// Appends a text as it is written inside its part, without the end mark. Total: also for texts no key can hold.
pub(super) fn push_text(layout: &PartLayout, text: &str, out: &mut String) {
    if layout.is_escaped() {
        push_escaped(text, layout.escape, out);
    } else {
        out.push_str(text);
    }
}

/// Refuses what is illegal in keys and not escaped.
pub(super) fn check_text(layout: &PartLayout, text: &str) -> Result<(), KeyError> {
    let legal = |c: char| if layout.escape { c != '\0' } else { is_legal_in_keys(c) };
    match text.chars().find(|c| !legal(*c)) {
        Some(character) => Err(KeyError::IllegalCharacter { part: layout.key, value: text.to_owned(), character }),
        None => Ok(()),
    }
}

/// The bits of a float, rearranged to sort as unsigned: one zero, one NaN above all.
pub(super) fn sortable_f64(f: f64) -> u64 {
    let f = if f == 0.0 {
        0.0
    } else if f.is_nan() {
        f64::NAN.abs()
    } else {
        f
    };
    let bits = f.to_bits();
    if bits >> 63 == 1 { !bits } else { bits ^ (1 << 63) }
}

/// As [`sortable_f64`].
pub(super) fn sortable_f32(f: f32) -> u32 {
    let f = if f == 0.0 {
        0.0
    } else if f.is_nan() {
        f32::NAN.abs()
    } else {
        f
    };
    let bits = f.to_bits();
    if bits >> 31 == 1 { !bits } else { bits ^ (1 << 31) }
}

/// The inversion of DESC: digits of numbers and dates.
pub(super) fn nines_complement(c: char) -> char {
    match c.to_digit(10) {
        Some(digit) => char::from_digit(9 - digit, 10).expect("9 minus a digit is a digit"),
        None => c,
    }
}

/// The inversion of DESC: hexadecimal digits.
pub(super) fn hex_complement(c: char) -> char {
    match c.to_digit(16) {
        Some(digit) => char::from_digit(15 - digit, 16).expect("15 minus a digit is a digit"),
        None => c,
    }
}

fn value_at<'a>(sql_type: &SqlType, array: &'a ArrayRef, row: usize) -> KeyValue<'a> {
    match &*sql_type.bare() {
        SqlType::Bool => KeyValue::Bool(array.as_boolean().value(row)),
        SqlType::Int2 => KeyValue::Number(array.as_primitive::<Int16Type>().value(row).into()),
        SqlType::Int4 => KeyValue::Number(array.as_primitive::<Int32Type>().value(row).into()),
        SqlType::Int8 => KeyValue::Number(array.as_primitive::<Int64Type>().value(row).into()),
        SqlType::Oid => KeyValue::Number(array.as_primitive::<UInt32Type>().value(row).into()),
        SqlType::Numeric(_) => match array.as_primitive_opt::<Decimal128Type>() {
            Some(narrow) => KeyValue::Number(narrow.value(row)),
            None => KeyValue::Wide(array.as_primitive::<Decimal256Type>().value(row)),
        },
        SqlType::Float4 => KeyValue::Float4(array.as_primitive::<Float32Type>().value(row)),
        SqlType::Float8 => KeyValue::Float8(array.as_primitive::<Float64Type>().value(row)),
        SqlType::Uuid => KeyValue::Bytes(Cow::Borrowed(array.as_fixed_size_binary().value(row))),
        SqlType::Bytea => KeyValue::Bytes(Cow::Borrowed(array.as_binary::<i32>().value(row))),
        SqlType::Date => KeyValue::Days(array.as_primitive::<Date32Type>().value(row)),
        SqlType::Time => KeyValue::Micros(array.as_primitive::<Time64MicrosecondType>().value(row)),
        SqlType::Timestamp | SqlType::Timestamptz => {
            KeyValue::Micros(array.as_primitive::<TimestampMicrosecondType>().value(row))
        }
        SqlType::Char(_) => KeyValue::Text(Cow::Borrowed(array.as_string::<i32>().value(row).trim_end_matches(' '))),
        _ => KeyValue::Text(Cow::Borrowed(array.as_string::<i32>().value(row))),
    }
}

/// A sign that sorts before the digits (after them, inverted), then the digits, complemented below zero.
fn push_number(
    negative: bool,
    magnitude: std::fmt::Arguments<'_>,
    digits: usize,
    invert: bool,
    out: &mut String,
) -> Result<(), Refusal> {
    if negative {
        out.push(if invert { '~' } else { '-' });
    }
    let start = out.len();
    write!(out, "{magnitude}").expect("writing to a String does not fail");
    if out.len() - start > digits {
        return Err(Refusal::Number);
    }
    invert_digits(out, start, negative != invert);
    Ok(())
}

/// As [`push_number`], of a number that most are: short.
fn push_short(
    negative: bool,
    mut magnitude: u64,
    digits: usize,
    invert: bool,
    out: &mut String,
) -> Result<(), Refusal> {
    let mut buffer = [0_u8; MAX_DIGITS];
    let Some(text) = buffer.get_mut(..digits) else { return Err(Refusal::Number) };
    let complement = negative != invert;
    for slot in text.iter_mut().rev() {
        let digit = u8::try_from(magnitude % 10).unwrap_or_default();
        magnitude /= 10;
        *slot = b'0' + if complement { 9 - digit } else { digit };
    }
    if magnitude > 0 {
        return Err(Refusal::Number);
    }
    if negative {
        out.push(if invert { '~' } else { '-' });
    }
    out.push_str(std::str::from_utf8(text).unwrap_or_default());
    Ok(())
}

fn push_hex(bytes: &[u8], out: &mut String) {
    for byte in bytes {
        write!(out, "{byte:02x}").expect("writing to a String does not fail");
    }
}

fn push_day(unix_seconds: i64, out: &mut String) -> Result<(), Refusal> {
    let day = DateTime::from_timestamp(unix_seconds, 0).ok_or(Refusal::Datetime)?;
    if !(1..=9999).contains(&day.year()) {
        return Err(Refusal::Datetime);
    }
    write!(out, "{:04}-{:02}-{:02}", day.year(), day.month(), day.day()).expect("writing to a String does not fail");
    Ok(())
}

fn push_time_of_day(micros: i64, out: &mut String) -> Result<(), Refusal> {
    if !(0..=DAY_MICROS).contains(&micros) {
        return Err(Refusal::Datetime);
    }
    let (seconds, fraction) = (micros / 1_000_000, micros % 1_000_000);
    let (hours, minutes, seconds) = (seconds / 3600, seconds / 60 % 60, seconds % 60);
    write!(out, "{hours:02}:{minutes:02}:{seconds:02}.{fraction:06}0").expect("writing to a String does not fail");
    Ok(())
}

fn invert_digits(out: &mut String, start: usize, invert: bool) {
    if invert {
        let tail = out.split_off(start);
        out.extend(tail.chars().map(nines_complement));
    }
}

fn invert_tail(out: &mut String, start: usize, invert: bool) {
    if invert {
        let tail = out.split_off(start);
        out.extend(tail.chars().map(hex_complement));
    }
}
