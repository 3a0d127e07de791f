//! Texts with a declared length, and the other types that are text inside.

use std::borrow::Cow;

use super::{json, jsonb};
use crate::error::{ErrorKind, SqlError, SqlResult};
use crate::sql_type::SqlType;

/// Longest `name`, in bytes.
const NAME_MAX_BYTES: usize = 63;

/// A name as PostgreSQL keeps it: what is too long loses its end.
pub fn shortened_name(text: &str) -> &str {
    &text[..text.floor_char_boundary(NAME_MAX_BYTES)]
}

/// What makes a text a value of a type.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TextRule {
    Any,
    Varchar(u32),
    Char(u32),
    Name,
    InternalChar,
    Json,
    Jsonb,
}

impl TextRule {
    /// `None` for types that are not text inside.
    pub fn of(sql_type: &SqlType) -> Option<Self> {
        Some(match sql_type {
            SqlType::Text | SqlType::Varchar(None) | SqlType::Regclass | SqlType::Regtype | SqlType::Unknown => {
                TextRule::Any
            }
            SqlType::Catalog(catalog) if !catalog.is_number() => TextRule::Any,
            SqlType::Varchar(Some(length)) => TextRule::Varchar(*length),
            SqlType::Char(length) => TextRule::Char(*length),
            SqlType::Name => TextRule::Name,
            SqlType::InternalChar => TextRule::InternalChar,
            SqlType::Json => TextRule::Json,
            SqlType::Jsonb => TextRule::Jsonb,
            _ => return None,
        })
    }

    /// The value a text stands for. `char(n)` is kept without its padding, which printing adds: so it compares as
    /// PostgreSQL compares it.
    ///
    /// # Errors
    /// 22001 for what is too long, 22P02 for what is not JSON, 22021 for a NUL.
    pub fn apply(self, text: &str) -> SqlResult<Cow<'_, str>> {
        if text.contains('\0') {
            return Err(SqlError::new(
                ErrorKind::CharacterNotInRepertoire,
                "invalid byte sequence for encoding \"UTF8\": 0x00",
            ));
        }
        Ok(match self {
            TextRule::Any => Cow::Borrowed(text),
            TextRule::Varchar(length) => Cow::Borrowed(cut(text, length).ok_or_else(|| too_long(self))?),
            TextRule::Char(length) => {
                Cow::Borrowed(cut(text, length).ok_or_else(|| too_long(self))?.trim_end_matches(' '))
            }
            TextRule::Name => Cow::Borrowed(shortened_name(text)),
            TextRule::InternalChar => Cow::Borrowed(text.chars().next().map_or("", |c| &text[..c.len_utf8()])),
            TextRule::Json => {
                json::check(text)?;
                Cow::Borrowed(text)
            }
            TextRule::Jsonb => Cow::Owned(jsonb::canonical(text)?),
        })
    }
}

/// The text within so many characters; only blanks may be cut off. `None` when more would be.
fn cut(text: &str, length: u32) -> Option<&str> {
    let length = usize::try_from(length).unwrap_or(usize::MAX);
    // No text has more characters than bytes.
    if text.len() <= length {
        return Some(text);
    }
    match text.char_indices().nth(length) {
        None => Some(text),
        Some((end, _)) => text[end..].bytes().all(|b| b == b' ').then(|| &text[..end]),
    }
}

fn too_long(rule: TextRule) -> Box<SqlError> {
    let type_name = match rule {
        TextRule::Varchar(length) => SqlType::Varchar(Some(length)),
        TextRule::Char(length) => SqlType::Char(length),
        _ => SqlType::Text,
    };
    SqlError::new(ErrorKind::StringTooLong, format!("value too long for type {type_name}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lengths_count_characters_and_blanks_may_be_cut() {
        assert_eq!(TextRule::Varchar(3).apply("éàü").unwrap(), "éàü");
        assert_eq!(TextRule::Varchar(3).apply("abc   ").unwrap(), "abc");
        assert_eq!(TextRule::Varchar(3).apply("ab ").unwrap(), "ab ");
        assert_eq!(TextRule::Char(3).apply("a    ").unwrap(), "a");
        let error = TextRule::Varchar(3).apply("abcd").unwrap_err();
        assert_eq!(
            (error.kind, error.message.as_str()),
            (ErrorKind::StringTooLong, "value too long for type character varying(3)")
        );
        assert_eq!(TextRule::Char(3).apply("éàüd").unwrap_err().message, "value too long for type character(3)");
    }

    #[test]
    fn names_are_cut_at_63_bytes() {
        assert_eq!(TextRule::Name.apply(&"é".repeat(40)).unwrap(), "é".repeat(31));
    }

    #[test]
    fn nul_is_no_character() {
        assert_eq!(TextRule::Any.apply("a\0").unwrap_err().kind, ErrorKind::CharacterNotInRepertoire);
    }
}
