//! The pieces a date or time is made of: numbers with separators, clock times, offsets, words.

use super::calendar::MICROS_PER_SECOND;

/// What is wrong with a date or time.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Fail {
    Syntax,
    Overflow,
    /// The order of day and month may have been meant otherwise.
    DayOrMonth,
    ZoneOverflow,
    UnknownZone(String),
    Infinite,
}

/// `1999-01-08`, `1/8/1999`, `08-Jan-1999`: three parts, not yet known which is which.
pub(super) struct DateToken<'a> {
    pub parts: [&'a str; 3],
}

/// What a word means.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Word {
    Month(i64),
    Weekday,
    /// Seconds east of UTC.
    Zone(i64),
    /// PM, or AM when false.
    Afternoon(bool),
    /// BC, or AD when false.
    BeforeChrist(bool),
    /// The T of ISO 8601.
    Separator,
    Epoch,
    Infinity,
}

/// Goes through a text.
pub(super) struct Scanner<'a> {
    text: &'a str,
    at: usize,
}

impl<'a> Scanner<'a> {
    pub fn new(text: &'a str) -> Self {
        Self { text, at: 0 }
    }

    fn rest(&self) -> &'a str {
        self.text.get(self.at..).unwrap_or_default()
    }

    fn peek(&self) -> Option<u8> {
        self.text.as_bytes().get(self.at).copied()
    }

    /// The byte so many bytes ahead.
    pub fn byte_after(&self, ahead: usize) -> Option<u8> {
        self.text.as_bytes().get(self.at + ahead).copied()
    }

    /// Skips blanks and commas; the next byte.
    pub fn next_significant(&mut self) -> Option<u8> {
        while self.peek().is_some_and(|b| b.is_ascii_whitespace() || matches!(b, b',' | 0x0b)) {
            self.at += 1;
        }
        self.peek()
    }

    pub fn take(&mut self, bytes: usize) -> &'a str {
        let taken = self.rest().get(..bytes).unwrap_or_default();
        self.at += taken.len();
        taken
    }

    /// Whether there is nothing but blanks or a zone so many bytes ahead.
    pub fn ends_after(&self, ahead: usize) -> bool {
        self.byte_after(ahead).is_none_or(|b| b.is_ascii_whitespace() || matches!(b, b'+' | b'z' | b'Z'))
    }

    /// The three digits of a day of the year, behind a year and a hyphen.
    pub fn day_of_year(&self) -> Option<&'a str> {
        let day = self.rest().get(5..8).filter(|day| day.bytes().all(|b| b.is_ascii_digit()))?;
        self.byte_after(8).is_none_or(|b| !b.is_ascii_digit() && b != b'-').then_some(day)
    }

    pub fn peek_digits(&self) -> &'a str {
        run(self.rest(), |b| b.is_ascii_digit())
    }

    fn digits(&mut self) -> &'a str {
        let digits = self.peek_digits();
        self.at += digits.len();
        digits
    }

    fn eat(&mut self, byte: u8) -> bool {
        let found = self.peek() == Some(byte);
        self.at += usize::from(found);
        found
    }

    /// Whether the byte before is the T of ISO 8601.
    pub fn after_t(&self) -> bool {
        self.at > 0 && matches!(self.text.as_bytes()[self.at - 1], b't' | b'T')
    }

    pub fn is_infinite_word(&self) -> bool {
        let word = self.rest().trim_start_matches(['+', '-']).trim_end();
        word.eq_ignore_ascii_case("infinity") || word.eq_ignore_ascii_case("inf")
    }

    pub fn date_token(&mut self) -> Result<DateToken<'a>, Fail> {
        let first = self.part();
        let separator = self.peek().ok_or(Fail::Syntax)?;
        self.at += 1;
        let second = self.part();
        if !self.eat(separator) {
            return Err(Fail::Syntax);
        }
        let third = self.part();
        if [first, second, third].iter().any(|part| part.is_empty()) {
            return Err(Fail::Syntax);
        }
        Ok(DateToken { parts: [first, second, third] })
    }

    /// Digits, or letters.
    fn part(&mut self) -> &'a str {
        let digits = self.digits();
        if !digits.is_empty() {
            return digits;
        }
        let letters = run(self.rest(), |b| b.is_ascii_alphabetic());
        self.at += letters.len();
        letters
    }

    /// `04:05`, `04:05:06`, `04:05:06.789` in microseconds.
    pub fn clock_time(&mut self) -> Result<i64, Fail> {
        let hour = small(self.digits())?;
        self.eat(b':');
        let minute = small(self.digits())?;
        let (mut second, mut fraction) = (0, 0);
        if self.eat(b':') {
            second = small(self.digits())?;
            fraction = self.fraction()?;
        }
        time_of(hour, minute, second, fraction)
    }

    /// `040506`, `040506.789` or `0405` in microseconds.
    pub fn compact_time(&mut self) -> Result<i64, Fail> {
        let digits = self.digits();
        let second = digits.get(4..).filter(|s| !s.is_empty());
        let fraction = self.fraction()?;
        time_of(
            small(digits.get(..2).unwrap_or_default())?,
            small(digits.get(2..4).unwrap_or_default())?,
            second.map(small).transpose()?.unwrap_or(0),
            fraction,
        )
    }

    /// Microseconds of `.789`, rounded.
    fn fraction(&mut self) -> Result<i64, Fail> {
        if !self.eat(b'.') {
            return Ok(0);
        }
        Ok(fraction_micros(self.digits()))
    }

    /// `+02`, `-0830`, `+02:00`, `+02:00:30`: seconds east of UTC.
    pub fn offset(&mut self) -> Result<i64, Fail> {
        const MAX_HOURS: i64 = 15;
        let sign = if self.take(1) == "-" { -1 } else { 1 };
        let digits = self.digits();
        let (hours, mut minutes) = match digits.len() {
            1 | 2 => (digits, 0),
            3 | 4 => (&digits[..digits.len() - 2], small(&digits[digits.len() - 2..])?),
            _ => return Err(Fail::Syntax),
        };
        let hours = small(hours)?;
        let mut seconds = 0;
        if digits.len() <= 2 && self.eat(b':') {
            minutes = small(self.digits())?;
            if self.eat(b':') {
                seconds = small(self.digits())?;
            }
        }
        if hours > MAX_HOURS || minutes > 59 || seconds > 59 {
            return Err(Fail::ZoneOverflow);
        }
        Ok(sign * (hours * 3600 + minutes * 60 + seconds))
    }

    pub fn word(&mut self) -> Result<Word, Fail> {
        let letters = run(self.rest(), |b| b.is_ascii_alphabetic());
        let named_zone = run(self.rest(), |b| b.is_ascii_alphanumeric() || matches!(b, b'/' | b'_'));
        if named_zone.contains('/') {
            self.at += named_zone.len();
            return Err(Fail::UnknownZone(named_zone.to_ascii_lowercase()));
        }
        self.at += letters.len();
        // `Sept.` and the like: the point belongs to the word.
        if letters.len() > 1 {
            self.eat(b'.');
        }
        let mut lower = [0_u8; 12];
        let word = lower.get_mut(..letters.len()).ok_or(Fail::Syntax)?;
        word.copy_from_slice(letters.as_bytes());
        word.make_ascii_lowercase();
        meaning(std::str::from_utf8(word).unwrap_or_default()).ok_or(Fail::Syntax)
    }
}

fn meaning(word: &str) -> Option<Word> {
    Some(match word {
        "t" => Word::Separator,
        "am" => Word::Afternoon(false),
        "pm" => Word::Afternoon(true),
        "ad" => Word::BeforeChrist(false),
        "bc" => Word::BeforeChrist(true),
        "epoch" => Word::Epoch,
        "infinity" | "inf" => Word::Infinity,
        "mon" | "monday" | "tue" | "tues" | "tuesday" | "wed" | "weds" | "wednesday" | "thu" | "thur" | "thurs"
        | "thursday" | "fri" | "friday" | "sat" | "saturday" | "sun" | "sunday" => Word::Weekday,
        _ => match month_of(word) {
            Some(month) => Word::Month(month),
            None => Word::Zone(zone_offset(word)?),
        },
    })
}

/// The month a word names, by its first three letters or in full.
pub(super) fn month_of(word: &str) -> Option<i64> {
    const MONTHS: [&str; 12] = [
        "january",
        "february",
        "march",
        "april",
        "may",
        "june",
        "july",
        "august",
        "september",
        "october",
        "november",
        "december",
    ];
    let named = |month: &&str| {
        word.eq_ignore_ascii_case(month)
            || word.eq_ignore_ascii_case(&month[..3])
            || (*month == "september" && word.eq_ignore_ascii_case("sept"))
    };
    let index = MONTHS.iter().position(named)?;
    i64::try_from(index + 1).ok()
}

/// Seconds east of UTC of the zone abbreviations that PostgreSQL knows by default and that people write.
pub(in crate::sql) fn zone_offset(word: &str) -> Option<i64> {
    const SECONDS_PER_HOUR: i64 = 3600;
    let hours = match word {
        "z" | "zulu" | "utc" | "gmt" | "ut" | "uct" | "wet" => 0,
        "cet" | "west" | "bst" => 1,
        "cest" | "eet" => 2,
        "eest" | "msk" => 3,
        "jst" => 9,
        "edt" => -4,
        "est" | "cdt" => -5,
        "cst" | "mdt" => -6,
        "mst" | "pdt" => -7,
        "pst" => -8,
        _ => return None,
    };
    Some(hours * SECONDS_PER_HOUR)
}

fn run(text: &str, belongs: impl Fn(u8) -> bool) -> &str {
    let len = text.bytes().take_while(|b| belongs(*b)).count();
    &text[..len]
}

/// Microseconds of the digits behind a point, rounded half up.
pub(super) fn fraction_micros(digits: &str) -> i64 {
    let mut micros = 0;
    let mut bytes = digits.bytes();
    for _ in 0..6 {
        micros = micros * 10 + i64::from(bytes.next().map_or(0, |b| b - b'0'));
    }
    micros + i64::from(bytes.next().is_some_and(|b| b >= b'5'))
}

fn small(digits: &str) -> Result<i64, Fail> {
    match digits.len() {
        0 => Err(Fail::Syntax),
        1..=4 => digits.parse().map_err(|_| Fail::Syntax),
        _ => Err(Fail::Overflow),
    }
}

fn time_of(hour: i64, minute: i64, second: i64, fraction: i64) -> Result<i64, Fail> {
    let beyond_midnight = hour == 24 && (minute > 0 || second > 0 || fraction > 0);
    if hour > 24 || minute > 59 || second > 60 || beyond_midnight {
        return Err(Fail::Overflow);
    }
    Ok(((hour * 60 + minute) * 60 + second) * MICROS_PER_SECOND + fraction)
}
