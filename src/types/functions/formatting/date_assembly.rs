//! A date and a time from the fields that a text gave.

use super::date_patterns::Convention;
use super::date_reader::Read;
use crate::calendar::Zone;
use crate::error::{ErrorKind, SqlError, SqlResult};
use crate::functions::datetime::{Date, JULIAN_OF_EPOCH, MICROS_PER_SECOND, Moment, date_of_days, first_monday};

const SECONDS_PER_HOUR: i64 = 3600;

/// Which fields of a date are given.
#[derive(Default)]
struct Given {
    year: bool,
    month: bool,
    day: bool,
}

impl Read {
    /// Days since 1970-01-01; `text` is what was read.
    ///
    /// # Errors
    /// 22007 and 22008 for fields that make no date.
    pub(super) fn date(&self, text: &str) -> SqlResult<i32> {
        let date = self.calendar(text)?;
        self.time(text)?;
        self.zone_seconds(text)?;
        date_of_days(date.days())
            .map_err(|_| SqlError::new(ErrorKind::DatetimeOverflow, format!("date out of range: \"{text}\"")))
    }

    /// Microseconds since 1970-01-01T00:00:00 UTC; a time without a zone is one of the session's.
    ///
    /// # Errors
    /// As [`Read::date`].
    pub(super) fn timestamp(&self, text: &str, zone: Zone) -> SqlResult<i64> {
        let moment = Moment { date: self.calendar(text)?, micros: self.time(text)? };
        if self.zone_sign == 0 {
            return zone.to_utc(moment.timestamp()?);
        }
        let east = self.zone_seconds(text)?;
        let utc = moment.timestamp()?.checked_sub(east * MICROS_PER_SECOND);
        utc.ok_or_else(|| SqlError::new(ErrorKind::DatetimeOverflow, "timestamp out of range"))
    }

    fn calendar(&self, text: &str) -> SqlResult<Date> {
        let mut given = Given::default();
        let mut date = Date { year: 0, month: 1, day: 1 };
        if let Some(year) = self.full_year() {
            date.year = year;
            given.year = true;
        }
        if self.julian != 0 {
            date = Date::of_days(self.julian - JULIAN_OF_EPOCH);
            given = Given { year: true, month: true, day: true };
        }
        let mut day_of_year = self.day_of_year;
        if self.week != 0 {
            if self.convention == Some(Convention::IsoWeek) {
                date = self.iso_week_date(date.year);
                given = Given { year: true, month: true, day: true };
            } else {
                day_of_year = (self.week - 1) * 7 + 1;
            }
        }
        let day = if self.week_of_month == 0 { self.day } else { (self.week_of_month - 1) * 7 + 1 };
        if day != 0 {
            date.day = day;
            given.day = true;
        }
        if self.month != 0 {
            date.month = self.month;
            given.month = true;
        }
        if day_of_year != 0 && (date.month <= 1 || date.day <= 1) {
            self.place_day_of_year(day_of_year, &mut date, &mut given)?;
        }
        check_date(date, &given).then_some(date).ok_or_else(|| out_of_range(text))
    }

    /// The astronomical year of the year and century that were given.
    fn full_year(&self) -> Option<i64> {
        let before_christ = self.before_christ != 0;
        let century = if before_christ { -self.century } else { self.century };
        if self.year != 0 {
            if century == 0 || self.year_digits > 2 {
                // Four digits are a year, whatever century is said beside it.
                let year = if before_christ { -self.year } else { self.year };
                return Some(if year < 0 { year + 1 } else { year });
            }
            let of_century = self.year % 100;
            return Some(match (of_century, century) {
                (0, 0..) => century * 100,
                (0, _) => century * 100 + 1,
                (_, 0..) => of_century + (century - 1) * 100,
                _ => (century + 1) * 100 - of_century + 1,
            });
        }
        match century {
            0 => None,
            1.. => Some((century - 1) * 100 + 1),
            _ => Some(century * 100 + 1),
        }
    }

    fn iso_week_date(&self, year: i64) -> Date {
        let monday = first_monday(year) + (self.week - 1) * 7;
        // Days of the week are counted from Sunday, 1.
        let offset = match self.day_of_week {
            0 => 0,
            1 => 6,
            day => day - 2,
        };
        Date::of_days(monday + offset)
    }

    fn place_day_of_year(&self, day_of_year: i64, date: &mut Date, given: &mut Given) -> SqlResult<()> {
        if date.year == 0 && self.before_christ == 0 {
            let message = "cannot calculate day of year without year information";
            return Err(SqlError::new(ErrorKind::InvalidDatetimeFormat, message));
        }
        if self.convention == Some(Convention::IsoWeek) {
            *date = Date::of_days(first_monday(date.year) - 1 + day_of_year);
            *given = Given { year: true, month: true, day: true };
            return Ok(());
        }
        let mut month = 1;
        let mut day = day_of_year;
        while month <= 12 && day > (Date { month, ..*date }).days_in_month() {
            day -= (Date { month, ..*date }).days_in_month();
            month += 1;
        }
        if date.month <= 1 {
            date.month = month;
        }
        if date.day <= 1 {
            date.day = day;
        }
        given.month = true;
        given.day = true;
        Ok(())
    }

    /// Microseconds since midnight.
    fn time(&self, text: &str) -> SqlResult<i64> {
        let (mut hour, mut minute, mut second) = (0, 0, 0);
        if self.second_of_day != 0 {
            (hour, minute, second) =
                (self.second_of_day / SECONDS_PER_HOUR, self.second_of_day / 60 % 60, self.second_of_day % 60);
        }
        if self.second != 0 {
            second = self.second;
        }
        if self.minute != 0 {
            minute = self.minute;
        }
        if self.hour != 0 {
            hour = self.hour;
        }
        if self.twelve_hours {
            hour = self.hour_of_day(hour)?;
        }
        let micros = self.millis * 1_000 + self.micros;
        let fits = (0..24).contains(&hour)
            && (0..60).contains(&minute)
            && (0..60).contains(&second)
            && (0..MICROS_PER_SECOND).contains(&micros);
        if !fits {
            return Err(out_of_range(text));
        }
        Ok(((hour * 60 + minute) * 60 + second) * MICROS_PER_SECOND + micros)
    }

    fn hour_of_day(&self, hour: i64) -> SqlResult<i64> {
        if !(1..=12).contains(&hour) {
            let message = format!("hour \"{hour}\" is invalid for the 12-hour clock");
            return Err(SqlError::new(ErrorKind::InvalidDatetimeFormat, message)
                .with_hint("Use the 24-hour clock, or give an hour between 1 and 12."));
        }
        Ok(hour % 12 + if self.afternoon != 0 { 12 } else { 0 })
    }

    /// East of UTC.
    fn zone_seconds(&self, text: &str) -> SqlResult<i64> {
        const HOURS_MAX: i64 = 15;
        if self.zone_sign == 0 {
            return Ok(0);
        }
        if !(0..=HOURS_MAX).contains(&self.zone_hour) || !(0..60).contains(&self.zone_minute) {
            let message = format!("time zone displacement out of range: \"{text}\"");
            return Err(SqlError::new(ErrorKind::InvalidZoneDisplacement, message));
        }
        Ok(self.zone_sign * (self.zone_hour * SECONDS_PER_HOUR + self.zone_minute * 60))
    }
}

/// The length of the month counts once all of the date is given.
fn check_date(date: Date, given: &Given) -> bool {
    let month = !given.month || (1..=12).contains(&date.month);
    let day = !given.day || (1..=31).contains(&date.day);
    let all = given.year && given.month && given.day;
    month && day && (!all || date.day <= date.days_in_month())
}

fn out_of_range(text: &str) -> Box<SqlError> {
    SqlError::new(ErrorKind::DatetimeOverflow, format!("date/time field value out of range: \"{text}\""))
}
