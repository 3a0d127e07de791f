//! Times, timestamps and intervals with fewer digits of their seconds, as `timestamp(3)` has them.

use std::sync::Arc;

use arrow::array::{Array, ArrayRef, AsArray};
use arrow::datatypes::{
    DataType, Int32Type, IntervalMonthDayNano, IntervalMonthDayNanoType, IntervalUnit, Time64MicrosecondType, TimeUnit,
    TimestampMicrosecondType,
};

use super::{Kernel, Operands};
use crate::sql::error::{ErrorKind, SqlError, SqlResult};

/// The first operand with as many digits as the second says.
pub static ROUND_TIME: Kernel = Kernel { name: "round_time", evaluate: |operands, _| rounded(operands) };

/// Digits of a microsecond.
const MOST_DIGITS: u32 = 6;
const NANOS_PER_MICRO: i64 = 1_000;
/// PostgreSQL counts from 2000-01-01, and rounds away from there.
const EPOCH: i64 = 946_684_800_000_000;

fn rounded(operands: &Operands<'_>) -> SqlResult<ArrayRef> {
    let (values, digits) = (operands.get(0)?, operands.get(1)?);
    let digits = digits.primitive::<Int32Type>()?;
    let digits = if digits.is_empty() || digits.is_null(0) { 0 } else { digits.value(0) };
    let unit = 10_i64.pow(MOST_DIGITS.saturating_sub(u32::try_from(digits).unwrap_or(0)));
    let array = values.array;
    Ok(match array.data_type() {
        DataType::Time64(TimeUnit::Microsecond) => Arc::new(
            array.as_primitive::<Time64MicrosecondType>().unary::<_, Time64MicrosecondType>(|t| nearest(t, unit)),
        ),
        DataType::Timestamp(TimeUnit::Microsecond, zone) => {
            let timestamps = array.as_primitive::<TimestampMicrosecondType>();
            let rounded = timestamps.unary::<_, TimestampMicrosecondType>(|t| nearest(t - EPOCH, unit) + EPOCH);
            Arc::new(rounded.with_timezone_opt(zone.clone()))
        }
        DataType::Interval(IntervalUnit::MonthDayNano) => {
            let intervals = array.as_primitive::<IntervalMonthDayNanoType>();
            Arc::new(intervals.unary::<_, IntervalMonthDayNanoType>(|interval| {
                let micros = nearest(interval.nanoseconds / NANOS_PER_MICRO, unit);
                IntervalMonthDayNano::new(interval.months, interval.days, micros * NANOS_PER_MICRO)
            }))
        }
        other => return Err(SqlError::new(ErrorKind::Internal, format!("{other} has no digits of seconds"))),
    })
}

/// The nearest multiple, halves away from zero.
fn nearest(value: i64, unit: i64) -> i64 {
    let half = unit / 2;
    (if value < 0 { value.saturating_sub(half) } else { value.saturating_add(half) }) / unit * unit
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn halves_go_away_from_zero() {
        assert_eq!(nearest(1_500, 1_000), 2_000);
        assert_eq!(nearest(1_499, 1_000), 1_000);
        assert_eq!(nearest(-1_500, 1_000), -2_000);
        assert_eq!(nearest(7, 1), 7);
    }
}
