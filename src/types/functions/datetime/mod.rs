//! Functions on dates, times and intervals. Sessions are in UTC.

mod age;
mod civil;
mod extract;
mod interval;
mod justify;
mod make;
mod now;
mod overlaps;
mod truncate;
mod unit;
mod zone;

pub(super) use self::civil::{Date, JULIAN_OF_EPOCH, MICROS_PER_SECOND, Moment, date_of_days, first_monday};
pub(super) use self::interval::Parts;
pub(super) use self::make::micros_of;
use super::signature::Overload;

pub(super) static FUNCTIONS: &[&[Overload]] = &[
    age::FUNCTIONS,
    extract::FUNCTIONS,
    justify::FUNCTIONS,
    make::FUNCTIONS,
    now::FUNCTIONS,
    overlaps::FUNCTIONS,
    truncate::FUNCTIONS,
    zone::FUNCTIONS,
];
