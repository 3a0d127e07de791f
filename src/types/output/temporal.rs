//! Text of dates, times and timestamps, as DateStyle and TimeZone have them.

use std::fmt;
use std::fmt::Write as _;

use super::stack::StackText;
use crate::calendar::{Zone, civil_from_days};
use crate::style::{DateForm, DateOrder, DateStyle};

const MICROS_PER_SECOND: i64 = 1_000_000;
const MICROS_PER_DAY: i64 = 86_400 * MICROS_PER_SECOND;
/// A timestamp with a six-digit year, fraction, zone and ` BC` takes less, and so does an interval.
const TEXT_BYTES: usize = 96;
/// Most of a zone's abbreviation that is shown.
const ZONE_BYTES: usize = 10;

pub(super) type Text = StackText<TEXT_BYTES>;

/// `2014-08-22`, from days since 1970-01-01.
pub(super) fn write_date(out: &mut impl fmt::Write, days: i64, style: DateStyle) -> fmt::Result {
    let mut text = Text::default();
    let (year, month, day) = civil_from_days(days);
    let parts = [(shown_year(year), 4), (month, 2), (day, 2)];
    let [year_part, month_part, day_part] = parts;
    let is_day_first = style.order == DateOrder::Dmy;
    match style.form {
        DateForm::Iso | DateForm::Xsd => push_parts(&mut text, parts, b'-'),
        DateForm::German => push_parts(&mut text, [day_part, month_part, year_part], b'.'),
        DateForm::Sql | DateForm::Postgres => {
            let delimiter = if style.form == DateForm::Sql { b'/' } else { b'-' };
            let ordered = if is_day_first { [day_part, month_part] } else { [month_part, day_part] };
            push_parts(&mut text, [ordered[0], ordered[1], year_part], delimiter);
        }
    }
    push_era(&mut text, year);
    out.write_str(text.as_str())
}

/// `04:05:06.5`, from microseconds since midnight.
pub(super) fn write_time(out: &mut impl fmt::Write, micros: i64) -> fmt::Result {
    let mut text = Text::default();
    push_time(&mut text, micros.unsigned_abs());
    out.write_str(text.as_str())
}

/// `2014-08-22 00:50:32.5`, from microseconds since 1970-01-01T00:00:00; in a zone, the time there and which it is.
pub(crate) fn write_timestamp(
    out: &mut impl fmt::Write,
    micros: i64,
    zone: Option<Zone>,
    style: DateStyle,
) -> fmt::Result {
    let east = zone.map_or(0, |zone| zone.east_at(micros));
    let local = micros.saturating_add(east.saturating_mul(MICROS_PER_SECOND));
    let mut text = Text::default();
    let days = local.div_euclid(MICROS_PER_DAY);
    let time = local.rem_euclid(MICROS_PER_DAY).unsigned_abs();
    let (year, month, day) = civil_from_days(days);
    let parts = [(shown_year(year), 4), (month, 2), (day, 2)];
    let [year_part, month_part, day_part] = parts;
    let ordered = if style.order == DateOrder::Dmy { [day_part, month_part] } else { [month_part, day_part] };
    match style.form {
        DateForm::Iso | DateForm::Xsd => push_parts(&mut text, parts, b'-'),
        DateForm::German => push_parts(&mut text, [day_part, month_part, year_part], b'.'),
        DateForm::Sql => push_parts(&mut text, [ordered[0], ordered[1], year_part], b'/'),
        DateForm::Postgres => {
            text.write_str(WEEKDAYS[usize::try_from((days + 4).rem_euclid(7)).unwrap_or(0)])?;
            text.push(b' ');
            let month = MONTHS[usize::try_from(month - 1).unwrap_or(0)];
            if style.order == DateOrder::Dmy {
                text.digits(day, 2);
                text.push(b' ');
                text.write_str(month)?;
            } else {
                text.write_str(month)?;
                text.push(b' ');
                text.digits(day, 2);
            }
        }
    }
    text.push(if style.form == DateForm::Xsd { b'T' } else { b' ' });
    push_time(&mut text, time);
    if style.form == DateForm::Postgres {
        text.push(b' ');
        text.digits(shown_year(year), 4);
    }
    if let Some(zone) = zone {
        push_zone(&mut text, zone, micros, east, style.form)?;
    }
    push_era(&mut text, year);
    out.write_str(text.as_str())
}

const WEEKDAYS: [&str; 7] = ["Sun", "Mon", "Tue", "Wed", "Thu", "Fri", "Sat"];
const MONTHS: [&str; 12] = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"];

/// The zone's name at the moment, or how far it is from Greenwich.
fn push_zone(text: &mut Text, zone: Zone, utc: i64, east: i64, form: DateForm) -> fmt::Result {
    if matches!(form, DateForm::Iso | DateForm::Xsd) {
        push_offset(text, east, form);
        return Ok(());
    }
    zone.with_abbreviation(utc, |name| match name {
        Some(name) => {
            text.push(b' ');
            text.write_str(name.get(..ZONE_BYTES).unwrap_or(name))
        }
        None => {
            if form == DateForm::Postgres {
                text.push(b' ');
            }
            push_offset(text, east, form);
            Ok(())
        }
    })
}

/// `+02`, `+05:30`, `+01:34:52`
fn push_offset(text: &mut Text, east: i64, form: DateForm) {
    text.push(if east < 0 { b'-' } else { b'+' });
    let seconds = east.unsigned_abs();
    text.digits(seconds / 3600, 2);
    if !seconds.is_multiple_of(3600) || form == DateForm::Xsd {
        text.push(b':');
        text.digits(seconds / 60 % 60, 2);
    }
    if !seconds.is_multiple_of(60) {
        text.push(b':');
        text.digits(seconds % 60, 2);
    }
}

/// The year as people count it, without its era.
fn shown_year(year: i64) -> u64 {
    (if year > 0 { year } else { 1 - year }).unsigned_abs()
}

/// Numbers, each with its least width.
fn push_parts(text: &mut Text, parts: [(u64, usize); 3], delimiter: u8) {
    for (index, (value, width)) in parts.into_iter().enumerate() {
        if index > 0 {
            text.push(delimiter);
        }
        text.digits(value, width);
    }
}

fn push_era(text: &mut Text, year: i64) {
    if year <= 0 {
        b" BC".iter().for_each(|b| text.push(*b));
    }
}

pub(super) fn push_time(text: &mut Text, micros: u64) {
    let (seconds, fraction) = (micros / 1_000_000, micros % 1_000_000);
    text.digits(seconds / 3600, 2);
    text.push(b':');
    text.digits(seconds / 60 % 60, 2);
    text.push(b':');
    text.digits(seconds % 60, 2);
    push_fraction(text, fraction);
}

/// `.5`, from the microseconds of a second; nothing of none.
pub(super) fn push_fraction(text: &mut Text, mut micros: u64) {
    if micros == 0 {
        return;
    }
    let mut width = 6;
    while micros.is_multiple_of(10) {
        micros /= 10;
        width -= 1;
    }
    text.push(b'.');
    text.digits(micros, width);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::style::Style;

    const ISO: DateStyle = Style::PLAIN.dates;

    fn timestamp(micros: i64, with_zone: bool) -> String {
        written(micros, with_zone.then_some(Zone::UTC), ISO)
    }

    fn written(micros: i64, zone: Option<Zone>, style: DateStyle) -> String {
        let mut out = String::new();
        write_timestamp(&mut out, micros, zone, style).unwrap();
        out
    }

    fn date(days: i64) -> String {
        dated(days, ISO)
    }

    fn dated(days: i64, style: DateStyle) -> String {
        let mut out = String::new();
        write_date(&mut out, days, style).unwrap();
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
    fn each_form_has_its_own_order() {
        const MOMENT: i64 = 1_408_668_632_500_000;
        let berlin = Zone::parse("Europe/Berlin").ok();
        for (form, order, day, moment) in [
            (DateForm::Sql, DateOrder::Mdy, "08/22/2014", "08/22/2014 02:50:32.5 CEST"),
            (DateForm::Sql, DateOrder::Dmy, "22/08/2014", "22/08/2014 02:50:32.5 CEST"),
            (DateForm::Postgres, DateOrder::Ymd, "08-22-2014", "Fri Aug 22 02:50:32.5 2014 CEST"),
            (DateForm::Postgres, DateOrder::Dmy, "22-08-2014", "Fri 22 Aug 02:50:32.5 2014 CEST"),
            (DateForm::German, DateOrder::Mdy, "22.08.2014", "22.08.2014 02:50:32.5 CEST"),
            (DateForm::Xsd, DateOrder::Mdy, "2014-08-22", "2014-08-22T02:50:32.5+02:00"),
        ] {
            let style = DateStyle { form, order };
            assert_eq!((dated(16_304, style).as_str(), written(MOMENT, berlin, style).as_str()), (day, moment));
        }
        let sql = DateStyle { form: DateForm::Sql, order: DateOrder::Mdy };
        assert_eq!(written(0, Some(Zone::Fixed(-9000)), sql), "12/31/1969 21:30:00 -02:30");
        assert_eq!(written(-3_000_000_000_000_000, berlin, ISO), "1874-12-07 19:33:28+00:53:28");
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
