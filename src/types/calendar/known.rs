//! All time zones that are known by name and all abbreviations, as their clocks stand at a moment.

use super::abbreviations::{PLACES, STANDARD, SUMMER};
use super::zone::{Abbreviation, Zone, abbreviation};

/// What a name or an abbreviation means at one moment.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Reading {
    /// Of a zone as the time zone database spells it, of an abbreviation in capitals.
    pub name: String,
    /// What the zone's time is called: `CEST`, `+0545`; an abbreviation is its own.
    pub abbreviation: String,
    /// Seconds east of UTC.
    pub east: i64,
    /// Whether daylight saving time is in them.
    pub is_summer: bool,
}

/// The zones of the time zone database at a moment, in microseconds since 1970-01-01T00:00:00 UTC.
pub fn zones_at(utc: i64) -> impl Iterator<Item = Reading> {
    chrono_tz::TZ_VARIANTS.iter().map(move |known| {
        let zone = Zone::Named(*known);
        let abbreviation = zone.with_abbreviation(utc, |name| name.unwrap_or_default().to_owned());
        Reading {
            name: known.name().to_owned(),
            abbreviation,
            east: zone.east_at(utc),
            is_summer: zone.is_summer_at(utc),
        }
    })
}

/// The abbreviations at a moment, in microseconds since 1970-01-01T00:00:00 UTC.
pub fn abbreviations_at(utc: i64) -> impl Iterator<Item = Reading> {
    let fixed = STANDARD.iter().chain(SUMMER).map(|(name, _)| *name);
    let names = fixed.chain(PLACES.iter().map(|(name, _)| *name));
    names.filter_map(move |name| {
        let (east, is_summer) = match abbreviation(name.as_bytes())? {
            Abbreviation::Fixed { east, summer } => (east, summer),
            Abbreviation::Rules(zone) => (zone.east_at(utc), zone.is_summer_at(utc)),
        };
        let name = name.to_ascii_uppercase();
        Some(Reading { abbreviation: name.clone(), name, east, is_summer })
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// 2021-07-01T00:00:00.
    const JULY: i64 = 1_625_097_600_000_000;

    fn read(mut readings: impl Iterator<Item = Reading>, name: &str) -> (String, i64, bool) {
        let found = readings.find(|reading| reading.name == name).unwrap();
        (found.abbreviation, found.east, found.is_summer)
    }

    #[test]
    fn zones_are_read_at_a_moment() {
        assert_eq!(read(zones_at(JULY), "Europe/Berlin"), ("CEST".to_owned(), 7_200, true));
        assert_eq!(read(zones_at(0), "Europe/Berlin"), ("CET".to_owned(), 3_600, false));
        assert_eq!(read(zones_at(JULY), "Asia/Kathmandu"), ("+0545".to_owned(), 20_700, false));
        assert_eq!(read(zones_at(JULY), "UTC"), ("UTC".to_owned(), 0, false));
    }

    #[test]
    fn every_abbreviation_means_something() {
        assert_eq!(abbreviations_at(JULY).count(), STANDARD.len() + SUMMER.len() + PLACES.len());
        assert_eq!(read(abbreviations_at(JULY), "LHST"), ("LHST".to_owned(), 37_800, false));
        assert_eq!(read(abbreviations_at(0), "CEST"), ("CEST".to_owned(), 7_200, true));
    }
}
