//! Time zones: by name, abbreviation, offset, or as POSIX writes them.
//!
//! A local time that the clocks skipped is read with the offset before the change, one that they showed twice with the
//! offset behind it, as in PostgreSQL.

use chrono::{DateTime, Datelike, Duration, MappedLocalTime, NaiveDate, NaiveDateTime, NaiveTime, Offset, TimeZone};
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
            Zone::Named(zone) => in_known_years(zone, utc).map_or(0, |utc| offset_at(zone, &utc)),
        }
    }

    /// Whether its clocks show daylight saving time at a moment.
    pub fn is_summer_at(self, utc: i64) -> bool {
        let Zone::Named(zone) = self else { return false };
        in_known_years(zone, utc).is_some_and(|utc| !zone.offset_from_utc_datetime(&utc).dst_offset().is_zero())
    }

    /// What the time of the zone is called at a moment: `CEST`; an offset by itself, `+02`, which is all the name that some
    /// zones have, `+0545`. `None` beyond the years that rules are known for.
    pub fn with_abbreviation<R>(self, utc: i64, then: impl FnOnce(Option<&str>) -> R) -> R {
        let zone = match self {
            Zone::Fixed(east) => return then(Some(&offset_text(east))),
            Zone::Named(zone) => zone,
        };
        let Some(utc) = in_known_years(zone, utc) else { return then(None) };
        match zone.offset_from_utc_datetime(&utc).abbreviation() {
            Some(name) => then(Some(name)),
            None => then(Some(&offset_text(offset_at(zone, &utc)).replace(':', ""))),
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
            Zone::Named(zone) => in_known_years(zone, local).map_or(0, |local| local_offset(zone, local)),
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

/// The time, in a year that the tables of zones have rules for. They end some decades on, and the rules go on: a later time has those
/// of a year that begins on the same day of the week and is as long. `None` before chrono's years.
fn in_known_years(zone: Tz, micros: i64) -> Option<NaiveDateTime> {
    /// Each kind of year is among these.
    const LAST_YEARS: std::ops::Range<i32> = 2060..2088;
    /// 2060-01-01 and 2088-01-01.
    const BEGIN: i64 = 2_840_140_800 * MICROS_PER_SECOND;
    const END: i64 = 3_723_753_600 * MICROS_PER_SECOND;
    /// 400 years: then the calendar repeats itself.
    const CYCLE: i64 = 146_097 * 86_400 * MICROS_PER_SECOND;
    let naive = |micros| DateTime::from_timestamp_micros(micros).map(|moment| moment.naive_utc());
    // Their summer times go by the moon: they were told year by year, and end.
    if micros < END || matches!(zone, Tz::Africa__Casablanca | Tz::Africa__El_Aaiun) {
        return naive(micros);
    }
    let time = naive(BEGIN + (micros - BEGIN) % CYCLE)?;
    let kind = |year| NaiveDate::from_ymd_opt(year, 1, 1).map(|first| (first.weekday(), first.leap_year()));
    let like = LAST_YEARS.into_iter().find(|year| kind(*year) == kind(time.year()));
    like.and_then(|year| time.with_year(year))
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

    fn east(zone: &str, time: &str) -> i64 {
        let utc = NaiveDateTime::parse_from_str(time, "%Y-%m-%d %H:%M").unwrap().and_utc().timestamp_micros();
        Zone::parse(zone).unwrap().east_at(utc) / 3600
    }

    #[test]
    fn clocks_go_on_being_changed_when_the_tables_have_ended() {
        for (time, expected) in [
            ("2087-07-01 12:00", -4),
            ("2088-07-01 12:00", -4),
            ("2114-08-22 13:45", -4),
            ("2114-12-22 13:45", -5),
            ("2460-07-01 12:00", -4),
            ("9999-12-31 23:59", -5),
            // The second Sunday of March, at two in the morning.
            ("2117-03-14 06:59", -5),
            ("2117-03-14 07:00", -4),
        ] {
            assert_eq!(east("America/New_York", time), expected, "{time}");
        }
        assert_eq!(
            (east("Australia/Sydney", "2200-01-01 00:00"), east("Australia/Sydney", "2200-07-01 00:00")),
            (11, 10)
        );
        assert_eq!(east("Africa/Casablanca", "2150-07-01 00:00"), 1);
        assert_eq!(east("Asia/Kolkata", "2150-07-01 00:00"), 5);
        let noon = NaiveDate::from_ymd_opt(2117, 3, 14).unwrap().and_hms_opt(12, 0, 0).unwrap().and_utc();
        let zone = Zone::parse("America/New_York").unwrap();
        assert_eq!(zone.east_at_local(noon.timestamp_micros()), -4 * 3600);
        assert!(zone.is_summer_at(noon.timestamp_micros()));
        zone.with_abbreviation(noon.timestamp_micros(), |name| assert_eq!(name, Some("EDT")));
    }
}
