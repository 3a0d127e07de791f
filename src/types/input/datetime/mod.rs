//! Reads dates, times, timestamps and intervals as PostgreSQL does, in the style of a session.
//!
//! As there, a text is split into fields ([`fields`]), each field has a meaning that depends on those around it ([`decode`],
//! [`interval`]), and what they say together is checked ([`found`]). A zone is heeded by timestamptz only. Infinity is
//! refused: the store cannot hold it.

mod decode;
mod fields;
mod found;
mod interval;
mod iso;
mod offset;
mod words;

use arrow::datatypes::IntervalMonthDayNano;

use self::decode::Said;
use self::fields::Fields;
use crate::calendar::{FIRST_DAY, LAST_DATE, MICROS_PER_DAY, MICROS_PER_SECOND};
use crate::error::{ErrorKind, SqlError, SqlResult};
use crate::sql_type::IntervalFields;
use crate::style::{IntervalStyle, Reading};

/// What is wrong with a date, time or interval.
#[derive(Debug, PartialEq, Eq)]
enum Fail {
    Syntax,
    Overflow,
    /// The order of day and month may have been meant otherwise.
    DayOrMonth,
    ZoneOverflow,
    UnknownZone(String),
    /// `now` where the statement's time is not known, as in a plan that is kept for later.
    NoClock,
}

/// Days since 1970-01-01.
///
/// # Errors
/// 22007 for what is not a date, 22008 for one that does not exist, 22009 and 22023 for zones that do not exist.
pub(super) fn date(text: &str, reading: Reading) -> SqlResult<i32> {
    if let Some(days) = iso::date(text).and_then(|days| i32::try_from(days).ok()) {
        return Ok(days);
    }
    let said = Fields::split(text).and_then(|fields| decode::moment(&fields, reading));
    let days = match said.map_err(|fail| refusal(fail, "date", text))? {
        Said::At { days, .. } => days,
        Said::Epoch => 0,
        Said::Infinity => return Err(infinite(text)),
    };
    let days = Some(days).filter(|days| (FIRST_DAY..=LAST_DATE).contains(days)).and_then(|days| days.try_into().ok());
    days.ok_or_else(|| SqlError::new(ErrorKind::DatetimeOverflow, format!("date out of range: \"{text}\"")))
}

/// Microseconds since midnight.
///
/// # Errors
/// As [`date`].
pub(super) fn time(text: &str, reading: Reading) -> SqlResult<i64> {
    let time = Fields::split(text).and_then(|fields| decode::time(&fields, reading));
    time.map_err(|fail| refusal(fail, "time", text))
}

/// Microseconds since 1970-01-01T00:00:00; a zone counts only `with_zone`. They end 30 years before PostgreSQL's do,
/// in the year 294247, because PostgreSQL counts from 2000.
///
/// # Errors
/// As [`date`].
pub(super) fn timestamp(text: &str, with_zone: bool, reading: Reading) -> SqlResult<i64> {
    match iso::moment(text) {
        Some((moment, Some(east))) if with_zone => return Ok(moment - east * MICROS_PER_SECOND),
        Some((moment, _)) if !with_zone => return Ok(moment),
        _ => {}
    }
    let name = if with_zone { "timestamp with time zone" } else { "timestamp" };
    let said = Fields::split(text).and_then(|fields| decode::moment(&fields, reading));
    let (days, micros, east) = match said.map_err(|fail| refusal(fail, name, text))? {
        Said::At { days, micros, east } => (days, micros, if with_zone { east } else { 0 }),
        Said::Epoch => (0, 0, 0),
        Said::Infinity => return Err(infinite(text)),
    };
    let begins = FIRST_DAY * MICROS_PER_DAY;
    let day = Some(days).filter(|days| *days >= FIRST_DAY).and_then(|days| days.checked_mul(MICROS_PER_DAY));
    let moment = day.and_then(|day| day.checked_add(micros - east * MICROS_PER_SECOND));
    moment
        .filter(|moment| *moment >= begins)
        .ok_or_else(|| SqlError::new(ErrorKind::DatetimeOverflow, format!("timestamp out of range: \"{text}\"")))
}

/// An interval, of which the declared fields say what a number without a unit counts.
///
/// # Errors
/// 22007 for what is not an interval, 22015 for a part beyond its range, 22008 for an interval beyond its own.
pub(super) fn interval(text: &str, asked: IntervalFields, style: IntervalStyle) -> SqlResult<IntervalMonthDayNano> {
    let sum = match interval::in_words(text, asked, style) {
        Err(Fail::Syntax) => interval::iso(text),
        sum => sum,
    };
    let sum = sum.map_err(|fail| match fail {
        Fail::Overflow => {
            SqlError::new(ErrorKind::IntervalFieldOverflow, format!("interval field value out of range: \"{text}\""))
        }
        fail => refusal(fail, "interval", text),
    })?;
    sum.finish().ok_or_else(|| SqlError::new(ErrorKind::DatetimeOverflow, "interval out of range"))
}

fn refusal(fail: Fail, type_name: &str, text: &str) -> Box<SqlError> {
    let out_of_range = || format!("date/time field value out of range: \"{text}\"");
    match fail {
        Fail::Syntax => SqlError::new(
            ErrorKind::InvalidDatetimeFormat,
            format!("invalid input syntax for type {type_name}: \"{text}\""),
        ),
        Fail::Overflow => SqlError::new(ErrorKind::DatetimeOverflow, out_of_range()),
        Fail::DayOrMonth => SqlError::new(ErrorKind::DatetimeOverflow, out_of_range())
            .with_hint("Perhaps you need a different \"datestyle\" setting."),
        Fail::ZoneOverflow => SqlError::new(
            ErrorKind::InvalidZoneDisplacement,
            format!("time zone displacement out of range: \"{text}\""),
        ),
        Fail::UnknownZone(zone) => {
            SqlError::new(ErrorKind::InvalidParameterValue, format!("time zone \"{zone}\" not recognized"))
        }
        Fail::NoClock => SqlError::not_supported(format!("\"{text}\" as a {type_name} that is kept for later"))
            .with_hint("Use now(), current_date or localtime."),
    }
}

fn infinite(text: &str) -> Box<SqlError> {
    let message = format!("date/time field value out of range: \"{text}\"");
    SqlError::new(ErrorKind::DatetimeOverflow, message).with_detail("The store holds no infinite dates and times.")
}

#[cfg(test)]
mod tests;
