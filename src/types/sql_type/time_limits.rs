//! Time types of which less is kept than there could be: `timestamp(3)`, `interval year to month`.
//!
//! Expressions do not know them: there a value is of the bare type. What is declared so, a column or a cast, rounds the
//! values that it is given, and a result says so.

use std::fmt;

use arrow::datatypes::IntervalMonthDayNano;

use super::SqlType;
use crate::calendar::NANOS_PER_MICRO;

/// Most digits of a second.
const MOST_DIGITS: u8 = 6;
const MICROS_PER_MINUTE: i64 = 60_000_000;
/// PostgreSQL counts from 2000-01-01, and rounds away from there.
const EPOCH: i64 = 946_684_800_000_000;

/// The types that have a precision of their seconds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum TimeType {
    Time,
    Timestamp,
    Timestamptz,
    Interval,
}

/// The fields that an interval is declared to have, as PostgreSQL's bits.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct IntervalFields(u16);

/// A time type with its limits.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct TimeLimits {
    of: TimeType,
    fields: IntervalFields,
    digits: Option<u8>,
}

impl IntervalFields {
    pub const MONTH: Self = Self(1 << 1);
    pub const YEAR: Self = Self(1 << 2);
    pub const DAY: Self = Self(1 << 3);
    pub const HOUR: Self = Self(1 << 10);
    pub const MINUTE: Self = Self(1 << 11);
    pub const SECOND: Self = Self(1 << 12);
    pub const YEAR_TO_MONTH: Self = Self(Self::YEAR.0 | Self::MONTH.0);
    pub const DAY_TO_HOUR: Self = Self(Self::DAY.0 | Self::HOUR.0);
    pub const DAY_TO_MINUTE: Self = Self(Self::DAY_TO_HOUR.0 | Self::MINUTE.0);
    pub const DAY_TO_SECOND: Self = Self(Self::DAY_TO_MINUTE.0 | Self::SECOND.0);
    pub const HOUR_TO_MINUTE: Self = Self(Self::HOUR.0 | Self::MINUTE.0);
    pub const HOUR_TO_SECOND: Self = Self(Self::HOUR_TO_MINUTE.0 | Self::SECOND.0);
    pub const MINUTE_TO_SECOND: Self = Self(Self::MINUTE.0 | Self::SECOND.0);
    /// Nothing was declared.
    pub const ALL: Self = Self(0x7fff);

    /// What there is to declare, with its words.
    const NAMES: [(Self, &str); 13] = [
        (Self::YEAR, "year"),
        (Self::MONTH, "month"),
        (Self::DAY, "day"),
        (Self::HOUR, "hour"),
        (Self::MINUTE, "minute"),
        (Self::SECOND, "second"),
        (Self::YEAR_TO_MONTH, "year to month"),
        (Self::DAY_TO_HOUR, "day to hour"),
        (Self::DAY_TO_MINUTE, "day to minute"),
        (Self::DAY_TO_SECOND, "day to second"),
        (Self::HOUR_TO_MINUTE, "hour to minute"),
        (Self::HOUR_TO_SECOND, "hour to second"),
        (Self::MINUTE_TO_SECOND, "minute to second"),
    ];

    /// Of the words in a declaration, in any case.
    pub fn named(words: &str) -> Option<Self> {
        Self::NAMES.iter().find(|(_, name)| name.eq_ignore_ascii_case(words)).map(|(fields, _)| *fields)
    }

    fn words(self) -> Option<&'static str> {
        Self::NAMES.iter().find(|(fields, _)| *fields == self).map(|(_, name)| *name)
    }
}

impl TimeLimits {
    /// A type with so many digits of its seconds, six at most.
    pub fn digits(of: TimeType, digits: u64) -> Self {
        let digits = u8::try_from(digits).unwrap_or(MOST_DIGITS).min(MOST_DIGITS);
        Self { of, fields: IntervalFields::ALL, digits: Some(digits) }
    }

    /// An interval of some fields, perhaps with so many digits of its seconds.
    pub fn interval(fields: IntervalFields, digits: Option<u64>) -> Self {
        match digits {
            Some(digits) => Self { fields, ..Self::digits(TimeType::Interval, digits) },
            None => Self { of: TimeType::Interval, fields, digits: None },
        }
    }

    pub fn of(self) -> TimeType {
        self.of
    }

    pub fn fields(self) -> IntervalFields {
        self.fields
    }

    /// Digits of a second that are kept.
    pub fn kept_digits(self) -> u8 {
        self.digits.unwrap_or(MOST_DIGITS)
    }

    /// PostgreSQL's type modifier.
    pub fn modifier(self) -> i32 {
        const ALL_DIGITS: i32 = 0xffff;
        let digits = self.digits.map(i32::from);
        match self.of {
            TimeType::Interval => (i32::from(self.fields.0) << 16) | digits.unwrap_or(ALL_DIGITS),
            _ => digits.unwrap_or(-1),
        }
    }

    /// The limits that a type modifier says; `None` for none.
    pub fn of_modifier(of: TimeType, modifier: i64) -> Option<Self> {
        let modifier = u32::try_from(modifier).ok()?;
        match of {
            TimeType::Interval => {
                let fields = IntervalFields(u16::try_from(modifier >> 16).ok()?);
                let digits = u64::from(modifier & 0xffff);
                Some(Self::interval(fields, Some(digits).filter(|digits| *digits != 0xffff)))
            }
            _ => Some(Self::digits(of, modifier.into())),
        }
    }

    /// Reads what `Display` prints.
    pub(super) fn parse(text: &str) -> Option<Self> {
        let inside = |text: &str| text.strip_prefix('(')?.strip_suffix(')')?.parse::<u64>().ok();
        if let Some(limits) = text.strip_prefix("interval") {
            let open = limits.find('(').unwrap_or(limits.len());
            let (words, digits) = limits.split_at(open);
            let fields = match words.trim() {
                "" => IntervalFields::ALL,
                words => IntervalFields::named(words)?,
            };
            let digits = if digits.is_empty() { None } else { Some(inside(digits)?) };
            return Some(Self::interval(fields, digits))
                .filter(|limits| *limits != Self::interval(IntervalFields::ALL, None));
        }
        [TimeType::Timestamptz, TimeType::Timestamp, TimeType::Time].into_iter().find_map(|of| {
            let digits = text.strip_prefix(of.name())?.strip_suffix(of.zone())?;
            Some(Self::digits(of, inside(digits)?))
        })
    }

    /// A time of day, in microseconds, with the digits that are kept.
    pub fn time(self, micros: i64) -> i64 {
        nearest(micros, self.unit())
    }

    /// A timestamp, in microseconds, with the digits that are kept.
    pub fn timestamp(self, micros: i64) -> i64 {
        nearest(micros.saturating_sub(EPOCH), self.unit()).saturating_add(EPOCH)
    }

    /// An interval of the fields and digits that are kept.
    pub fn interval_of(self, value: IntervalMonthDayNano) -> IntervalMonthDayNano {
        let IntervalMonthDayNano { mut months, mut days, nanoseconds } = value;
        let mut micros = nanoseconds / NANOS_PER_MICRO;
        let least = |unit: i64| micros / unit * unit;
        match self.fields {
            IntervalFields::YEAR => (months, days, micros) = (months / 12 * 12, 0, 0),
            IntervalFields::MONTH | IntervalFields::YEAR_TO_MONTH => (days, micros) = (0, 0),
            IntervalFields::DAY => micros = 0,
            IntervalFields::HOUR | IntervalFields::DAY_TO_HOUR => micros = least(60 * MICROS_PER_MINUTE),
            IntervalFields::MINUTE | IntervalFields::DAY_TO_MINUTE | IntervalFields::HOUR_TO_MINUTE => {
                micros = least(MICROS_PER_MINUTE);
            }
            _ => {}
        }
        IntervalMonthDayNano::new(months, days, nearest(micros, self.unit()).saturating_mul(NANOS_PER_MICRO))
    }

    /// Microseconds of the last digit that is kept.
    fn unit(self) -> i64 {
        10_i64.pow(u32::from(MOST_DIGITS - self.kept_digits()))
    }
}

/// The nearest multiple, halves away from zero.
fn nearest(value: i64, unit: i64) -> i64 {
    let half = unit / 2;
    (if value < 0 { value.saturating_sub(half) } else { value.saturating_add(half) }) / unit * unit
}

impl TimeType {
    /// The type without limits.
    pub fn bare(self) -> &'static SqlType {
        match self {
            TimeType::Time => &SqlType::Time,
            TimeType::Timestamp => &SqlType::Timestamp,
            TimeType::Timestamptz => &SqlType::Timestamptz,
            TimeType::Interval => &SqlType::Interval,
        }
    }

    fn name(self) -> &'static str {
        match self {
            TimeType::Time => "time",
            TimeType::Timestamp | TimeType::Timestamptz => "timestamp",
            TimeType::Interval => "interval",
        }
    }

    /// What follows the digits.
    fn zone(self) -> &'static str {
        match self {
            TimeType::Time | TimeType::Timestamp => " without time zone",
            TimeType::Timestamptz => " with time zone",
            TimeType::Interval => "",
        }
    }
}

impl fmt::Display for TimeLimits {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.of.name())?;
        if let Some(words) = self.fields.words() {
            write!(f, " {words}")?;
        }
        if let Some(digits) = self.digits {
            write!(f, "({digits})")?;
        }
        f.write_str(self.of.zone())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn limits_are_printed_read_and_numbered_as_in_postgresql() {
        for (limits, shown, modifier) in [
            (TimeLimits::digits(TimeType::Time, 0), "time(0) without time zone", 0),
            (TimeLimits::digits(TimeType::Timestamp, 3), "timestamp(3) without time zone", 3),
            (TimeLimits::digits(TimeType::Timestamptz, 9), "timestamp(6) with time zone", 6),
            (TimeLimits::digits(TimeType::Interval, 0), "interval(0)", 2_147_418_112),
            (TimeLimits::interval(IntervalFields::YEAR, None), "interval year", 327_679),
            (TimeLimits::interval(IntervalFields::DAY_TO_SECOND, Some(2)), "interval day to second(2)", 470_286_338),
        ] {
            assert_eq!(limits.to_string(), shown);
            assert_eq!(TimeLimits::parse(shown), Some(limits));
            assert_eq!(limits.modifier(), modifier);
            assert_eq!(TimeLimits::of_modifier(limits.of(), modifier.into()), Some(limits));
        }
        for text in ["interval", "timestamp without time zone", "time(1)", "interval fortnight", "date(3)"] {
            assert_eq!(TimeLimits::parse(text), None, "{text}");
        }
    }

    #[test]
    fn halves_go_away_from_zero() {
        assert_eq!([1_500, 1_499, -1_500].map(|value| nearest(value, 1_000)), [2_000, 1_000, -2_000]);
        assert_eq!(nearest(7, 1), 7);
        assert_eq!(TimeLimits::digits(TimeType::Timestamp, 0).timestamp(EPOCH - 500_000), EPOCH - 1_000_000);
    }

    #[test]
    fn fields_that_are_not_kept_are_dropped() {
        let value = IntervalMonthDayNano::new(14, 3, 3_723_500_000_000);
        let kept = |fields| {
            let kept = TimeLimits::interval(fields, Some(0)).interval_of(value);
            (kept.months, kept.days, kept.nanoseconds / 1_000_000)
        };
        assert_eq!(kept(IntervalFields::YEAR), (12, 0, 0));
        assert_eq!(kept(IntervalFields::YEAR_TO_MONTH), (14, 0, 0));
        assert_eq!(kept(IntervalFields::HOUR), (14, 3, 3_600_000));
        assert_eq!(kept(IntervalFields::DAY_TO_SECOND), (14, 3, 3_724_000));
    }
}
