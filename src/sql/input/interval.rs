//! Reads intervals: `1 year 2 mons 3 days 04:05:06`, `1-2`, `1 2:03:04`, `@ 1 day ago`, ISO 8601 `P1Y2M3DT4H5M6S`.

use arrow::datatypes::IntervalMonthDayNano;

use super::clock::fraction_micros;
use super::trim;
use crate::sql::error::{ErrorKind, SqlError, SqlResult};

const MICROS_PER_SECOND: i64 = 1_000_000;
const MICROS_PER_DAY: i64 = 86_400 * MICROS_PER_SECOND;

/// # Errors
/// 22007 for what is no interval, 22008 for one beyond the range.
pub(super) fn interval(text: &str) -> SqlResult<IntervalMonthDayNano> {
    let trimmed = trim(text);
    let parsed = match trimmed.strip_prefix(['P', 'p']) {
        Some(iso) => match dashed(iso) {
            Some(units) => parts(&units),
            None => iso_parts(iso),
        },
        None => parts(trimmed),
    };
    let sum = parsed.ok_or_else(|| {
        SqlError::new(ErrorKind::InvalidDatetimeFormat, format!("invalid input syntax for type interval: \"{text}\""))
    })?;
    sum.finish().ok_or_else(|| {
        SqlError::new(ErrorKind::DatetimeOverflow, format!("interval field value out of range: \"{text}\""))
    })
}

/// ISO 8601's other form, `0001-02-03T04:05:06`, with its units.
fn dashed(iso: &str) -> Option<String> {
    let (date, time) = iso.split_once(['T', 't']).unwrap_or((iso, ""));
    let mut fields = date.split('-');
    let (years, months, days) = (fields.next()?, fields.next()?, fields.next()?);
    let is_number = |field: &str| !field.is_empty() && field.bytes().all(|byte| byte.is_ascii_digit());
    let are_numbers = [years, months, days].into_iter().all(is_number) && fields.next().is_none();
    are_numbers.then(|| format!("{years} years {months} mons {days} days {time}"))
}

/// The parts added up. `None` inside once something overflowed.
struct Sum {
    months: Option<i64>,
    days: Option<i64>,
    micros: Option<i64>,
}

impl Default for Sum {
    fn default() -> Self {
        Self { months: Some(0), days: Some(0), micros: Some(0) }
    }
}

/// A unit: so many months, days or microseconds.
#[derive(Clone, Copy, PartialEq)]
enum Unit {
    Months(i64),
    Days(i64),
    Micros(i64),
}

/// A number as written: sign, whole part, digits behind the point.
#[derive(Clone, Copy)]
struct Number<'a> {
    negative: bool,
    whole: i64,
    fraction: &'a str,
}

impl Sum {
    fn add(&mut self, number: Number<'_>, unit: Unit) {
        let sign = if number.negative { -1 } else { 1 };
        let fraction = number.fraction_value() * if number.negative { -1.0 } else { 1.0 };
        match unit {
            Unit::Months(size) => {
                self.months = add(self.months, sign * number.whole, size);
                if size == 1 {
                    self.add_days(fraction * 30.0);
                } else if let (Some(months), Some(more)) = (self.months, rounded(fraction * float(size))) {
                    self.months = months.checked_add(more);
                }
            }
            Unit::Days(size) => {
                self.days = add(self.days, sign * number.whole, size);
                self.add_days(fraction * float(size));
            }
            Unit::Micros(size) => {
                self.micros = add(self.micros, sign * number.whole, size);
                let more = if size == MICROS_PER_SECOND {
                    Some(sign * fraction_micros(number.fraction))
                } else {
                    rounded(fraction * float(size))
                };
                self.micros = self.micros.zip(more).and_then(|(a, b)| a.checked_add(b));
            }
        }
    }

    /// Whole days, and the rest as time.
    fn add_days(&mut self, days: f64) {
        let whole = days.trunc();
        self.days = self.days.zip(rounded(whole)).and_then(|(a, b)| a.checked_add(b));
        let micros = rounded((days - whole) * float(MICROS_PER_DAY));
        self.micros = self.micros.zip(micros).and_then(|(a, b)| a.checked_add(b));
    }

    fn negate(&mut self) {
        for part in [&mut self.months, &mut self.days, &mut self.micros] {
            *part = part.and_then(i64::checked_neg);
        }
    }

    fn finish(self) -> Option<IntervalMonthDayNano> {
        let months = i32::try_from(self.months?).ok()?;
        let days = i32::try_from(self.days?).ok()?;
        Some(IntervalMonthDayNano::new(months, days, self.micros?.checked_mul(1_000)?))
    }
}

fn add(sum: Option<i64>, count: i64, size: i64) -> Option<i64> {
    sum?.checked_add(count.checked_mul(size)?)
}

#[expect(clippy::cast_precision_loss, reason = "unit sizes are far below 2^53")]
fn float(size: i64) -> f64 {
    size as f64
}

fn rounded(value: f64) -> Option<i64> {
    const LIMIT: f64 = 9.0e18;
    #[expect(clippy::cast_possible_truncation, reason = "the range is checked")]
    (value.abs() < LIMIT).then(|| value.round_ties_even() as i64)
}

impl<'a> Number<'a> {
    fn fraction_value(&self) -> f64 {
        if self.fraction.is_empty() {
            return 0.0;
        }
        let digits = &self.fraction[..self.fraction.len().min(15)];
        let mut value = 0.0;
        for digit in digits.bytes().rev() {
            value = (value + f64::from(digit - b'0')) / 10.0;
        }
        value
    }

    /// Takes a number off the front of `text`.
    fn take(text: &mut &'a str) -> Option<Self> {
        let (negative, rest) = match text.as_bytes().first()? {
            b'-' => (true, &text[1..]),
            b'+' => (false, &text[1..]),
            _ => (false, *text),
        };
        let digits = |t: &'a str| t.split_at(t.bytes().take_while(u8::is_ascii_digit).count());
        let (whole, rest) = digits(rest);
        let (fraction, rest) = match rest.strip_prefix('.') {
            Some(behind) => digits(behind),
            None => ("", rest),
        };
        if whole.is_empty() && fraction.is_empty() {
            return None;
        }
        *text = rest;
        let whole = if whole.is_empty() { 0 } else { whole.parse().ok()? };
        Some(Number { negative, whole, fraction })
    }
}

fn parts(text: &str) -> Option<Sum> {
    let mut rest = text.strip_prefix('@').unwrap_or(text).trim_start();
    let mut sum = Sum::default();
    let mut found = false;
    while !rest.is_empty() {
        if let Some(before) = rest.get(..3).filter(|w| w.eq_ignore_ascii_case("ago")) {
            if !found || !rest[before.len()..].is_empty() {
                return None;
            }
            sum.negate();
            return Some(sum);
        }
        let number = Number::take(&mut rest)?;
        if rest.starts_with(':') {
            clock(&mut sum, number, &mut rest)?;
        } else if number.fraction.is_empty() && rest.starts_with('-') {
            rest = &rest[1..];
            let months = Number::take(&mut rest)?;
            sum.add(number, Unit::Months(12));
            sum.add(Number { negative: number.negative, ..months }, Unit::Months(1));
        } else {
            rest = rest.trim_start();
            let word = &rest[..rest.bytes().take_while(u8::is_ascii_alphabetic).count()];
            if word.is_empty() || word.eq_ignore_ascii_case("ago") {
                sum.add(number, unit_of_bare_number(rest));
            } else {
                sum.add(number, unit(word)?);
                rest = &rest[word.len()..];
            }
        }
        found = true;
        rest = rest.trim_start();
    }
    found.then_some(sum)
}

/// `1 2:03:04`: days before a time, else seconds.
fn unit_of_bare_number(rest: &str) -> Unit {
    let digits = rest.trim_start_matches(['+', '-']);
    let after = digits.trim_start_matches(|c: char| c.is_ascii_digit());
    if after.len() < digits.len() && after.starts_with(':') { Unit::Days(1) } else { Unit::Micros(MICROS_PER_SECOND) }
}

/// `04:05:06.5` behind its hours; one sign for all.
fn clock(sum: &mut Sum, hours: Number<'_>, rest: &mut &str) -> Option<()> {
    if !hours.fraction.is_empty() {
        return None;
    }
    let minutes = clock_part(hours, rest)?;
    let seconds = if rest.starts_with(':') { Some(clock_part(hours, rest)?) } else { None };
    sum.add(hours, Unit::Micros(3_600 * MICROS_PER_SECOND));
    match seconds {
        Some(seconds) => {
            if !minutes.fraction.is_empty() || minutes.whole > 59 || seconds.whole > 60 {
                return None;
            }
            sum.add(minutes, Unit::Micros(60 * MICROS_PER_SECOND));
            sum.add(seconds, Unit::Micros(MICROS_PER_SECOND));
        }
        None => sum.add(minutes, Unit::Micros(60 * MICROS_PER_SECOND)),
    }
    Some(())
}

fn clock_part<'a>(hours: Number<'_>, rest: &mut &'a str) -> Option<Number<'a>> {
    *rest = rest.strip_prefix(':')?;
    if !rest.as_bytes().first()?.is_ascii_digit() {
        return None;
    }
    Number::take(rest).map(|n| Number { negative: hours.negative, ..n })
}

fn unit(word: &str) -> Option<Unit> {
    let mut lower = [0_u8; 16];
    let slot = lower.get_mut(..word.len())?;
    slot.copy_from_slice(word.as_bytes());
    slot.make_ascii_lowercase();
    Some(match std::str::from_utf8(slot).ok()? {
        "us" | "usec" | "usecs" | "usecond" | "useconds" | "microsecond" | "microseconds" => Unit::Micros(1),
        "ms" | "msec" | "msecs" | "msecond" | "mseconds" | "millisecond" | "milliseconds" => Unit::Micros(1_000),
        "s" | "sec" | "secs" | "second" | "seconds" => Unit::Micros(MICROS_PER_SECOND),
        "m" | "min" | "mins" | "minute" | "minutes" => Unit::Micros(60 * MICROS_PER_SECOND),
        "h" | "hr" | "hrs" | "hour" | "hours" => Unit::Micros(3_600 * MICROS_PER_SECOND),
        "d" | "day" | "days" => Unit::Days(1),
        "w" | "week" | "weeks" => Unit::Days(7),
        "mon" | "mons" | "month" | "months" => Unit::Months(1),
        "y" | "yr" | "yrs" | "year" | "years" => Unit::Months(12),
        "dec" | "decs" | "decade" | "decades" => Unit::Months(120),
        "c" | "cent" | "century" | "centuries" => Unit::Months(1_200),
        "mil" | "mils" | "millennium" | "millennia" => Unit::Months(12_000),
        _ => return None,
    })
}

/// What follows the P of ISO 8601.
fn iso_parts(text: &str) -> Option<Sum> {
    let (mut rest, mut in_time) = (text, false);
    let mut sum = Sum::default();
    let mut found = false;
    while !rest.is_empty() {
        if let Some(time) = rest.strip_prefix(['T', 't'])
            && !in_time
        {
            (rest, in_time) = (time, true);
            continue;
        }
        let number = Number::take(&mut rest)?;
        if !found && number.fraction.is_empty() && (rest.is_empty() || rest.starts_with(['-', ':', 'T', 't'])) {
            return alternative(number, rest, in_time);
        }
        let unit = match (rest.as_bytes().first()?.to_ascii_uppercase(), in_time) {
            (b'Y', false) => Unit::Months(12),
            (b'M', false) => Unit::Months(1),
            (b'W', false) => Unit::Days(7),
            (b'D', false) => Unit::Days(1),
            (b'H', true) => Unit::Micros(3_600 * MICROS_PER_SECOND),
            (b'M', true) => Unit::Micros(60 * MICROS_PER_SECOND),
            (b'S', true) => Unit::Micros(MICROS_PER_SECOND),
            _ => return None,
        };
        sum.add(number, unit);
        rest = &rest[1..];
        found = true;
    }
    found.then_some(sum)
}

/// The alternative format of ISO 8601, `P0001-02-03T04:05:06`, behind its first number.
fn alternative(first: Number<'_>, mut rest: &str, in_time: bool) -> Option<Sum> {
    let mut sum = Sum::default();
    if !in_time {
        sum.add(first, Unit::Months(12));
        for unit in [Unit::Months(1), Unit::Days(1)] {
            if let Some(behind) = rest.strip_prefix('-') {
                rest = behind;
                sum.add(Number::take(&mut rest)?, unit);
            }
        }
    }
    let hours = match rest.strip_prefix(['T', 't']) {
        Some(time) if !in_time => {
            rest = time;
            Number::take(&mut rest)?
        }
        _ if in_time => first,
        _ => return rest.is_empty().then_some(sum),
    };
    clock(&mut sum, hours, &mut rest)?;
    rest.is_empty().then_some(sum)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sql::output::TextColumn;
    use crate::sql::types::SqlType;

    fn shown(text: &str) -> String {
        let array = super::super::parse_text(&SqlType::Interval, text).unwrap().to_array().unwrap();
        let mut out = String::new();
        TextColumn::of(&array, &SqlType::Interval).write_to(0, &mut out).unwrap();
        out
    }

    #[test]
    fn intervals_are_read_as_postgresql_does() {
        for (text, expected) in [
            ("1 year 2 mons 3 days 04:05:06.5", "1 year 2 mons 3 days 04:05:06.5"),
            ("-1 year -2 mons +3 days -04:05:06", "-1 years -2 mons +3 days -04:05:06"),
            ("0", "00:00:00"),
            ("-13 mons", "-1 years -1 mons"),
            ("1.5 days", "1 day 12:00:00"),
            ("1.5 mons", "1 mon 15 days"),
            ("1.5 years", "1 year 6 mons"),
            ("P1Y2M3DT4H5M6.7S", "1 year 2 mons 3 days 04:05:06.7"),
            ("P1D", "1 day"),
            ("P0001-02-03T04:05:06", "1 year 2 mons 3 days 04:05:06"),
            ("P1-2", "1 year 2 mons"),
            ("P1", "1 year"),
            ("PT04:05", "04:05:00"),
            ("PT-1H", "-01:00:00"),
            ("1-2", "1 year 2 mons"),
            ("1 2:03:04", "1 day 02:03:04"),
            ("1 week ago", "-7 days"),
            ("@ 1 day 2 hours", "1 day 02:00:00"),
            ("1.5 weeks", "10 days 12:00:00"),
            ("36:00", "36:00:00"),
            ("5", "00:00:05"),
            ("1.5", "00:00:01.5"),
            ("1d 2h 3m 4s", "1 day 02:03:04"),
            ("-1:00", "-01:00:00"),
            ("-0:30", "-00:30:00"),
        ] {
            assert_eq!(shown(text), expected, "{text}");
        }
    }

    #[test]
    fn what_is_no_interval_is_refused() {
        for text in ["", "x", "ago", "1 day x", "1 fortnight", "P", "1:", "1 day ago 2", "--1", "é"] {
            assert_eq!(
                interval(text).unwrap_err().message,
                format!("invalid input syntax for type interval: \"{text}\"")
            );
        }
        assert_eq!(interval("9999999999 years").unwrap_err().kind, ErrorKind::DatetimeOverflow);
    }
}
