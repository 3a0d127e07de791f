//! `text LIKE pattern` where each row has a pattern of its own: the text is walked along the pattern, since to make an expression of
//! each pattern takes longer than to look at the text.

use std::sync::Arc;

use arrow::array::{Array, ArrayRef, AsArray, BooleanArray};
use arrow::datatypes::DataType;
use tablegate_types::error::SqlResult;

use super::operands::Operand;
use super::text::unended_pattern;
use super::{Kernel, Operands};

pub(crate) static LIKE_EACH: Kernel = Kernel { name: "like_each", evaluate: |operands, _| each(operands, false) };
pub(crate) static NOT_LIKE_EACH: Kernel =
    Kernel { name: "not_like_each", evaluate: |operands, _| each(operands, true) };

fn each(operands: &Operands<'_>, negated: bool) -> SqlResult<ArrayRef> {
    let (texts, patterns) = (operands.get(0)?.cast(&DataType::Utf8)?, operands.get(1)?.cast(&DataType::Utf8)?);
    let matches = (0..operands.rows()).map(|row| {
        let (Some(text), Some(pattern)) = (text_of(&texts, row), text_of(&patterns, row)) else { return Ok(None) };
        Ok(Some(is_like(text, pattern)? != negated))
    });
    let matches: BooleanArray = matches.collect::<SqlResult<_>>()?;
    Ok(Arc::new(matches))
}

fn text_of(operand: &Operand, row: usize) -> Option<&str> {
    let (texts, place) = (operand.array.as_string::<i32>(), operand.place(row));
    texts.is_valid(place).then(|| texts.value(place))
}

/// Whether a text matches a pattern: `%` is any characters, `_` is one, and a backslash takes the one behind it as it is.
///
/// # Errors
/// 22025 where a text reaches a backslash that ends the pattern.
fn is_like(text: &str, pattern: &str) -> SqlResult<bool> {
    let (text, pattern) = (text.as_bytes(), pattern.as_bytes());
    let (mut at, mut next) = (0, 0);
    // Behind the last `%`: the pattern, and the text that was last tried with it; and whether there was any.
    let mut retry: Option<(usize, usize)> = None;
    let mut had_text = false;
    loop {
        let is_matched = match pattern.get(next) {
            None if at == text.len() => return Ok(true),
            None => false,
            Some(b'%') => {
                next += 1;
                if next == pattern.len() {
                    return Ok(true);
                }
                retry = Some((next, at));
                had_text = at < text.len();
                continue;
            }
            Some(b'_') if at < text.len() => {
                at += character(text[at]);
                next += 1;
                continue;
            }
            Some(b'\\') if next + 1 == pattern.len() && (at < text.len() || had_text) => {
                return Err(unended_pattern());
            }
            Some(b'\\') => {
                let is_matched = at < text.len() && text.get(at) == pattern.get(next + 1);
                next += usize::from(is_matched);
                is_matched
            }
            Some(b'_') => false,
            Some(byte) => text.get(at) == Some(byte),
        };
        if is_matched {
            (at, next) = (at + 1, next + 1);
            continue;
        }
        match &mut retry {
            Some((behind, tried)) if *tried < text.len() => {
                *tried += character(text[*tried]);
                (at, next) = (*tried, *behind);
            }
            _ => return Ok(false),
        }
    }
}

/// Bytes of the character that begins with this one.
fn character(first: u8) -> usize {
    match first {
        0xf0.. => 4,
        0xe0.. => 3,
        0xc0.. => 2,
        _ => 1,
    }
}

#[cfg(test)]
mod tests {
    use arrow::array::StringArray;
    use arrow::compute::kernels::comparison::like;
    use proptest::prelude::*;
    use tablegate_types::error::ErrorKind;

    use super::*;

    #[test]
    fn patterns_are_walked() {
        for (text, pattern, expected) in [
            ("", "", true),
            ("", "%", true),
            ("", "_", false),
            ("abc", "a%c", true),
            ("abc", "a_c", true),
            ("abc", "a%d", false),
            ("aé😀", "__😀", true),
            ("é", "__", false),
            ("a%c", r"a\%c", true),
            ("abc", r"a\%c", false),
            (r"a\", r"a\\", true),
            ("mississippi", "%iss%ip%", true),
            ("mississippi", "%iss%ipx%", false),
            ("a", "%%%a%%", true),
            ("ab", "a", false),
            ("a", r"a\", false),
            ("a", r"a%\", false),
        ] {
            assert_eq!(is_like(text, pattern).ok(), Some(expected), "{text} LIKE {pattern}");
        }
        for (text, pattern) in [("ab", r"a\"), ("a", r"%\"), ("a", r"%_\"), ("ab", r"a%\")] {
            assert_eq!(is_like(text, pattern).unwrap_err().kind, ErrorKind::InvalidEscape);
        }
    }

    proptest! {
        /// As the engine's own, which makes an expression of the pattern.
        #[test]
        fn what_is_walked_is_what_is_expressed(text in "[aé%_]{0,8}", pattern in r"([aé%_]|\\[a%_]){0,6}") {
            let (one, other) = (StringArray::from(vec![text.clone()]), StringArray::from(vec![pattern.clone()]));
            let expressed = like(&one, &other).unwrap().value(0);
            prop_assert_eq!(is_like(&text, &pattern).ok(), Some(expressed), "{} LIKE {}", text, pattern);
        }
    }
}
