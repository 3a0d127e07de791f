//! Text of dates, times, timestamps and intervals: DateStyle ISO, UTC, IntervalStyle postgres.

use std::fmt;

use arrow::datatypes::IntervalMonthDayNano;

use super::stack::StackText;

const MICROS_PER_SECOND: i64 = 1_000_000;
const MICROS_PER_DAY: i64 = 86_400 * MICROS_PER_SECOND;
/// A timestamp with a six-digit year, fraction, zone and ` BC` takes less, and so does an interval.
const TEXT_BYTES: usize = 96;

type Text = StackText<TEXT_BYTES>;

/// `2014-08-22`, from days since 1970-01-01.
pub(crate) fn write_date(out: &mut impl fmt::Write, days: i64) -> fmt::Result {
    let mut text = Text::new();
    let before_christ = push_date(&mut text, days);
    push_era(&mut text, before_christ);
    out.write_str(text.as_str())
}

/// `04:05:06.5`, from microseconds since midnight.
pub(crate) fn write_time(out: &mut impl fmt::Write, micros: i64) -> fmt::Result {
    let mut text = Text::new();
    push_time(&mut text, micros.unsigned_abs());
    out.write_str(text.as_str())
}

/// `2014-08-22 00:50:32.5`, with `+00` behind it when `zone`, from microseconds since 1970-01-01T00:00:00.
pub(crate) fn write_timestamp(out: &mut impl fmt::Write, micros: i64, zone: bool) -> fmt::Result {
    let mut text = Text::new();
    let before_christ = push_date(&mut text, micros.div_euclid(MICROS_PER_DAY));
    text.push(b' ');
    push_time(&mut text, micros.rem_euclid(MICROS_PER_DAY).unsigned_abs());
    if zone {
        text.push(b'+');
        text.digits(0, 2);
    }
    push_era(&mut text, before_christ);
    out.write_str(text.as_str())
}

/// `1 year 2 mons 3 days 04:05:06.5`.
pub(crate) fn write_interval(out: &mut impl fmt::Write, value: IntervalMonthDayNano) -> fmt::Result {
    let mut text = Text::new();
    let micros = value.nanoseconds / 1_000;
    let mut sign = Sign::default();
    push_part(&mut text, (value.months / 12).into(), "year", &mut sign);
    push_part(&mut text, (value.months % 12).into(), "mon", &mut sign);
    push_part(&mut text, value.days.into(), "day", &mut sign);
    if !sign.has_parts || micros != 0 {
        if sign.has_parts {
            text.push(b' ');
        }
        if micros < 0 {
            text.push(b'-');
        } else if sign.last_negative {
            text.push(b'+');
        }
        push_time(&mut text, micros.unsigned_abs());
    }
    out.write_str(text.as_str())
}

/// What came before a part of an interval: a positive part behind a negative one is marked with `+`.
#[derive(Default)]
struct Sign {
    has_parts: bool,
    last_negative: bool,
}

fn push_part(text: &mut Text, value: i64, unit: &str, sign: &mut Sign) {
    if value == 0 {
        return;
    }
    if sign.has_parts {
        text.push(b' ');
    }
    if value < 0 {
        text.push(b'-');
    } else if sign.last_negative {
        text.push(b'+');
    }
    text.digits(value.unsigned_abs(), 1);
    text.push(b' ');
    unit.bytes().for_each(|b| text.push(b));
    if value != 1 {
        text.push(b's');
    }
    *sign = Sign { has_parts: true, last_negative: value < 0 };
}

/// Gives whether the year is before Christ.
fn push_date(text: &mut Text, days: i64) -> bool {
    let (year, month, day) = civil_from_days(days);
    let shown = if year > 0 { year } else { 1 - year };
    text.digits(shown.unsigned_abs(), 4);
    text.push(b'-');
    text.digits(month, 2);
    text.push(b'-');
    text.digits(day, 2);
    year <= 0
}

fn push_era(text: &mut Text, before_christ: bool) {
    if before_christ {
        b" BC".iter().for_each(|b| text.push(*b));
    }
}

fn push_time(text: &mut Text, micros: u64) {
    let (seconds, mut fraction) = (micros / 1_000_000, micros % 1_000_000);
    text.digits(seconds / 3600, 2);
    text.push(b':');
    text.digits(seconds / 60 % 60, 2);
    text.push(b':');
    text.digits(seconds % 60, 2);
    if fraction != 0 {
        let mut width = 6;
        while fraction % 10 == 0 {
            fraction /= 10;
            width -= 1;
        }
        text.push(b'.');
        text.digits(fraction, width);
    }
}

/// Year (astronomical: 0 is 1 BC), month and day of the proleptic Gregorian calendar.
///
/// Counted from March, so that the leap day ends the year; an era is 400 years.
pub(crate) fn civil_from_days(days: i64) -> (i64, u64, u64) {
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

    fn interval(months: i32, days: i32, micros: i64) -> String {
        let mut out = String::new();
        write_interval(&mut out, IntervalMonthDayNano::new(months, days, micros * 1000)).unwrap();
        out
    }

    fn timestamp(micros: i64, zone: bool) -> String {
        let mut out = String::new();
        write_timestamp(&mut out, micros, zone).unwrap();
        out
    }

    fn date(days: i64) -> String {
        let mut out = String::new();
        write_date(&mut out, days).unwrap();
        out
    }

    #[test]
    fn timestamps_print_as_postgresql_does() {
        assert_eq!(timestamp(1_408_668_632_500_000, true), "2014-08-22 00:50:32.5+00");
        assert_eq!(timestamp(-1, false), "1969-12-31 23:59:59.999999");
        assert_eq!(timestamp(0, false), "1970-01-01 00:00:00");
        assert_eq!(timestamp(-63_517_780_800_000_000, true), "0044-03-15 12:00:00+00 BC");
    }

    #[test]
    fn dates_of_all_ages() {
        for (days, text) in [
            (0, "1970-01-01"),
            (-735_160, "0044-03-15 BC"),
            (3_789_392, "12345-01-02"),
            (11_016, "2000-02-29"),
            (-719_528, "0001-01-01 BC"),
            (-719_162, "0001-01-01"),
        ] {
            assert_eq!(date(days), text);
        }
    }

    #[test]
    fn intervals_print_as_postgresql_does() {
        const HOUR: i64 = 3_600_000_000;
        assert_eq!(interval(14, 3, 4 * HOUR + 306_500_000), "1 year 2 mons 3 days 04:05:06.5");
        assert_eq!(interval(-14, 3, -(4 * HOUR + 306_000_000)), "-1 years -2 mons +3 days -04:05:06");
        assert_eq!(interval(0, 0, 0), "00:00:00");
        assert_eq!(interval(1, 0, 0), "1 mon");
        assert_eq!(interval(-13, 0, 0), "-1 years -1 mons");
        assert_eq!(interval(0, -1, HOUR), "-1 days +01:00:00");
        assert_eq!(interval(0, 0, -HOUR), "-01:00:00");
        assert_eq!(interval(0, 0, 36 * HOUR), "36:00:00");
    }

    #[test]
    fn times_drop_trailing_zeros() {
        let mut out = String::new();
        write_time(&mut out, 14_706_500_000).unwrap();
        out.push(' ');
        write_time(&mut out, MICROS_PER_DAY).unwrap();
        assert_eq!(out, "04:05:06.5 24:00:00");
    }
}
