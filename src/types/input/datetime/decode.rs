//! What the fields of a date or time mean, from left to right: each depends on those before it.

use super::Fail;
use super::fields::{Field, Fields, Kind, Parts, fraction, fraction_micros, leading_integer};
use super::found::{
    DATE, DAY, DAYLIGHT_SAVING, ERA, Found, HALF_OF_DAY, HOUR, MINUTE, MONTH, SECOND, SECONDS, SPECIAL, SUMMER_ZONE,
    Set, TIME, WEEKDAY, YEAR, ZONE,
};
use super::offset::offset;
use super::words::{Label, Special, Word, word};
use crate::calendar::{Abbreviation, MICROS_PER_DAY, MICROS_PER_SECOND, Zone, abbreviation};
use crate::style::Reading;

/// What a text says: a date and a time, or a word that stands for one.
#[derive(Debug)]
pub(super) enum Said {
    /// Microseconds of the date, and how many seconds east of UTC the clock is.
    At {
        days: i64,
        micros: i64,
        east: i64,
    },
    Epoch,
    Infinity,
}

/// Goes through the fields.
struct Decoder<'a> {
    fields: &'a Fields,
    found: Found,
    /// A word said what the next number is.
    label: Option<Label>,
    special: Option<Special>,
    /// Seconds east of UTC.
    east: i64,
    zone: Option<Zone>,
    /// Of a zone that is an abbreviation, the time is not asked for its date.
    abbreviated: Option<Zone>,
    reading: Reading,
    time_only: bool,
}

/// The date, and the time of a day that is midnight unless it is said.
///
/// # Errors
/// For what is not a date.
pub(super) fn moment(fields: &Fields, reading: Reading) -> Result<Said, Fail> {
    let mut decoder = Decoder::new(fields, reading, false);
    decoder.go_through()?;
    decoder.moment()
}

/// The time of a day, in microseconds.
///
/// # Errors
/// For what is not a time.
pub(super) fn time(fields: &Fields, reading: Reading) -> Result<i64, Fail> {
    let mut decoder = Decoder::new(fields, reading, true);
    decoder.go_through()?;
    decoder.time()
}

impl<'a> Decoder<'a> {
    fn new(fields: &'a Fields, reading: Reading, time_only: bool) -> Self {
        Self {
            fields,
            found: Found::new(reading.style.dates.order),
            label: None,
            special: None,
            east: 0,
            zone: None,
            abbreviated: None,
            reading,
            time_only,
        }
    }

    fn go_through(&mut self) -> Result<(), Fail> {
        let fields = self.fields;
        for index in 0..fields.len() {
            let Some(field) = fields.get(index) else { break };
            let filled = match field.kind {
                Kind::Date if self.time_only => self.date_beside_time(index, field)?,
                Kind::Date => self.date(field)?,
                Kind::Time => self.clock(field)?,
                Kind::Signed => {
                    self.east = offset(field.text)?;
                    ZONE
                }
                Kind::Number => match self.label.take() {
                    Some(label) => self.labelled(label, field)?,
                    None if self.time_only => self.digits_of_time(index, field)?,
                    None => self.number(field)?,
                },
                Kind::Word | Kind::SignedWord => self.word(index, field)?,
            };
            if self.found.set & filled != 0 {
                return Err(Fail::Syntax);
            }
            self.found.set |= filled;
        }
        self.found.settle_date()?;
        self.found.settle_half_of_day()
    }

    fn has(&self, set: Set) -> bool {
        self.found.set & set == set
    }

    fn moment(self) -> Result<Said, Fail> {
        match self.special {
            Some(Special::Epoch) => return Ok(Said::Epoch),
            Some(_) => return Ok(Said::Infinity),
            None if !self.has(DATE) => return Err(Fail::Syntax),
            None => {}
        }
        let (days, micros) = (self.found.days(), self.found.micros());
        let named = self.zone.or(self.abbreviated);
        let named = if self.has(ZONE) { named } else { Some(self.reading.style.zone) };
        if self.has(DAYLIGHT_SAVING) && (named.is_some() || !self.has(ZONE)) {
            return Err(Fail::Syntax);
        }
        let local = || days.checked_mul(MICROS_PER_DAY).and_then(|day| day.checked_add(micros));
        let east = named.zip(local()).map_or(self.east, |(zone, local)| zone.east_at_local(local));
        Ok(Said::At { days, micros, east })
    }

    fn time(self) -> Result<i64, Fail> {
        if !self.found.is_time_of_day() {
            return Err(Fail::Overflow);
        }
        let needs_date = self.zone.is_some_and(|zone| !zone.is_fixed());
        let has_part_of_date = self.found.set & DATE != 0 && !self.has(DATE);
        let stands_alone = self.abbreviated.is_some() || !self.has(ZONE);
        if !self.has(TIME)
            || self.has(DAYLIGHT_SAVING) && (self.zone.is_some() || stands_alone)
            || needs_date && !self.has(DATE)
            || stands_alone && has_part_of_date
        {
            return Err(Fail::Syntax);
        }
        Ok(self.found.micros())
    }

    /// A date; behind one a zone with punctuation in its name, or digits of a time with an offset.
    fn date(&mut self, field: Field<'_>) -> Result<Set, Fail> {
        match self.label.take() {
            // `J2451187-08`
            Some(Label::JulianDay) => {
                let (day, rest) = leading_integer(field.text)?;
                self.found.put_julian_day(day);
                self.east = offset(rest)?;
                Ok(DATE | TIME | ZONE)
            }
            Some(Label::Time) => self.digits_with_offset(field, self.found.set),
            Some(_) => Err(Fail::Syntax),
            None if !self.has(MONTH | DAY) => self.parts_of_date(field.text),
            None if field.text.first().is_some_and(u8::is_ascii_digit) => {
                self.digits_with_offset(field, self.found.set)
            }
            None => self.named_zone(field.text),
        }
    }

    /// Where a time is asked for, a date may stand before it.
    fn date_beside_time(&mut self, index: usize, field: Field<'_>) -> Result<Set, Fail> {
        let kind_at = |index: usize| self.fields.get(index).map(|field| field.kind);
        let last = self.fields.len() - 1;
        if index == 0 && last > 0 && (kind_at(last) == Some(Kind::Date) || kind_at(1) == Some(Kind::Time)) {
            return self.parts_of_date(field.text);
        }
        if field.text.first().is_some_and(u8::is_ascii_digit) {
            return self.digits_with_offset(field, self.found.set | DATE);
        }
        self.named_zone(field.text)
    }

    /// `040506-08`
    fn digits_with_offset(&mut self, field: Field<'_>, set: Set) -> Result<Set, Fail> {
        let hyphen = field.text.iter().position(|byte| *byte == b'-').ok_or(Fail::Syntax)?;
        if self.has(TIME) {
            return Err(Fail::Syntax);
        }
        let (digits, zone) = field.text.split_at(hyphen);
        self.east = offset(zone)?;
        Ok(self.found.take_digits(digits, set)? | ZONE)
    }

    fn named_zone(&mut self, name: &[u8]) -> Result<Set, Fail> {
        let name = std::str::from_utf8(name).map_err(|_| Fail::Syntax)?;
        self.zone = Some(Zone::of_rules(name).ok_or_else(|| Fail::UnknownZone(name.to_owned()))?);
        Ok(ZONE)
    }

    /// The parts of a date, a month by its name first.
    fn parts_of_date(&mut self, text: &[u8]) -> Result<Set, Fail> {
        const MAX_PARTS: usize = 25;
        let (mut filled, mut named_month) = (0, false);
        let parts = || Parts::of(text).take(MAX_PARTS);
        for part in parts().filter(|part| !part.first().is_some_and(u8::is_ascii_digit)) {
            match word(part) {
                Some(Word::Nothing) => continue,
                Some(Word::Month(month)) if (self.found.set | filled) & MONTH == 0 => self.found.month = month,
                _ => return Err(Fail::Syntax),
            }
            named_month = true;
            filled |= MONTH;
        }
        for part in parts().filter(|part| part.first().is_some_and(u8::is_ascii_digit)) {
            let more = self.found.take_number(part, self.found.set | filled, named_month)?;
            if (self.found.set | filled) & more != 0 {
                return Err(Fail::Syntax);
            }
            filled |= more;
        }
        let is_whole = (self.found.set | filled) & !(super::found::DAY_OF_YEAR | ZONE) == DATE;
        if is_whole { Ok(filled) } else { Err(Fail::Syntax) }
    }

    fn clock(&mut self, field: Field<'_>) -> Result<Set, Fail> {
        if !self.time_only && self.label.take().is_some_and(|label| label != Label::Time) {
            return Err(Fail::Syntax);
        }
        let filled = self.found.take_time(field.text)?;
        if !self.time_only && !self.found.is_time_of_day() {
            return Err(Fail::Overflow);
        }
        Ok(filled)
    }

    /// The number behind a label: `y2001m02d04`.
    fn labelled(&mut self, label: Label, field: Field<'_>) -> Result<Set, Fail> {
        let (value, rest) = leading_integer(field.text)?;
        let has_fraction = rest.first() == Some(&b'.');
        let takes_fraction = matches!(label, Label::JulianDay | Label::Time | Label::Second);
        if has_fraction == rest.is_empty() || has_fraction && !takes_fraction {
            return Err(Fail::Syntax);
        }
        let found = &mut self.found;
        Ok(match label {
            Label::Year => {
                found.year = value;
                YEAR
            }
            Label::Month if found.set & (MONTH | HOUR) == MONTH | HOUR => {
                found.minute = value;
                MINUTE
            }
            Label::Month => {
                found.month = value;
                MONTH
            }
            Label::Day => {
                found.day = value;
                DAY
            }
            Label::Hour => {
                found.hour = value;
                HOUR
            }
            Label::Minute => {
                found.minute = value;
                MINUTE
            }
            Label::Second => {
                found.second = value;
                if has_fraction {
                    found.fraction = fraction_micros(rest)?;
                }
                if has_fraction { SECONDS } else { SECOND }
            }
            Label::JulianDay => {
                found.put_julian_day(value);
                if has_fraction {
                    #[expect(clippy::cast_possible_truncation, reason = "a part of a day")]
                    let micros = (fraction(rest)? * MICROS_OF_DAY) as i64;
                    found.put_micros(micros);
                }
                if has_fraction { DATE | TIME } else { DATE }
            }
            Label::Time => match found.take_digits(field.text, found.set | DATE)? {
                TIME => TIME,
                _ => return Err(Fail::Syntax),
            },
            Label::Other => return Err(Fail::Syntax),
        })
    }

    /// A number without a label: a part of a date, or digits of a date or time.
    fn number(&mut self, field: Field<'_>) -> Result<Set, Fail> {
        let point = field.text.iter().position(|byte| *byte == b'.');
        let has_some_date = self.found.set & DATE != 0;
        let is_missing = !has_some_date || self.found.set & TIME == 0;
        match point {
            Some(_) if !has_some_date => self.parts_of_date(field.text),
            Some(point) if point > 2 => self.found.take_digits(field.text, self.found.set),
            _ if field.text.len() >= 6 && is_missing => self.found.take_digits(field.text, self.found.set),
            _ => self.found.take_number(field.text, self.found.set, self.found.named_month),
        }
    }

    /// A number where a time is asked for.
    fn digits_of_time(&mut self, index: usize, field: Field<'_>) -> Result<Set, Fail> {
        let point = field.text.iter().position(|byte| *byte == b'.');
        let last = self.fields.len() - 1;
        let ends_with_date = self.fields.get(last).is_some_and(|field| field.kind == Kind::Date);
        let set = self.found.set | DATE;
        match point {
            Some(_) if index == 0 && last > 0 && ends_with_date => self.parts_of_date(field.text),
            Some(point) if point <= 2 => Err(Fail::Syntax),
            Some(_) => self.found.take_digits(field.text, set),
            None if field.text.len() > 4 => self.found.take_digits(field.text, set),
            None => self.found.take_number(field.text, set, false),
        }
    }

    fn word(&mut self, index: usize, field: Field<'_>) -> Result<Set, Fail> {
        match abbreviation(field.text) {
            Some(Abbreviation::Fixed { east, summer }) => {
                self.east = east;
                return Ok(if summer { ZONE | SUMMER_ZONE } else { ZONE });
            }
            Some(Abbreviation::Rules(zone)) => {
                self.abbreviated = Some(zone);
                return Ok(ZONE);
            }
            None => {}
        }
        let Some(word) = word(field.text) else {
            let name = std::str::from_utf8(field.text).map_err(|_| Fail::Syntax)?;
            self.zone = Some(Zone::of_rules(name).ok_or(Fail::Syntax)?);
            return Ok(ZONE);
        };
        Ok(match word {
            Word::Nothing => 0,
            Word::Special(special) => self.special(special)?,
            Word::Month(_) | Word::Weekday if self.time_only => return Err(Fail::Syntax),
            Word::Month(month) => self.month(month),
            Word::Weekday => WEEKDAY,
            Word::DaylightSaving => {
                self.east += SECONDS_PER_HOUR;
                DAYLIGHT_SAVING | SUMMER_ZONE
            }
            Word::Afternoon(afternoon) => {
                self.found.afternoon = Some(afternoon);
                HALF_OF_DAY
            }
            Word::BeforeChrist(before) => {
                self.found.before_christ = before;
                ERA
            }
            Word::Label(label) => {
                self.label = Some(label);
                0
            }
            Word::TimeFollows => {
                let next = self.fields.get(index + 1).map(|field| field.kind);
                let is_time_next = matches!(next, Some(Kind::Number | Kind::Time | Kind::Date));
                if !is_time_next || !self.time_only && !self.has(DATE) {
                    return Err(Fail::Syntax);
                }
                self.label = Some(Label::Time);
                0
            }
        })
    }

    /// A month by its name: what was taken for the month is the day, `8 January`.
    fn month(&mut self, month: i64) -> Set {
        let found = &mut self.found;
        let is_day = found.set & (MONTH | DAY) == MONTH && !found.named_month && (1..=31).contains(&found.month);
        if is_day {
            found.day = found.month;
        }
        found.named_month = true;
        found.month = month;
        if is_day { DAY } else { MONTH }
    }

    fn special(&mut self, special: Special) -> Result<Set, Fail> {
        let days_on = match special {
            Special::AllBalls => {
                self.found.put_micros(0);
                self.east = 0;
                return Ok(TIME | ZONE);
            }
            Special::Now if self.time_only => {
                self.found.put_micros(self.local_now()?.rem_euclid(MICROS_PER_DAY));
                return Ok(TIME);
            }
            _ if self.time_only => return Err(Fail::Syntax),
            Special::Epoch | Special::Infinity => {
                self.special = Some(special);
                return Ok(SPECIAL);
            }
            Special::Now => {
                let now = self.local_now()?;
                self.found.put_micros(now.rem_euclid(MICROS_PER_DAY));
                self.east = self.reading.style.zone.east_at(self.now()?);
                self.found.put_days(now.div_euclid(MICROS_PER_DAY));
                return Ok(DATE | TIME | ZONE);
            }
            Special::Yesterday => -1,
            Special::Today => 0,
            Special::Tomorrow => 1,
        };
        self.found.put_days(self.local_now()?.div_euclid(MICROS_PER_DAY) + days_on);
        Ok(DATE)
    }

    fn now(&self) -> Result<i64, Fail> {
        self.reading.now.ok_or(Fail::NoClock)
    }

    /// The same on the session's clock.
    fn local_now(&self) -> Result<i64, Fail> {
        let now = self.now()?;
        now.checked_add(self.reading.style.zone.east_at(now) * MICROS_PER_SECOND).ok_or(Fail::Overflow)
    }
}

const SECONDS_PER_HOUR: i64 = 3_600;
const MICROS_OF_DAY: f64 = 86_400.0 * 1e6;
