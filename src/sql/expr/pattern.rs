//! Patterns of LIKE and SIMILAR TO in the forms that the engine has: LIKE with a backslash, and regular expressions.

use crate::sql::error::{ErrorKind, SqlError, SqlResult};

/// A LIKE pattern whose escape character is another than the backslash.
///
/// # Errors
/// 22025 for an escape at the end.
pub(super) fn with_backslashes(pattern: &str, escape: char) -> SqlResult<String> {
    let mut converted = String::with_capacity(pattern.len());
    let mut characters = pattern.chars();
    while let Some(character) = characters.next() {
        match character {
            c if c == escape => {
                let next = characters.next().ok_or_else(|| {
                    SqlError::new(ErrorKind::InvalidEscape, "LIKE pattern must not end with escape character")
                })?;
                converted.push('\\');
                converted.push(next);
            }
            '\\' => converted.push_str("\\\\"),
            c => converted.push(c),
        }
    }
    Ok(converted)
}

/// The regular expression that matches what a SIMILAR TO pattern does: the whole text, `%` for any characters, `_` for one.
///
/// # Errors
/// 22025 for an escape at the end.
pub(super) fn similar_as_regex(pattern: &str, escape: char) -> SqlResult<String> {
    let mut regex = String::from("^(?s:");
    let mut characters = pattern.chars();
    let mut in_brackets = false;
    while let Some(character) = characters.next() {
        match character {
            c if c == escape => {
                let next = characters.next().ok_or_else(|| {
                    SqlError::new(ErrorKind::InvalidEscape, "SIMILAR TO pattern must not end with escape character")
                })?;
                push_literal(&mut regex, next);
            }
            ']' => {
                in_brackets = false;
                regex.push(']');
            }
            c if in_brackets => regex.push(c),
            '[' => {
                in_brackets = true;
                regex.push('[');
            }
            '%' => regex.push_str(".*"),
            '_' => regex.push('.'),
            '(' => regex.push_str("(?:"),
            '|' | '*' | '+' | '?' | '{' | '}' | ')' => regex.push(character),
            c => push_literal(&mut regex, c),
        }
    }
    regex.push_str(")$");
    Ok(regex)
}

fn push_literal(regex: &mut String, character: char) {
    if character.is_ascii_punctuation() {
        regex.push('\\');
    }
    regex.push(character);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn escapes_become_backslashes() {
        assert_eq!(with_backslashes("a!%b\\", '!').unwrap(), "a\\%b\\\\");
        assert_eq!(with_backslashes("100!%%", '!').unwrap(), "100\\%%");
        assert!(with_backslashes("a!", '!').is_err());
    }

    #[test]
    fn similar_patterns_become_regular_expressions() {
        assert_eq!(similar_as_regex("a%_", '\\').unwrap(), "^(?s:a.*.)$");
        assert_eq!(similar_as_regex("(a|b)+.", '\\').unwrap(), "^(?s:(?:a|b)+\\.)$");
        assert_eq!(similar_as_regex("[%_]\\%", '\\').unwrap(), "^(?s:[%_]\\%)$");
        assert!(similar_as_regex("a\\", '\\').is_err());
    }
}
