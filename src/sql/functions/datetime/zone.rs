//! Time zones: `AT TIME ZONE`, by name, abbreviation, POSIX offset or interval.
//!
//! A local time that the clocks skipped is read with the offset before the change, one that they showed twice with the
//! offset behind it, as in PostgreSQL.

use arrow::array::ArrayRef;
use arrow::datatypes::{IntervalMonthDayNanoType, TimestampMicrosecondType};
use chrono::{DateTime, Duration, MappedLocalTime, NaiveDateTime, Offset, TimeZone};
use chrono_tz::{TZ_VARIANTS, Tz};

use super::civil::{MICROS_PER_SECOND, timestamp_out_of_range};
use super::interval::Parts;
use crate::sql::error::{ErrorKind, SqlError, SqlResult};
use crate::sql::functions::call::Call;
use crate::sql::functions::signature::Overload;
use crate::sql::functions::signature::Type::{Interval, Text, Timestamp, Timestamptz};
use crate::sql::input::zone_offset;
use crate::sql::output::write_interval;

pub(super) const FUNCTIONS: &[Overload] = &[
    Overload::new("timezone", &[Text, Timestamptz], Timestamp, |call| named(call, Zone::to_local)),
    Overload::new("timezone", &[Text, Timestamp], Timestamptz, |call| named(call, Zone::to_utc)),
    Overload::new("timezone", &[Interval, Timestamptz], Timestamp, |call| by_interval(call, Zone::to_local)),
    Overload::new("timezone", &[Interval, Timestamp], Timestamptz, |call| by_interval(call, Zone::to_utc)),
];

/// A time zone.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Zone {
    /// Seconds east of UTC.
    Fixed(i64),
    Named(Tz),
}

impl Zone {
    /// # Errors
    /// 22023 for what names no zone.
    pub fn parse(name: &str) -> SqlResult<Self> {
        let lower = name.to_ascii_lowercase();
        if let Some(seconds) = zone_offset(&lower) {
            return Ok(Zone::Fixed(seconds));
        }
        if let Some(zone) = TZ_VARIANTS.iter().find(|zone| zone.name().eq_ignore_ascii_case(name)) {
            return Ok(Zone::Named(*zone));
        }
        posix_offset(name).map(Zone::Fixed).ok_or_else(|| {
            SqlError::new(ErrorKind::InvalidParameterValue, format!("time zone \"{name}\" not recognized"))
        })
    }

    /// The local time of a moment, both in microseconds since 1970-01-01T00:00:00.
    ///
    /// # Errors
    /// 22008 for a time that no timestamp holds.
    pub fn to_local(self, utc: i64) -> SqlResult<i64> {
        let east = match self {
            Zone::Fixed(east) => east,
            // Beyond chrono's years no rules are known.
            Zone::Named(zone) => naive(utc).map_or(0, |utc| offset_at(zone, &utc)),
        };
        utc.checked_add(east * MICROS_PER_SECOND).ok_or_else(timestamp_out_of_range)
    }

    /// The moment of a local time.
    ///
    /// # Errors
    /// 22008 for a moment that no timestamp holds.
    pub fn to_utc(self, local: i64) -> SqlResult<i64> {
        let east = match self {
            Zone::Fixed(east) => east,
            Zone::Named(zone) => naive(local).map_or(0, |local| local_offset(zone, local)),
        };
        local.checked_sub(east * MICROS_PER_SECOND).ok_or_else(timestamp_out_of_range)
    }
}

fn naive(micros: i64) -> Option<NaiveDateTime> {
    DateTime::from_timestamp_micros(micros).map(|moment| moment.naive_utc())
}

fn offset_at(zone: Tz, utc: &NaiveDateTime) -> i64 {
    zone.offset_from_utc_datetime(utc).fix().local_minus_utc().into()
}

fn local_offset(zone: Tz, local: NaiveDateTime) -> i64 {
    match zone.offset_from_local_datetime(&local) {
        MappedLocalTime::Single(offset) | MappedLocalTime::Ambiguous(_, offset) => {
            offset.fix().local_minus_utc().into()
        }
        MappedLocalTime::None => {
            // Whole days have been skipped where the date line moved.
            let earlier = (1..=26).filter_map(|hours| local.checked_sub_signed(Duration::hours(hours)));
            let offsets = earlier.map(|earlier| zone.offset_from_local_datetime(&earlier).latest());
            offsets.flatten().next().map_or(0, |offset| offset.fix().local_minus_utc().into())
        }
    }
}

/// `UTC+3`, `-08:30`: POSIX counts west of Greenwich.
fn posix_offset(name: &str) -> Option<i64> {
    const HOURS_MAX: i64 = 167;
    let letters = name.bytes().take_while(u8::is_ascii_alphabetic).count();
    let rest = name.get(letters..).filter(|rest| !rest.is_empty() && (letters == 0 || letters >= 3))?;
    let (sign, digits) = match rest.as_bytes().first()? {
        b'-' => (1, &rest[1..]),
        b'+' => (-1, &rest[1..]),
        _ if letters > 0 => (-1, rest),
        _ => return None,
    };
    let mut fields = [0; 3];
    let mut parts = digits.split(':');
    for (field, part) in fields.iter_mut().zip(parts.by_ref()) {
        *field = Some(part).filter(|part| part.bytes().all(|b| b.is_ascii_digit()))?.parse::<i64>().ok()?;
    }
    let [hours, minutes, seconds] = fields;
    let fits = parts.next().is_none() && hours <= HOURS_MAX && minutes < 60 && seconds < 60;
    fits.then_some(sign * (hours * 3600 + minutes * 60 + seconds))
}

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
            let _ = write_interval(&mut shown, zones.at(row));
            let message = format!("interval time zone \"{shown}\" must not include months or days");
            return Err(SqlError::new(ErrorKind::InvalidParameterValue, message));
        }
        convert(Zone::Fixed(parts.micros / MICROS_PER_SECOND), values.at(row))
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sql::output::write_timestamp;

    fn utc(zone: &str, local: &str) -> String {
        let local: NaiveDateTime = local.parse().unwrap();
        let mut out = String::new();
        let utc = Zone::parse(zone).unwrap().to_utc(local.and_utc().timestamp_micros()).unwrap();
        write_timestamp(&mut out, utc, false).unwrap();
        out
    }

    #[test]
    fn skipped_and_repeated_times_are_read_as_in_postgresql() {
        assert_eq!(utc("Europe/Berlin", "2021-03-28T02:30:00"), "2021-03-28 01:30:00");
        assert_eq!(utc("europe/berlin", "2021-10-31T02:30:00"), "2021-10-31 01:30:00");
    }

    #[test]
    fn zones_have_many_names() {
        for (zone, expected) in [
            ("America/Denver", "2001-02-17 03:38:40"),
            ("MST", "2001-02-17 03:38:40"),
            ("+07", "2001-02-17 03:38:40"),
            ("UTC+3", "2001-02-16 23:38:40"),
            ("EST5EDT", "2001-02-17 01:38:40"),
            ("utc", "2001-02-16 20:38:40"),
        ] {
            assert_eq!(utc(zone, "2001-02-16T20:38:40"), expected, "{zone}");
        }
        assert_eq!(Zone::parse("Nope/Here").unwrap_err().kind, ErrorKind::InvalidParameterValue);
    }
}
