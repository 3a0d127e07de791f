//! `Edm.DateTime`: an instant in UTC with a resolution of 100 ns.

use std::fmt;

use chrono::{DateTime, Datelike, NaiveDate, NaiveDateTime, Timelike, Utc};

/// An instant between 1601-01-01T00:00:00Z and 9999-12-31T23:59:59.9999999Z (the service's range), in 100 ns ticks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct EdmDateTime(i64);

const TICKS_PER_SECOND: i64 = 10_000_000;
const TICKS_PER_MICRO: i64 = 10;

impl EdmDateTime {
    /// 1601-01-01T00:00:00Z, the first instant the service holds.
    pub const MIN: Self = Self(-11_644_473_600 * TICKS_PER_SECOND);
    /// 9999-12-31T23:59:59.9999999Z, the last instant the service holds.
    pub const MAX: Self = Self(253_402_300_800 * TICKS_PER_SECOND - 1);

    /// From 100 ns ticks since 1970-01-01T00:00:00Z; `None` outside the service's range.
    pub fn from_unix_ticks(ticks: i64) -> Option<Self> {
        (Self::MIN.0..=Self::MAX.0).contains(&ticks).then_some(Self(ticks))
    }

    /// From microseconds since 1970-01-01T00:00:00Z; `None` outside the service's range.
    pub fn from_unix_micros(micros: i64) -> Option<Self> {
        micros.checked_mul(TICKS_PER_MICRO).and_then(Self::from_unix_ticks)
    }

    /// From microseconds since 1970-01-01T00:00:00Z, moved to the nearest end of the range when outside.
    pub fn from_unix_micros_saturating(micros: i64) -> Self {
        Self(micros.saturating_mul(TICKS_PER_MICRO).clamp(Self::MIN.0, Self::MAX.0))
    }

    /// 100 ns ticks since 1970-01-01T00:00:00Z.
    pub fn unix_ticks(self) -> i64 {
        self.0
    }

    /// Microseconds since 1970-01-01T00:00:00Z, rounded down: what SQL sees.
    pub fn unix_micros(self) -> i64 {
        self.0.div_euclid(TICKS_PER_MICRO)
    }

    /// The next instant, 100 ns later; stays at the end of the range.
    pub fn next_tick(self) -> Self {
        Self((self.0 + 1).min(Self::MAX.0))
    }

    /// Reads the service's ISO 8601 forms: `2021-09-21T00:54:03.1536324Z`, with offset instead of `Z`, with fewer or
    /// no fraction digits. `None` for anything else or outside the range.
    pub fn parse(text: &str) -> Option<Self> {
        let instant = DateTime::parse_from_rfc3339(text).ok()?.with_timezone(&Utc);
        let ticks = instant
            .timestamp()
            .checked_mul(TICKS_PER_SECOND)?
            .checked_add(i64::from(instant.timestamp_subsec_nanos() / 100))?;
        Self::from_unix_ticks(ticks)
    }

    fn naive(self) -> NaiveDateTime {
        let seconds = self.0.div_euclid(TICKS_PER_SECOND);
        let nanos = u32::try_from(self.0.rem_euclid(TICKS_PER_SECOND) * 100).unwrap_or_default();
        DateTime::<Utc>::from_timestamp(seconds, nanos).unwrap_or_default().naive_utc()
    }

    /// `2021-09-21T00:54:03.1536324Z`: always seven fraction digits, so the text sorts as the instants do.
    pub fn to_fixed_width(self) -> String {
        let at = self.naive();
        format!("{}.{:07}Z", at.format("%Y-%m-%dT%H:%M:%S"), self.0.rem_euclid(TICKS_PER_SECOND))
    }
}

impl EdmDateTime {
    /// How long the [`fmt::Display`] form is.
    pub(crate) fn text_bytes(self) -> usize {
        let mut fraction = self.0.rem_euclid(TICKS_PER_SECOND);
        let mut bytes = "2021-09-21T00:54:03Z".len();
        if fraction != 0 {
            bytes += ".1536324".len();
            while fraction % 10 == 0 {
                fraction /= 10;
                bytes -= 1;
            }
        }
        bytes
    }

    /// Writes the [`fmt::Display`] form with another text in place of each `:`, for where a colon would need escaping.
    pub(super) fn write_with_colon(self, f: &mut impl fmt::Write, colon: &str) -> fmt::Result {
        let at = self.naive();
        let (year, month, day) = (at.year(), at.month(), at.day());
        let (hour, minute, second) = (at.hour(), at.minute(), at.second());
        // Written for each row of some scans, so without the formatter.
        let mut text = Digits { bytes: [0; 48], length: 0 };
        text.put(year.unsigned_abs(), 4).mark("-").put(month, 2).mark("-").put(day, 2).mark("T");
        text.put(hour, 2).mark(colon).put(minute, 2).mark(colon).put(second, 2);
        let mut fraction = u32::try_from(self.0.rem_euclid(TICKS_PER_SECOND)).unwrap_or_default();
        if fraction != 0 {
            let mut width = 7;
            while fraction.is_multiple_of(10) {
                fraction /= 10;
                width -= 1;
            }
            text.mark(".").put(fraction, width);
        }
        f.write_str(text.mark("Z").as_str())
    }
}

impl EdmDateTime {
    /// Reads exactly what [`EdmDateTime::write_with_colon`] writes; `None` for any other text.
    pub(super) fn parse_with_colon(text: &str, colon: &str) -> Option<Self> {
        let mut rest = text.as_bytes();
        let mut number = |width: usize, behind: &str| {
            let (digits, others) = rest.split_at_checked(width)?;
            rest = others.strip_prefix(behind.as_bytes())?;
            digits
                .iter()
                .try_fold(0_u32, |number, digit| digit.is_ascii_digit().then(|| number * 10 + u32::from(digit - b'0')))
        };
        let (year, month, day) = (number(4, "-")?, number(2, "-")?, number(2, "T")?);
        let (hour, minute, second) = (number(2, colon)?, number(2, colon)?, number(2, "")?);
        let fraction = match rest.strip_suffix(b"Z")? {
            [] => 0,
            [b'.', digits @ ..] if (1..=7).contains(&digits.len()) && !digits.ends_with(b"0") => {
                let digit =
                    |ticks: i64, digit: &u8| digit.is_ascii_digit().then(|| ticks * 10 + i64::from(digit - b'0'));
                let zeros = std::iter::repeat_n(&b'0', 7 - digits.len());
                digits.iter().chain(zeros).try_fold(0, digit)?
            }
            _ => return None,
        };
        let at = NaiveDate::from_ymd_opt(year.try_into().ok()?, month, day)?.and_hms_opt(hour, minute, second)?;
        Self::from_unix_ticks(at.and_utc().timestamp().checked_mul(TICKS_PER_SECOND)? + fraction)
    }
}

/// A short text of numbers and what is between them.
struct Digits {
    bytes: [u8; 48],
    length: usize,
}

impl Digits {
    /// Appends a number with zeros in front.
    fn put(&mut self, mut number: u32, width: usize) -> &mut Self {
        for digit in self.bytes[self.length..self.length + width].iter_mut().rev() {
            *digit = b'0' + u8::try_from(number % 10).unwrap_or_default();
            number /= 10;
        }
        self.length += width;
        self
    }

    fn mark(&mut self, mark: &str) -> &mut Self {
        self.bytes[self.length..self.length + mark.len()].copy_from_slice(mark.as_bytes());
        self.length += mark.len();
        self
    }

    fn as_str(&self) -> &str {
        std::str::from_utf8(&self.bytes[..self.length]).unwrap_or_default()
    }
}

impl fmt::Display for EdmDateTime {
    /// As the service prints it: trailing zeros of the fraction dropped.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.write_with_colon(f, ":")
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::EdmDateTime;

    #[test]
    fn prints_as_the_service_does() {
        for text in ["2021-09-21T00:54:03.1536324Z", "2012-09-18T19:02:48.4767Z", "2020-01-01T00:00:00Z"] {
            assert_eq!(EdmDateTime::parse(text).unwrap().to_string(), text);
        }
        assert_eq!(EdmDateTime::MIN.to_string(), "1601-01-01T00:00:00Z");
        assert_eq!(EdmDateTime::MAX.to_string(), "9999-12-31T23:59:59.9999999Z");
    }

    proptest! {
        #[test]
        fn what_is_printed_is_read(ticks in EdmDateTime::MIN.unix_ticks()..=EdmDateTime::MAX.unix_ticks(), zeros in 0..8_u32) {
            let at = EdmDateTime::from_unix_ticks(ticks / 10_i64.pow(zeros) * 10_i64.pow(zeros)).unwrap();
            let mut text = String::new();
            at.write_with_colon(&mut text, "%3A").unwrap();
            prop_assert_eq!(EdmDateTime::parse_with_colon(&text, "%3A"), Some(at));
            prop_assert_eq!(EdmDateTime::parse(&text.replace("%3A", ":")), Some(at));
        }
    }

    #[test]
    fn range_is_the_services() {
        assert_eq!(EdmDateTime::parse("1600-12-31T23:59:59Z"), None);
        assert_eq!(EdmDateTime::parse("9999-12-31T23:59:59.9999999Z"), Some(EdmDateTime::MAX));
        assert_eq!(EdmDateTime::from_unix_micros(i64::MAX), None);
    }

    #[test]
    fn micros_round_down_before_the_epoch() {
        let just_before = EdmDateTime::from_unix_ticks(-1).unwrap();
        assert_eq!(just_before.unix_micros(), -1);
    }
}
