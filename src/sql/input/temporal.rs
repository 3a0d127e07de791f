//! Reads dates, times and timestamps in the forms PostgreSQL takes with DateStyle ISO, MDY.
//!
//! ISO 8601 in its variants, `1/8/1999`, month names, AM and PM, BC, zones as offsets and common abbreviations. A zone
//! is heeded by timestamptz only, as in PostgreSQL. Infinity is refused: the store cannot hold it.

use super::calendar::{FIRST_DAY, LAST_DATE, MICROS_PER_DAY, MICROS_PER_SECOND, days_from_civil, days_in_month};
use super::clock::{DateToken, Fail, Scanner, Word};
use crate::sql::error::{ErrorKind, SqlError, SqlResult};

/// Days since 1970-01-01.
pub(super) fn date(text: &str) -> SqlResult<i32> {
    let parsed = parse(text).map_err(|fail| refusal(fail, "date", text))?;
    let days = parsed.days.ok_or_else(|| refusal(Fail::Syntax, "date", text))?;
    if !(FIRST_DAY..=LAST_DATE).contains(&days) {
        return Err(SqlError::new(ErrorKind::DatetimeOverflow, format!("date out of range: \"{text}\"")));
    }
    i32::try_from(days).map_err(|_| refusal(Fail::Overflow, "date", text))
}

/// Microseconds since midnight.
pub(super) fn time(text: &str) -> SqlResult<i64> {
    let parsed = parsed(text, true).map_err(|fail| refusal(fail, "time", text))?;
    parsed.micros.ok_or_else(|| refusal(Fail::Syntax, "time", text))
}

/// Microseconds since 1970-01-01T00:00:00; a zone counts only `with_zone`. They end 30 years before PostgreSQL's do,
/// in the year 294247, because PostgreSQL counts from 2000.
pub(super) fn timestamp(text: &str, with_zone: bool) -> SqlResult<i64> {
    let name = if with_zone { "timestamp with time zone" } else { "timestamp" };
    let parsed = parse(text).map_err(|fail| refusal(fail, name, text))?;
    let days = parsed.days.ok_or_else(|| refusal(Fail::Syntax, name, text))?;
    let out_of_range = || SqlError::new(ErrorKind::DatetimeOverflow, format!("timestamp out of range: \"{text}\""));
    if days < FIRST_DAY {
        return Err(out_of_range());
    }
    let east = if with_zone { parsed.east_seconds.unwrap_or(0) } else { 0 };
    days.checked_mul(MICROS_PER_DAY)
        .and_then(|day| day.checked_add(parsed.micros.unwrap_or(0) - east * MICROS_PER_SECOND))
        .ok_or_else(out_of_range)
}

fn refusal(fail: Fail, type_name: &str, text: &str) -> Box<SqlError> {
    let out_of_range = || format!("date/time field value out of range: \"{text}\"");
    match fail {
        Fail::Syntax => SqlError::new(
            ErrorKind::InvalidDatetimeFormat,
            format!("invalid input syntax for type {type_name}: \"{text}\""),
        ),
        Fail::Overflow => SqlError::new(ErrorKind::DatetimeOverflow, out_of_range()),
        Fail::DayOrMonth => SqlError::new(ErrorKind::DatetimeOverflow, out_of_range())
            .with_hint("Perhaps you need a different \"datestyle\" setting."),
        Fail::ZoneOverflow => SqlError::new(
            ErrorKind::InvalidZoneDisplacement,
            format!("time zone displacement out of range: \"{text}\""),
        ),
        Fail::UnknownZone(zone) => {
            SqlError::new(ErrorKind::InvalidParameterValue, format!("time zone \"{zone}\" not recognized"))
        }
        Fail::Infinite => SqlError::new(ErrorKind::DatetimeOverflow, out_of_range())
            .with_detail("The store holds no infinite dates and times."),
    }
}

#[derive(Default)]
struct Parsed {
    days: Option<i64>,
    micros: Option<i64>,
    east_seconds: Option<i64>,
}

/// What was found so far.
#[derive(Default)]
struct Fields<'a> {
    is_time: bool,
    date: Option<DateToken<'a>>,
    month: Option<i64>,
    numbers: Vec<&'a str>,
    micros: Option<i64>,
    afternoon: Option<bool>,
    before_christ: bool,
    east_seconds: Option<i64>,
    days: Option<i64>,
}

fn parse(text: &str) -> Result<Parsed, Fail> {
    parsed(text, false)
}

/// Where a time is asked for, digits alone are one.
fn parsed(text: &str, is_time: bool) -> Result<Parsed, Fail> {
    let mut scanner = Scanner::new(text);
    let mut fields = Fields { is_time, ..Fields::default() };
    while let Some(next) = scanner.next_significant() {
        match next {
            b'0'..=b'9' => fields.number(&mut scanner)?,
            b'+' | b'-' => {
                if scanner.is_infinite_word() {
                    return Err(Fail::Infinite);
                }
                if fields.micros.is_none() || fields.east_seconds.is_some() {
                    return Err(Fail::Syntax);
                }
                fields.east_seconds = Some(scanner.offset()?);
            }
            b'j' | b'J' if scanner.byte_after(1).is_some_and(|b| b.is_ascii_digit()) && !fields.has_date() => {
                scanner.take(1);
                let digits = scanner.peek_digits().len();
                fields.days = Some(value(scanner.take(digits))? + FIRST_DAY);
            }
            _ if next.is_ascii_alphabetic() => fields.word(&mut scanner)?,
            _ => return Err(Fail::Syntax),
        }
    }
    fields.finish()
}

impl<'a> Fields<'a> {
    fn has_date(&self) -> bool {
        self.date.is_some() || self.days.is_some() || (self.month.is_some() && self.numbers.len() == 2)
    }

    fn number(&mut self, scanner: &mut Scanner<'a>) -> Result<(), Fail> {
        let digits = scanner.peek_digits();
        match (scanner.byte_after(digits.len()), digits.len()) {
            (Some(b':'), _) if self.micros.is_none() => self.micros = Some(scanner.clock_time()?),
            (Some(b'.'), 6) if self.has_date() && self.micros.is_none() => self.micros = Some(scanner.compact_time()?),
            (Some(b'.'), 6) if self.is_time && !self.has_date() => self.micros = Some(scanner.compact_time()?),
            (_, 4 | 6) if self.is_time && self.is_empty() && scanner.ends_after(digits.len()) => {
                self.micros = Some(scanner.compact_time()?);
            }
            (Some(b'-'), 4) if self.is_empty() && scanner.day_of_year().is_some() => self.day_of_year(scanner)?,
            (Some(b'-' | b'/' | b'.'), _) if !self.has_date() && self.month.is_none() => {
                self.date = Some(scanner.date_token()?);
            }
            (_, 8) if !self.has_date() => self.compact_date(scanner.take(8), 4)?,
            (_, 6) if !self.has_date() && self.month.is_none() => self.compact_date(scanner.take(6), 2)?,
            (_, 6) if self.has_date() && self.micros.is_none() => self.micros = Some(scanner.compact_time()?),
            (_, 4) if self.has_date() && self.micros.is_none() && scanner.after_t() => {
                self.micros = Some(scanner.compact_time()?);
            }
            _ if self.date.is_none() && self.days.is_none() && self.numbers.len() < 2 => {
                self.numbers.push(scanner.take(digits.len()));
            }
            _ => return Err(Fail::Syntax),
        }
        Ok(())
    }

    fn is_empty(&self) -> bool {
        !self.has_date() && self.month.is_none() && self.numbers.is_empty() && self.micros.is_none()
    }

    /// `2014-234`
    fn day_of_year(&mut self, scanner: &mut Scanner<'a>) -> Result<(), Fail> {
        let year = value(scanner.take(4))?;
        scanner.take(1);
        let day = value(scanner.take(3))?;
        if !(1..=366).contains(&day) {
            return Err(Fail::DayOrMonth);
        }
        self.days = Some(days_from_civil(year, 1, 1) + day - 1);
        Ok(())
    }

    fn compact_date(&mut self, digits: &'a str, year_digits: usize) -> Result<(), Fail> {
        let (year, rest) = digits.split_at(year_digits);
        let (month, day) = rest.split_at(2);
        let year = full_year(year)?;
        self.days = Some(civil_days(year, value(month)?, value(day)?)?);
        Ok(())
    }

    fn word(&mut self, scanner: &mut Scanner<'a>) -> Result<(), Fail> {
        match scanner.word()? {
            Word::Month(month) if self.month.is_none() && self.date.is_none() => self.month = Some(month),
            Word::Zone(east) if self.micros.is_some() && self.east_seconds.is_none() => self.east_seconds = Some(east),
            Word::Afternoon(pm) if self.micros.is_some() && self.afternoon.is_none() => self.afternoon = Some(pm),
            Word::BeforeChrist(bc) => self.before_christ = bc,
            Word::Separator if self.has_date() && self.micros.is_none() => {}
            Word::Weekday => {}
            Word::Epoch if !self.has_date() => {
                self.days = Some(0);
                self.micros = Some(0);
            }
            Word::Infinity => return Err(Fail::Infinite),
            _ => return Err(Fail::Syntax),
        }
        Ok(())
    }

    fn finish(self) -> Result<Parsed, Fail> {
        let days = match (self.days, &self.date) {
            (Some(days), None) if self.numbers.is_empty() && self.month.is_none() => Some(days),
            (None, Some(date)) if self.numbers.is_empty() && self.month.is_none() => {
                let (year, month, day) = ordered(date)?;
                Some(civil_days(self.era(year)?, month, day)?)
            }
            (None, None) => match (self.month, self.numbers.as_slice()) {
                (None, []) => None,
                (Some(month), [first, second]) => {
                    let (year, day) = if first.len() > 2 { (first, second) } else { (second, first) };
                    Some(civil_days(self.era(full_year(year)?)?, month, value(day)?)?)
                }
                _ => return Err(Fail::Syntax),
            },
            _ => return Err(Fail::Syntax),
        };
        let micros = self.micros.map(|micros| in_half_of_day(micros, self.afternoon)).transpose()?;
        Ok(Parsed { days, micros, east_seconds: self.east_seconds })
    }

    /// The astronomical year.
    fn era(&self, year: i64) -> Result<i64, Fail> {
        match (self.before_christ, year) {
            (_, 0) => Err(Fail::Overflow),
            (true, year) => Ok(1 - year),
            (false, year) => Ok(year),
        }
    }
}

/// Year, month and day of three parts: the year first when it has three digits or more, else month, day, year.
fn ordered(date: &DateToken<'_>) -> Result<(i64, i64, i64), Fail> {
    let [first, second, third] = date.parts;
    match (super::clock::month_of(first), super::clock::month_of(second)) {
        (Some(month), None) => Ok((full_year(third)?, month, value(second)?)),
        (None, Some(month)) if first.len() > 2 => Ok((full_year(first)?, month, value(third)?)),
        (None, Some(month)) => Ok((full_year(third)?, month, value(first)?)),
        (None, None) if first.len() > 2 => Ok((full_year(first)?, value(second)?, value(third)?)),
        (None, None) => Ok((full_year(third)?, value(first)?, value(second)?)),
        (Some(_), Some(_)) => Err(Fail::Syntax),
    }
}

/// Two digits mean 1970 to 2069.
fn full_year(digits: &str) -> Result<i64, Fail> {
    let year = value(digits)?;
    Ok(match (digits.len(), year) {
        (1 | 2, 0..=69) => year + 2000,
        (1 | 2, _) => year + 1900,
        _ => year,
    })
}

fn value(digits: &str) -> Result<i64, Fail> {
    if digits.is_empty() || !digits.bytes().all(|b| b.is_ascii_digit()) {
        return Err(Fail::Syntax);
    }
    if digits.len() > 9 {
        return Err(Fail::Overflow);
    }
    digits.parse().map_err(|_| Fail::Overflow)
}

fn civil_days(year: i64, month: i64, day: i64) -> Result<i64, Fail> {
    if !(1..=12).contains(&month) || !(1..=31).contains(&day) {
        return Err(Fail::DayOrMonth);
    }
    if day > days_in_month(year, month) {
        return Err(Fail::Overflow);
    }
    Ok(days_from_civil(year, month, day))
}

fn in_half_of_day(micros: i64, afternoon: Option<bool>) -> Result<i64, Fail> {
    const HALF_DAY: i64 = MICROS_PER_DAY / 2;
    const HOUR: i64 = 3_600 * MICROS_PER_SECOND;
    match afternoon {
        None => Ok(micros),
        Some(_) if micros >= HALF_DAY + HOUR => Err(Fail::Overflow),
        Some(pm) => Ok(micros % HALF_DAY + if pm { HALF_DAY } else { 0 }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sql::output::TextColumn;
    use crate::sql::types::SqlType;

    fn shown(sql_type: SqlType, text: &str) -> String {
        let array = super::super::parse_text(&sql_type, text).unwrap().to_array().unwrap();
        let mut out = String::new();
        TextColumn::of(&array, &sql_type).write_to(0, &mut out).unwrap();
        out
    }

    #[test]
    fn timestamps_in_many_forms() {
        for (text, expected) in [
            ("20140822T005032", "2014-08-22 00:50:32"),
            ("20140822 005032.5", "2014-08-22 00:50:32.5"),
            ("20140822T00:50:32", "2014-08-22 00:50:32"),
            ("2014-08-22 24:00:00", "2014-08-23 00:00:00"),
            ("2014-08-22 23:59:60", "2014-08-23 00:00:00"),
            ("2014-8-2 1:2", "2014-08-02 01:02:00"),
            ("2014-08-22 11:12 PM", "2014-08-22 23:12:00"),
            ("2014-08-22 12:12 am", "2014-08-22 00:12:00"),
            ("2014-08-22 00:50:32.1234567", "2014-08-22 00:50:32.123457"),
            ("2014-08-22T00:50:32.123+05:30", "2014-08-22 00:50:32.123"),
            ("epoch", "1970-01-01 00:00:00"),
            ("294246-12-31 23:59:59.999999", "294246-12-31 23:59:59.999999"),
            (" Fri Aug 22 2014 10:00 ", "2014-08-22 10:00:00"),
        ] {
            assert_eq!(shown(SqlType::Timestamp, text), expected, "{text}");
        }
    }

    #[test]
    fn zones_count_for_timestamptz() {
        for (text, expected) in [
            ("2014-08-22T00:50:32Z", "2014-08-22 00:50:32+00"),
            ("2014-08-22 00:50:32+02", "2014-08-21 22:50:32+00"),
            ("2014-08-22 00:50:32+0230", "2014-08-21 22:20:32+00"),
            ("2014-08-22 00:50:32 +02:00", "2014-08-21 22:50:32+00"),
            ("2014-08-22 00:50:32-08", "2014-08-22 08:50:32+00"),
            ("2014-08-22T00:50Z", "2014-08-22 00:50:00+00"),
            ("2014-08-22 00:50:32 UTC", "2014-08-22 00:50:32+00"),
            ("2014-08-22 00:50:32 EST", "2014-08-22 05:50:32+00"),
            ("2014-08-22", "2014-08-22 00:00:00+00"),
            ("0044-03-15 12:00:00 BC", "0044-03-15 12:00:00+00 BC"),
        ] {
            assert_eq!(shown(SqlType::Timestamptz, text), expected, "{text}");
        }
    }

    #[test]
    fn dates_in_many_forms() {
        for text in [
            "1999-01-08",
            "Jan 8, 1999",
            "8 January 1999",
            "1/8/1999",
            "1999-Jan-08",
            "08-Jan-1999",
            "1/8/99",
            "1999/1/8",
            "1999.01.08",
            "990108",
            "19990108",
            "1999-01-08 04:05:06+02",
            "1999-008",
            "J2451187",
        ] {
            assert_eq!(shown(SqlType::Date, text), "1999-01-08", "{text}");
        }
        assert_eq!(shown(SqlType::Date, "5874897-12-31"), "5874897-12-31");
    }

    #[test]
    fn times_in_many_forms() {
        for (text, expected) in [
            ("04:05:06.789", "04:05:06.789"),
            ("04:05 PM", "16:05:00"),
            ("24:00:00", "24:00:00"),
            ("12:30+02", "12:30:00"),
            ("2014-08-22 01:02:03", "01:02:03"),
            ("040506", "04:05:06"),
            ("040506.5", "04:05:06.5"),
            ("0405", "04:05:00"),
        ] {
            assert_eq!(shown(SqlType::Time, text), expected, "{text}");
        }
    }

    #[test]
    fn refusals_are_postgresqls() {
        let refused = |sql_type: SqlType, text: &str| {
            let error = super::super::parse_text(&sql_type, text).unwrap_err();
            (error.kind, error.message)
        };
        let (syntax, overflow) = (ErrorKind::InvalidDatetimeFormat, ErrorKind::DatetimeOverflow);
        for (sql_type, text, kind, message) in [
            (SqlType::Date, "x", syntax, "invalid input syntax for type date: \"x\""),
            (SqlType::Date, "2014-02-30", overflow, "date/time field value out of range: \"2014-02-30\""),
            (SqlType::Date, "2014-13-01", overflow, "date/time field value out of range: \"2014-13-01\""),
            (SqlType::Date, "5874898-01-01", overflow, "date out of range: \"5874898-01-01\""),
            (SqlType::Date, "infinity", overflow, "date/time field value out of range: \"infinity\""),
            (SqlType::Time, "25:00:00", overflow, "date/time field value out of range: \"25:00:00\""),
            (SqlType::Timestamp, "2014-08-22 1", syntax, "invalid input syntax for type timestamp: \"2014-08-22 1\""),
            (SqlType::Timestamp, "-infinity", overflow, "date/time field value out of range: \"-infinity\""),
            (SqlType::Timestamp, "294277-01-01", overflow, "timestamp out of range: \"294277-01-01\""),
            (
                SqlType::Timestamptz,
                "2014-08-22 x",
                syntax,
                "invalid input syntax for type timestamp with time zone: \"2014-08-22 x\"",
            ),
            (
                SqlType::Timestamptz,
                "2014-08-22 00:00:00 Foo/Bar",
                ErrorKind::InvalidParameterValue,
                "time zone \"foo/bar\" not recognized",
            ),
            (
                SqlType::Timestamptz,
                "2014-08-22 00:00:00+99",
                ErrorKind::InvalidZoneDisplacement,
                "time zone displacement out of range: \"2014-08-22 00:00:00+99\"",
            ),
        ] {
            assert_eq!(refused(sql_type, text), (kind, message.to_owned()));
        }
    }
}
