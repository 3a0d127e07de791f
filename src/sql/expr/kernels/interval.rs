//! Arithmetic of intervals, which are months, days and a time of any length, each on its own.

use std::sync::Arc;

use arrow::array::{ArrayRef, AsArray, PrimitiveArray};
use arrow::datatypes::{Decimal128Type, Float64Type, IntervalMonthDayNano, IntervalMonthDayNanoType};
use tablegate_types::error::{ErrorKind, SqlError, SqlResult};

use super::Kernel;

pub(crate) static INTERVAL_ADD: Kernel = Kernel {
    name: "interval_add",
    evaluate: |o, _| {
        o.zip::<IntervalMonthDayNanoType, IntervalMonthDayNanoType, IntervalMonthDayNanoType>(|left, right| {
            by_part(left, right, i32::checked_add, i64::checked_add)
        })
    },
};
pub(crate) static INTERVAL_SUBTRACT: Kernel = Kernel {
    name: "interval_subtract",
    evaluate: |o, _| {
        o.zip::<IntervalMonthDayNanoType, IntervalMonthDayNanoType, IntervalMonthDayNanoType>(|left, right| {
            by_part(left, right, i32::checked_sub, i64::checked_sub)
        })
    },
};
pub(crate) static INTERVAL_NEGATE: Kernel = Kernel {
    name: "interval_negate",
    evaluate: |o, _| {
        o.map::<IntervalMonthDayNanoType, IntervalMonthDayNanoType>(|interval| {
            by_part(IntervalMonthDayNano::ZERO, interval, i32::checked_sub, i64::checked_sub)
        })
    },
};
pub(crate) static INTERVAL_MULTIPLY: Kernel = Kernel {
    name: "interval_multiply",
    evaluate: |o, _| {
        o.zip::<IntervalMonthDayNanoType, Float64Type, IntervalMonthDayNanoType>(|interval, factor| {
            scaled(interval, |part| part * factor)
        })
    },
};
pub(crate) static INTERVAL_DIVIDE: Kernel = Kernel {
    name: "interval_divide",
    evaluate: |o, _| {
        o.zip::<IntervalMonthDayNanoType, Float64Type, IntervalMonthDayNanoType>(|interval, divisor| {
            if divisor == 0.0 {
                return Err(SqlError::new(ErrorKind::DivisionByZero, "division by zero"));
            }
            scaled(interval, |part| part / divisor)
        })
    },
};
/// Microseconds, with 30 days to a month: intervals are compared by it.
pub(crate) static INTERVAL_SPAN: Kernel = Kernel { name: "interval_span", evaluate: |o, _| spans(&o.get(0)?.array) };

/// Digits of the longest interval in microseconds.
pub(crate) const SPAN_DIGITS: (u8, i8) = (38, 0);
const DAYS_PER_MONTH: i128 = 30;
const MICROS_PER_DAY: i128 = 86_400_000_000;
const NANOS_PER_MICRO: i64 = 1_000;
const SECONDS_PER_DAY: f64 = 86_400.0;
const MICROS_PER_SECOND: f64 = 1e6;

/// The lengths of intervals.
///
/// # Errors
/// XX000 when they are none.
pub(super) fn spans(intervals: &ArrayRef) -> SqlResult<ArrayRef> {
    let Some(intervals) = intervals.as_primitive_opt::<IntervalMonthDayNanoType>() else {
        return Err(SqlError::new(ErrorKind::Internal, "an interval is something else"));
    };
    let spans: PrimitiveArray<Decimal128Type> = intervals.unary(|interval| {
        let days = i128::from(interval.months) * DAYS_PER_MONTH + i128::from(interval.days);
        days * MICROS_PER_DAY + i128::from(interval.nanoseconds / NANOS_PER_MICRO)
    });
    let (precision, scale) = SPAN_DIGITS;
    Ok(Arc::new(spans.with_precision_and_scale(precision, scale)?))
}

pub(super) fn by_part(
    left: IntervalMonthDayNano,
    right: IntervalMonthDayNano,
    short: fn(i32, i32) -> Option<i32>,
    long: fn(i64, i64) -> Option<i64>,
) -> SqlResult<IntervalMonthDayNano> {
    let parts = || {
        let (months, days) = (short(left.months, right.months)?, short(left.days, right.days)?);
        Some(IntervalMonthDayNano::new(months, days, long(left.nanoseconds, right.nanoseconds)?))
    };
    parts().ok_or_else(out_of_range)
}

/// Each part scaled; what is left of a month goes to the days, and what is left of a day to the time (`interval_mul`).
pub(super) fn scaled(interval: IntervalMonthDayNano, scale: impl Fn(f64) -> f64) -> SqlResult<IntervalMonthDayNano> {
    let (months, days) = (scale(interval.months.into()), scale(interval.days.into()));
    let (whole_months, whole_days) = (whole(months)?, whole(days)?);
    let month_days = rounded((months - f64::from(whole_months)) * 30.0);
    let whole_month_days = whole(month_days)?;
    let mut seconds =
        rounded((days - f64::from(whole_days) + month_days - f64::from(whole_month_days)) * SECONDS_PER_DAY);
    let mut days = whole_days.checked_add(whole_month_days).ok_or_else(out_of_range)?;
    if seconds.abs() >= SECONDS_PER_DAY {
        let more = whole(seconds / SECONDS_PER_DAY)?;
        days = days.checked_add(more).ok_or_else(out_of_range)?;
        seconds -= f64::from(more) * SECONDS_PER_DAY;
    }
    #[expect(clippy::cast_precision_loss, reason = "PostgreSQL computes the time in double precision too")]
    let time = (interval.nanoseconds / NANOS_PER_MICRO) as f64;
    let micros = (scale(time) + seconds * MICROS_PER_SECOND).round_ties_even();
    const LIMIT: f64 = (i64::MAX / NANOS_PER_MICRO) as f64;
    if micros.is_nan() || micros.abs() >= LIMIT {
        return Err(out_of_range());
    }
    #[expect(clippy::cast_possible_truncation, reason = "whole and within the limit")]
    let micros = micros as i64;
    Ok(IntervalMonthDayNano::new(whole_months, days, micros * NANOS_PER_MICRO))
}

/// Without its fraction.
fn whole(value: f64) -> SqlResult<i32> {
    if value.is_nan() || value > f64::from(i32::MAX) || value < f64::from(i32::MIN) {
        return Err(out_of_range());
    }
    #[expect(clippy::cast_possible_truncation, reason = "the fraction is what is cut")]
    Ok(value as i32)
}

/// To microseconds, where the value is in seconds.
fn rounded(value: f64) -> f64 {
    (value * MICROS_PER_SECOND).round_ties_even() / MICROS_PER_SECOND
}

fn out_of_range() -> Box<SqlError> {
    SqlError::new(ErrorKind::DatetimeOverflow, "interval out of range")
}

#[cfg(test)]
mod tests {
    use super::*;
    use datafusion::common::ScalarValue;
    use tablegate_types::input::parse_text;
    use tablegate_types::sql_type::SqlType;

    fn interval(text: &str) -> IntervalMonthDayNano {
        match parse_text(&SqlType::Interval, text).unwrap() {
            ScalarValue::IntervalMonthDayNano(Some(interval)) => interval,
            other => panic!("{other:?}"),
        }
    }

    /// Each was asked of PostgreSQL 15.
    #[test]
    fn fractions_go_to_the_smaller_unit() {
        for (from, factor, to) in [
            ("1 mon 3 days 04:00", 1.5, "1 mon 19 days 18:00:00"),
            ("1 day", 0.3, "07:12:00"),
            ("1 year", 0.1, "1 mon 6 days"),
            ("-1 mon", 0.5, "-15 days"),
        ] {
            assert_eq!(scaled(interval(from), |part| part * factor).unwrap(), interval(to), "{from} * {factor}");
        }
        assert_eq!(
            scaled(interval("1 year 1 mon"), |part| part / 7.0).unwrap(),
            interval("1 mon 25 days 17:08:34.3104")
        );
    }

    #[test]
    fn results_out_of_range_are_refused() {
        assert!(scaled(interval("1 day"), |part| part * 1e10).is_err());
        assert!(scaled(interval("1 day"), |_| f64::NAN).is_err());
        assert!(by_part(interval("178956970 years"), interval("1 year"), i32::checked_add, i64::checked_add).is_err());
    }
}
