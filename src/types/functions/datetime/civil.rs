//! Timestamps taken apart and put together: year to microsecond of the proleptic Gregorian calendar.

use crate::calendar::{FIRST_DAY, LAST_DATE, MICROS_PER_DAY, civil_from_days, days_from_civil, days_in_month};
use crate::error::{ErrorKind, SqlError, SqlResult};

pub(in crate::functions) const MICROS_PER_SECOND: i64 = 1_000_000;
pub(in crate::functions) const MICROS_PER_MINUTE: i64 = 60 * MICROS_PER_SECOND;
pub(in crate::functions) const MICROS_PER_HOUR: i64 = 60 * MICROS_PER_MINUTE;
/// 1970-01-01 counted from the beginning of the Julian period.
pub(in crate::functions) const JULIAN_OF_EPOCH: i64 = 2_440_588;

/// A date. Years are astronomical: 0 is 1 BC.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::functions) struct Date {
    pub year: i64,
    pub month: i64,
    pub day: i64,
}

impl Date {
    pub(crate) fn of_days(days: i64) -> Self {
        let (year, month, day) = civil_from_days(days);
        Date { year, month: month.cast_signed(), day: day.cast_signed() }
    }

    /// Days since 1970-01-01.
    pub(crate) fn days(self) -> i64 {
        days_from_civil(self.year, self.month, self.day)
    }

    /// The year as people count it: there is none between 1 BC, which is -1, and 1.
    pub(crate) fn shown_year(self) -> i64 {
        if self.year > 0 { self.year } else { self.year - 1 }
    }

    /// 0 is Sunday.
    pub(crate) fn day_of_week(self) -> i64 {
        (self.days() + 4).rem_euclid(7)
    }

    /// 1 is Monday, 7 Sunday.
    pub(crate) fn iso_day_of_week(self) -> i64 {
        (self.days() + 3).rem_euclid(7) + 1
    }

    pub(crate) fn day_of_year(self) -> i64 {
        self.days() - days_from_civil(self.year, 1, 1) + 1
    }

    /// The year that the ISO week belongs to, and the week, from 1.
    pub(crate) fn iso_week(self) -> (i64, i64) {
        // A week belongs to the year of its Thursday.
        let thursday = Date::of_days(self.days() - self.iso_day_of_week() + 4);
        (thursday.year, (thursday.day_of_year() - 1) / 7 + 1)
    }

    pub(crate) fn days_in_month(self) -> i64 {
        days_in_month(self.year, self.month)
    }
}

/// The Monday that an ISO year begins with, in days since 1970-01-01.
pub(in crate::functions) fn first_monday(iso_year: i64) -> i64 {
    let fourth = Date { year: iso_year, month: 1, day: 4 };
    fourth.days() - (fourth.iso_day_of_week() - 1)
}

/// A moment of a calendar.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::functions) struct Moment {
    pub date: Date,
    /// Microseconds since midnight.
    pub micros: i64,
}

impl Moment {
    /// From microseconds since 1970-01-01T00:00:00.
    pub(crate) fn of_micros(micros: i64) -> Self {
        Moment { date: Date::of_days(micros.div_euclid(MICROS_PER_DAY)), micros: micros.rem_euclid(MICROS_PER_DAY) }
    }

    /// # Errors
    /// 22008 outside of what a timestamp holds.
    pub(crate) fn timestamp(self) -> SqlResult<i64> {
        let days = self.date.days();
        let micros = days.checked_mul(MICROS_PER_DAY).and_then(|day| day.checked_add(self.micros));
        micros.filter(|_| days >= FIRST_DAY).ok_or_else(timestamp_out_of_range)
    }

    pub(crate) fn hour(self) -> i64 {
        self.micros / MICROS_PER_HOUR
    }

    pub(crate) fn minute(self) -> i64 {
        self.micros / MICROS_PER_MINUTE % 60
    }

    pub(crate) fn second(self) -> i64 {
        self.micros / MICROS_PER_SECOND % 60
    }

    /// Of the second.
    pub(crate) fn microsecond(self) -> i64 {
        self.micros % MICROS_PER_SECOND
    }
}

/// Days since 1970-01-01 as a date.
///
/// # Errors
/// 22008 outside of what a date holds.
pub(in crate::functions) fn date_of_days(days: i64) -> SqlResult<i32> {
    let days = Some(days).filter(|days| (FIRST_DAY..=LAST_DATE).contains(days)).and_then(|days| days.try_into().ok());
    days.ok_or_else(|| SqlError::new(ErrorKind::DatetimeOverflow, "date out of range"))
}

pub(in crate::functions) fn timestamp_out_of_range() -> Box<SqlError> {
    SqlError::new(ErrorKind::DatetimeOverflow, "timestamp out of range")
}

pub(in crate::functions) fn interval_out_of_range() -> Box<SqlError> {
    SqlError::new(ErrorKind::DatetimeOverflow, "interval out of range")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn weeks_belong_to_the_year_of_their_thursday() {
        let week = |year, month, day| Date { year, month, day }.iso_week();
        assert_eq!(week(2005, 1, 1), (2004, 53));
        assert_eq!(week(2012, 12, 31), (2013, 1));
        assert_eq!(Date::of_days(first_monday(2013)), Date { year: 2012, month: 12, day: 31 });
    }

    #[test]
    fn moments_go_both_ways() {
        for micros in [0, -1, 982_355_920_120_000, -62_167_219_200_000_000] {
            assert_eq!(Moment::of_micros(micros).timestamp().unwrap(), micros);
        }
        assert_eq!(Date::of_days(0).day_of_week(), 4);
        assert_eq!(Date { year: -43, month: 3, day: 15 }.shown_year(), -44);
    }
}
