//! The proleptic Gregorian calendar: days since 1970-01-01 of a date, and the ranges PostgreSQL holds.

pub const NANOS_PER_MICRO: i64 = 1_000;
pub const MICROS_PER_SECOND: i64 = 1_000_000;
pub const MICROS_PER_DAY: i64 = 86_400 * MICROS_PER_SECOND;

/// 4714-11-24 BC, the first day there is.
pub const FIRST_DAY: i64 = -2_440_588;
/// 5874897-12-31, the last date.
pub const LAST_DATE: i64 = days_from_civil(5_874_897, 12, 31);

/// Days since 1970-01-01. Years are astronomical: 0 is 1 BC.
pub const fn days_from_civil(year: i64, month: i64, day: i64) -> i64 {
    // Counted from March, so that the leap day ends the year; an era is 400 years.
    let year = if month <= 2 { year - 1 } else { year };
    let era = year.div_euclid(400);
    let year_of_era = year.rem_euclid(400);
    let month_from_march = (month + 9) % 12;
    let day_of_year = (153 * month_from_march + 2) / 5 + day - 1;
    let day_of_era = year_of_era * 365 + year_of_era / 4 - year_of_era / 100 + day_of_year;
    era * 146_097 + day_of_era - 719_468
}

pub fn days_in_month(year: i64, month: i64) -> i64 {
    let leap = year.rem_euclid(4) == 0 && (year.rem_euclid(100) != 0 || year.rem_euclid(400) == 0);
    match month {
        2 if leap => 29,
        2 => 28,
        4 | 6 | 9 | 11 => 30,
        _ => 31,
    }
}

/// Year (astronomical: 0 is 1 BC), month and day of the proleptic Gregorian calendar.
///
/// Counted from March, so that the leap day ends the year; an era is 400 years.
pub fn civil_from_days(days: i64) -> (i64, u64, u64) {
    const DAYS_PER_ERA: i64 = 146_097;
    const EPOCH_FROM_MARCH_OF_YEAR_0: i64 = 719_468;
    let days = days.saturating_add(EPOCH_FROM_MARCH_OF_YEAR_0);
    let era = days.div_euclid(DAYS_PER_ERA);
    let day_of_era = days.rem_euclid(DAYS_PER_ERA);
    let year_of_era = (day_of_era - day_of_era / 1460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let month_from_march = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * month_from_march + 2) / 5 + 1;
    let month = if month_from_march < 10 { month_from_march + 3 } else { month_from_march - 9 };
    let year = year_of_era + era * 400 + i64::from(month <= 2);
    (year, month.unsigned_abs(), day.unsigned_abs())
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
