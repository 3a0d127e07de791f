//! Time zones: by name, abbreviation, offset, or as POSIX writes them.
//!
//! A local time that the clocks skipped is read with the offset before the change, one that they showed twice with the
//! offset behind it, as in PostgreSQL.

use chrono::{DateTime, Duration, MappedLocalTime, NaiveDate, NaiveDateTime, NaiveTime, Offset, TimeZone};
use chrono_tz::{OffsetComponents, OffsetName, TZ_VARIANTS, Tz};

use super::abbreviations::{PLACES, STANDARD, SUMMER};
use super::dates::MICROS_PER_SECOND;
use crate::error::{ErrorKind, SqlError, SqlResult};

/// A time zone.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Zone {
    /// Seconds east of UTC.
    Fixed(i64),
    Named(Tz),
}

/// What an abbreviation means.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Abbreviation {
    /// Seconds east of UTC; whether daylight saving time is in them.
    Fixed { east: i64, summer: bool },
    /// The time of a place.
    Rules(Zone),
}

impl Zone {
    pub const UTC: Zone = Zone::Named(Tz::UTC);

    /// # Errors
    /// 22023 for what names no zone.
    pub fn parse(name: &str) -> SqlResult<Self> {
        let zone = match abbreviation(name.to_ascii_lowercase().as_bytes()) {
            Some(Abbreviation::Fixed { east, .. }) => Some(Zone::Fixed(east)),
            Some(Abbreviation::Rules(zone)) => Some(zone),
            None => Zone::of_rules(name),
        };
        zone.ok_or_else(|| {
            SqlError::new(ErrorKind::InvalidParameterValue, format!("time zone \"{name}\" not recognized"))
        })
    }

    /// The zone under a name that is no abbreviation.
    pub fn of_rules(name: &str) -> Option<Self> {
        let known = TZ_VARIANTS.iter().find(|zone| zone.name().eq_ignore_ascii_case(name));
        known.map(|zone| Zone::Named(*zone)).or_else(|| posix_offset(name).map(Zone::Fixed))
    }

    /// The same, and the name as the database spells it.
    pub fn of_name(name: &str) -> Option<(Self, String)> {
        let zone = Zone::of_rules(name)?;
        let spelled = match zone {
            Zone::Named(zone) => zone.name().to_owned(),
            Zone::Fixed(_) => name.to_owned(),
        };
        Some((zone, spelled))
    }

    /// Whether its clocks were never changed.
    pub fn is_fixed(self) -> bool {
        const YEARS: std::ops::Range<i32> = 1850..2038;
        let Zone::Named(zone) = self else { return true };
        let mut offsets = YEARS.flat_map(|year| [1, 7].map(|month| NaiveDate::from_ymd_opt(year, month, 1)));
        let now = offset_at(zone, &NaiveDate::default().and_time(NaiveTime::MIN));
        offsets.all(|day| day.is_none_or(|day| offset_at(zone, &day.and_time(NaiveTime::MIN)) == now))
    }

    /// The local time of a moment, both in microseconds since 1970-01-01T00:00:00.
    ///
    /// # Errors
    /// 22008 for a time that no timestamp holds.
    pub fn to_local(self, utc: i64) -> SqlResult<i64> {
        utc.checked_add(self.east_at(utc) * MICROS_PER_SECOND).ok_or_else(out_of_range)
    }

    /// Seconds east of UTC at a moment.
    pub fn east_at(self, utc: i64) -> i64 {
        match self {
            Zone::Fixed(east) => east,
            Zone::Named(Tz::UTC) => 0,
            // Beyond chrono's years no rules are known.
            Zone::Named(zone) => naive(utc).map_or(0, |utc| offset_at(zone, &utc)),
        }
    }

    /// Whether its clocks show daylight saving time at a moment.
    pub fn is_summer_at(self, utc: i64) -> bool {
        match (self, naive(utc)) {
            (Zone::Named(zone), Some(utc)) => !zone.offset_from_utc_datetime(&utc).dst_offset().is_zero(),
            _ => false,
        }
    }

    /// What the time of the zone is called at a moment: `CEST`; an offset by itself, `+02`, which is all the name that some
    /// zones have, `+0545`. `None` beyond the years that rules are known for.
    pub fn with_abbreviation<R>(self, utc: i64, then: impl FnOnce(Option<&str>) -> R) -> R {
        match (self, naive(utc)) {
            (Zone::Fixed(east), _) => then(Some(&offset_text(east))),
            (Zone::Named(zone), Some(utc)) => match zone.offset_from_utc_datetime(&utc).abbreviation() {
                Some(name) => then(Some(name)),
                None => then(Some(&offset_text(offset_at(zone, &utc)).replace(':', ""))),
            },
            _ => then(None),
        }
    }

    /// The moment of a local time.
    ///
    /// # Errors
    /// 22008 for a moment that no timestamp holds.
    pub fn to_utc(self, local: i64) -> SqlResult<i64> {
        local.checked_sub(self.east_at_local(local) * MICROS_PER_SECOND).ok_or_else(out_of_range)
    }

    /// Seconds east of UTC at a local time.
    pub fn east_at_local(self, local: i64) -> i64 {
        match self {
            Zone::Fixed(east) => east,
            Zone::Named(zone) => naive(local).map_or(0, |local| local_offset(zone, local)),
        }
    }
}

/// `+02`, `-05:30`, `+00:19:32`: seconds east of UTC.
pub fn offset_text(east: i64) -> String {
    let sign = if east < 0 { '-' } else { '+' };
    let (hours, minutes, seconds) = (east.abs() / 3600, east.abs() / 60 % 60, east.abs() % 60);
    match (minutes, seconds) {
        (0, 0) => format!("{sign}{hours:02}"),
        (_, 0) => format!("{sign}{hours:02}:{minutes:02}"),
        _ => format!("{sign}{hours:02}:{minutes:02}:{seconds:02}"),
    }
}

fn out_of_range() -> Box<SqlError> {
    SqlError::new(ErrorKind::DatetimeOverflow, "timestamp out of range")
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
    let letters = name.bytes().take_while(|byte| !matches!(byte, b'0'..=b'9' | b',' | b'+' | b'-')).count();
    let rest = name.get(letters..).filter(|rest| !rest.is_empty())?;
    let (sign, digits) = match rest.as_bytes().first()? {
        b'-' => (1, &rest[1..]),
        b'+' => (-1, &rest[1..]),
        _ => (-1, rest),
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

/// The meaning of a lower-case abbreviation.
pub fn abbreviation(name: &[u8]) -> Option<Abbreviation> {
    let name = std::str::from_utf8(name).ok()?;
    if let Some(east) = meaning(STANDARD, name) {
        return Some(Abbreviation::Fixed { east, summer: false });
    }
    if let Some(east) = meaning(SUMMER, name) {
        return Some(Abbreviation::Fixed { east, summer: true });
    }
    let place: Tz = meaning(PLACES, name)?.parse().ok()?;
    Some(Abbreviation::Rules(Zone::Named(place)))
}

fn meaning<T: Copy>(table: &[(&str, T)], name: &str) -> Option<T> {
    let place = table.binary_search_by_key(&name, |(known, _)| known).ok()?;
    table.get(place).map(|(_, meaning)| *meaning)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::output::write_timestamp;

    fn utc(zone: &str, local: &str) -> String {
        let local: NaiveDateTime = local.parse().unwrap();
        let mut out = String::new();
        let utc = Zone::parse(zone).unwrap().to_utc(local.and_utc().timestamp_micros()).unwrap();
        write_timestamp(&mut out, utc, None, crate::style::Style::PLAIN.dates).unwrap();
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
            ("x5", "2001-02-17 01:38:40"),
            ("EST5EDT", "2001-02-17 01:38:40"),
            ("utc", "2001-02-16 20:38:40"),
            ("VET", "2001-02-17 00:38:40"),
        ] {
            assert_eq!(utc(zone, "2001-02-16T20:38:40"), expected, "{zone}");
        }
        assert_eq!(Zone::parse("Nope/Here").unwrap_err().kind, ErrorKind::InvalidParameterValue);
    }

    #[test]
    fn some_clocks_were_never_changed() {
        assert!(Zone::parse("Etc/GMT+3").unwrap().is_fixed());
        assert!(!Zone::parse("Asia/Tokyo").unwrap().is_fixed());
    }
}
