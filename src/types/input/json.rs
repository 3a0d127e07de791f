//! JSON: checking it, going through it, and how its strings are written.

use std::borrow::Cow;
use std::fmt::Write as _;

use serde::de::IgnoredAny;

use super::json_fault;
use crate::error::{ErrorKind, SqlError, SqlResult};

/// How many arrays and objects may be within each other. PostgreSQL's bound is its stack, of which some 6,000 levels take
/// the 2 MB that it has by default.
pub const MAX_JSON_DEPTH: usize = 6_400;

/// # Errors
/// 22P02 when the text is not JSON, 54001 when it is nested too deeply.
pub(super) fn check(text: &str) -> SqlResult<()> {
    if serde_json::from_str::<IgnoredAny>(text).is_err() {
        return Err(SqlError::new(ErrorKind::InvalidTextRepresentation, "invalid input syntax for type json")
            .with_detail(json_fault::detail(text)));
    }
    if depth(text) > MAX_JSON_DEPTH {
        return Err(SqlError::new(ErrorKind::TooComplex, "the JSON value is nested too deeply")
            .with_detail(format!("At most {MAX_JSON_DEPTH} arrays and objects can be within each other."))
            .with_hint("Keep it as text, or keep its inner parts in rows of their own."));
    }
    Ok(())
}

/// # Errors
/// 22P05 for what no text can have: U+0000, which JSON can write.
pub(crate) fn check_is_text(content: &str) -> SqlResult<()> {
    if !content.contains('\0') {
        return Ok(());
    }
    Err(SqlError::new(ErrorKind::UntranslatableCharacter, "unsupported Unicode escape sequence")
        .with_detail("\\u0000 cannot be converted to text."))
}

/// How many arrays and objects are within each other in a text that is JSON.
fn depth(text: &str) -> usize {
    let (mut deepest, mut depth, mut in_string, mut escaped) = (0, 0_usize, false, false);
    for byte in text.bytes() {
        match byte {
            _ if escaped => escaped = false,
            b'\\' => escaped = in_string,
            b'"' => in_string = !in_string,
            _ if in_string => {}
            b'[' | b'{' => {
                depth += 1;
                deepest = deepest.max(depth);
            }
            b']' | b'}' => depth = depth.saturating_sub(1),
            _ => {}
        }
    }
    deepest
}

/// An item of a JSON array.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum JsonItem<'a> {
    Null,
    /// A string's content.
    Text(String),
    /// A number or `true` or `false`, as written.
    Bare(&'a str),
}

/// The items of a JSON array of plain values; `None` when the text is something else.
pub(super) fn items(text: &str) -> Option<Vec<JsonItem<'_>>> {
    check(text).ok()?;
    let mut reader = Reader::new(text);
    let mut items = Vec::new();
    reader.blanks();
    reader.eat(b'[').then_some(())?;
    reader.blanks();
    while !reader.eat(b']') {
        items.push(match reader.peek()? {
            b'"' => JsonItem::Text(reader.string()?.into_owned()),
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

/// Goes through a text that is known to be JSON. All that takes JSON apart reads strings and words by it.
#[derive(Debug, Clone)]
pub(crate) struct Reader<'a> {
    text: &'a str,
    at: usize,
}

impl<'a> Reader<'a> {
    pub(crate) fn new(text: &'a str) -> Self {
        Self { text, at: 0 }
    }

    pub(crate) fn peek(&self) -> Option<u8> {
        self.text.as_bytes().get(self.at).copied()
    }

    pub(crate) fn eat(&mut self, byte: u8) -> bool {
        let found = self.peek() == Some(byte);
        self.at += usize::from(found);
        found
    }

    pub(crate) fn blanks(&mut self) {
        while self.peek().is_some_and(|b| b.is_ascii_whitespace()) {
            self.at += 1;
        }
    }

    /// A string's content.
    pub(crate) fn string(&mut self) -> Option<Cow<'a, str>> {
        let start = self.at;
        self.skip_string().then_some(())?;
        let text = self.text.get(start..self.at)?;
        match text.strip_prefix('"')?.strip_suffix('"')? {
            plain if !plain.contains('\\') => Some(Cow::Borrowed(plain)),
            _ => serde_json::from_str(text).ok().map(Cow::Owned),
        }
    }

    /// Goes behind a string; false where none begins.
    fn skip_string(&mut self) -> bool {
        let begins = self.eat(b'"');
        while begins && let Some(byte) = self.peek() {
            self.at += if byte == b'\\' { 2 } else { 1 };
            if byte == b'"' {
                break;
            }
        }
        self.at = self.at.min(self.text.len());
        begins
    }

    /// Goes behind a value, whatever is in it. What it is is a part of the text.
    pub(crate) fn value(&mut self) -> &'a str {
        let start = self.at;
        let mut depth = 0_usize;
        while let Some(byte) = self.peek() {
            match byte {
                b'"' => {
                    self.skip_string();
                }
                b'{' | b'[' => {
                    depth += 1;
                    self.at += 1;
                }
                b'}' | b']' => {
                    depth = depth.saturating_sub(1);
                    self.at += 1;
                }
                _ if depth > 0 => self.at += 1,
                _ => {
                    self.bare();
                }
            }
            if depth == 0 {
                break;
            }
        }
        self.text.get(start..self.at).unwrap_or_default()
    }

    /// A number or a word.
    pub(crate) fn bare(&mut self) -> &'a str {
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_no_json_is_refused() {
        for text in ["", "{", "{\"a\":1,}", "nul", "[1 2]", "'a'", "1 2"] {
            assert_eq!(check(text).unwrap_err().message, "invalid input syntax for type json", "{text}");
        }
    }

    #[test]
    fn what_is_nested_too_deeply_is_refused() {
        let nested = |depth| format!("{}1{}", "[{\"]}\\\"\": ".repeat(depth / 2), "}]".repeat(depth / 2));
        assert_eq!((depth("1"), depth("[[], {}]"), depth(&nested(8))), (0, 2, 8));
        assert!(check(&nested(MAX_JSON_DEPTH)).is_ok());
        assert_eq!(check(&nested(MAX_JSON_DEPTH + 2)).unwrap_err().kind, ErrorKind::TooComplex);
        assert_eq!(check(&nested(2_000_000)).unwrap_err().kind, ErrorKind::TooComplex);
        assert_eq!(check(&"[".repeat(2_000_000)).unwrap_err().kind, ErrorKind::InvalidTextRepresentation);
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
