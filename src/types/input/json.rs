//! JSON: checking it, and the form jsonb has.

use std::fmt::Write as _;

use serde::de::IgnoredAny;

use crate::error::{ErrorKind, SqlError, SqlResult};

/// # Errors
/// 22P02 when the text is not JSON.
pub(super) fn check(text: &str) -> SqlResult<()> {
    serde_json::from_str::<IgnoredAny>(text).map(drop).map_err(|error| {
        SqlError::new(ErrorKind::InvalidTextRepresentation, "invalid input syntax for type json")
            .with_detail(format!("At {error}."))
    })
}

/// As jsonb prints it: one blank behind `:` and `,`, keys once and by length, numbers without exponent.
///
/// # Errors
/// 22P02 when the text is not JSON.
pub fn canonical(text: &str) -> SqlResult<String> {
    check(text)?;
    let mut out = String::with_capacity(text.len() + text.len() / 8);
    Reader::new(text)
        .canonical_value(&mut out)
        .ok_or_else(|| SqlError::new(ErrorKind::InvalidTextRepresentation, "invalid input syntax for type json"))?;
    Ok(out)
}

/// An item of a JSON array.
#[derive(Debug, PartialEq, Eq)]
pub enum JsonItem<'a> {
    Null,
    /// A string's content.
    Text(String),
    /// A number or `true` or `false`, as written.
    Bare(&'a str),
}

/// The items of a JSON array of plain values; `None` when the text is something else.
pub fn items(text: &str) -> Option<Vec<JsonItem<'_>>> {
    check(text).ok()?;
    let mut reader = Reader::new(text);
    let mut items = Vec::new();
    reader.blanks();
    reader.eat(b'[').then_some(())?;
    reader.blanks();
    while !reader.eat(b']') {
        items.push(match reader.peek()? {
            b'"' => JsonItem::Text(reader.string()?),
            b'{' | b'[' => return None,
            _ => match reader.bare() {
                "null" => JsonItem::Null,
                bare => JsonItem::Bare(bare),
            },
        });
        reader.blanks();
        reader.eat(b',');
        reader.blanks();
    }
    Some(items)
}

/// Goes through a text that is known to be JSON.
struct Reader<'a> {
    text: &'a str,
    at: usize,
}

impl<'a> Reader<'a> {
    fn new(text: &'a str) -> Self {
        Self { text, at: 0 }
    }

    fn peek(&self) -> Option<u8> {
        self.text.as_bytes().get(self.at).copied()
    }

    fn eat(&mut self, byte: u8) -> bool {
        let found = self.peek() == Some(byte);
        self.at += usize::from(found);
        found
    }

    fn blanks(&mut self) {
        while self.peek().is_some_and(|b| b.is_ascii_whitespace()) {
            self.at += 1;
        }
    }

    fn canonical_value(&mut self, out: &mut String) -> Option<()> {
        self.blanks();
        match self.peek()? {
            b'{' => self.canonical_object(out)?,
            b'[' => {
                self.at += 1;
                self.blanks();
                out.push('[');
                while !self.eat(b']') {
                    self.canonical_value(out)?;
                    self.blanks();
                    if self.eat(b',') {
                        out.push_str(", ");
                    }
                }
                out.push(']');
            }
            b'"' => write_string(out, &self.string()?),
            _ => match self.bare() {
                word @ ("true" | "false" | "null") => out.push_str(word),
                number => write_number(out, number),
            },
        }
        Some(())
    }

    fn canonical_object(&mut self, out: &mut String) -> Option<()> {
        self.at += 1;
        let mut members: Vec<(String, String)> = Vec::new();
        self.blanks();
        while !self.eat(b'}') {
            let key = self.string()?;
            self.blanks();
            self.eat(b':').then_some(())?;
            let mut value = String::new();
            self.canonical_value(&mut value)?;
            members.push((key, value));
            self.blanks();
            self.eat(b',');
            self.blanks();
        }
        // The last of equal keys counts: the sort is stable, so it is the last of its run.
        members.sort_by(|(a, _), (b, _)| a.len().cmp(&b.len()).then_with(|| a.cmp(b)));
        out.push('{');
        let mut first = true;
        for (index, (key, value)) in members.iter().enumerate() {
            if members.get(index + 1).is_some_and(|(next, _)| next == key) {
                continue;
            }
            if !std::mem::take(&mut first) {
                out.push_str(", ");
            }
            write_string(out, key);
            out.push_str(": ");
            out.push_str(value);
        }
        out.push('}');
        Some(())
    }

    /// A string's content.
    fn string(&mut self) -> Option<String> {
        let start = self.at;
        self.eat(b'"').then_some(())?;
        loop {
            match self.peek()? {
                b'\\' => self.at += 2,
                b'"' => break,
                _ => self.at += 1,
            }
        }
        self.at += 1;
        serde_json::from_str(self.text.get(start..self.at)?).ok()
    }

    /// A number or a word.
    fn bare(&mut self) -> &'a str {
        let rest = self.text.get(self.at..).unwrap_or_default();
        let len = rest.bytes().take_while(|b| b.is_ascii_alphanumeric() || matches!(b, b'+' | b'-' | b'.')).count();
        // One byte at least, so that a reader never stands still.
        self.at += len.max(1);
        &rest[..len]
    }
}

/// With the escapes PostgreSQL uses.
pub fn write_string(out: &mut String, text: &str) {
    out.push('"');
    for c in text.chars() {
        match c {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            '\t' => out.push_str("\\t"),
            '\u{8}' => out.push_str("\\b"),
            '\u{c}' => out.push_str("\\f"),
            c if c < ' ' => {
                // Writing to a String does not fail.
                let _ = write!(out, "\\u{:04x}", u32::from(c));
            }
            c => out.push(c),
        }
    }
    out.push('"');
}

/// Without exponent, keeping the digits behind the point; zero has no sign.
fn write_number(out: &mut String, number: &str) {
    /// Farther than this a number is left as it is written.
    const FARTHEST: i64 = 2_000;
    let (mantissa, exponent) = number.split_once(['e', 'E']).unwrap_or((number, "0"));
    let Some(exponent) = exponent.parse::<i64>().ok().filter(|e| e.abs() <= FARTHEST) else {
        out.push_str(number);
        return;
    };
    let (sign, mantissa) = mantissa.strip_prefix('-').map_or(("", mantissa), |rest| ("-", rest));
    let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
    let digits = [whole, fraction].concat();
    let point = i64::try_from(whole.len()).unwrap_or(0) + exponent;
    let (before, behind) = match usize::try_from(point) {
        Ok(point) if point >= digits.len() => (format!("{digits:0<point$}"), String::new()),
        Ok(point) => (digits[..point].to_owned(), digits[point..].to_owned()),
        Err(_) => (String::new(), "0".repeat(usize::try_from(-point).unwrap_or(0)) + &digits),
    };
    if digits.bytes().any(|b| b != b'0') {
        out.push_str(sign);
    }
    let before = before.trim_start_matches('0');
    out.push_str(if before.is_empty() { "0" } else { before });
    if !behind.is_empty() {
        out.push('.');
        out.push_str(&behind);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn jsonb_has_postgresqls_form() {
        for (text, expected) in [
            (
                "{\"b\":1.10, \"aa\":[1,2,{\"x\":\"\\u0041\\n\"}],\"b\":1e2, \"z\":null, \"n\":-0, \"e\":1.5e-3}",
                "{\"b\": 100, \"e\": 0.0015, \"n\": 0, \"z\": null, \"aa\": [1, 2, {\"x\": \"A\\n\"}]}",
            ),
            (" [ ] ", "[]"),
            ("{}", "{}"),
            ("1.10e1", "11.0"),
            ("-0.0", "0.0"),
            ("1E+2", "100"),
            ("\"a\\/b\\u0001\"", "\"a/b\\u0001\""),
        ] {
            assert_eq!(canonical(text).unwrap(), expected);
        }
    }

    #[test]
    fn what_is_no_json_is_refused() {
        for text in ["", "{", "{\"a\":1,}", "nul", "[1 2]", "'a'", "1 2"] {
            assert_eq!(check(text).unwrap_err().message, "invalid input syntax for type json", "{text}");
        }
    }

    #[test]
    fn items_of_an_array() {
        let expected = [JsonItem::Bare("1"), JsonItem::Null, JsonItem::Text("a\"b".into()), JsonItem::Bare("true")];
        assert_eq!(items(" [1, null ,\"a\\\"b\",true] ").unwrap(), expected);
        assert_eq!(items("[]").unwrap(), []);
        assert_eq!(items("[[1]]"), None);
        assert_eq!(items("{}"), None);
        assert_eq!(items("[1"), None);
    }
}
