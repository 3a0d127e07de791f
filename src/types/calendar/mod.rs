//! Dates and clocks: the Gregorian calendar, and how far from UTC the clocks of a place are.

mod abbreviations;
mod dates;
mod known;
mod zone;

pub use self::dates::{
    FIRST_DAY, LAST_DATE, MICROS_PER_DAY, MICROS_PER_SECOND, NANOS_PER_MICRO, civil_from_days, days_from_civil,
    days_in_month,
};
pub use self::known::{Reading, abbreviations_at, zones_at};
pub use self::zone::{Abbreviation, Zone, abbreviation, offset_text};
