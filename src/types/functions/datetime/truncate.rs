//! `date_trunc` and `date_bin`: timestamps and intervals cut down to a unit or to a multiple of a stride.

use arrow::array::ArrayRef;
use arrow::datatypes::{IntervalMonthDayNanoType, TimestampMicrosecondType};

use super::civil::{
    Date, MICROS_PER_HOUR, MICROS_PER_MINUTE, MICROS_PER_SECOND, Moment, interval_out_of_range, timestamp_out_of_range,
};
use super::interval::Parts;
use super::unit::{Unit, unit, unrecognized, unsupported};
use crate::calendar::{MICROS_PER_DAY, Zone};
use crate::error::{ErrorKind, SqlError, SqlResult};
use crate::functions::call::Call;
use crate::functions::signature::Overload;
use crate::functions::signature::Type::{Interval, Text, Timestamp, Timestamptz};

pub(super) const FUNCTIONS: &[Overload] = &[
    Overload::new("date_trunc", &[Text, Timestamptz], Timestamptz, |call| in_zone(call, |_| Ok(call.style().zone)))
        .stable(),
    Overload::new("date_trunc", &[Text, Timestamp], Timestamp, |call| timestamps(call, "timestamp without time zone")),
    Overload::new("date_trunc", &[Text, Timestamptz, Text], Timestamptz, |call| {
        let zones = call.text(2)?;
        in_zone(call, |row| Zone::parse(zones.at(row)))
    })
    .stable(),
    Overload::new("date_trunc", &[Text, Interval], Interval, intervals),
    Overload::new("date_bin", &[Interval, Timestamp, Timestamp], Timestamp, bins),
    Overload::new("date_bin", &[Interval, Timestamptz, Timestamptz], Timestamptz, bins),
];

fn timestamps(call: &Call, sql_type: &str) -> SqlResult<ArrayRef> {
    let (units, values) = (call.text(0)?, call.primitive::<TimestampMicrosecondType>(1)?);
    let constant = units.constant().map(|name| unit(name, sql_type)).transpose()?;
    call.numbers::<TimestampMicrosecondType>(|row| {
        let name = units.at(row);
        let unit = constant.map_or_else(|| unit(name, sql_type), Ok)?;
        truncate(values.at(row), unit).unwrap_or_else(|| Err(refused(unit, name, sql_type)))
    })
}

fn in_zone(call: &Call, zone: impl Fn(usize) -> SqlResult<Zone>) -> SqlResult<ArrayRef> {
    let (units, values) = (call.text(0)?, call.primitive::<TimestampMicrosecondType>(1)?);
    let sql_type = "timestamp with time zone";
    call.numbers::<TimestampMicrosecondType>(|row| {
        let (name, zone, value) = (units.at(row), zone(row)?, values.at(row));
        let unit = unit(name, sql_type)?;
        let local = zone.to_local(value)?;
        let cut = truncate(local, unit).unwrap_or_else(|| Err(refused(unit, name, sql_type)))?;
        if matches!(unit, Unit::Hour | Unit::Minute | Unit::Second | Unit::Millisecond | Unit::Microsecond) {
            // The offset of the moment itself: an hour that there is twice stays the one it was.
            return cut.checked_sub(local - value).ok_or_else(timestamp_out_of_range);
        }
        zone.to_utc(cut)
    })
}

/// A unit that is not cut down to.
fn refused(unit: Unit, name: &str, sql_type: &str) -> Box<SqlError> {
    if matches!(unit, Unit::Timezone | Unit::TimezoneHour | Unit::TimezoneMinute) {
        unsupported(name, sql_type)
    } else {
        unrecognized(name, sql_type)
    }
}

/// `None` for a unit that timestamps are not cut down to.
fn truncate(micros: i64, unit: Unit) -> Option<SqlResult<i64>> {
    let multiple = |of: i64| Some(Ok(micros - micros.rem_euclid(of)));
    let moment = Moment::of_micros(micros);
    let date = moment.date;
    let first_of = |year: i64, month: i64| Date { year, month, day: 1 };
    let start = match unit {
        Unit::Microsecond => return Some(Ok(micros)),
        Unit::Millisecond => return multiple(1_000),
        Unit::Second => return multiple(MICROS_PER_SECOND),
        Unit::Minute => return multiple(MICROS_PER_MINUTE),
        Unit::Hour => return multiple(MICROS_PER_HOUR),
        Unit::Day => return multiple(MICROS_PER_DAY),
        Unit::Week => Date::of_days(date.days() - (date.iso_day_of_week() - 1)),
        Unit::Month => first_of(date.year, date.month),
        Unit::Quarter => first_of(date.year, (date.month - 1) / 3 * 3 + 1),
        Unit::Year => first_of(date.year, 1),
        Unit::Decade => first_of(date.year.div_euclid(10) * 10, 1),
        // Centuries and millennia begin with year 1.
        Unit::Century => first_of((date.year - 1).div_euclid(100) * 100 + 1, 1),
        Unit::Millennium => first_of((date.year - 1).div_euclid(1000) * 1000 + 1, 1),
        Unit::DayOfWeek
        | Unit::DayOfYear
        | Unit::IsoDayOfWeek
        | Unit::IsoYear
        | Unit::Julian
        | Unit::Epoch
        | Unit::Timezone
        | Unit::TimezoneHour
        | Unit::TimezoneMinute => return None,
    };
    Some(Moment { date: start, micros: 0 }.timestamp())
}

fn intervals(call: &Call) -> SqlResult<ArrayRef> {
    let (units, values) = (call.text(0)?, call.primitive::<IntervalMonthDayNanoType>(1)?);
    call.numbers::<IntervalMonthDayNanoType>(|row| {
        let name = units.at(row);
        let parts = Parts::of(values.at(row));
        truncate_parts(parts, unit(name, "interval")?, name)?.interval()
    })
}

fn truncate_parts(parts: Parts, unit: Unit, name: &str) -> SqlResult<Parts> {
    let months = |of: i64| Ok(Parts { months: parts.months / of * of, days: 0, micros: 0 });
    let micros = |of: i64| Ok(Parts { micros: parts.micros / of * of, ..parts });
    match unit {
        Unit::Microsecond => Ok(parts),
        Unit::Millisecond => micros(1_000),
        Unit::Second => micros(MICROS_PER_SECOND),
        Unit::Minute => micros(MICROS_PER_MINUTE),
        Unit::Hour => micros(MICROS_PER_HOUR),
        Unit::Day => Ok(Parts { micros: 0, ..parts }),
        Unit::Month => months(1),
        Unit::Quarter => months(3),
        Unit::Year => months(12),
        Unit::Decade => months(12 * 10),
        Unit::Century => months(12 * 100),
        Unit::Millennium => months(12 * 1000),
        Unit::Week => Err(unsupported(name, "interval").with_detail("Months usually have fractional weeks.")),
        Unit::Timezone | Unit::TimezoneHour | Unit::TimezoneMinute => Err(unsupported(name, "interval")),
        Unit::DayOfWeek | Unit::DayOfYear | Unit::IsoDayOfWeek | Unit::IsoYear | Unit::Julian | Unit::Epoch => {
            Err(unrecognized(name, "interval"))
        }
    }
}

fn bins(call: &Call) -> SqlResult<ArrayRef> {
    let strides = call.primitive::<IntervalMonthDayNanoType>(0)?;
    let (values, origins) =
        (call.primitive::<TimestampMicrosecondType>(1)?, call.primitive::<TimestampMicrosecondType>(2)?);
    call.numbers::<TimestampMicrosecondType>(|row| bin(Parts::of(strides.at(row)), values.at(row), origins.at(row)))
}

fn bin(stride: Parts, value: i64, origin: i64) -> SqlResult<i64> {
    if stride.months != 0 {
        let message = "timestamps cannot be binned into intervals containing months or years";
        return Err(SqlError::new(ErrorKind::FeatureNotSupported, message));
    }
    let micros = stride.days.checked_mul(MICROS_PER_DAY).and_then(|days| days.checked_add(stride.micros));
    let micros = micros.ok_or_else(interval_out_of_range)?;
    if micros <= 0 {
        return Err(SqlError::new(ErrorKind::DatetimeOverflow, "stride must be greater than zero"));
    }
    let distance = value.checked_sub(origin).ok_or_else(interval_out_of_range)?;
    value.checked_sub(distance.rem_euclid(micros)).ok_or_else(timestamp_out_of_range)
}
