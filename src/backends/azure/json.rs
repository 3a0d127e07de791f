//! A reader of the service's JSON that borrows from the text and builds nothing.
//!
//! A scan reads millions of entities: each value is found where it stands in the answer and goes into its column from
//! there. Only a string with escapes is copied, and only when somebody asks for it.

use std::borrow::Cow;

use thiserror::Error;

/// Why a text is not the JSON that was expected.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
#[error("unexpected JSON at byte {0}")]
pub(super) struct JsonError(pub usize);

/// A string as it stands in the text, without its quotes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct RawString<'a> {
    inner: &'a str,
    has_escapes: bool,
}

impl<'a> RawString<'a> {
    pub(super) fn text(self) -> Cow<'a, str> {
        if self.has_escapes { Cow::Owned(unescaped(self.inner)) } else { Cow::Borrowed(self.inner) }
    }

    /// The text where nothing in it is escaped, as in names.
    pub(super) fn plain(self) -> Option<&'a str> {
        (!self.has_escapes).then_some(self.inner)
    }
}

/// A value that is not an object or a list.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum RawValue<'a> {
    String(RawString<'a>),
    Number(&'a str),
    Boolean(bool),
    Null,
}

/// A place in a text.
#[derive(Debug, Clone)]
pub(super) struct Json<'a> {
    text: &'a str,
    at: usize,
}

impl<'a> Json<'a> {
    pub(super) fn new(text: &'a str, at: usize) -> Self {
        Self { text, at }
    }

    pub(super) fn at(&self) -> usize {
        self.at
    }

    /// Steps over `byte` when it is next.
    pub(super) fn take(&mut self, byte: u8) -> bool {
        let is_next = self.peek() == Some(byte);
        self.at += usize::from(is_next);
        is_next
    }

    /// # Errors
    /// When something else is next.
    pub(super) fn expect(&mut self, byte: u8) -> Result<(), JsonError> {
        if self.take(byte) { Ok(()) } else { Err(JsonError(self.at)) }
    }

    /// The next byte that is no white space.
    pub(super) fn peek(&mut self) -> Option<u8> {
        let bytes = self.text.as_bytes();
        while matches!(bytes.get(self.at), Some(b' ' | b'\n' | b'\r' | b'\t')) {
            self.at += 1;
        }
        bytes.get(self.at).copied()
    }

    /// # Errors
    /// When no string is next.
    pub(super) fn string(&mut self) -> Result<RawString<'a>, JsonError> {
        self.expect(b'"')?;
        let (start, bytes) = (self.at, self.text.as_bytes());
        let mut has_escapes = false;
        loop {
            match bytes.get(self.at) {
                Some(b'"') => break,
                Some(b'\\') => {
                    has_escapes = true;
                    self.at += 2;
                }
                Some(_) => self.at += 1,
                None => return Err(JsonError(start)),
            }
        }
        let inner = self.text.get(start..self.at).ok_or(JsonError(start))?;
        self.at += 1;
        Ok(RawString { inner, has_escapes })
    }

    /// # Errors
    /// When an object, a list or no JSON is next.
    pub(super) fn value(&mut self) -> Result<RawValue<'a>, JsonError> {
        match self.peek() {
            Some(b'"') => self.string().map(RawValue::String),
            Some(b't') => self.word("true", RawValue::Boolean(true)),
            Some(b'f') => self.word("false", RawValue::Boolean(false)),
            Some(b'n') => self.word("null", RawValue::Null),
            Some(b'-' | b'0'..=b'9') => {
                let (start, bytes) = (self.at, self.text.as_bytes());
                while matches!(bytes.get(self.at), Some(b'-' | b'+' | b'.' | b'e' | b'E' | b'0'..=b'9')) {
                    self.at += 1;
                }
                self.text.get(start..self.at).map(RawValue::Number).ok_or(JsonError(start))
            }
            _ => Err(JsonError(self.at)),
        }
    }

    fn word(&mut self, word: &str, value: RawValue<'a>) -> Result<RawValue<'a>, JsonError> {
        if !self.text.get(self.at..).is_some_and(|rest| rest.starts_with(word)) {
            return Err(JsonError(self.at));
        }
        self.at += word.len();
        Ok(value)
    }

    /// Steps over whatever is next.
    ///
    /// # Errors
    /// When that is no JSON.
    pub(super) fn skip(&mut self) -> Result<(), JsonError> {
        let mut depth = 0_usize;
        loop {
            match self.peek() {
                Some(b'{' | b'[') => {
                    self.at += 1;
                    depth += 1;
                    continue;
                }
                Some(b'}' | b']') if depth > 0 => {
                    self.at += 1;
                    depth -= 1;
                }
                Some(b',' | b':') if depth > 0 => {
                    self.at += 1;
                    continue;
                }
                _ => {
                    self.value()?;
                }
            }
            if depth == 0 {
                return Ok(());
            }
        }
    }

    /// Steps into the list that is the member `name` of the object that is next, up to its first element.
    ///
    /// # Errors
    /// When there is no such list.
    pub(super) fn enter_list(&mut self, name: &str) -> Result<(), JsonError> {
        self.expect(b'{')?;
        while !self.take(b'}') {
            let is_it = self.string()?.plain() == Some(name);
            self.expect(b':')?;
            if is_it {
                return self.expect(b'[');
            }
            self.skip()?;
            self.take(b',');
        }
        Err(JsonError(self.at))
    }
}

/// What `\` stands for. A lone surrogate is no text and becomes U+FFFD.
fn unescaped(inner: &str) -> String {
    let mut text = String::with_capacity(inner.len());
    let mut chars = inner.chars();
    while let Some(c) = chars.next() {
        if c != '\\' {
            text.push(c);
            continue;
        }
        match chars.next() {
            Some('n') => text.push('\n'),
            Some('r') => text.push('\r'),
            Some('t') => text.push('\t'),
            Some('b') => text.push('\u{8}'),
            Some('f') => text.push('\u{c}'),
            Some('u') => text.push(escaped_code_point(&mut chars)),
            Some(other) => text.push(other),
            None => {}
        }
    }
    text
}

fn escaped_code_point(chars: &mut std::str::Chars<'_>) -> char {
    let first = code_unit(chars);
    if !(0xd800..0xdc00).contains(&first) {
        return char::from_u32(first).unwrap_or(char::REPLACEMENT_CHARACTER);
    }
    let mut ahead = chars.clone();
    if ahead.next() == Some('\\') && ahead.next() == Some('u') {
        let second = code_unit(&mut ahead);
        if (0xdc00..0xe000).contains(&second) {
            *chars = ahead;
            let code = 0x10000 + ((first - 0xd800) << 10) + (second - 0xdc00);
            return char::from_u32(code).unwrap_or(char::REPLACEMENT_CHARACTER);
        }
    }
    char::REPLACEMENT_CHARACTER
}

fn code_unit(chars: &mut std::str::Chars<'_>) -> u32 {
    chars.by_ref().take(4).fold(0, |code, c| code << 4 | c.to_digit(16).unwrap_or(0))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn values_are_borrowed_as_they_stand() {
        let mut json = Json::new(r#" "a" ,-1.5e3,true,null,"\n""#, 0);
        let mut values = Vec::new();
        loop {
            values.push(json.value().unwrap());
            if !json.take(b',') {
                break;
            }
        }
        let string = |inner, has_escapes| RawValue::String(RawString { inner, has_escapes });
        let expected = [
            string("a", false),
            RawValue::Number("-1.5e3"),
            RawValue::Boolean(true),
            RawValue::Null,
            string("\\n", true),
        ];
        assert_eq!(values, expected);
    }

    #[test]
    fn a_list_is_found_behind_other_members() {
        let mut json = Json::new(r#"{"odata.metadata":"x","y":{"value":[1,{"a":"]"}]},"value":[7]}"#, 0);
        json.enter_list("value").unwrap();
        assert_eq!(json.value(), Ok(RawValue::Number("7")));
    }

    #[test]
    fn damaged_text_is_an_error_and_no_panic() {
        let text = r#"{"value":[{"a":"\u12","é":[1,2.5],"b":null}]}"#;
        for end in (0..text.len()).filter(|end| text.is_char_boundary(*end)) {
            let mut json = Json::new(&text[..end], 0);
            assert!(json.skip().is_err(), "{end}");
        }
        for bad in ["{", "]", "tru", "\"\\", "", "-é"] {
            let mut json = Json::new(bad, 0);
            assert!(json.skip().is_err() || json.at() <= bad.len());
        }
    }

    proptest! {
        #[test]
        fn strings_read_back(text in any::<String>()) {
            for json in [serde_json::to_string(&text).unwrap(), ascii(&text)] {
                let mut reader = Json::new(&json, 0);
                prop_assert_eq!(reader.string().unwrap().text(), text.as_str());
                prop_assert_eq!(reader.at(), json.len());
            }
        }
    }

    /// With everything escaped that can be.
    fn ascii(text: &str) -> String {
        let units: String = text.encode_utf16().map(|unit| format!("\\u{unit:04x}")).collect();
        format!("\"{units}\"")
    }
}
