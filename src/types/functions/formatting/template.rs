//! Templates of `to_char` and its relatives, split into patterns and what is between them.

use crate::error::SqlResult;
use crate::grown::Grown;

/// A piece of a template.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Piece<K> {
    Pattern(Pattern<K>),
    /// Punctuation outside of quotes.
    Separator(char),
    /// A blank outside of quotes.
    Space(char),
    /// Any other character, and whatever stands in quotes.
    Char(char),
}

/// A pattern, with what stands in front of it and behind it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Pattern<K> {
    pub key: K,
    pub name: &'static str,
    /// `FM`: no padding.
    pub fill: bool,
    /// `TM`: names in the language of the locale, and so without padding; there is one locale here.
    pub localized: bool,
    /// `TH` or `th`: an ordinal number.
    pub ordinal: Option<Letters>,
}

/// How a name or an ending is spelled.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Letters {
    Upper,
    Lower,
    Capital,
}

impl Letters {
    /// A word that is given in capitals with small letters behind the first.
    pub(super) fn push(self, word: &str, out: &mut String) {
        for (index, c) in word.chars().enumerate() {
            out.push(match self {
                Letters::Upper => c.to_ascii_uppercase(),
                Letters::Capital if index == 0 => c,
                Letters::Lower | Letters::Capital => c.to_ascii_lowercase(),
            });
        }
    }
}

/// The patterns of one kind of template.
pub(super) type Keywords<K> = &'static [(&'static str, K)];

/// Splits a template. Dates have modifiers in front of and behind their patterns; in those of numbers they are patterns.
///
/// # Errors
/// 54000 or 53200 for a template of more pieces than there is memory for, 57014 when nobody waits for them.
pub(super) fn parse<K: Copy>(template: &str, keywords: Keywords<K>, has_modifiers: bool) -> SqlResult<Grown<Piece<K>>> {
    let mut pieces = Grown::new();
    let mut rest = template;
    while !rest.is_empty() {
        let modifier = if has_modifiers { take_modifier(&mut rest) } else { "" };
        let (fill, localized) = (modifier == "FM", modifier == "TM");
        if let Some((name, key)) = longest(rest, keywords) {
            rest = &rest[name.len()..];
            let ordinal = if has_modifiers { take_ordinal(&mut rest) } else { None };
            pieces.push(Piece::Pattern(Pattern { key, name, fill, localized, ordinal }))?;
        } else if let Some(quoted) = rest.strip_prefix('"') {
            rest = push_quoted(quoted, &mut pieces)?;
        } else {
            // A backslash outside of quotes is one, unless it takes the meaning off a quote.
            if rest.starts_with("\\\"") {
                rest = &rest[1..];
            }
            let Some(c) = rest.chars().next() else { break };
            rest = &rest[c.len_utf8()..];
            pieces.push(match c {
                c if is_separator(c) && has_modifiers => Piece::Separator(c),
                c if is_space(c) => Piece::Space(c),
                c => Piece::Char(c),
            })?;
        }
    }
    Ok(pieces)
}

/// Punctuation.
pub(super) fn is_separator(c: char) -> bool {
    c.is_ascii_graphic() && !c.is_ascii_alphanumeric()
}

/// What C's `isspace` says.
pub(super) fn is_space(c: char) -> bool {
    c.is_ascii_whitespace() || c == '\u{b}'
}

/// `FM`, `TM` or nothing.
fn take_modifier(rest: &mut &str) -> &'static str {
    for (written, modifier) in [("FM", "FM"), ("fm", "FM"), ("TM", "TM"), ("tm", "TM")] {
        if let Some(behind) = rest.strip_prefix(written) {
            *rest = behind;
            return modifier;
        }
    }
    ""
}

fn take_ordinal(rest: &mut &str) -> Option<Letters> {
    // SP would spell the number out; PostgreSQL does not do it either.
    for (modifier, ordinal) in [("TH", Some(Letters::Upper)), ("th", Some(Letters::Lower)), ("SP", None), ("sp", None)]
    {
        if let Some(behind) = rest.strip_prefix(modifier) {
            *rest = behind;
            return ordinal;
        }
    }
    None
}

fn longest<K: Copy>(rest: &str, keywords: Keywords<K>) -> Option<(&'static str, K)> {
    let matching = keywords.iter().filter(|(name, _)| rest.starts_with(name));
    matching.max_by_key(|(name, _)| name.len()).copied()
}

/// Gives what is behind the closing quote.
fn push_quoted<'t, K>(quoted: &'t str, pieces: &mut Grown<Piece<K>>) -> SqlResult<&'t str> {
    let mut chars = quoted.chars();
    while let Some(c) = chars.next() {
        match c {
            '"' => break,
            '\\' => pieces.push(Piece::Char(chars.next().unwrap_or('\\')))?,
            c => pieces.push(Piece::Char(c))?,
        }
    }
    Ok(chars.as_str())
}

/// The ending of an ordinal number.
pub(super) fn ordinal_ending(number: &str) -> &'static str {
    let digits = number.as_bytes();
    let last = digits.last().copied().unwrap_or(b'0');
    let is_teen = digits.len() > 1 && digits[digits.len() - 2] == b'1';
    match last {
        _ if is_teen => "TH",
        b'1' => "ST",
        b'2' => "ND",
        b'3' => "RD",
        _ => "TH",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const KEYWORDS: Keywords<u8> = &[("Y", 1), ("YYYY", 2), ("DD", 3), ("D", 4)];

    #[test]
    fn the_longest_pattern_counts() {
        let pattern = |key, name, fill, ordinal| Piece::Pattern(Pattern { key, name, fill, localized: false, ordinal });
        assert_eq!(
            parse("YYYYY-FMDDth \"D\\\"\"\\\"x", KEYWORDS, true).unwrap()[..],
            [
                pattern(2, "YYYY", false, None),
                pattern(1, "Y", false, None),
                Piece::Separator('-'),
                pattern(3, "DD", true, Some(Letters::Lower)),
                Piece::Space(' '),
                Piece::Char('D'),
                Piece::Char('"'),
                Piece::Separator('"'),
                Piece::Char('x'),
            ]
        );
    }

    #[test]
    fn ordinals_end_as_in_english() {
        assert_eq!(
            ["1", "2", "3", "4", "11", "112", "21", "0"].map(ordinal_ending),
            ["ST", "ND", "RD", "TH", "TH", "TH", "ST", "TH"]
        );
    }
}
