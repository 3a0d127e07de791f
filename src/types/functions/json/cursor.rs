//! Goes through JSON text that is known to be JSON, without taking it apart: a value is a part of the text.
//!
//! What is JSON was checked when it was read. Should it be none all the same, nothing is found in it.

use std::borrow::Cow;

use crate::error::SqlResult;
use crate::input::{JsonReader as Reader, check_is_text};

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
    pub(super) fn name(self) -> &'static str {
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
    pub(super) fn new(text: &'a str) -> Self {
        Json(text.trim_matches(is_blank))
    }

    pub(super) fn text(self) -> &'a str {
        self.0
    }

    pub(super) fn kind(self) -> Kind {
        match self.0.as_bytes().first() {
            Some(b'{') => Kind::Object,
            Some(b'[') => Kind::Array,
            Some(b'"') => Kind::String,
            Some(b't' | b'f') => Kind::Bool,
            Some(b'n') => Kind::Null,
            _ => Kind::Number,
        }
    }

    pub(super) fn is_scalar(self) -> bool {
        !matches!(self.kind(), Kind::Object | Kind::Array)
    }

    /// What a string contains; the text of any other value.
    pub(super) fn content(self) -> Cow<'a, str> {
        if self.kind() != Kind::String {
            return Cow::Borrowed(self.0);
        }
        Reader::new(self.0).string().unwrap_or_default()
    }

    /// The value as text: NULL for null, a string without its quotes.
    ///
    /// # Errors
    /// 22P05 for one that no text can have.
    pub(super) fn as_text(self) -> SqlResult<Option<Cow<'a, str>>> {
        if self.kind() == Kind::Null {
            return Ok(None);
        }
        let content = self.content();
        check_is_text(&content)?;
        Ok(Some(content))
    }

    /// The members of an object, in order; nothing of any other value.
    pub(super) fn members(self) -> Members<'a> {
        Members(Items(Reader::new(self.inside(Kind::Object))))
    }

    /// The items of an array; nothing of any other value.
    pub(super) fn items(self) -> Items<'a> {
        Items(Reader::new(self.inside(Kind::Array)))
    }

    fn inside(self, kind: Kind) -> &'a str {
        if self.kind() == kind { self.0.get(1..self.0.len().saturating_sub(1)).unwrap_or_default() } else { "" }
    }

    /// The member of this key; the last one of several.
    pub(super) fn member(self, key: &str) -> Option<Json<'a>> {
        self.members().filter(|(name, _)| name.content() == key).last().map(|(_, value)| value)
    }

    /// The item at a place counted from 0, or from the end if it is negative.
    pub(super) fn item(self, place: i64) -> Option<Json<'a>> {
        let place = if place >= 0 {
            usize::try_from(place).ok()?
        } else {
            self.items().count().checked_sub(usize::try_from(place.unsigned_abs()).ok()?)?
        };
        self.items().nth(place)
    }

    /// One step of a path: a key, or a place that is written as one.
    pub(super) fn step(self, step: &str) -> Option<Json<'a>> {
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
pub(super) struct Items<'a>(Reader<'a>);

impl<'a> Iterator for Items<'a> {
    type Item = Json<'a>;

    fn next(&mut self) -> Option<Json<'a>> {
        loop {
            self.0.blanks();
            if !self.0.eat(b',') && !self.0.eat(b':') {
                break;
            }
        }
        self.0.peek()?;
        Some(Json(self.0.value()))
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
