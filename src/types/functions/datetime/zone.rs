//! `AT TIME ZONE`: zones by name, abbreviation, POSIX offset or interval.

use arrow::array::ArrayRef;
use arrow::datatypes::{IntervalMonthDayNanoType, TimestampMicrosecondType};

use super::civil::MICROS_PER_SECOND;
use super::interval::Parts;
use crate::calendar::Zone;
use crate::error::{ErrorKind, SqlError, SqlResult};
use crate::functions::call::Call;
use crate::functions::signature::Overload;
use crate::functions::signature::Type::{Interval, Text, Timestamp, Timestamptz};
use crate::output::write_interval;

pub(super) const FUNCTIONS: &[Overload] = &[
    Overload::new("timezone", &[Text, Timestamptz], Timestamp, |call| named(call, Zone::to_local)),
    Overload::new("timezone", &[Text, Timestamp], Timestamptz, |call| named(call, Zone::to_utc)),
    Overload::new("timezone", &[Interval, Timestamptz], Timestamp, |call| by_interval(call, Zone::to_local)),
    Overload::new("timezone", &[Interval, Timestamp], Timestamptz, |call| by_interval(call, Zone::to_utc)),
];

fn named(call: &Call, convert: fn(Zone, i64) -> SqlResult<i64>) -> SqlResult<ArrayRef> {
    let (zones, values) = (call.text(0)?, call.primitive::<TimestampMicrosecondType>(1)?);
    let constant = zones.constant().map(Zone::parse).transpose()?;
    call.numbers::<TimestampMicrosecondType>(|row| {
        let zone = constant.map_or_else(|| Zone::parse(zones.at(row)), Ok)?;
        convert(zone, values.at(row))
    })
}

fn by_interval(call: &Call, convert: fn(Zone, i64) -> SqlResult<i64>) -> SqlResult<ArrayRef> {
    let zones = call.primitive::<IntervalMonthDayNanoType>(0)?;
    let values = call.primitive::<TimestampMicrosecondType>(1)?;
    call.numbers::<TimestampMicrosecondType>(|row| {
        let parts = Parts::of(zones.at(row));
        if parts.months != 0 || parts.days != 0 {
            let mut shown = String::new();
            // Writing to memory does not fail.
            let _ = write_interval(&mut shown, zones.at(row), call.style().intervals);
            let message = format!("interval time zone \"{shown}\" must not include months or days");
            return Err(SqlError::new(ErrorKind::InvalidParameterValue, message));
        }
        convert(Zone::Fixed(parts.micros / MICROS_PER_SECOND), values.at(row))
    })
}
