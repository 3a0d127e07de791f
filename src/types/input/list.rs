//! Takes array literals apart: `{1,NULL,"a b"}`, and the catalogue's vectors: `1 2`.

use super::{is_blank, trim};
use crate::error::{ErrorKind, SqlError, SqlResult};

/// Hands each item of a one-dimensional array literal to `take`, `None` for NULL.
///
/// # Errors
/// 22P02 for what is not an array literal, 0A000 for several dimensions, and what `take` refuses.
pub(super) fn array_items(text: &str, mut take: impl FnMut(Option<&str>) -> SqlResult<()>) -> SqlResult<()> {
    let trimmed = trim(text);
    if trimmed.starts_with('[') && trimmed.contains('=') {
        return Err(SqlError::not_supported("an array with explicit bounds")
            .with_hint("Leave the bounds out: arrays begin at 1."));
    }
    let malformed = |detail: &str| {
        SqlError::new(ErrorKind::InvalidTextRepresentation, format!("malformed array literal: \"{text}\""))
            .with_detail(detail)
    };
    let Some(mut rest) = trimmed.strip_prefix('{') else {
        return Err(malformed("Array value must start with \"{\" or dimension information."));
    };
    rest = rest.trim_start_matches(is_blank);
    if let Some(after) = rest.strip_prefix('}') {
        return if after.is_empty() { Ok(()) } else { Err(malformed("Junk after closing right brace.")) };
    }
    let mut buffer = String::new();
    loop {
        let item = Item::take(&mut rest, &mut buffer).map_err(|stop| match stop {
            Stop::End => malformed("Unexpected end of input."),
            Stop::Nested => SqlError::not_supported("an array of several dimensions")
                .with_hint("Keep it as jsonb, or keep its items in rows of their own."),
            Stop::Character(c) => malformed(&format!("Unexpected \"{c}\" character.")),
            Stop::Element => malformed("Unexpected array element."),
        })?;
        take((item != Item::Null).then_some(buffer.as_str()))?;
        let mut after = rest.chars();
        match after.next() {
            Some(',') => rest = after.as_str(),
            Some('}') if after.as_str().is_empty() => return Ok(()),
            Some('}') => return Err(malformed("Junk after closing right brace.")),
            _ => return Err(malformed("Unexpected end of input.")),
        }
    }
}

/// The items of `1 2 3`.
pub(super) fn vector_items(text: &str, mut take: impl FnMut(Option<&str>) -> SqlResult<()>) -> SqlResult<()> {
    text.split_ascii_whitespace().try_for_each(|item| take(Some(item)))
}

#[derive(PartialEq, Eq)]
enum Item {
    Null,
    Value,
}

/// Why an item does not end.
enum Stop {
    End,
    Nested,
    Character(char),
    Element,
}

impl Item {
    /// Takes an item off the front of `rest`, up to the comma or brace behind it; its value is then in `buffer`.
    fn take(rest: &mut &str, buffer: &mut String) -> Result<Self, Stop> {
        buffer.clear();
        *rest = rest.trim_start_matches(is_blank);
        match rest.strip_prefix('"') {
            Some(quoted) => {
                *rest = quoted;
                Self::take_quoted(rest, buffer)
            }
            None => Self::take_bare(rest, buffer),
        }
    }

    fn take_quoted(rest: &mut &str, buffer: &mut String) -> Result<Self, Stop> {
        let mut chars = rest.chars();
        loop {
            match chars.next().ok_or(Stop::End)? {
                '"' => break,
                '\\' => buffer.push(chars.next().ok_or(Stop::End)?),
                c => buffer.push(c),
            }
        }
        *rest = chars.as_str().trim_start_matches(is_blank);
        if rest.starts_with([',', '}']) || rest.is_empty() { Ok(Item::Value) } else { Err(Stop::Element) }
    }

    fn take_bare(rest: &mut &str, buffer: &mut String) -> Result<Self, Stop> {
        let mut chars = rest.chars();
        let mut escaped = false;
        // Blanks behind an item do not count, unless they were escaped.
        let mut kept = 0;
        let stop = loop {
            let before = chars.as_str();
            match chars.next().ok_or(Stop::End)? {
                ',' | '}' => break before,
                '{' => return Err(Stop::Nested),
                '"' => return Err(Stop::Element),
                '\\' => {
                    escaped = true;
                    buffer.push(chars.next().ok_or(Stop::End)?);
                    kept = buffer.len();
                }
                c => {
                    buffer.push(c);
                    if !is_blank(c) {
                        kept = buffer.len();
                    }
                }
            }
        };
        buffer.truncate(kept);
        if buffer.is_empty() {
            return Err(Stop::Character(stop.chars().next().unwrap_or(',')));
        }
        *rest = stop;
        Ok(if !escaped && buffer.eq_ignore_ascii_case("null") { Item::Null } else { Item::Value })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn items(text: &str) -> Result<Vec<Option<String>>, String> {
        let mut found = Vec::new();
        array_items(text, |item| {
            found.push(item.map(str::to_owned));
            Ok(())
        })
        .map(|()| found)
        .map_err(|e| e.detail.unwrap_or(e.message))
    }

    #[test]
    fn items_are_unquoted() {
        let found = items(r#" { a , "b c" ,NULL,"NULL", a\ b\  ,"x\"y\\z", \null,"" } "#).unwrap();
        let expected =
            [Some("a"), Some("b c"), None, Some("NULL"), Some("a b "), Some("x\"y\\z"), Some("null"), Some("")];
        assert_eq!(found, expected.map(|item| item.map(str::to_owned)));
        assert_eq!(items("{\u{a0}}").unwrap(), [Some("\u{a0}".to_owned())]);
        assert_eq!(items("{}").unwrap(), Vec::<Option<String>>::new());
    }

    #[test]
    fn malformed_literals_say_why() {
        for (text, detail) in [
            ("{1,2", "Unexpected end of input."),
            ("1,2", "Array value must start with \"{\" or dimension information."),
            ("{1,2}x", "Junk after closing right brace."),
            ("{1,,2}", "Unexpected \",\" character."),
            ("{1,}", "Unexpected \"}\" character."),
            ("{{1},{2}}", "an array of several dimensions is not supported"),
            ("{\"a\"b}", "Unexpected array element."),
            ("{\"a", "Unexpected end of input."),
        ] {
            assert_eq!(items(text).unwrap_err(), detail, "{text}");
        }
    }
}
