//! The current moment: of the transaction, of the statement, of the clock.

use std::fmt::Write as _;

use arrow::array::ArrayRef;
use arrow::datatypes::{Date32Type, Time64MicrosecondType, TimestampMicrosecondType};

use super::civil::date_of_days;
use crate::calendar::MICROS_PER_DAY;
use crate::error::{ErrorKind, SqlError, SqlResult};
use crate::functions::call::Call;
use crate::functions::signature::Overload;
use crate::functions::signature::Type::{Bool, Date, Int4, Interval, Text, Time, Timestamp, Timestamptz};

pub(super) const FUNCTIONS: &[Overload] = &[
    Overload::new("now", &[], Timestamptz, transaction).stable(),
    Overload::new("transaction_timestamp", &[], Timestamptz, transaction).stable(),
    Overload::new("statement_timestamp", &[], Timestamptz, |call| {
        call.numbers::<TimestampMicrosecondType>(|_| Ok(call.moments.statement()))
    })
    .stable(),
    Overload::new("clock_timestamp", &[], Timestamptz, |call| {
        call.numbers::<TimestampMicrosecondType>(|_| Ok(call.moments.clock()))
    })
    .volatile(),
    Overload::new("timeofday", &[], Text, |call| {
        call.texts(|_, out| {
            let (now, zone) = (call.moments.clock(), call.style().zone);
            let local = chrono::DateTime::from_timestamp_micros(zone.to_local(now)?).unwrap_or_default();
            zone.with_abbreviation(now, |name| {
                let name = name.unwrap_or_default();
                // Writing to memory does not fail.
                let _ = write!(out, "{} {name}", local.format("%a %b %d %H:%M:%S%.6f %Y"));
            });
            Ok(())
        })
    })
    .volatile(),
    // What follows is syntax in PostgreSQL: words without parentheses, or with a number of digits.
    Overload::new("current_timestamp", &[], Timestamptz, transaction).stable(),
    Overload::new("current_timestamp", &[Int4], Timestamptz, transaction).stable(),
    Overload::new("localtimestamp", &[], Timestamp, local).stable(),
    Overload::new("localtimestamp", &[Int4], Timestamp, local).stable(),
    Overload::new("current_date", &[], Date, |call| {
        call.numbers::<Date32Type>(|_| {
            date_of_days(call.style().zone.to_local(call.moments.transaction())?.div_euclid(MICROS_PER_DAY))
        })
    })
    .stable(),
    Overload::new("localtime", &[], Time, time).stable(),
    Overload::new("localtime", &[Int4], Time, time).stable(),
    Overload::new("current_time", &[], Time, without_zone).stable(),
    Overload::new("current_time", &[Int4], Time, without_zone).stable(),
    // Infinity is not stored, so whatever there is, is finite.
    Overload::new("isfinite", &[Date], Bool, |call| call.booleans(|_| Ok(true))),
    Overload::new("isfinite", &[Timestamp], Bool, |call| call.booleans(|_| Ok(true))),
    Overload::new("isfinite", &[Timestamptz], Bool, |call| call.booleans(|_| Ok(true))),
    Overload::new("isfinite", &[Interval], Bool, |call| call.booleans(|_| Ok(true))),
];

/// The moment with so many digits behind the point of its second.
fn rounded(call: &Call, row: usize) -> SqlResult<i64> {
    const DIGITS_MAX: u32 = 6;
    let micros = call.moments.transaction();
    let Some(digits) = call.maybe_values::<arrow::array::Int32Array>(0)? else { return Ok(micros) };
    let digits = u32::try_from(digits.at(row)).map_err(|_| {
        let message = "TIMESTAMP precision must not be negative";
        SqlError::new(ErrorKind::InvalidParameterValue, message)
    })?;
    let unit = 10_i64.pow(DIGITS_MAX - digits.min(DIGITS_MAX));
    Ok((micros + unit / 2).div_euclid(unit) * unit)
}

fn transaction(call: &Call) -> SqlResult<ArrayRef> {
    call.numbers::<TimestampMicrosecondType>(|row| rounded(call, row))
}

/// On the session's clock.
fn local(call: &Call) -> SqlResult<ArrayRef> {
    call.numbers::<TimestampMicrosecondType>(|row| call.style().zone.to_local(rounded(call, row)?))
}

fn time(call: &Call) -> SqlResult<ArrayRef> {
    let zone = call.style().zone;
    call.numbers::<Time64MicrosecondType>(|row| Ok(zone.to_local(rounded(call, row)?)?.rem_euclid(MICROS_PER_DAY)))
}

fn without_zone(_: &Call) -> SqlResult<ArrayRef> {
    Err(SqlError::not_supported("current_time, of type time with time zone,").with_hint("Use localtime."))
}
