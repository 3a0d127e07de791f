//! Arithmetic of dates, times and timestamps. Days of a timestamp are of 24 hours; those of a moment, with time zone, are
//! as long as they are in the session's zone.

use arrow::array::ArrayRef;
use arrow::datatypes::{
    DataType, Date32Type, Int32Type, IntervalMonthDayNano, IntervalMonthDayNanoType, Time64MicrosecondType,
    TimestampMicrosecondType,
};
use chrono::{Datelike, Months, NaiveDate};
use tablegate_types::calendar::{MICROS_PER_DAY, Zone};
use tablegate_types::error::{ErrorKind, SqlError, SqlResult};

use super::{Kernel, Operands};

pub(crate) static DATE_ADD_DAYS: Kernel = Kernel {
    name: "date_add_days",
    evaluate: |o, _| o.zip::<Date32Type, Int32Type, Date32Type>(|date, days| valid_date(date.checked_add(days))),
};
pub(crate) static DATE_SUBTRACT_DAYS: Kernel = Kernel {
    name: "date_subtract_days",
    evaluate: |o, _| o.zip::<Date32Type, Int32Type, Date32Type>(|date, days| valid_date(date.checked_sub(days))),
};
pub(crate) static DATE_SUBTRACT: Kernel = Kernel {
    name: "date_subtract",
    evaluate: |o, _| o.zip_all::<Date32Type, Date32Type, Int32Type>(i32::wrapping_sub),
};
pub(crate) static DATE_ADD_TIME: Kernel = Kernel {
    name: "date_add_time",
    evaluate: |o, _| {
        o.zip::<Date32Type, Time64MicrosecondType, TimestampMicrosecondType>(|date, time| {
            valid_timestamp(midnight(date)?.checked_add(time))
        })
    },
};
pub(crate) static DATE_ADD_INTERVAL: Kernel = Kernel {
    name: "date_add_interval",
    evaluate: |o, _| {
        o.zip::<Date32Type, IntervalMonthDayNanoType, TimestampMicrosecondType>(|date, by| shifted(midnight(date)?, by))
    },
};
pub(crate) static DATE_SUBTRACT_INTERVAL: Kernel = Kernel {
    name: "date_subtract_interval",
    evaluate: |o, _| {
        o.zip::<Date32Type, IntervalMonthDayNanoType, TimestampMicrosecondType>(|date, by| {
            shifted(midnight(date)?, negated(by)?)
        })
    },
};
pub(crate) static TIMESTAMP_ADD_INTERVAL: Kernel =
    Kernel { name: "timestamp_add_interval", evaluate: |o, t| timestamps(o, t, shifted) };
pub(crate) static TIMESTAMP_SUBTRACT_INTERVAL: Kernel = Kernel {
    name: "timestamp_subtract_interval",
    evaluate: |o, t| timestamps(o, t, |timestamp, by| shifted(timestamp, negated(by)?)),
};
/// Days and the rest of a day.
pub(crate) static TIMESTAMP_SUBTRACT: Kernel = Kernel {
    name: "timestamp_subtract",
    evaluate: |o, _| {
        o.zip::<TimestampMicrosecondType, TimestampMicrosecondType, IntervalMonthDayNanoType>(|left, right| {
            let micros = left.checked_sub(right).ok_or_else(interval_out_of_range)?;
            let days = i32::try_from(micros / MICROS_PER_DAY).map_err(|_| interval_out_of_range())?;
            Ok(IntervalMonthDayNano::new(0, days, micros % MICROS_PER_DAY * NANOS_PER_MICRO))
        })
    },
};
pub(crate) static TIME_SUBTRACT: Kernel = Kernel {
    name: "time_subtract",
    evaluate: |o, _| {
        o.zip_all::<Time64MicrosecondType, Time64MicrosecondType, IntervalMonthDayNanoType>(|left, right| {
            IntervalMonthDayNano::new(0, 0, (left - right) * NANOS_PER_MICRO)
        })
    },
};
pub(crate) static TIME_ADD_INTERVAL: Kernel = Kernel {
    name: "time_add_interval",
    evaluate: |o, _| {
        o.zip_all::<Time64MicrosecondType, IntervalMonthDayNanoType, Time64MicrosecondType>(|time, by| {
            (time + by.nanoseconds / NANOS_PER_MICRO).rem_euclid(MICROS_PER_DAY)
        })
    },
};
pub(crate) static TIME_SUBTRACT_INTERVAL: Kernel = Kernel {
    name: "time_subtract_interval",
    evaluate: |o, _| {
        o.zip_all::<Time64MicrosecondType, IntervalMonthDayNanoType, Time64MicrosecondType>(|time, by| {
            (time - by.nanoseconds / NANOS_PER_MICRO).rem_euclid(MICROS_PER_DAY)
        })
    },
};

const NANOS_PER_MICRO: i64 = 1_000;
/// 4714-11-24 BC, the first day PostgreSQL has, in days since 1970.
const FIRST_DATE: i32 = -2_440_588;
/// The day after the last one, in the year 5874897.
const DATES_END: i32 = 2_145_042_906;
/// The first moment of the first day.
const FIRST_TIMESTAMP: i64 = FIRST_DATE as i64 * MICROS_PER_DAY;
/// 1970-01-01, counted from the first day of the year 1.
const UNIX_EPOCH_DAY: i32 = 719_163;

/// With and without a time zone: the result has the type of the first operand.
fn timestamps(
    operands: &Operands<'_>,
    result: &arrow::datatypes::DataType,
    compute: impl Fn(i64, IntervalMonthDayNano) -> SqlResult<i64>,
) -> SqlResult<ArrayRef> {
    let is_moment = matches!(result, DataType::Timestamp(_, Some(_)));
    let zone = if is_moment { operands.moments().style().zone } else { Zone::UTC };
    let values = if zone == Zone::UTC {
        operands.zip::<TimestampMicrosecondType, IntervalMonthDayNanoType, TimestampMicrosecondType>(compute)?
    } else {
        operands.zip::<TimestampMicrosecondType, IntervalMonthDayNanoType, TimestampMicrosecondType>(|moment, by| {
            let months = IntervalMonthDayNano::new(by.months, 0, 0);
            let days = IntervalMonthDayNano::new(0, by.days, 0);
            let mut moved = moment;
            // Each on its own: the months may lead to a local time that there is not, from which the days are counted.
            for part in [months, days] {
                if part != IntervalMonthDayNano::ZERO {
                    moved = zone.to_utc(compute(zone.to_local(moved)?, part)?)?;
                }
            }
            compute(moved, IntervalMonthDayNano::new(0, 0, by.nanoseconds))
        })?
    };
    Ok(arrow::compute::cast(&values, result)?)
}

fn midnight(date: i32) -> SqlResult<i64> {
    i64::from(date)
        .checked_mul(MICROS_PER_DAY)
        .ok_or_else(|| SqlError::new(ErrorKind::DatetimeOverflow, "date out of range for timestamp"))
}

fn negated(interval: IntervalMonthDayNano) -> SqlResult<IntervalMonthDayNano> {
    let negated = || {
        let (months, days) = (interval.months.checked_neg()?, interval.days.checked_neg()?);
        Some(IntervalMonthDayNano::new(months, days, interval.nanoseconds.checked_neg()?))
    };
    negated().ok_or_else(interval_out_of_range)
}

/// Months first, to the last day of a shorter month; then days, then the time.
fn shifted(timestamp: i64, by: IntervalMonthDayNano) -> SqlResult<i64> {
    let shifted = || {
        let (day, time) = (timestamp.div_euclid(MICROS_PER_DAY), timestamp.rem_euclid(MICROS_PER_DAY));
        let day = i64::from(day_after_months(i32::try_from(day).ok()?, by.months)?).checked_add(by.days.into())?;
        day.checked_mul(MICROS_PER_DAY)?.checked_add(time)?.checked_add(by.nanoseconds / NANOS_PER_MICRO)
    };
    valid_timestamp(shifted())
}

fn day_after_months(day: i32, months: i32) -> Option<i32> {
    if months == 0 {
        return Some(day);
    }
    let date = NaiveDate::from_num_days_from_ce_opt(day.checked_add(UNIX_EPOCH_DAY)?)?;
    let count = Months::new(months.unsigned_abs());
    let date = if months < 0 { date.checked_sub_months(count)? } else { date.checked_add_months(count)? };
    date.num_days_from_ce().checked_sub(UNIX_EPOCH_DAY)
}

fn valid_date(date: Option<i32>) -> SqlResult<i32> {
    date.filter(|date| (FIRST_DATE..DATES_END).contains(date))
        .ok_or_else(|| SqlError::new(ErrorKind::DatetimeOverflow, "date out of range"))
}

fn valid_timestamp(timestamp: Option<i64>) -> SqlResult<i64> {
    timestamp
        .filter(|timestamp| *timestamp >= FIRST_TIMESTAMP)
        .ok_or_else(|| SqlError::new(ErrorKind::DatetimeOverflow, "timestamp out of range"))
}

fn interval_out_of_range() -> Box<SqlError> {
    SqlError::new(ErrorKind::DatetimeOverflow, "interval out of range")
}

#[cfg(test)]
mod tests {
    use super::*;
    use datafusion::common::ScalarValue;
    use tablegate_types::input::parse_text;
    use tablegate_types::sql_type::SqlType;

    fn timestamp(text: &str) -> i64 {
        match parse_text(&SqlType::Timestamp, text).unwrap() {
            ScalarValue::TimestampMicrosecond(Some(micros), _) => micros,
            other => panic!("{other:?}"),
        }
    }

    fn interval(text: &str) -> IntervalMonthDayNano {
        match parse_text(&SqlType::Interval, text).unwrap() {
            ScalarValue::IntervalMonthDayNano(Some(interval)) => interval,
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn months_end_where_the_month_ends() {
        for (from, by, to) in [
            ("2020-01-31", "1 month", "2020-02-29"),
            ("2021-01-31 10:00", "1 month 1 day 02:00", "2021-03-01 12:00"),
            ("2020-02-29", "-1 year", "2019-02-28"),
            ("2020-03-01", "-1 day -00:00:01", "2020-02-28 23:59:59"),
            ("1969-12-31 23:59:59", "00:00:01", "1970-01-01"),
        ] {
            assert_eq!(shifted(timestamp(from), interval(by)).unwrap(), timestamp(to), "{from} + {by}");
        }
    }

    #[test]
    fn what_is_beyond_the_calendar_is_refused() {
        let message = |from: &str, by: &str| shifted(timestamp(from), interval(by)).unwrap_err().message;
        assert_eq!(message("2020-01-01", "1000000 years"), "timestamp out of range");
        assert_eq!(message("2020-01-01", "-8000 years"), "timestamp out of range");
        assert_eq!(valid_date(DATES_END.checked_add(0)).unwrap_err().message, "date out of range");
    }
}
