//! What the fields of an interval mean, from right to left: units come behind their numbers.

use arrow::datatypes::IntervalMonthDayNano;

use super::Fail;
use super::fields::{Fields, Kind, fraction, leading_number};
use super::found::Clock;
use super::words::{Span, Unit, span};
use crate::calendar::{MICROS_PER_DAY, MICROS_PER_SECOND, NANOS_PER_MICRO};
use crate::sql_type::IntervalFields;
use crate::style::IntervalStyle;

const MICROS_PER_MINUTE: i64 = 60 * MICROS_PER_SECOND;
const MICROS_PER_HOUR: i64 = 60 * MICROS_PER_MINUTE;
const DAYS_PER_MONTH: i64 = 30;
const MONTHS_PER_YEAR: i64 = 12;

/// The units that an interval has been given, as bits: each is given once.
type Units = u32;
const CLOCK: Units = of(Unit::Hour) | of(Unit::Minute) | SECONDS;
const SECONDS: Units = of(Unit::Second) | of(Unit::Millisecond) | of(Unit::Microsecond);

const fn of(unit: Unit) -> Units {
    1 << unit as u32
}

/// An interval under way.
#[derive(Debug, Default)]
pub(super) struct Sum {
    years: i32,
    months: i32,
    days: i32,
    micros: i64,
}

/// An interval in words and numbers: `1 year 2 mons 3 days 04:05:06`, `1-2`, `1 2:03:04`, `@ 1 day ago`. A number without a
/// unit counts the last of the fields asked for.
///
/// # Errors
/// [`Fail::Syntax`], [`Fail::Overflow`].
pub(super) fn in_words(text: &str, asked: IntervalFields, style: IntervalStyle) -> Result<Sum, Fail> {
    let fields = Fields::split(text)?;
    let (mut sum, mut given, mut ago) = (Sum::default(), 0, false);
    let mut unit = None;
    for index in (0..fields.len()).rev() {
        let Some(field) = fields.get(index) else { break };
        let more = match field.kind {
            Kind::Word | Kind::SignedWord => {
                match span(field.text).ok_or(Fail::Syntax)? {
                    Span::Of(named) => unit = Some(named),
                    Span::Ago => {
                        ago = true;
                        unit = Some(Unit::Other);
                    }
                }
                0
            }
            Kind::Time => {
                sum.micros = clock(field.text, asked)?;
                unit = Some(Unit::Day);
                CLOCK
            }
            Kind::Signed if signed_clock(field.text, asked, &mut sum)? => {
                unit = Some(Unit::Day);
                CLOCK
            }
            Kind::Signed | Kind::Date | Kind::Number => {
                let (units, next) = sum.take_number(field.text, unit.unwrap_or(last_unit(asked)))?;
                unit = Some(next);
                units
            }
        };
        if given & more != 0 {
            return Err(Fail::Syntax);
        }
        given |= more;
    }
    if given == 0 {
        return Err(Fail::Syntax);
    }
    if style == IntervalStyle::SqlStandard && has_leading_sign_only(&fields) {
        sum.make_negative();
    }
    if ago {
        sum.negate()?;
    }
    Ok(sum)
}

/// Whether a minus in front is the only sign: in SQL's standard it is one for all parts, `-1 2:03:04`.
fn has_leading_sign_only(fields: &Fields) -> bool {
    let sign = |index: usize| fields.get(index).and_then(|field| field.text.first().copied());
    sign(0) == Some(b'-') && (1..fields.len()).all(|index| !matches!(sign(index), Some(b'-' | b'+')))
}

/// What a number counts that has no unit.
fn last_unit(asked: IntervalFields) -> Unit {
    match asked {
        IntervalFields::YEAR => Unit::Year,
        IntervalFields::MONTH | IntervalFields::YEAR_TO_MONTH => Unit::Month,
        IntervalFields::DAY => Unit::Day,
        IntervalFields::HOUR | IntervalFields::DAY_TO_HOUR => Unit::Hour,
        IntervalFields::MINUTE | IntervalFields::HOUR_TO_MINUTE | IntervalFields::DAY_TO_MINUTE => Unit::Minute,
        _ => Unit::Second,
    }
}

/// Microseconds of `04:05:06`, which are minutes and seconds when those are asked for.
fn clock(text: &[u8], asked: IntervalFields) -> Result<i64, Fail> {
    let (hour, rest) = leading_number(text)?;
    let mut clock = Clock::behind(hour, rest)?;
    if clock.two_parts && asked == IntervalFields::MINUTE_TO_SECOND {
        (clock.hour, clock.minute, clock.second) = (0, clock.hour, clock.minute);
        if clock.minute > 59 {
            return Err(Fail::Overflow);
        }
    }
    let small = clock.minute * MICROS_PER_MINUTE + clock.second * MICROS_PER_SECOND + clock.fraction;
    let micros = clock.hour.checked_mul(MICROS_PER_HOUR).and_then(|hours| hours.checked_add(small));
    micros.ok_or(Fail::Overflow)
}

/// `-04:05`, one sign for all of it; whether it was one.
fn signed_clock(text: &[u8], asked: IntervalFields, sum: &mut Sum) -> Result<bool, Fail> {
    let (sign, text) = text.split_at(1);
    if !text.contains(&b':') {
        return Ok(false);
    }
    // What is not a time is no number either.
    let micros = clock(text, asked).map_err(|_| Fail::Syntax)?;
    sum.micros = if sign == b"-" { -micros } else { micros };
    Ok(true)
}

impl Sum {
    /// Adds a number of units; the units that are given by that, and what a number before it counts.
    fn take_number(&mut self, text: &[u8], unit: Unit) -> Result<(Units, Unit), Fail> {
        let negative = text.first() == Some(&b'-');
        let (mut value, rest) = leading_number(text)?;
        let (mut part, mut unit) = (0.0, unit);
        match rest.first() {
            None => {}
            Some(b'-') => {
                // Years and months: `1-2`.
                let (months, rest) = leading_number(&rest[1..])?;
                if !(0..MONTHS_PER_YEAR).contains(&months) {
                    return Err(Fail::Overflow);
                }
                if !rest.is_empty() {
                    return Err(Fail::Syntax);
                }
                let months = if negative { -months } else { months };
                value = value.checked_mul(MONTHS_PER_YEAR).and_then(|v| v.checked_add(months)).ok_or(Fail::Overflow)?;
                unit = Unit::Month;
            }
            Some(b'.') => part = if negative { -fraction(rest)? } else { fraction(rest)? },
            Some(_) => return Err(Fail::Syntax),
        }
        self.add(value, part, unit)?;
        let has_part = part != 0.0;
        Ok(match unit {
            Unit::Second if has_part => (SECONDS, unit),
            Unit::Hour => (of(unit), Unit::Day),
            _ => (of(unit), unit),
        })
    }

    /// Adds so many units: a whole number, and a part of one.
    fn add(&mut self, whole: i64, part: f64, unit: Unit) -> Result<(), Fail> {
        match unit {
            Unit::Microsecond => self.add_micros(whole, part, 1),
            Unit::Millisecond => self.add_micros(whole, part, 1_000),
            Unit::Second => self.add_micros(whole, part, MICROS_PER_SECOND),
            Unit::Minute => self.add_micros(whole, part, MICROS_PER_MINUTE),
            Unit::Hour => self.add_micros(whole, part, MICROS_PER_HOUR),
            Unit::Day => self.add_days(whole, 1).and_then(|()| self.add_micros(0, part, MICROS_PER_DAY)),
            Unit::Week => self.add_days(whole, 7).and_then(|()| self.add_parts_of_days(part, 7)),
            Unit::Month => {
                more(&mut self.months, Some(whole)).and_then(|()| self.add_parts_of_days(part, DAYS_PER_MONTH))
            }
            Unit::Year => self.add_years(whole, part, 1),
            Unit::Decade => self.add_years(whole, part, 10),
            Unit::Century => self.add_years(whole, part, 100),
            Unit::Millennium => self.add_years(whole, part, 1_000),
            Unit::Other => Err(Fail::Syntax),
        }
    }

    fn add_micros(&mut self, whole: i64, part: f64, size: i64) -> Result<(), Fail> {
        let micros = part * float(size);
        let cut = micros.trunc();
        // A half is none.
        let rounded = match micros - cut {
            rest if rest > 0.5 => cut + 1.0,
            rest if rest < -0.5 => cut - 1.0,
            _ => cut,
        };
        let sum = whole.checked_mul(size).and_then(|micros| micros.checked_add(self.micros));
        self.micros = sum.and_then(|sum| sum.checked_add(integer(rounded))).ok_or(Fail::Overflow)?;
        Ok(())
    }

    fn add_days(&mut self, count: i64, size: i64) -> Result<(), Fail> {
        more(&mut self.days, count.checked_mul(size))
    }

    /// A part of several days: whole days, and a time.
    fn add_parts_of_days(&mut self, part: f64, size: i64) -> Result<(), Fail> {
        let days = part * float(size);
        more(&mut self.days, Some(integer(days.trunc())))?;
        self.add_micros(0, days - days.trunc(), MICROS_PER_DAY)
    }

    fn add_years(&mut self, whole: i64, part: f64, size: i64) -> Result<(), Fail> {
        more(&mut self.years, whole.checked_mul(size))?;
        more(&mut self.months, Some(integer((part * float(size * MONTHS_PER_YEAR)).round_ties_even())))
    }

    fn make_negative(&mut self) {
        for part in [&mut self.years, &mut self.months, &mut self.days] {
            *part = -part.saturating_abs();
        }
        self.micros = -self.micros.saturating_abs();
    }

    fn negate(&mut self) -> Result<(), Fail> {
        let opposite = |value: i32| value.checked_neg().ok_or(Fail::Overflow);
        (self.years, self.months, self.days) = (opposite(self.years)?, opposite(self.months)?, opposite(self.days)?);
        self.micros = self.micros.checked_neg().ok_or(Fail::Overflow)?;
        Ok(())
    }

    /// The interval; `None` for one that the type does not hold.
    pub(super) fn finish(&self) -> Option<IntervalMonthDayNano> {
        let months = i64::from(self.years) * MONTHS_PER_YEAR + i64::from(self.months);
        let nanos = self.micros.checked_mul(NANOS_PER_MICRO)?;
        Some(IntervalMonthDayNano::new(i32::try_from(months).ok()?, self.days, nanos))
    }
}

fn more(sum: &mut i32, count: Option<i64>) -> Result<(), Fail> {
    let count = count.and_then(|count| i32::try_from(count).ok());
    *sum = count.and_then(|count| sum.checked_add(count)).ok_or(Fail::Overflow)?;
    Ok(())
}

#[expect(clippy::cast_precision_loss, reason = "sizes of units are far below 2^53")]
fn float(size: i64) -> f64 {
    size as f64
}

#[expect(clippy::cast_possible_truncation, reason = "a part of a unit, counted in smaller ones")]
fn integer(value: f64) -> i64 {
    value as i64
}

/// An interval as ISO 8601 writes it: `P1Y2M3DT4H5M6S`, or by the places of its numbers, `P0001-02-03T04:05:06` and
/// `P00010203T040506`.
///
/// # Errors
/// [`Fail::Syntax`], [`Fail::Overflow`].
pub(super) fn iso(text: &str) -> Result<Sum, Fail> {
    let mut rest = text.strip_prefix('P').filter(|rest| !rest.is_empty()).ok_or(Fail::Syntax)?;
    let (mut sum, mut in_time, mut named) = (Sum::default(), false, false);
    while !rest.is_empty() {
        if let Some(time) = rest.strip_prefix('T') {
            (rest, in_time, named) = (time, true, false);
            continue;
        }
        let start = rest;
        let (value, part) = iso_number(&mut rest)?;
        let digits = start.trim_start_matches('-').bytes().take_while(u8::is_ascii_digit).count();
        let unit = match (rest.bytes().next(), in_time) {
            (Some(b'Y'), false) => Unit::Year,
            (Some(b'M'), false) => Unit::Month,
            (Some(b'W'), false) => Unit::Week,
            (Some(b'D'), false) => Unit::Day,
            (Some(b'H'), true) => Unit::Hour,
            (Some(b'M'), true) => Unit::Minute,
            (Some(b'S'), true) => Unit::Second,
            (None | Some(b'T'), false) if digits == 8 && !named => {
                sum.add(value / 10_000, 0.0, Unit::Year)?;
                sum.add(value / 100 % 100, 0.0, Unit::Month)?;
                sum.add(value % 100, part, Unit::Day)?;
                continue;
            }
            (None, true) if digits == 6 && !named => {
                sum.add(value / 10_000, 0.0, Unit::Hour)?;
                sum.add(value / 100 % 100, 0.0, Unit::Minute)?;
                sum.add(value % 100, 0.0, Unit::Second)?;
                sum.add(0, part, Unit::Microsecond)?;
                continue;
            }
            (None | Some(b'T' | b'-'), false) if !named => {
                sum.add(value, part, Unit::Year)?;
                sum.by_place(&mut rest, '-', [Unit::Month, Unit::Day])?;
                if !rest.is_empty() && !rest.starts_with('T') {
                    return Err(Fail::Syntax);
                }
                continue;
            }
            (None | Some(b':'), true) if !named => {
                sum.add(value, part, Unit::Hour)?;
                sum.by_place(&mut rest, ':', [Unit::Minute, Unit::Second])?;
                if !rest.is_empty() {
                    return Err(Fail::Syntax);
                }
                continue;
            }
            _ => return Err(Fail::Syntax),
        };
        sum.add(value, part, unit)?;
        rest = &rest[1..];
        named = true;
    }
    Ok(sum)
}

impl Sum {
    /// The numbers that follow, each behind a delimiter.
    fn by_place(&mut self, rest: &mut &str, delimiter: char, units: [Unit; 2]) -> Result<(), Fail> {
        for unit in units {
            let Some(behind) = rest.strip_prefix(delimiter) else { break };
            *rest = behind;
            let (value, part) = iso_number(rest)?;
            self.add(value, part, unit)?;
        }
        Ok(())
    }
}

/// Takes a number off the front: its whole part, and the rest of it.
fn iso_number(text: &mut &str) -> Result<(i64, f64), Fail> {
    const LIMIT: f64 = 1e15;
    let digits = |from: usize| text.bytes().skip(from).take_while(u8::is_ascii_digit).count();
    let mut end = usize::from(text.starts_with('-'));
    let whole = digits(end);
    end += whole;
    if text.get(end..).is_some_and(|rest| rest.starts_with('.')) {
        let behind = digits(end + 1);
        if whole + behind == 0 {
            return Err(Fail::Syntax);
        }
        end += 1 + behind;
    } else if whole == 0 {
        return Err(Fail::Syntax);
    }
    if text.get(end..).is_some_and(|rest| rest.starts_with(['e', 'E'])) {
        let sign = usize::from(text.get(end + 1..).is_some_and(|rest| rest.starts_with(['+', '-'])));
        let exponent = digits(end + 1 + sign);
        if exponent > 0 {
            end += 1 + sign + exponent;
        }
    }
    let (number, rest) = text.split_at_checked(end).ok_or(Fail::Syntax)?;
    let value: f64 = number.parse().map_err(|_| Fail::Syntax)?;
    if value.abs() > LIMIT {
        return Err(Fail::Overflow);
    }
    *text = rest;
    Ok((integer(value.trunc()), value - value.trunc()))
}
