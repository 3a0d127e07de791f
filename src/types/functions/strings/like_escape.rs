//! `like_escape`: a LIKE pattern with an escape character of its own, as one whose escape character is the backslash.

use super::super::signature::Overload;
use super::super::signature::Type::Text;
use crate::error::{ErrorKind, SqlError, SqlResult};

pub(super) const FUNCTIONS: &[Overload] = &[Overload::new("like_escape", &[Text, Text], Text, |call| {
    let (pattern, escape) = (call.text(0)?, call.text(1)?);
    call.texts(|row, out| {
        out.push_str(&with_backslashes(pattern.at(row), escape.at(row))?);
        Ok(())
    })
})];

/// # Errors
/// 22025 for an escape of several characters.
fn with_backslashes(pattern: &str, escape: &str) -> SqlResult<String> {
    let mut characters = escape.chars();
    let escape = match (characters.next(), characters.next()) {
        (_, Some(_)) => {
            return Err(SqlError::new(ErrorKind::InvalidEscape, "invalid escape string")
                .with_hint("Escape string must be empty or one character."));
        }
        (Some('\\'), None) => return Ok(pattern.to_owned()),
        // Nothing escapes, nor does the backslash.
        (None, None) => return Ok(pattern.replace('\\', "\\\\")),
        (Some(escape), None) => escape,
    };
    let mut converted = String::with_capacity(pattern.len());
    let mut is_escaped = false;
    for character in pattern.chars() {
        if character == escape && !is_escaped {
            converted.push('\\');
            is_escaped = true;
            continue;
        }
        if character == '\\' && !is_escaped {
            converted.push('\\');
        }
        converted.push(character);
        is_escaped = false;
    }
    Ok(converted)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn escapes_become_backslashes() {
        for (pattern, escape, converted) in
            [("a!%b\\", "!", "a\\%b\\\\"), ("a!!", "!", "a\\!"), ("a\\%", "", "a\\\\%"), ("a\\%", "\\", "a\\%")]
        {
            assert_eq!(with_backslashes(pattern, escape).unwrap(), converted);
        }
        assert!(with_backslashes("a", "xy").is_err());
    }
}
