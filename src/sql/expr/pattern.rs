//! Patterns of LIKE in the form that the engine has: with a backslash.

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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn escapes_become_backslashes() {
        assert_eq!(with_backslashes("a!%b\\", '!').unwrap(), "a\\%b\\\\");
        assert_eq!(with_backslashes("100!%%", '!').unwrap(), "100\\%%");
        assert!(with_backslashes("a!", '!').is_err());
    }
}
