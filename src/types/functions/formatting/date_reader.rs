//! `to_date` and `to_timestamp`: reads a text by a template.
//!
//! Two steps, as in PostgreSQL: [`read`] collects the fields that the patterns name, and [`Read::timestamp`] makes a date and
//! a time of them. Blanks are skipped in front of fields, separators stand for each other, unless the template says `FX`.

use super::date_patterns::{Convention, DAYS, DateTemplate, Field, MONTHS, ROMAN_MONTHS, short};
use super::template::{Pattern, Piece, is_separator, is_space};
use crate::error::{ErrorKind, SqlError, SqlResult};

/// What a text says, field by field; 0 for what it does not say, as in PostgreSQL.
#[derive(Debug, Default, Clone)]
pub(super) struct Read {
    pub convention: Option<Convention>,
    pub hour: i64,
    pub minute: i64,
    pub second: i64,
    pub second_of_day: i64,
    pub millis: i64,
    pub micros: i64,
    pub day_of_week: i64,
    pub day: i64,
    pub day_of_year: i64,
    pub month: i64,
    pub year: i64,
    /// Digits that the year was written with.
    pub year_digits: usize,
    pub century: i64,
    pub week: i64,
    pub week_of_month: i64,
    pub julian: i64,
    pub afternoon: i64,
    pub before_christ: i64,
    pub twelve_hours: bool,
    /// 0 while there is no zone.
    pub zone_sign: i64,
    pub zone_hour: i64,
    pub zone_minute: i64,
}

/// # Errors
/// 22007 for a text that does not follow the template, 0A000 for a pattern that is only written.
pub(super) fn read(text: &str, template: &DateTemplate) -> SqlResult<Read> {
    let mut reader = Reader { rest: text, before: None, exact: false, skipped: 0, read: Read::default() };
    for (index, piece) in template.iter().enumerate() {
        if reader.rest.is_empty() {
            break;
        }
        let is_field = matches!(piece, Piece::Pattern(pattern) if pattern.key != Field::Exact);
        if !reader.exact && (is_field || (index == 0 && !matches!(piece, Piece::Pattern(_)))) {
            reader.skip_spaces();
        }
        match piece {
            Piece::Pattern(pattern) => {
                reader.check_convention(pattern.key)?;
                reader.field(pattern, template.get(index + 1))?;
                if !reader.exact {
                    reader.skipped = 0;
                    reader.skip_spaces();
                }
            }
            Piece::Separator(_) | Piece::Space(_) => reader.separator(),
            Piece::Char(_) => reader.character(),
        }
    }
    Ok(reader.read)
}

struct Reader<'t> {
    rest: &'t str,
    /// The character in front of the rest.
    before: Option<char>,
    exact: bool,
    /// How many more characters were skipped than the template has.
    skipped: i64,
    read: Read,
}

impl<'t> Reader<'t> {
    fn next(&self) -> Option<char> {
        self.rest.chars().next()
    }

    fn advance(&mut self) {
        let mut chars = self.rest.chars();
        if let Some(c) = chars.next() {
            self.before = Some(c);
        }
        self.rest = chars.as_str();
    }

    fn advance_bytes(&mut self, bytes: usize) {
        let (taken, rest) = self.rest.split_at(bytes.min(self.rest.len()));
        self.before = taken.chars().next_back().or(self.before);
        self.rest = rest;
    }

    fn skip_spaces(&mut self) {
        while self.next().is_some_and(is_space) {
            self.advance();
            self.skipped += 1;
        }
    }

    /// A separator of the template stands for one of the text, or for nothing.
    fn separator(&mut self) {
        if self.exact {
            return self.advance();
        }
        self.skipped -= 1;
        if self.next().is_some_and(|c| is_space(c) || is_separator(c)) {
            self.advance();
            self.skipped += 1;
        }
    }

    /// Any other character stands for any one.
    fn character(&mut self) {
        if !self.exact && self.skipped > 0 {
            self.skipped -= 1;
        } else {
            self.advance();
        }
    }

    fn check_convention(&mut self, field: Field) -> SqlResult<()> {
        let Some(convention) = field.convention() else { return Ok(()) };
        if *self.read.convention.get_or_insert(convention) != convention {
            return Err(invalid("invalid combination of date conventions")
                .with_hint("Do not mix Gregorian and ISO week date conventions in a formatting template."));
        }
        Ok(())
    }

    fn field(&mut self, pattern: &Pattern<Field>, next: Option<&Piece<Field>>) -> SqlResult<()> {
        match pattern.key {
            Field::Exact => self.exact = true,
            Field::Meridiem(points, _) => {
                let words = if points { ["A.M.", "P.M."] } else { ["AM", "PM"] };
                let place = self.word(&words, pattern)?;
                set(&mut self.read.afternoon, place, pattern)?;
                self.read.twelve_hours = true;
            }
            Field::Era(points, _) => {
                let words = if points { ["A.D.", "B.C."] } else { ["AD", "BC"] };
                let place = self.word(&words, pattern)?;
                set(&mut self.read.before_christ, place, pattern)?;
            }
            Field::MonthName(_) => {
                let place = self.word(&MONTHS, pattern)?;
                set(&mut self.read.month, place + 1, pattern)?;
            }
            Field::ShortMonthName(_) => {
                let place = self.word(&MONTHS.map(short), pattern)?;
                set(&mut self.read.month, place + 1, pattern)?;
            }
            Field::RomanMonth(_) => {
                // The longer ones first: VIII is no V.
                let mut words = ROMAN_MONTHS;
                words.reverse();
                let place = self.word(&words, pattern)?;
                set(&mut self.read.month, 12 - place, pattern)?;
            }
            Field::DayName(_) => {
                let place = self.word(&DAYS, pattern)?;
                set(&mut self.read.day_of_week, place + 1, pattern)?;
            }
            Field::ShortDayName(_) => {
                let place = self.word(&DAYS.map(short), pattern)?;
                set(&mut self.read.day_of_week, place + 1, pattern)?;
            }
            Field::Zone(_) | Field::ZoneOffset => {
                let message = format!("formatting field \"{}\" is only supported in to_char", pattern.name);
                return Err(SqlError::new(ErrorKind::FeatureNotSupported, message));
            }
            Field::YearWithComma => self.year_with_comma(pattern)?,
            _ => self.number(pattern, next)?,
        }
        Ok(())
    }

    fn number(&mut self, pattern: &Pattern<Field>, next: Option<&Piece<Field>>) -> SqlResult<()> {
        if pattern.key == Field::ZoneHour {
            self.zone_sign();
        }
        let length = length_of(pattern);
        let (value, digits) = self.integer(pattern, length, next)?;
        let read = &mut self.read;
        let (place, value) = match pattern.key {
            Field::Hour12 => {
                read.twelve_hours = true;
                (&mut read.hour, value)
            }
            Field::Hour24 => (&mut read.hour, value),
            Field::Minute => (&mut read.minute, value),
            Field::Second => (&mut read.second, value),
            Field::SecondOfDay => (&mut read.second_of_day, value),
            Field::Millisecond => {
                set(&mut read.millis, value, pattern)?;
                // 25 is 0.25, and 025 is 0.025.
                read.millis *= 10_i64.pow(missing(digits, 3));
                return self.skip_ordinal(pattern);
            }
            Field::Microsecond | Field::Fraction(_) => {
                set(&mut read.micros, value, pattern)?;
                read.micros *= 10_i64.pow(missing(digits, 6));
                return self.skip_ordinal(pattern);
            }
            Field::ZoneHour => (&mut read.zone_hour, value),
            Field::ZoneMinute => {
                if read.zone_sign == 0 {
                    read.zone_sign = 1;
                }
                (&mut read.zone_minute, value)
            }
            Field::MonthNumber => (&mut read.month, value),
            Field::DayOfYear | Field::IsoDayOfYear => (&mut read.day_of_year, value),
            Field::DayOfMonth => (&mut read.day, value),
            Field::DayOfWeek => (&mut read.day_of_week, value),
            // Kept as counted from Sunday.
            Field::IsoDayOfWeek => (&mut read.day_of_week, if value + 1 > 7 { 1 } else { value + 1 }),
            Field::WeekOfYear | Field::IsoWeek => (&mut read.week, value),
            Field::WeekOfMonth => (&mut read.week_of_month, value),
            Field::Century => (&mut read.century, value),
            Field::Year(width) | Field::IsoYear(width) => {
                read.year_digits = width;
                (&mut read.year, if width < 4 && digits < 4 { near_2020(value) } else { value })
            }
            Field::Julian => (&mut read.julian, value),
            // No date of a quarter could be meant: it is read and forgotten.
            _ => return self.skip_ordinal(pattern),
        };
        set(place, value, pattern)?;
        self.skip_ordinal(pattern)
    }

    fn skip_ordinal(&mut self, pattern: &Pattern<Field>) -> SqlResult<()> {
        if pattern.ordinal.is_some() {
            self.advance();
            self.advance();
        }
        Ok(())
    }

    /// A minus may already have been skipped as a separator.
    fn zone_sign(&mut self) {
        match self.next() {
            Some(sign @ ('+' | '-' | ' ')) => {
                self.read.zone_sign = if sign == '-' { -1 } else { 1 };
                self.advance();
            }
            _ => self.read.zone_sign = if self.skipped > 0 && self.before == Some('-') { -1 } else { 1 },
        }
    }

    /// A number and how many characters it took: all digits there are when no digit can follow it, else as many as the
    /// pattern has.
    fn integer(
        &mut self,
        pattern: &Pattern<Field>,
        length: usize,
        next: Option<&Piece<Field>>,
    ) -> SqlResult<(i64, usize)> {
        let spaces = self.rest.len() - self.rest.trim_start_matches(is_space).len();
        self.advance_bytes(spaces);
        let start = self.rest;
        let (value, taken) = if pattern.fill || pattern.ordinal.is_some() || ends_number(next) {
            leading_integer(start)
        } else {
            let remain = start.chars().count();
            if remain < length {
                let message = format!("source string too short for \"{}\" formatting field", pattern.name);
                return Err(invalid(message)
                    .with_detail(format!("Field requires {length} characters, but only {remain} remain."))
                    .with_hint(USE_FM));
            }
            let end = start.char_indices().nth(length).map_or(start.len(), |(at, _)| at);
            let window = &start[..end];
            let (value, taken) = leading_integer(window);
            if taken > 0 && taken < window.len() {
                return Err(invalid(format!("invalid value \"{window}\" for \"{}\"", pattern.name))
                    .with_detail(format!("Field requires {length} characters, but only {taken} could be parsed."))
                    .with_hint(USE_FM));
            }
            (value, taken)
        };
        if taken == 0 {
            let shown: String = start.chars().take(length).collect();
            return Err(invalid(format!("invalid value \"{shown}\" for \"{}\"", pattern.name))
                .with_detail("Value must be an integer."));
        }
        self.advance_bytes(taken);
        let value = value.filter(|value| i32::try_from(*value).is_ok()).ok_or_else(|| {
            let message = format!("value for \"{}\" in source string is out of range", pattern.name);
            SqlError::new(ErrorKind::DatetimeOverflow, message).with_detail(format!(
                "Value must be in the range {} to {}.",
                i32::MIN,
                i32::MAX
            ))
        })?;
        Ok((value, taken))
    }

    /// `2,020`
    fn year_with_comma(&mut self, pattern: &Pattern<Field>) -> SqlResult<()> {
        const YEAR_DIGITS: usize = 3;
        let unread = || invalid("invalid input string for \"Y,YYY\"");
        let (thousands, taken) = leading_integer(self.rest);
        let behind = self.rest[taken..].strip_prefix(',').ok_or_else(unread)?;
        let digits = behind.bytes().take(YEAR_DIGITS).take_while(u8::is_ascii_digit).count();
        let years: i64 = behind[..digits].parse().map_err(|_| unread())?;
        let year = thousands.ok_or_else(unread)?.saturating_mul(1000).saturating_add(years);
        set(&mut self.read.year, year, pattern)?;
        self.read.year_digits = 4;
        self.advance_bytes(taken + 1 + digits);
        self.skip_ordinal(pattern)
    }

    /// Which of the words the text goes on with, whatever its case.
    fn word(&mut self, words: &[&str], pattern: &Pattern<Field>) -> SqlResult<i64> {
        let begins = |word: &&str| self.rest.get(..word.len()).is_some_and(|start| start.eq_ignore_ascii_case(word));
        let Some(place) = words.iter().position(begins) else {
            let shown = self.rest.split(is_space).next().unwrap_or_default();
            return Err(invalid(format!("invalid value \"{shown}\" for \"{}\"", pattern.name))
                .with_detail("The given value did not match any of the allowed values for this field."));
        };
        self.advance_bytes(words[place].len());
        Ok(i64::try_from(place).unwrap_or(0))
    }
}

const USE_FM: &str = "If your source string is not fixed-width, try using the \"FM\" modifier.";

fn invalid(message: impl Into<String>) -> Box<SqlError> {
    SqlError::new(ErrorKind::InvalidDatetimeFormat, message)
}

/// Characters a number has when another one may follow it at once.
fn length_of(pattern: &Pattern<Field>) -> usize {
    match pattern.key {
        Field::Hour12 | Field::Hour24 | Field::ZoneHour | Field::ZoneMinute => 2,
        Field::Millisecond | Field::IsoDayOfYear => 3,
        Field::Microsecond => 6,
        Field::Fraction(digits) => usize::try_from(digits).unwrap_or(6),
        _ => pattern.name.len(),
    }
}

fn missing(digits: usize, of: u32) -> u32 {
    of.saturating_sub(u32::try_from(digits).unwrap_or(of))
}

/// Whether what follows in the template cannot be a digit of the text.
fn ends_number(next: Option<&Piece<Field>>) -> bool {
    match next {
        None => true,
        Some(Piece::Pattern(pattern)) => !pattern.key.is_digits(),
        Some(Piece::Separator(c) | Piece::Space(c) | Piece::Char(c)) => !c.is_ascii_digit(),
    }
}

/// What C's `strtol` reads, and how many bytes of it; no value when it is too large.
fn leading_integer(text: &str) -> (Option<i64>, usize) {
    let blanks = text.len() - text.trim_start_matches(is_space).len();
    let signed = &text[blanks..];
    let sign = usize::from(signed.starts_with(['+', '-']));
    let digits = signed[sign..].bytes().take_while(u8::is_ascii_digit).count();
    if digits == 0 {
        return (Some(0), 0);
    }
    (signed[..sign + digits].parse().ok(), blanks + sign + digits)
}

/// A year of fewer digits is the one nearest to 2020.
fn near_2020(year: i64) -> i64 {
    match year {
        ..70 => year + 2000,
        70..100 => year + 1900,
        100..520 => year + 2000,
        520..1000 => year + 1000,
        _ => year,
    }
}

/// The same field must not be given twice with different values.
fn set(place: &mut i64, value: i64, pattern: &Pattern<Field>) -> SqlResult<()> {
    if *place != 0 && *place != value {
        let message = format!("conflicting values for \"{}\" field in formatting string", pattern.name);
        return Err(invalid(message).with_detail("This value contradicts a previous setting for the same field type."));
    }
    *place = value;
    Ok(())
}
