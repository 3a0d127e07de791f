//! `make_date` and its relatives: dates, times and intervals from their fields.

use arrow::array::ArrayRef;
use arrow::datatypes::{
    Date32Type, Float64Type, Int32Type, IntervalMonthDayNano, IntervalMonthDayNanoType, Time64MicrosecondType,
    TimestampMicrosecondType,
};

use super::civil::{Date, MICROS_PER_HOUR, MICROS_PER_MINUTE, Moment, date_of_days, interval_out_of_range};
use crate::calendar::{MICROS_PER_DAY, Zone, days_in_month};
use crate::error::{ErrorKind, SqlError, SqlResult};
use crate::functions::call::Call;
use crate::functions::signature::Overload;
use crate::functions::signature::Type::{
    self, Date as DateType, Float8, Int4, Interval, Text, Time, Timestamp, Timestamptz,
};

const FIELDS: &[Type] = &[Int4, Int4, Int4, Int4, Int4, Float8];
const INTERVAL_FIELDS: &[Type] = &[Int4, Int4, Int4, Int4, Int4, Int4, Float8];

pub(super) const FUNCTIONS: &[Overload] = &[
    Overload::new("make_date", &[Int4, Int4, Int4], DateType, |call| {
        let fields = Fields::of(call, 3)?;
        call.numbers::<Date32Type>(|row| date_of_days(fields.date(row)?.days()))
    }),
    Overload::new("make_time", &[Int4, Int4, Float8], Time, |call| {
        let fields = Fields::of(call, 2)?;
        let seconds = call.primitive::<Float64Type>(2)?;
        call.numbers::<Time64MicrosecondType>(|row| {
            time(fields.at(0, row).into(), fields.at(1, row).into(), seconds.at(row))
        })
    }),
    Overload::new("make_timestamp", FIELDS, Timestamp, |call| {
        let fields = Fields::of(call, 5)?;
        call.numbers::<TimestampMicrosecondType>(|row| fields.moment(call, row)?.timestamp())
    }),
    Overload::new("make_timestamptz", FIELDS, Timestamptz, |call| {
        let fields = Fields::of(call, 5)?;
        let zone = call.style().zone;
        call.numbers::<TimestampMicrosecondType>(|row| zone.to_utc(fields.moment(call, row)?.timestamp()?))
    })
    .stable(),
    Overload::new("make_timestamptz", &[Int4, Int4, Int4, Int4, Int4, Float8, Text], Timestamptz, |call| {
        let fields = Fields::of(call, 5)?;
        let zones = call.text(6)?;
        call.numbers::<TimestampMicrosecondType>(|row| {
            zone(zones.at(row))?.to_utc(fields.moment(call, row)?.timestamp()?)
        })
    })
    .stable(),
    Overload::new("make_interval", &[], Interval, make_interval),
    Overload::new("make_interval", &[Int4], Interval, make_interval),
    Overload::new("make_interval", &[Int4, Int4], Interval, make_interval),
    Overload::new("make_interval", &[Int4, Int4, Int4], Interval, make_interval),
    Overload::new("make_interval", &[Int4, Int4, Int4, Int4], Interval, make_interval),
    Overload::new("make_interval", &[Int4, Int4, Int4, Int4, Int4], Interval, make_interval),
    Overload::new("make_interval", &[Int4, Int4, Int4, Int4, Int4, Int4], Interval, make_interval),
    Overload::new("make_interval", INTERVAL_FIELDS, Interval, make_interval),
];

/// The zone of a name, or of hours east of UTC: unlike elsewhere `+5` is east.
///
/// # Errors
/// 22023 for a zone that is not known, and for hours without a sign.
fn zone(name: &str) -> SqlResult<Zone> {
    if name.starts_with(|first: char| first.is_ascii_digit()) {
        let message = format!("invalid input syntax for type numeric time zone: \"{name}\"");
        return Err(SqlError::new(ErrorKind::InvalidParameterValue, message)
            .with_hint("Numeric time zones must have \"-\" or \"+\" as first character."));
    }
    Ok(match Zone::parse(name)? {
        Zone::Fixed(west) if name.starts_with(['+', '-']) => Zone::Fixed(-west),
        zone => zone,
    })
}

/// The integer arguments a call begins with.
struct Fields<'a> {
    columns: Vec<crate::functions::call::Values<'a, arrow::array::Int32Array>>,
}

impl<'a> Fields<'a> {
    fn of(call: &'a Call, count: usize) -> SqlResult<Self> {
        let columns = (0..count).map(|index| call.primitive::<Int32Type>(index)).collect::<SqlResult<_>>()?;
        Ok(Self { columns })
    }

    /// A field that is not given is 0.
    fn at(&self, index: usize, row: usize) -> i32 {
        self.columns.get(index).map_or(0, |column| column.at(row))
    }

    /// A negative year is one before Christ.
    fn date(&self, row: usize) -> SqlResult<Date> {
        let [year, month, day] = [0, 1, 2].map(|index| i64::from(self.at(index, row)));
        let date = Date { year: if year < 0 { year + 1 } else { year }, month, day };
        if year == 0 || !(1..=12).contains(&month) || day < 1 || day > days_in_month(date.year, month) {
            let message = format!("date field value out of range: {year}-{month:02}-{day:02}");
            return Err(SqlError::new(ErrorKind::DatetimeOverflow, message));
        }
        Ok(date)
    }

    fn moment(&self, call: &Call, row: usize) -> SqlResult<Moment> {
        let seconds = call.primitive::<Float64Type>(5)?.at(row);
        let date = self.date(row)?;
        Ok(Moment { date, micros: time(self.at(3, row).into(), self.at(4, row).into(), seconds)? })
    }
}

/// Microseconds since midnight, which may be those of the midnight at the end.
fn time(hour: i64, minute: i64, second: f64) -> SqlResult<i64> {
    const SECONDS_MAX: f64 = 60.0;
    let micros = micros_of(second).filter(|_| (0.0..=SECONDS_MAX).contains(&second));
    let fits = (0..=24).contains(&hour) && (0..=59).contains(&minute);
    let time = micros.map(|micros| hour * MICROS_PER_HOUR + minute * MICROS_PER_MINUTE + micros);
    time.filter(|time| fits && *time <= MICROS_PER_DAY).ok_or_else(|| {
        let message = format!("time field value out of range: {hour}:{minute:02}:{second:02}");
        SqlError::new(ErrorKind::DatetimeOverflow, message)
    })
}

/// The nearest number of microseconds.
pub(in crate::functions) fn micros_of(seconds: f64) -> Option<i64> {
    const LIMIT: f64 = 9.2e18;
    let micros = (seconds * 1e6).round_ties_even();
    #[expect(clippy::cast_possible_truncation, reason = "whole, and the range is checked")]
    (micros.abs() < LIMIT).then_some(micros as i64)
}

fn make_interval(call: &Call) -> SqlResult<ArrayRef> {
    let fields = Fields::of(call, call.arguments.len().min(6))?;
    let seconds = call.maybe_values::<arrow::array::Float64Array>(6)?;
    call.numbers::<IntervalMonthDayNanoType>(|row| {
        let field = |index| i64::from(fields.at(index, row));
        let micros = seconds.map_or(Some(0), |seconds| micros_of(seconds.at(row)));
        let time = field(4) * MICROS_PER_HOUR + field(5) * MICROS_PER_MINUTE;
        let nanos = micros.and_then(|micros| micros.checked_add(time)).and_then(|micros| micros.checked_mul(1_000));
        let months = i32::try_from(field(0) * 12 + field(1)).ok();
        let days = i32::try_from(field(2) * 7 + field(3)).ok();
        match (months, days, nanos) {
            (Some(months), Some(days), Some(nanos)) => Ok(IntervalMonthDayNano::new(months, days, nanos)),
            _ => Err(interval_out_of_range()),
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_end_with_midnight() {
        assert_eq!(time(8, 15, 23.5).unwrap(), 29_723_500_000);
        assert_eq!(time(23, 59, 60.0).unwrap(), MICROS_PER_DAY);
        for (hour, minute, second) in [(24, 0, 1.0), (25, 0, 0.0), (10, 55, 100.1), (1, 60, 0.0), (0, 0, -1.0)] {
            assert_eq!(time(hour, minute, second).unwrap_err().kind, ErrorKind::DatetimeOverflow);
        }
        assert_eq!(time(10, 55, 100.1).unwrap_err().message, "time field value out of range: 10:55:100.1");
    }
}
