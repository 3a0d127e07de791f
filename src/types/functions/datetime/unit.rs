//! The names of units of time that `extract` and `date_trunc` take.

use crate::error::{ErrorKind, SqlError, SqlResult};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Unit {
    Microsecond,
    Millisecond,
    Second,
    Minute,
    Hour,
    Day,
    Week,
    Month,
    Quarter,
    Year,
    Decade,
    Century,
    Millennium,
    DayOfWeek,
    DayOfYear,
    IsoDayOfWeek,
    IsoYear,
    Julian,
    Epoch,
    Timezone,
    TimezoneHour,
    TimezoneMinute,
}

impl Unit {
    /// `None` for what is not a unit. Only the first ten characters count, as in PostgreSQL.
    pub(super) fn parse(name: &str) -> Option<Self> {
        const LENGTH_MAX: usize = 10;
        let lower: String = name.chars().take(LENGTH_MAX).collect::<String>().to_lowercase();
        Some(match lower.as_str() {
            "us" | "usec" | "usecs" | "usecond" | "useconds" | "microsecon" => Unit::Microsecond,
            "ms" | "msec" | "msecs" | "msecond" | "mseconds" | "millisecon" => Unit::Millisecond,
            "s" | "sec" | "secs" | "second" | "seconds" => Unit::Second,
            "m" | "min" | "mins" | "minute" | "minutes" => Unit::Minute,
            "h" | "hr" | "hrs" | "hour" | "hours" => Unit::Hour,
            "d" | "day" | "days" => Unit::Day,
            "w" | "week" | "weeks" => Unit::Week,
            "mon" | "mons" | "month" | "months" => Unit::Month,
            "qtr" | "quarter" => Unit::Quarter,
            "y" | "yr" | "yrs" | "year" | "years" => Unit::Year,
            "dec" | "decs" | "decade" | "decades" => Unit::Decade,
            "c" | "cent" | "century" | "centuries" => Unit::Century,
            "mil" | "mils" | "millennium" | "millennia" => Unit::Millennium,
            "dow" => Unit::DayOfWeek,
            "doy" => Unit::DayOfYear,
            "isodow" => Unit::IsoDayOfWeek,
            "isoyear" => Unit::IsoYear,
            "julian" => Unit::Julian,
            "epoch" => Unit::Epoch,
            "timezone" => Unit::Timezone,
            "timezone_h" => Unit::TimezoneHour,
            "timezone_m" => Unit::TimezoneMinute,
            _ => return None,
        })
    }
}

/// # Errors
/// 22023 for what is not a unit.
pub(super) fn unit(name: &str, sql_type: &str) -> SqlResult<Unit> {
    Unit::parse(name).ok_or_else(|| unrecognized(name, sql_type))
}

/// It is no unit of this type (22023).
pub(super) fn unrecognized(name: &str, sql_type: &str) -> Box<SqlError> {
    let message = format!("unit \"{}\" not recognized for type {sql_type}", name.to_lowercase());
    SqlError::new(ErrorKind::InvalidParameterValue, message)
}

/// It is a unit, but not of this type (0A000).
pub(super) fn unsupported(name: &str, sql_type: &str) -> Box<SqlError> {
    let message = format!("unit \"{}\" not supported for type {sql_type}", name.to_lowercase());
    SqlError::new(ErrorKind::FeatureNotSupported, message)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn units_have_many_names() {
        assert_eq!(Unit::parse("YEARS"), Some(Unit::Year));
        assert_eq!(Unit::parse("microseconds"), Some(Unit::Microsecond));
        assert_eq!(Unit::parse("timezone_hour"), Some(Unit::TimezoneHour));
        assert_eq!(Unit::parse("fortnight"), None);
    }
}
