//! `to_char` of timestamps and intervals.

use std::fmt::Write as _;

use super::date_patterns::{DAYS, DateTemplate, Field, MONTHS, ROMAN_MONTHS, short};
use super::template::{Letters, Pattern, Piece, ordinal_ending};
use crate::calendar::Zone;
use crate::error::{ErrorKind, SqlError, SqlResult};
use crate::functions::datetime::{Date, JULIAN_OF_EPOCH, MICROS_PER_SECOND, Moment, Parts, first_monday};
use crate::functions::text_writer::TextWriter;

/// Width to which names of months and days are filled up.
const NAME_WIDTH: usize = 9;

/// What is written, field by field.
#[derive(Debug, Clone, Copy)]
pub(super) struct Fields {
    /// Of a timestamp; an interval has none.
    date: Option<Date>,
    /// Astronomical for a timestamp.
    year: i64,
    month: i64,
    day: i64,
    /// About how many days an interval has.
    day_of_year: i64,
    hour: i64,
    minute: i64,
    second: i64,
    micros: i64,
    /// The zone, and the moment in it.
    zone: Option<(Zone, i64)>,
}

impl Fields {
    /// Of a timestamp; in a zone, of the local time of a moment.
    pub(super) fn of_timestamp(micros: i64, zone: Option<Zone>) -> Self {
        let east = zone.map_or(0, |zone| zone.east_at(micros));
        let moment = Moment::of_micros(micros.saturating_add(east.saturating_mul(MICROS_PER_SECOND)));
        let date = moment.date;
        Self {
            date: Some(date),
            year: date.year,
            month: date.month,
            day: date.day,
            day_of_year: date.day_of_year(),
            hour: moment.hour(),
            minute: moment.minute(),
            second: moment.second(),
            micros: moment.microsecond(),
            zone: zone.map(|zone| (zone, micros)),
        }
    }

    pub(super) fn of_interval(parts: Parts) -> Self {
        let seconds = parts.micros / MICROS_PER_SECOND;
        Self {
            date: None,
            year: parts.months / 12,
            month: parts.months % 12,
            day: parts.days,
            day_of_year: parts.months * 30 + parts.days,
            hour: seconds / 3600,
            minute: seconds / 60 % 60,
            second: seconds % 60,
            micros: parts.micros % MICROS_PER_SECOND,
            zone: None,
        }
    }

    /// The date; an interval is not tied to one.
    fn date(&self) -> SqlResult<Date> {
        self.date.ok_or_else(|| {
            SqlError::new(ErrorKind::InvalidDatetimeFormat, "invalid format specification for an interval value")
                .with_hint("Intervals are not tied to specific calendar dates.")
        })
    }

    /// Seconds east of UTC.
    fn east(&self) -> SqlResult<i64> {
        self.date()?;
        Ok(self.zone.map_or(0, |(zone, moment)| zone.east_at(moment)))
    }

    fn shown_year(&self) -> i64 {
        self.date.map_or(self.year, |_| positive_year(self.year))
    }

    /// The calendar's day and the ISO week's, of an interval as if it were a date.
    fn calendar(&self) -> Date {
        self.date.unwrap_or(Date { year: self.year, month: self.month, day: self.day })
    }
}

/// The year without its sign, which the era tells.
fn positive_year(year: i64) -> i64 {
    if year > 0 { year } else { 1 - year }
}

/// # Errors
/// 22007 for a pattern that intervals have no value for, and those of a text that is too long.
pub(super) fn write_date(fields: &Fields, template: &DateTemplate, out: &mut TextWriter) -> SqlResult<()> {
    let mut field = String::new();
    for piece in template.iter() {
        match piece {
            Piece::Pattern(pattern) => {
                field.clear();
                write_field(fields, pattern, &mut field)?;
                out.push_str(&field);
                out.going_on()?;
            }
            Piece::Separator(c) | Piece::Space(c) | Piece::Char(c) => out.push(*c),
        }
    }
    Ok(())
}

fn write_field(fields: &Fields, pattern: &Pattern<Field>, out: &mut String) -> SqlResult<()> {
    let start = out.len();
    if let Some((number, width)) = number_of(fields, pattern.key)? {
        let width = if pattern.fill { 0 } else { width };
        write(out, format_args!("{number:0width$}"));
        if let Some(letters) = pattern.ordinal {
            let ending = ordinal_ending(&out[start..]);
            letters.push(ending, out);
        }
        return Ok(());
    }
    write_word(fields, pattern, out)
}

/// Writing to memory does not fail.
fn write(out: &mut String, text: std::fmt::Arguments<'_>) {
    let _ = out.write_fmt(text);
}

/// The value of a field that is a number, and its least width. `None` for a field that is not.
fn number_of(fields: &Fields, field: Field) -> SqlResult<Option<(i64, usize)>> {
    // Of these a sign takes a place of its own.
    let signed = |number: i64, width: usize| (number, width + usize::from(number < 0));
    let seconds = (fields.hour * 60 + fields.minute) * 60 + fields.second;
    Ok(Some(match field {
        Field::Hour12 => signed(if fields.hour % 12 == 0 { 12 } else { fields.hour % 12 }, 2),
        Field::Hour24 => signed(fields.hour, 2),
        Field::Minute => signed(fields.minute, 2),
        Field::Second => signed(fields.second, 2),
        Field::SecondOfDay => (seconds, 0),
        Field::MonthNumber => signed(fields.month, 2),
        Field::DayOfMonth => (fields.day, 2),
        Field::DayOfYear => (fields.day_of_year, 3),
        Field::IsoDayOfYear => {
            let date = fields.calendar();
            (date.days() - first_monday(date.iso_week().0) + 1, 3)
        }
        Field::DayOfWeek => (fields.date()?.day_of_week() + 1, 0),
        Field::IsoDayOfWeek => (fields.date()?.iso_day_of_week(), 0),
        Field::WeekOfMonth => ((fields.day - 1) / 7 + 1, 0),
        Field::WeekOfYear => ((fields.day_of_year - 1) / 7 + 1, 2),
        Field::IsoWeek => (fields.calendar().iso_week().1, 2),
        Field::Quarter if fields.month == 0 => return Ok(None),
        Field::Quarter => ((fields.month - 1) / 3 + 1, 0),
        Field::Century => signed(century(fields), 2),
        Field::Year(digits) => signed(last_digits(fields.shown_year(), digits), digits),
        Field::IsoYear(digits) => {
            let year = fields.calendar().iso_week().0;
            let year = if fields.date.is_some() { positive_year(year) } else { year };
            // The place for the sign is that of the calendar's year.
            (last_digits(year, digits), digits + usize::from(fields.shown_year() < 0))
        }
        Field::Julian => (fields.calendar().days() + JULIAN_OF_EPOCH, 0),
        _ => return Ok(None),
    }))
}

fn last_digits(year: i64, digits: usize) -> i64 {
    match digits {
        1 => year % 10,
        2 => year % 100,
        3 => year % 1000,
        _ => year,
    }
}

fn century(fields: &Fields) -> i64 {
    match fields.date {
        None => fields.year / 100,
        Some(date) if date.year > 0 => (date.year - 1) / 100 + 1,
        Some(date) => date.year / 100 - 1,
    }
}

fn write_word(fields: &Fields, pattern: &Pattern<Field>, out: &mut String) -> SqlResult<()> {
    let width = if pattern.fill || pattern.localized { 0 } else { NAME_WIDTH };
    match pattern.key {
        Field::Meridiem(points, letters) => {
            let afternoon = fields.hour % 24 >= 12;
            letters.push(pick(points, [["AM", "PM"], ["A.M.", "P.M."]], afternoon), out);
        }
        Field::Era(points, letters) => {
            let before_christ = fields.date()?.year <= 0;
            letters.push(pick(points, [["AD", "BC"], ["A.D.", "B.C."]], before_christ), out);
        }
        Field::MonthName(letters) => {
            fields.date()?;
            push_padded(letters, month_name(fields), width, out);
        }
        Field::ShortMonthName(letters) => {
            fields.date()?;
            letters.push(short(month_name(fields)), out);
        }
        Field::DayName(letters) => push_padded(letters, day_name(fields.date()?), width, out),
        Field::ShortDayName(letters) => letters.push(short(day_name(fields.date()?)), out),
        Field::RomanMonth(letters) => {
            const ROMAN_WIDTH: usize = 4;
            if let Some(month) = roman_month(fields) {
                push_padded(letters, month, if pattern.fill { 0 } else { ROMAN_WIDTH }, out);
            }
        }
        Field::YearWithComma => {
            let year = fields.shown_year();
            write(out, format_args!("{},{:03}", year / 1000, year % 1000));
            push_ordinal(pattern, out);
        }
        Field::Millisecond => write_fraction(fields, 3, pattern, out),
        Field::Microsecond => write_fraction(fields, 6, pattern, out),
        Field::Fraction(digits) => write_fraction(fields, digits, pattern, out),
        Field::Zone(letters) => {
            fields.date()?;
            if let Some((zone, moment)) = fields.zone {
                zone.with_abbreviation(moment, |name| letters.push(name.unwrap_or_default(), out));
            }
        }
        Field::ZoneHour => {
            let east = fields.east()?;
            write(out, format_args!("{}{:02}", sign_of(east), east.abs() / 3600));
        }
        Field::ZoneMinute => write(out, format_args!("{:02}", fields.east()?.abs() / 60 % 60)),
        Field::ZoneOffset => {
            let east = fields.east()?;
            let (hours, minutes, width) = (east.abs() / 3600, east.abs() / 60 % 60, if pattern.fill { 1 } else { 2 });
            write(out, format_args!("{}{hours:0width$}", sign_of(east)));
            if minutes != 0 {
                write(out, format_args!(":{minutes:02}"));
            }
        }
        _ => {}
    }
    Ok(())
}

fn sign_of(east: i64) -> char {
    if east < 0 { '-' } else { '+' }
}

fn pick(points: bool, words: [[&'static str; 2]; 2], second: bool) -> &'static str {
    words[usize::from(points)][usize::from(second)]
}

fn push_padded(letters: Letters, word: &str, width: usize, out: &mut String) {
    letters.push(word, out);
    (word.len()..width).for_each(|_| out.push(' '));
}

fn push_ordinal(pattern: &Pattern<Field>, out: &mut String) {
    if let Some(letters) = pattern.ordinal {
        letters.push(ordinal_ending(out), out);
    }
}

fn write_fraction(fields: &Fields, digits: u32, pattern: &Pattern<Field>, out: &mut String) {
    let value = fields.micros / 10_i64.pow(6 - digits);
    let width = usize::try_from(digits).unwrap_or(0);
    write(out, format_args!("{value:0width$}"));
    push_ordinal(pattern, out);
}

fn month_name(fields: &Fields) -> &'static str {
    usize::try_from(fields.month - 1).ok().and_then(|month| MONTHS.get(month)).copied().unwrap_or_default()
}

fn day_name(date: Date) -> &'static str {
    usize::try_from(date.day_of_week()).ok().and_then(|day| DAYS.get(day)).copied().unwrap_or_default()
}

/// Of an interval, months count backwards below zero, and whole years are its last month.
fn roman_month(fields: &Fields) -> Option<&'static str> {
    let place = match (fields.month, fields.year) {
        (0, 0) => return None,
        (0, 1..) => 11,
        (0, _) => 0,
        (month @ ..0, _) => 12 + month,
        (month, _) => month - 1,
    };
    usize::try_from(place).ok().and_then(|place| ROMAN_MONTHS.get(place)).copied()
}
