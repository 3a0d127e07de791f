//! Goes through JSON text that is known to be JSON, without taking it apart: a value is a part of the text.
//!
//! What is JSON was checked when it was read. Should it be none all the same, nothing is found in it.

use std::borrow::Cow;

/// One value, without blanks around it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Json<'a>(&'a str);

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    Object,
    Array,
    String,
    Number,
    Bool,
    Null,
}

impl Kind {
    pub fn name(self) -> &'static str {
        match self {
            Kind::Object => "object",
            Kind::Array => "array",
            Kind::String => "string",
            Kind::Number => "number",
            Kind::Bool => "boolean",
            Kind::Null => "null",
        }
    }
}

impl<'a> Json<'a> {
    pub fn new(text: &'a str) -> Self {
        Json(text.trim_matches(is_blank))
    }

    pub fn text(self) -> &'a str {
        self.0
    }

    pub fn kind(self) -> Kind {
        match self.0.as_bytes().first() {
            Some(b'{') => Kind::Object,
            Some(b'[') => Kind::Array,
            Some(b'"') => Kind::String,
            Some(b't' | b'f') => Kind::Bool,
            Some(b'n') => Kind::Null,
            _ => Kind::Number,
        }
    }

    pub fn is_scalar(self) -> bool {
        !matches!(self.kind(), Kind::Object | Kind::Array)
    }

    /// What a string contains; the text of any other value.
    pub fn content(self) -> Cow<'a, str> {
        if self.kind() != Kind::String {
            return Cow::Borrowed(self.0);
        }
        match self.0.get(1..self.0.len().saturating_sub(1)) {
            Some(inner) if !inner.contains('\\') => Cow::Borrowed(inner),
            _ => Cow::Owned(serde_json::from_str(self.0).unwrap_or_default()),
        }
    }

    /// The value as text: NULL for null, a string without its quotes.
    pub fn as_text(self) -> Option<Cow<'a, str>> {
        (self.kind() != Kind::Null).then(|| self.content())
    }

    /// The members of an object, in order; nothing of any other value.
    pub fn members(self) -> Members<'a> {
        Members(Items { rest: self.inside(Kind::Object) })
    }

    /// The items of an array; nothing of any other value.
    pub fn items(self) -> Items<'a> {
        Items { rest: self.inside(Kind::Array) }
    }

    fn inside(self, kind: Kind) -> &'a str {
        if self.kind() == kind { self.0.get(1..self.0.len().saturating_sub(1)).unwrap_or_default() } else { "" }
    }

    /// The member of this key; the last one of several.
    pub fn member(self, key: &str) -> Option<Json<'a>> {
        self.members().filter(|(name, _)| name.content() == key).last().map(|(_, value)| value)
    }

    /// The item at a place counted from 0, or from the end if it is negative.
    pub fn item(self, place: i64) -> Option<Json<'a>> {
        let place = if place >= 0 {
            usize::try_from(place).ok()?
        } else {
            self.items().count().checked_sub(usize::try_from(place.unsigned_abs()).ok()?)?
        };
        self.items().nth(place)
    }

    /// One step of a path: a key, or a place that is written as one.
    pub fn step(self, step: &str) -> Option<Json<'a>> {
        match self.kind() {
            Kind::Object => self.member(step),
            Kind::Array => self.item(step.trim().parse::<i32>().ok()?.into()),
            _ => None,
        }
    }
}

fn is_blank(c: char) -> bool {
    matches!(c, ' ' | '\t' | '\n' | '\r')
}

/// The items of an array, or the values between commas and colons.
#[derive(Debug, Clone)]
pub(super) struct Items<'a> {
    rest: &'a str,
}

impl<'a> Iterator for Items<'a> {
    type Item = Json<'a>;

    fn next(&mut self) -> Option<Json<'a>> {
        let start = self.rest.trim_start_matches(|c| is_blank(c) || c == ',' || c == ':');
        if start.is_empty() {
            return None;
        }
        let (value, rest) = start.split_at(value_length(start));
        self.rest = rest;
        Some(Json(value))
    }
}

/// The members of an object.
#[derive(Debug, Clone)]
pub(super) struct Members<'a>(Items<'a>);

impl<'a> Iterator for Members<'a> {
    type Item = (Json<'a>, Json<'a>);

    fn next(&mut self) -> Option<Self::Item> {
        Some((self.0.next()?, self.0.next()?))
    }
}

/// Bytes of the value that a text begins with; one character at least.
fn value_length(text: &str) -> usize {
    let bytes = text.as_bytes();
    match bytes.first() {
        Some(b'"') => string_length(bytes),
        Some(b'{' | b'[') => container_length(bytes),
        _ => bytes
            .iter()
            .position(|b| matches!(b, b',' | b':' | b'}' | b']' | b' ' | b'\t' | b'\n' | b'\r'))
            .unwrap_or(bytes.len())
            .max(text.chars().next().map_or(0, char::len_utf8)),
    }
}

fn string_length(bytes: &[u8]) -> usize {
    let mut at = 1;
    while let Some(byte) = bytes.get(at) {
        match byte {
            b'"' => return at + 1,
            b'\\' => at += 2,
            _ => at += 1,
        }
    }
    bytes.len()
}

fn container_length(bytes: &[u8]) -> usize {
    let (mut at, mut depth) = (0, 0_usize);
    while let Some(byte) = bytes.get(at) {
        match byte {
            b'"' => {
                at += string_length(&bytes[at..]);
                continue;
            }
            b'{' | b'[' => depth += 1,
            b'}' | b']' => {
                depth = depth.saturating_sub(1);
                if depth == 0 {
                    return at + 1;
                }
            }
            _ => {}
        }
        at += 1;
    }
    bytes.len()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_parts_of_the_text() {
        let json = Json::new(" {\"a\" : {\"b\":[1, 2 ,null]}, \"c\":\"x\\u0041]\" , \"a\":5} ");
        assert_eq!(json.member("a").unwrap().text(), "5");
        assert_eq!(json.members().next().unwrap().1.text(), "{\"b\":[1, 2 ,null]}");
        assert_eq!(json.member("c").unwrap().content(), "xA]");
        let list = Json::new("[1,[2,\"]\"], {\"k\":1} ,\"s\"]");
        assert_eq!(list.items().map(Json::text).collect::<Vec<_>>(), ["1", "[2,\"]\"]", "{\"k\":1}", "\"s\""]);
        assert_eq!((list.item(-1).unwrap().text(), list.item(9), list.item(-9)), ("\"s\"", None, None));
        assert_eq!(list.step("1").and_then(|l| l.step("0")).unwrap().text(), "2");
        assert_eq!(Json::new("[]").items().count() + Json::new("{}").members().count(), 0);
    }

    #[test]
    fn what_is_no_json_is_no_panic() {
        for text in ["", "{", "[1", "{\"a", "{\"a\"", "\\", "é,", "[é", "]"] {
            let json = Json::new(text);
            let _ = (json.members().count(), json.items().count(), json.content(), json.item(-1), json.member("a"));
        }
    }
}
