//! Text of intervals, as IntervalStyle has them.

use std::fmt;
use std::fmt::Write as _;

use arrow::datatypes::IntervalMonthDayNano;

use super::temporal::{Text, push_fraction, push_time};
use crate::style::IntervalStyle;

const MICROS_PER_SECOND: i64 = 1_000_000;
const MICROS_PER_MINUTE: i64 = 60 * MICROS_PER_SECOND;
const MICROS_PER_HOUR: i64 = 60 * MICROS_PER_MINUTE;

/// `1 year 2 mons 3 days 04:05:06.5`.
pub fn write_interval(out: &mut impl fmt::Write, value: IntervalMonthDayNano, style: IntervalStyle) -> fmt::Result {
    let mut text = Text::default();
    let fields = Fields::of(value);
    match style {
        IntervalStyle::Postgres => fields.write_postgres(&mut text),
        IntervalStyle::PostgresVerbose => fields.write_verbose(&mut text)?,
        IntervalStyle::SqlStandard => fields.write_sql(&mut text)?,
        IntervalStyle::Iso8601 => fields.write_iso(&mut text)?,
    }
    out.write_str(text.as_str())
}

/// The parts of an interval, each with its own sign; those of the time have one.
#[derive(Clone, Copy)]
struct Fields {
    years: i64,
    months: i64,
    days: i64,
    /// Of the time: microseconds.
    micros: i64,
}

/// What came before a part: a positive part behind a negative one is marked with `+`.
#[derive(Default)]
struct Sign {
    has_parts: bool,
    last_negative: bool,
}

impl Fields {
    fn of(value: IntervalMonthDayNano) -> Self {
        Self {
            years: (value.months / 12).into(),
            months: (value.months % 12).into(),
            days: value.days.into(),
            micros: value.nanoseconds / 1_000,
        }
    }

    fn hours(self) -> i64 {
        self.micros / MICROS_PER_HOUR
    }

    fn minutes(self) -> i64 {
        self.micros / MICROS_PER_MINUTE % 60
    }

    /// Microseconds of the minute.
    fn seconds(self) -> i64 {
        self.micros % MICROS_PER_MINUTE
    }

    fn write_postgres(self, text: &mut Text) {
        let mut sign = Sign::default();
        push_part(text, self.years, "year", &mut sign);
        push_part(text, self.months, "mon", &mut sign);
        push_part(text, self.days, "day", &mut sign);
        if !sign.has_parts || self.micros != 0 {
            if sign.has_parts {
                text.push(b' ');
            }
            if self.micros < 0 {
                text.push(b'-');
            } else if sign.last_negative {
                text.push(b'+');
            }
            push_time(text, self.micros.unsigned_abs());
        }
    }

    /// The sign of the first part is said at the end, with `ago`.
    fn write_verbose(self, text: &mut Text) -> fmt::Result {
        let parts = [
            (self.years, "year"),
            (self.months, "mon"),
            (self.days, "day"),
            (self.hours(), "hour"),
            (self.minutes(), "min"),
        ];
        let seconds = self.seconds();
        let first = parts.iter().map(|(value, _)| *value).find(|value| *value != 0).unwrap_or(seconds);
        let is_ago = first < 0;
        text.push(b'@');
        for (value, unit) in parts.into_iter().filter(|(value, _)| *value != 0) {
            let shown = if is_ago { -value } else { value };
            write!(text, " {shown} {unit}{}", if shown == 1 { "" } else { "s" })?;
        }
        if seconds != 0 {
            text.push(b' ');
            if (seconds < 0) != is_ago {
                text.push(b'-');
            }
            push_seconds(text, seconds, 1);
            text.write_str(if seconds.abs() == MICROS_PER_SECOND { " sec" } else { " secs" })?;
        }
        if first == 0 {
            text.write_str(" 0")?;
        }
        if is_ago { text.write_str(" ago") } else { Ok(()) }
    }

    /// One sign for all of it where the standard has a form for it; else one for each of its three kinds of parts.
    fn write_sql(self, text: &mut Text) -> fmt::Result {
        let all = [self.years, self.months, self.days, self.micros];
        let (is_negative, is_positive) = (all.iter().any(|part| *part < 0), all.iter().any(|part| *part > 0));
        let has_months = self.years != 0 || self.months != 0;
        let has_time = self.days != 0 || self.micros != 0;
        if !is_negative && !is_positive {
            text.push(b'0');
            return Ok(());
        }
        let [years, months, days] = [self.years, self.months, self.days].map(i64::unsigned_abs);
        if is_negative && is_positive || has_months && has_time {
            let sign = |is_negative: bool| if is_negative { '-' } else { '+' };
            write!(text, "{}{years}-{months} ", sign(self.years < 0 || self.months < 0))?;
            write!(text, "{}{days} {}", sign(self.days < 0), sign(self.micros < 0))?;
            self.push_clock(text);
            return Ok(());
        }
        if is_negative {
            text.push(b'-');
        }
        if has_months {
            return write!(text, "{years}-{months}");
        }
        if self.days != 0 {
            write!(text, "{days} ")?;
        }
        self.push_clock(text);
        Ok(())
    }

    /// `4:05:06.5`
    fn push_clock(self, text: &mut Text) {
        text.digits(self.hours().unsigned_abs(), 1);
        text.push(b':');
        text.digits(self.minutes().unsigned_abs(), 2);
        text.push(b':');
        push_seconds(text, self.seconds(), 2);
    }

    fn write_iso(self, text: &mut Text) -> fmt::Result {
        text.push(b'P');
        for (value, unit) in [(self.years, 'Y'), (self.months, 'M'), (self.days, 'D')] {
            if value != 0 {
                write!(text, "{value}{unit}")?;
            }
        }
        let is_zero = self.years == 0 && self.months == 0 && self.days == 0;
        if self.micros == 0 {
            return if is_zero { text.write_str("T0S") } else { Ok(()) };
        }
        text.push(b'T');
        for (value, unit) in [(self.hours(), 'H'), (self.minutes(), 'M')] {
            if value != 0 {
                write!(text, "{value}{unit}")?;
            }
        }
        let seconds = self.seconds();
        if seconds != 0 {
            if seconds < 0 {
                text.push(b'-');
            }
            push_seconds(text, seconds, 1);
            text.push(b'S');
        }
        Ok(())
    }
}

/// Seconds with their fraction, without a sign.
fn push_seconds(text: &mut Text, micros: i64, width: usize) {
    let micros = micros.unsigned_abs();
    let per_second = MICROS_PER_SECOND.unsigned_abs();
    text.digits(micros / per_second, width);
    push_fraction(text, micros % per_second);
}

fn push_part(text: &mut Text, value: i64, unit: &str, sign: &mut Sign) {
    if value == 0 {
        return;
    }
    if sign.has_parts {
        text.push(b' ');
    }
    if value < 0 {
        text.push(b'-');
    } else if sign.last_negative {
        text.push(b'+');
    }
    text.digits(value.unsigned_abs(), 1);
    text.push(b' ');
    unit.bytes().for_each(|b| text.push(b));
    if value != 1 {
        text.push(b's');
    }
    *sign = Sign { has_parts: true, last_negative: value < 0 };
}

#[cfg(test)]
mod tests {
    use super::*;

    const HOUR: i64 = 3_600_000_000;

    fn written(months: i32, days: i32, micros: i64, style: IntervalStyle) -> String {
        let mut out = String::new();
        write_interval(&mut out, IntervalMonthDayNano::new(months, days, micros * 1000), style).unwrap();
        out
    }

    #[test]
    fn intervals_print_as_postgresql_does() {
        let interval = |months, days, micros| written(months, days, micros, IntervalStyle::Postgres);
        assert_eq!(interval(14, 3, 4 * HOUR + 306_500_000), "1 year 2 mons 3 days 04:05:06.5");
        assert_eq!(interval(-14, 3, -(4 * HOUR + 306_000_000)), "-1 years -2 mons +3 days -04:05:06");
        assert_eq!(interval(0, 0, 0), "00:00:00");
        assert_eq!(interval(1, 0, 0), "1 mon");
        assert_eq!(interval(-13, 0, 0), "-1 years -1 mons");
        assert_eq!(interval(0, -1, HOUR), "-1 days +01:00:00");
        assert_eq!(interval(0, 0, -HOUR), "-01:00:00");
        assert_eq!(interval(0, 0, 36 * HOUR), "36:00:00");
    }

    /// PostgreSQL 15's own answers: verbose, SQL standard, ISO 8601.
    #[test]
    fn other_styles_have_other_signs() {
        let styles = [IntervalStyle::PostgresVerbose, IntervalStyle::SqlStandard, IntervalStyle::Iso8601];
        let mut differ = Vec::new();
        for line in include_str!("tests/intervals.txt").lines() {
            let (value, expected) = line.split_once('|').unwrap();
            let mut numbers = value.split(' ').map(|number| number.parse::<i64>().unwrap());
            let mut next = || numbers.next().unwrap();
            let (months, days, micros) = (next(), next(), next());
            let narrow = |value: i64| i32::try_from(value).unwrap();
            for (style, expected) in styles.into_iter().zip(expected.split('|')) {
                let found = written(narrow(months), narrow(days), micros, style);
                if found != expected {
                    differ.push(format!("{value} as {style:?} is {found} and should be {expected}"));
                }
            }
        }
        assert!(differ.is_empty(), "{}", differ.join("\n"));
    }
}
