//! Splits the text of a date or time into fields: numbers, dates, times, words, zones.
//!
//! What a field is decides its first character and what follows; what it means is decided later, by the fields before it.
//! Punctuation that is none of a field's own only separates, so `now?` is `now` and `{1,2,3}` a date.

use super::Fail;
use super::words::word;

/// Most fields that a date or time has.
const MAX_FIELDS: usize = 25;
/// Room for the characters of all fields.
const MAX_CHARACTERS: usize = 256;

/// What a field looks like.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    /// Digits, perhaps with a point.
    Number,
    /// Digits and delimiters, or digits and letters: a date, or the name of a zone.
    Date,
    /// Digits and colons.
    Time,
    /// Letters.
    Word,
    /// A sign and letters.
    SignedWord,
    /// A sign and digits: an offset, or in intervals a number.
    Signed,
}

/// A field's characters, its letters lower.
#[derive(Debug, Clone, Copy)]
pub(super) struct Field<'a> {
    pub kind: Kind,
    pub text: &'a [u8],
}

/// The fields of a text, without a heap object for each.
pub(super) struct Fields {
    characters: [u8; MAX_CHARACTERS],
    used: usize,
    /// What each is, and where it ends.
    ends: [(Kind, usize); MAX_FIELDS],
    count: usize,
}

impl Fields {
    /// # Errors
    /// [`Fail::Syntax`] for characters that belong nowhere, and for too many.
    pub(super) fn split(text: &str) -> Result<Self, Fail> {
        let mut fields =
            Self { characters: [0; MAX_CHARACTERS], used: 0, ends: [(Kind::Number, 0); MAX_FIELDS], count: 0 };
        let mut rest = text.as_bytes();
        while let [next, behind @ ..] = rest {
            let kind = match next {
                b'\t'..=b'\r' | b' ' => {
                    rest = behind;
                    continue;
                }
                b'0'..=b'9' => fields.number(&mut rest)?,
                b'.' => {
                    fields.keep(1, &mut rest)?;
                    fields.keep_while(&mut rest, |byte| byte.is_ascii_digit())?;
                    Kind::Number
                }
                b'a'..=b'z' | b'A'..=b'Z' => fields.letters(&mut rest)?,
                b'+' | b'-' => fields.signed(&mut rest)?,
                _ if next.is_ascii_punctuation() => {
                    rest = behind;
                    continue;
                }
                _ => return Err(Fail::Syntax),
            };
            *fields.ends.get_mut(fields.count).ok_or(Fail::Syntax)? = (kind, fields.used);
            fields.count += 1;
        }
        Ok(fields)
    }

    pub(super) fn len(&self) -> usize {
        self.count
    }

    pub(super) fn get(&self, index: usize) -> Option<Field<'_>> {
        let (kind, end) = *self.ends[..self.count].get(index)?;
        let start = index.checked_sub(1).map_or(0, |before| self.ends[before].1);
        Some(Field { kind, text: &self.characters[start..end] })
    }

    /// A date `1/8/1999`, a time `04:05`, or a number alone.
    fn number(&mut self, rest: &mut &[u8]) -> Result<Kind, Fail> {
        self.keep_while(rest, |byte| byte.is_ascii_digit())?;
        Ok(match rest.first().copied() {
            Some(b':') => {
                self.keep_while(rest, |byte| byte.is_ascii_digit() || matches!(byte, b':' | b'.'))?;
                Kind::Time
            }
            Some(delimiter @ (b'-' | b'/' | b'.')) => {
                self.keep(1, rest)?;
                if !rest.first().is_some_and(u8::is_ascii_digit) {
                    // A month may be named.
                    self.keep_while(rest, |byte| byte.is_ascii_alphanumeric() || byte == delimiter)?;
                    return Ok(Kind::Date);
                }
                self.keep_while(rest, |byte| byte.is_ascii_digit())?;
                if rest.first() == Some(&delimiter) {
                    self.keep_while(rest, |byte| byte.is_ascii_digit() || byte == delimiter)?;
                    Kind::Date
                } else if delimiter == b'.' {
                    Kind::Number
                } else {
                    Kind::Date
                }
            }
            _ => Kind::Number,
        })
    }

    /// A word, or what has punctuation in it: a date `Jan-8-1999`, a zone `America/New_York` or `GMT+3`.
    fn letters(&mut self, rest: &mut &[u8]) -> Result<Kind, Fail> {
        let start = self.used;
        self.keep_while(rest, |byte| byte.is_ascii_alphabetic())?;
        let goes_on = match rest.first() {
            Some(b'-' | b'/' | b'.') => true,
            // What is a word by itself begins no zone: `y2001`.
            Some(b'+' | b'0'..=b'9') => word(&self.characters[start..self.used]).is_none(),
            _ => false,
        };
        if !goes_on {
            return Ok(Kind::Word);
        }
        self.keep_while(rest, |byte| {
            byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'-' | b'/' | b'_' | b'.' | b':')
        })?;
        Ok(Kind::Date)
    }

    fn signed(&mut self, rest: &mut &[u8]) -> Result<Kind, Fail> {
        self.keep(1, rest)?;
        *rest = rest.trim_ascii_start();
        match rest.first() {
            Some(b'0'..=b'9') => {
                self.keep_while(rest, |byte| byte.is_ascii_digit() || matches!(byte, b':' | b'.' | b'-'))?;
                Ok(Kind::Signed)
            }
            Some(byte) if byte.is_ascii_alphabetic() => {
                self.keep_while(rest, |byte| byte.is_ascii_alphabetic())?;
                Ok(Kind::SignedWord)
            }
            _ => Err(Fail::Syntax),
        }
    }

    fn keep_while(&mut self, rest: &mut &[u8], belongs: impl Fn(u8) -> bool) -> Result<(), Fail> {
        let count = rest.iter().take_while(|byte| belongs(**byte)).count();
        self.keep(count, rest)
    }

    fn keep(&mut self, count: usize, rest: &mut &[u8]) -> Result<(), Fail> {
        let (taken, behind) = rest.split_at_checked(count).ok_or(Fail::Syntax)?;
        let place = self.characters.get_mut(self.used..self.used + count).ok_or(Fail::Syntax)?;
        place.copy_from_slice(taken);
        place.make_ascii_lowercase();
        self.used += count;
        *rest = behind;
        Ok(())
    }
}

/// The letters or digits between the delimiters of a date; nothing where there are delimiters only.
pub(super) struct Parts<'a> {
    rest: &'a [u8],
}

impl<'a> Parts<'a> {
    pub(super) fn of(rest: &'a [u8]) -> Self {
        Self { rest }
    }
}

impl<'a> Iterator for Parts<'a> {
    type Item = &'a [u8];

    fn next(&mut self) -> Option<&'a [u8]> {
        if self.rest.is_empty() {
            return None;
        }
        let start = self.rest.iter().position(u8::is_ascii_alphanumeric).unwrap_or(self.rest.len());
        let rest = &self.rest[start..];
        let digits = rest.first().is_some_and(u8::is_ascii_digit);
        let belongs = |byte: &u8| if digits { byte.is_ascii_digit() } else { byte.is_ascii_alphabetic() };
        let end = rest.iter().take_while(|byte| belongs(byte)).count();
        // The character behind a part is a delimiter, whatever it is.
        self.rest = rest.get(end + 1..).unwrap_or_default();
        Some(&rest[..end])
    }
}

/// The integer that a text begins with, perhaps with a sign; 0 where there is none. And what follows it.
///
/// # Errors
/// [`Fail::Overflow`] beyond what an `integer` holds.
pub(super) fn leading_integer(text: &[u8]) -> Result<(i64, &[u8]), Fail> {
    let (value, rest) = leading_number(text)?;
    if i32::try_from(value).is_err() { Err(Fail::Overflow) } else { Ok((value, rest)) }
}

/// As [`leading_integer`], up to what a `bigint` holds.
pub(super) fn leading_number(text: &[u8]) -> Result<(i64, &[u8]), Fail> {
    let signed = usize::from(matches!(text.first(), Some(b'+' | b'-')));
    let digits = text[signed..].iter().take_while(|byte| byte.is_ascii_digit()).count();
    if digits == 0 {
        return Ok((0, text));
    }
    let (number, rest) = text.split_at(signed + digits);
    let number = std::str::from_utf8(number).map_err(|_| Fail::Syntax)?;
    Ok((number.parse().map_err(|_| Fail::Overflow)?, rest))
}

/// What `.789` is of one.
///
/// # Errors
/// [`Fail::Syntax`] for what is not a fraction.
pub(super) fn fraction(text: &[u8]) -> Result<f64, Fail> {
    if text == b"." {
        return Ok(0.0);
    }
    let text = std::str::from_utf8(text).map_err(|_| Fail::Syntax)?;
    text.parse().map_err(|_| Fail::Syntax)
}

/// The microseconds of `.789`, to the nearest.
///
/// # Errors
/// As [`fraction`].
pub(super) fn fraction_micros(text: &[u8]) -> Result<i64, Fail> {
    #[expect(clippy::cast_possible_truncation, reason = "a fraction of a million")]
    Ok((fraction(text)? * 1e6).round_ties_even() as i64)
}
