//! The proleptic Gregorian calendar: days since 1970-01-01 of a date, and the ranges PostgreSQL holds.

pub(in crate::sql) const MICROS_PER_SECOND: i64 = 1_000_000;
pub(in crate::sql) const MICROS_PER_DAY: i64 = 86_400 * MICROS_PER_SECOND;

/// 4714-11-24 BC, the first day there is.
pub(in crate::sql) const FIRST_DAY: i64 = -2_440_588;
/// 5874897-12-31, the last date.
pub(in crate::sql) const LAST_DATE: i64 = days_from_civil(5_874_897, 12, 31);

/// Days since 1970-01-01. Years are astronomical: 0 is 1 BC.
pub(in crate::sql) const fn days_from_civil(year: i64, month: i64, day: i64) -> i64 {
    // Counted from March, so that the leap day ends the year; an era is 400 years.
    let year = if month <= 2 { year - 1 } else { year };
    let era = year.div_euclid(400);
    let year_of_era = year.rem_euclid(400);
    let month_from_march = (month + 9) % 12;
    let day_of_year = (153 * month_from_march + 2) / 5 + day - 1;
    let day_of_era = year_of_era * 365 + year_of_era / 4 - year_of_era / 100 + day_of_year;
    era * 146_097 + day_of_era - 719_468
}

pub(in crate::sql) fn days_in_month(year: i64, month: i64) -> i64 {
    let leap = year.rem_euclid(4) == 0 && (year.rem_euclid(100) != 0 || year.rem_euclid(400) == 0);
    match month {
        2 if leap => 29,
        2 => 28,
        4 | 6 | 9 | 11 => 30,
        _ => 31,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn days_of_known_dates() {
        assert_eq!(days_from_civil(1970, 1, 1), 0);
        assert_eq!(days_from_civil(2000, 2, 29), 11_016);
        assert_eq!(days_from_civil(-4713, 11, 24), FIRST_DAY);
        assert_eq!(days_from_civil(1601, 1, 1), -134_774);
    }

    #[test]
    fn leap_years() {
        assert_eq!([1900, 2000, 2023, 2024].map(|y| days_in_month(y, 2)), [28, 29, 28, 29]);
    }
}
