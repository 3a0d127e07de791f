//! What the fields of a date or time said so far: which fields there are, and their values.

use super::Fail;
use super::fields::{fraction_micros, leading_integer};
use crate::calendar::{FIRST_DAY, MICROS_PER_DAY, MICROS_PER_SECOND, civil_from_days, days_from_civil, days_in_month};
use crate::style::DateOrder;

/// Sets of fields, as bits.
pub(super) type Set = u32;
/// `epoch` and the like, which stand alone.
pub(super) const SPECIAL: Set = 1;
pub(super) const YEAR: Set = 1 << 1;
pub(super) const MONTH: Set = 1 << 2;
pub(super) const DAY: Set = 1 << 3;
pub(super) const DAY_OF_YEAR: Set = 1 << 4;
pub(super) const WEEKDAY: Set = 1 << 5;
pub(super) const HOUR: Set = 1 << 6;
pub(super) const MINUTE: Set = 1 << 7;
pub(super) const SECOND: Set = 1 << 8;
pub(super) const FRACTION: Set = 1 << 9;
pub(super) const HALF_OF_DAY: Set = 1 << 10;
pub(super) const ERA: Set = 1 << 11;
pub(super) const ZONE: Set = 1 << 12;
/// An offset that includes daylight saving time.
pub(super) const SUMMER_ZONE: Set = 1 << 13;
pub(super) const DAYLIGHT_SAVING: Set = 1 << 14;
const YEAR_AND_MONTH: Set = YEAR | MONTH;
const MONTH_AND_DAY: Set = MONTH | DAY;
pub(super) const DATE: Set = YEAR | MONTH | DAY;
pub(super) const SECONDS: Set = SECOND | FRACTION;
pub(super) const TIME: Set = HOUR | MINUTE | SECONDS;

/// The values of fields.
#[derive(Debug)]
pub(super) struct Found {
    order: DateOrder,
    pub set: Set,
    pub year: i64,
    pub month: i64,
    pub day: i64,
    pub day_of_year: i64,
    pub hour: i64,
    pub minute: i64,
    pub second: i64,
    /// Microseconds of the second.
    pub fraction: i64,
    /// The year has one or two digits, and stands for one from 1970 to 2069.
    pub short_year: bool,
    /// The year is what it is: it needs no era.
    pub whole_year: bool,
    pub before_christ: bool,
    /// PM, or AM when false.
    pub afternoon: Option<bool>,
    pub named_month: bool,
}

impl Found {
    /// Nothing yet; the parts of a date come in this order where nothing says otherwise.
    pub(super) fn new(order: DateOrder) -> Self {
        Self {
            order,
            set: 0,
            year: 0,
            month: 0,
            day: 0,
            day_of_year: 0,
            hour: 0,
            minute: 0,
            second: 0,
            fraction: 0,
            short_year: false,
            whole_year: false,
            before_christ: false,
            afternoon: None,
            named_month: false,
        }
    }

    /// Sets the date from days since 1970-01-01.
    pub(super) fn put_days(&mut self, days: i64) {
        let (year, month, day) = civil_from_days(days);
        (self.year, self.month, self.day) = (year, month.cast_signed(), day.cast_signed());
    }

    /// Sets the date from days since the beginning of the Julian period.
    pub(super) fn put_julian_day(&mut self, day: i64) {
        self.put_days(day + FIRST_DAY);
        self.whole_year = true;
    }

    /// Sets the time of day from its microseconds.
    pub(super) fn put_micros(&mut self, micros: i64) {
        let seconds = micros / MICROS_PER_SECOND;
        (self.hour, self.minute) = (seconds / 3_600, seconds / 60 % 60);
        (self.second, self.fraction) = (seconds % 60, micros % MICROS_PER_SECOND);
    }

    /// Days since 1970-01-01.
    pub(super) fn days(&self) -> i64 {
        days_from_civil(self.year, self.month, self.day)
    }

    /// Microseconds since midnight.
    pub(super) fn micros(&self) -> i64 {
        ((self.hour * 60 + self.minute) * 60 + self.second) * MICROS_PER_SECOND + self.fraction
    }

    /// Reads the digits of a part of a date, in the order that is set where nothing says otherwise; or digits of a time,
    /// where there is a date. Gives the fields that it filled.
    ///
    /// # Errors
    /// [`Fail::Syntax`] for a part too many.
    pub(super) fn take_number(&mut self, text: &[u8], set: Set, named_month: bool) -> Result<Set, Fail> {
        let (value, rest) = leading_integer(text)?;
        let digits = text.len() - rest.len();
        match rest.first() {
            _ if digits == 0 => return Err(Fail::Syntax),
            Some(b'.') if digits > 2 => return self.take_digits(text, set | DATE),
            Some(b'.') => self.fraction = fraction_micros(rest)?,
            Some(_) => return Err(Fail::Syntax),
            None => {}
        }
        let length = text.len();
        if length == 3 && set & DATE == YEAR && (1..=366).contains(&value) {
            self.day_of_year = value;
            return Ok(DAY_OF_YEAR | MONTH | DAY);
        }
        let filled = match set & DATE {
            0 if length >= 3 || self.order == DateOrder::Ymd => YEAR,
            0 if self.order == DateOrder::Dmy => DAY,
            0 | YEAR | DAY => MONTH,
            MONTH if named_month && (length >= 3 || self.order == DateOrder::Ymd) => YEAR,
            MONTH => DAY,
            // The day came first, and was taken for the year: `08-Jan-1999`.
            YEAR_AND_MONTH if named_month && length >= 3 && self.short_year => {
                self.day = self.year;
                self.year = value;
                self.short_year = false;
                return Ok(DAY);
            }
            YEAR_AND_MONTH => DAY,
            MONTH_AND_DAY => YEAR,
            DATE => return self.take_digits(text, set),
            _ => return Err(Fail::Syntax),
        };
        match filled {
            YEAR => {
                self.year = value;
                self.short_year = length <= 2;
            }
            MONTH => self.month = value,
            _ => self.day = value,
        }
        Ok(filled)
    }

    /// Reads digits without delimiters: `19990108`, and where there is a date `040506` or `0405`.
    ///
    /// # Errors
    /// [`Fail::Syntax`] for another number of them.
    pub(super) fn take_digits(&mut self, text: &[u8], set: Set) -> Result<Set, Fail> {
        let point = text.iter().position(|byte| *byte == b'.');
        let digits = &text[..point.unwrap_or(text.len())];
        let value = |part: &[u8]| leading_integer(part).map(|(value, _)| value);
        if let Some(point) = point {
            self.fraction = fraction_micros(&text[point..])?;
        } else if set & DATE != DATE && digits.len() >= 6 {
            let (year, rest) = digits.split_at(digits.len() - 4);
            (self.year, self.month, self.day) = (value(year)?, value(&rest[..2])?, value(&rest[2..])?);
            self.short_year |= year.len() == 2;
            return Ok(DATE);
        }
        if set & TIME == TIME || !matches!(digits.len(), 4 | 6) {
            return Err(Fail::Syntax);
        }
        (self.hour, self.minute) = (value(&digits[..2])?, value(&digits[2..4])?);
        self.second = value(&digits[4..])?;
        Ok(TIME)
    }

    /// Reads `04:05`, `04:05:06`, `04:05:06.789`, and `05:06.789`, which has no hours.
    ///
    /// # Errors
    /// [`Fail::Overflow`] for more than 59 minutes or 60 seconds.
    pub(super) fn take_time(&mut self, text: &[u8]) -> Result<Set, Fail> {
        let (hour, rest) = leading_integer(text)?;
        let clock = Clock::behind(hour, rest)?;
        (self.hour, self.minute, self.second, self.fraction) = (clock.hour, clock.minute, clock.second, clock.fraction);
        Ok(TIME)
    }

    /// Whether the time is one of a day, which may end with 24:00:00.
    pub(super) fn is_time_of_day(&self) -> bool {
        (0..=24).contains(&self.hour)
            && (0..60).contains(&self.minute)
            && (0..=60).contains(&self.second)
            && (0..=MICROS_PER_SECOND).contains(&self.fraction)
            && self.micros() <= MICROS_PER_DAY
    }

    /// Checks the date, and finds its year, month and day.
    ///
    /// # Errors
    /// [`Fail::DayOrMonth`] for months and days that there never are, [`Fail::Overflow`] for others that are not.
    pub(super) fn settle_date(&mut self) -> Result<(), Fail> {
        if self.set & YEAR != 0 && !self.whole_year {
            self.year = match (self.before_christ, self.short_year) {
                (false, true) if self.year < 70 => self.year + 2000,
                (false, true) => self.year + 1900,
                _ if self.year <= 0 => return Err(Fail::Overflow),
                (true, _) => 1 - self.year,
                (false, false) => self.year,
            };
        }
        if self.set & DAY_OF_YEAR != 0 {
            self.put_days(days_from_civil(self.year, 1, 1) + self.day_of_year - 1);
        }
        if self.set & MONTH != 0 && !(1..=12).contains(&self.month) {
            return Err(Fail::DayOrMonth);
        }
        if self.set & DAY != 0 && !(1..=31).contains(&self.day) {
            return Err(Fail::DayOrMonth);
        }
        if self.set & DATE == DATE && self.day > days_in_month(self.year, self.month) {
            return Err(Fail::Overflow);
        }
        Ok(())
    }

    /// Applies AM and PM.
    ///
    /// # Errors
    /// [`Fail::Overflow`] for more than twelve hours.
    pub(super) fn settle_half_of_day(&mut self) -> Result<(), Fail> {
        match self.afternoon {
            Some(_) if self.hour > 12 => return Err(Fail::Overflow),
            Some(false) if self.hour == 12 => self.hour = 0,
            Some(true) if self.hour != 12 => self.hour += 12,
            _ => {}
        }
        Ok(())
    }
}

/// A time with colons. Its hours are those of a time span as well.
pub(super) struct Clock {
    pub hour: i64,
    pub minute: i64,
    pub second: i64,
    pub fraction: i64,
    /// Nothing followed the minutes.
    pub two_parts: bool,
}

impl Clock {
    /// What follows the number that a time begins with.
    ///
    /// # Errors
    /// As [`Found::take_time`].
    pub(super) fn behind(hour: i64, rest: &[u8]) -> Result<Self, Fail> {
        let (minute, rest) = leading_integer(rest.strip_prefix(b":").ok_or(Fail::Syntax)?)?;
        let mut clock = Clock { hour, minute, second: 0, fraction: 0, two_parts: rest.is_empty() };
        match rest.first() {
            None => {}
            Some(b'.') => {
                clock = Clock { hour: 0, minute: hour, second: minute, ..clock };
                clock.fraction = fraction_micros(rest)?;
            }
            Some(b':') => {
                let (second, rest) = leading_integer(&rest[1..])?;
                clock.second = second;
                match rest.first() {
                    None => {}
                    Some(b'.') => clock.fraction = fraction_micros(rest)?,
                    Some(_) => return Err(Fail::Syntax),
                }
            }
            Some(_) => return Err(Fail::Syntax),
        }
        if clock.hour < 0 || !(0..60).contains(&clock.minute) || !(0..=60).contains(&clock.second) {
            return Err(Fail::Overflow);
        }
        Ok(clock)
    }
}
