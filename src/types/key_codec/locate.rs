//! Where a literal lies among the parts of a key column.
//!
//! A predicate may compare a column with a value its type does not have: `id = 1.5`, `id < 5000000000`, a text no key
//! can hold. Such a value equals nothing, but it still has a place in the order.

use std::borrow::Cow;
use std::sync::Arc;

use arrow::datatypes::i256;
use datafusion_common::ScalarValue;
use tablegate_store::model::limits::KEY_MAX_CHARS;
use tablegate_store::model::{Cut, Span};

use super::encode::{check_text, push, push_text};
use super::part::{KeyValue, NumberRange, PartKind, PartLayout};

/// The place of a value on the axis of a key column's parts.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Located {
    /// The column can have this value: its part.
    At(Arc<str>),
    /// The column cannot have it. Its values on the left of the cut sort before it in key order, the others after it.
    Gap(Cut),
}

const DAY_MICROS: i128 = 86_400_000_000;
/// Integers up to here are exact in a double.
const DOUBLE_EXACT: f64 = 9_007_199_254_740_992.0;

/// `None` when column and value do not compare by the column's order; NULL compares with nothing.
pub(super) fn locate(layout: &PartLayout, value: &ScalarValue) -> Option<Located> {
    let value = match value {
        ScalarValue::Dictionary(_, inner) => inner,
        plain => plain,
    };
    match layout.kind {
        PartKind::Bool => match value {
            ScalarValue::Boolean(Some(b)) => at(layout, &KeyValue::Bool(*b)),
            _ => None,
        },
        PartKind::Number { digits, scale, range } => number(layout, digits, scale, range, value),
        PartKind::Float4 => float4(layout, double(value)?),
        PartKind::Float8 => at(layout, &KeyValue::Float8(double(value)?)),
        PartKind::Uuid => uuid(layout, value),
        PartKind::Bytea => at(layout, &KeyValue::Bytes(Cow::Borrowed(bytes(value)?))),
        PartKind::Date => {
            let micros = instant(value)?;
            let floor = micros.div_euclid(DAY_MICROS);
            datetime(layout, i32::try_from(floor).ok().map(KeyValue::Days), floor, micros.rem_euclid(DAY_MICROS) == 0)
        }
        PartKind::Time => {
            let (floor, exact) = time_of_day(value)?;
            datetime(layout, i64::try_from(floor).ok().map(KeyValue::Micros), floor, exact)
        }
        PartKind::Timestamp { tz } => {
            let (floor, exact) = timestamp(value, tz)?;
            datetime(layout, i64::try_from(floor).ok().map(KeyValue::Micros), floor, exact)
        }
        // Keys are without the spaces that a char(n) ends with, so a text that has them equals none.
        PartKind::Text { .. } => Some(locate_text(layout, text(value)?)),
    }
}

/// The parts whose text starts with `prefix`.
pub(super) fn locate_prefix(layout: &PartLayout, prefix: &str) -> Option<Span> {
    if !matches!(layout.kind, PartKind::Text { .. }) {
        return None;
    }
    if prefix.is_empty() {
        return Some(Span::ALL);
    }
    let mut written = String::new();
    push_text(layout, prefix, &mut written);
    Some(Span::prefix(written))
}

fn locate_text(layout: &PartLayout, text: &str) -> Located {
    let mut written = String::new();
    push_text(layout, text, &mut written);
    if layout.is_terminated() {
        written.push(' ');
    }
    let storable = check_text(layout, text).is_ok() && written.chars().count() <= KEY_MAX_CHARS;
    if storable { Located::At(written.into()) } else { Located::Gap(Cut::Before(written.into())) }
}

fn at(layout: &PartLayout, value: &KeyValue<'_>) -> Option<Located> {
    let mut written = String::new();
    push(layout, value, &mut written).ok()?;
    Some(Located::At(written.into()))
}

/// Just above `floor`, which is the largest value of the column below what was asked for.
fn above(layout: &PartLayout, floor: &KeyValue<'_>) -> Option<Located> {
    match at(layout, floor)? {
        Located::At(part) if layout.descending => Some(Located::Gap(Cut::Before(part))),
        Located::At(part) => Some(Located::Gap(Cut::After(part))),
        gap @ Located::Gap(_) => Some(gap),
    }
}

/// Below every value of the column, or above.
fn outside(layout: &PartLayout, below: bool) -> Located {
    Located::Gap(if below != layout.descending { Cut::Min } else { Cut::Max })
}

fn number(layout: &PartLayout, digits: usize, scale: i8, range: NumberRange, value: &ScalarValue) -> Option<Located> {
    let Some((floor, exact)) = scaled_floor(value, scale, range)? else {
        return Some(outside(layout, is_negative(value)));
    };
    let (min, max) = match range.bounds() {
        Some((min, max)) => (i256::from_i128(min), i256::from_i128(max)),
        None => {
            let limit = power_of_ten(digits)?.wrapping_sub(i256::ONE);
            (limit.wrapping_neg(), limit)
        }
    };
    if floor < min || floor > max {
        return Some(outside(layout, floor < min));
    }
    let value = match floor.to_i128() {
        Some(narrow) => KeyValue::Number(narrow),
        None => KeyValue::Wide(floor),
    };
    if exact { at(layout, &value) } else { above(layout, &value) }
}

/// The largest multiple of the column's step that is not above the value, and whether it is the value.
/// Outer `None`: not comparable; inner: too large to say.
#[expect(clippy::option_option, reason = "two different absences, told apart at the only caller")]
fn scaled_floor(value: &ScalarValue, scale: i8, range: NumberRange) -> Option<Option<(i256, bool)>> {
    let (unscaled, value_scale) = match value {
        ScalarValue::Int8(v) => (i256::from_i128((*v)?.into()), 0),
        ScalarValue::Int16(v) => (i256::from_i128((*v)?.into()), 0),
        ScalarValue::Int32(v) => (i256::from_i128((*v)?.into()), 0),
        ScalarValue::Int64(v) => (i256::from_i128((*v)?.into()), 0),
        ScalarValue::UInt8(v) => (i256::from_i128((*v)?.into()), 0),
        ScalarValue::UInt16(v) => (i256::from_i128((*v)?.into()), 0),
        ScalarValue::UInt32(v) => (i256::from_i128((*v)?.into()), 0),
        ScalarValue::UInt64(v) => (i256::from_i128((*v)?.into()), 0),
        ScalarValue::Decimal32(v, _, s) => (i256::from_i128((*v)?.into()), *s),
        ScalarValue::Decimal64(v, _, s) => (i256::from_i128((*v)?.into()), *s),
        ScalarValue::Decimal128(v, _, s) => (i256::from_i128((*v)?), *s),
        ScalarValue::Decimal256(v, _, s) => ((*v)?, *s),
        // A decimal column would be compared as a double, not as what it is.
        ScalarValue::Float32(_) | ScalarValue::Float64(_) if range == NumberRange::Digits => return None,
        ScalarValue::Float32(_) | ScalarValue::Float64(_) => return integer_floor(double(value)?, range),
        _ => return None,
    };
    let shift = i32::from(scale) - i32::from(value_scale);
    let factor = power_of_ten(usize::try_from(shift.unsigned_abs()).ok()?);
    if shift >= 0 {
        return Some(factor.and_then(|f| unscaled.checked_mul(f)).map(|scaled| (scaled, true)));
    }
    let factor = factor?;
    let (quotient, remainder) = (unscaled.checked_div(factor)?, unscaled.checked_rem(factor)?);
    let exact = remainder == i256::ZERO;
    let below = if remainder < i256::ZERO { i256::ONE } else { i256::ZERO };
    Some(Some((quotient.wrapping_sub(below), exact)))
}

#[expect(clippy::option_option, reason = "as scaled_floor")]
fn integer_floor(value: f64, range: NumberRange) -> Option<Option<(i256, bool)>> {
    if value.is_nan() || value.abs() >= DOUBLE_EXACT {
        // Above 2^53 a bigint loses digits when it is compared as a double.
        return (range != NumberRange::Int8).then_some(None);
    }
    let floor = value.floor();
    #[expect(clippy::cast_possible_truncation, reason = "a whole number below 2^53 is exact in both types")]
    let whole = floor as i64;
    Some(Some((i256::from_i128(whole.into()), floor == value)))
}

/// Only asked for numbers too large to locate exactly. NaN is above every number.
fn is_negative(value: &ScalarValue) -> bool {
    match value {
        ScalarValue::Decimal32(Some(v), ..) => *v < 0,
        ScalarValue::Decimal64(Some(v), ..) => *v < 0,
        ScalarValue::Decimal128(Some(v), ..) => *v < 0,
        ScalarValue::Decimal256(Some(v), ..) => *v < i256::ZERO,
        _ => double(value).is_some_and(|f| f < 0.0),
    }
}

fn power_of_ten(exponent: usize) -> Option<i256> {
    i256::from_i128(10).checked_pow(u32::try_from(exponent).ok()?)
}

#[expect(clippy::cast_precision_loss, reason = "only integers that a double holds exactly are cast")]
fn double(value: &ScalarValue) -> Option<f64> {
    match value {
        ScalarValue::Float32(Some(f)) => Some(f64::from(*f)),
        ScalarValue::Float64(Some(f)) => Some(*f),
        ScalarValue::Int8(Some(v)) => Some(f64::from(*v)),
        ScalarValue::Int16(Some(v)) => Some(f64::from(*v)),
        ScalarValue::Int32(Some(v)) => Some(f64::from(*v)),
        ScalarValue::Int64(Some(v)) if v.unsigned_abs() <= 1 << 53 => Some(*v as f64),
        _ => None,
    }
}

fn float4(layout: &PartLayout, value: f64) -> Option<Located> {
    #[expect(clippy::cast_possible_truncation, reason = "the rounding is looked at just below")]
    let rounded = value as f32;
    if value.is_nan() || f64::from(rounded) == value {
        return at(layout, &KeyValue::Float4(rounded));
    }
    let floor = if f64::from(rounded) < value { rounded } else { rounded.next_down() };
    above(layout, &KeyValue::Float4(floor))
}

fn bytes(value: &ScalarValue) -> Option<&[u8]> {
    match value {
        ScalarValue::Binary(v)
        | ScalarValue::LargeBinary(v)
        | ScalarValue::BinaryView(v)
        | ScalarValue::FixedSizeBinary(_, v) => v.as_deref(),
        _ => None,
    }
}

fn uuid(layout: &PartLayout, value: &ScalarValue) -> Option<Located> {
    if let Some(bytes) = bytes(value) {
        return if bytes.len() == 16 { at(layout, &KeyValue::Bytes(Cow::Borrowed(bytes))) } else { None };
    }
    let parsed = uuid::Uuid::parse_str(text(value)?).ok()?;
    at(layout, &KeyValue::Bytes(Cow::Owned(parsed.into_bytes().to_vec())))
}

fn text(value: &ScalarValue) -> Option<&str> {
    match value {
        ScalarValue::Utf8(v) | ScalarValue::LargeUtf8(v) | ScalarValue::Utf8View(v) => v.as_deref(),
        _ => None,
    }
}

/// A date or a timestamp without zone, in microseconds and rounded down.
fn instant(value: &ScalarValue) -> Option<i128> {
    let (floor, exact) = timestamp(value, false)?;
    // Only whole days matter to the caller: a lost nanosecond must not look like midnight.
    Some(if exact || floor.rem_euclid(DAY_MICROS) != 0 { floor } else { floor + 1 })
}

/// In microseconds since 1970-01-01, rounded down, and whether that is exact. A value with a zone and a column without
/// one do not compare here, nor the other way round: what that means depends on the session.
fn timestamp(value: &ScalarValue, tz: bool) -> Option<(i128, bool)> {
    let (ticks, zone, per_micro) = match value {
        ScalarValue::Date32(v) if !tz => return Some((i128::from((*v)?) * DAY_MICROS, true)),
        ScalarValue::Date64(v) if !tz => return Some((i128::from((*v)?) * 1000, true)),
        ScalarValue::TimestampSecond(v, zone) => (i128::from((*v)?) * 1_000_000_000, zone, 1000),
        ScalarValue::TimestampMillisecond(v, zone) => (i128::from((*v)?) * 1_000_000, zone, 1000),
        ScalarValue::TimestampMicrosecond(v, zone) => (i128::from((*v)?) * 1000, zone, 1000),
        ScalarValue::TimestampNanosecond(v, zone) => (i128::from((*v)?), zone, 1000),
        _ => return None,
    };
    (zone.is_some() == tz).then_some((ticks.div_euclid(per_micro), ticks.rem_euclid(per_micro) == 0))
}

fn time_of_day(value: &ScalarValue) -> Option<(i128, bool)> {
    Some(match value {
        ScalarValue::Time32Second(v) => (i128::from((*v)?) * 1_000_000, true),
        ScalarValue::Time32Millisecond(v) => (i128::from((*v)?) * 1000, true),
        ScalarValue::Time64Microsecond(v) => (i128::from((*v)?), true),
        ScalarValue::Time64Nanosecond(v) => {
            let nanos = i128::from((*v)?);
            (nanos.div_euclid(1000), nanos.rem_euclid(1000) == 0)
        }
        _ => return None,
    })
}

/// `floor` is given twice: as a value if it fits its type, and as a number to tell the past from the future.
fn datetime(layout: &PartLayout, value: Option<KeyValue<'_>>, floor: i128, exact: bool) -> Option<Located> {
    let located = value.and_then(|value| if exact { at(layout, &value) } else { above(layout, &value) });
    // What has no part lies before the year 1 or after the year 9999, infinity included.
    Some(located.unwrap_or_else(|| outside(layout, floor < 0)))
}
