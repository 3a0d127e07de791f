//! `SIMILAR TO` and `substring(x FROM pattern FOR escape)`: SQL's regular expressions, turned into PostgreSQL's.

use arrow::array::ArrayRef;

use super::options::Options;
use super::pattern::Pattern;
use crate::error::{ErrorKind, SqlError, SqlResult};
use crate::functions::call::Call;
use crate::functions::signature::Overload;
use crate::functions::signature::Type::Text;

pub(super) const FUNCTIONS: &[Overload] = &[
    Overload::new("similar_to_escape", &[Text], Text, escape),
    Overload::new("similar_to_escape", &[Text, Text], Text, escape),
    Overload::new("substring", &[Text, Text, Text], Text, substring),
];

fn escape(call: &Call) -> SqlResult<ArrayRef> {
    let (patterns, escapes) = (call.text(0)?, call.maybe_text(1)?);
    call.texts(|row, out| {
        out.push_str(&to_regular(patterns.at(row), escapes.map_or("\\", |escapes| escapes.at(row)))?);
        Ok(())
    })
}

/// The part of a match between two separators, or all of it.
fn substring(call: &Call) -> SqlResult<ArrayRef> {
    let (texts, patterns, escapes) = (call.text(0)?, call.text(1)?, call.text(2)?);
    let mut latest: Option<(String, Pattern)> = None;
    call.maybe_texts(|row, out| {
        let (text, expression) = (texts.at(row), to_regular(patterns.at(row), escapes.at(row))?);
        let pattern = match &mut latest {
            Some((known, pattern)) if *known == expression => pattern,
            _ => {
                let pattern = Pattern::new(&expression, Options::default())?;
                &mut latest.insert((expression, pattern)).1
            }
        };
        if !pattern.find_at(text, 0)? {
            return Ok(false);
        }
        let Some(span) = pattern.group(usize::from(pattern.groups() > 0)) else { return Ok(false) };
        out.push_str(&text[span]);
        Ok(true)
    })
}

/// `%` and `_` are as in LIKE, `|`, `*`, `+`, `?`, `{}`, `()` and `[]` as in a regular expression, and it matches the whole.
/// The escape character with a double quote separates the part that `substring` takes.
fn to_regular(pattern: &str, escape: &str) -> SqlResult<String> {
    let mut escapes = escape.chars();
    let escape = escapes.next();
    if escapes.next().is_some() {
        return Err(SqlError::new(ErrorKind::InvalidEscape, "invalid escape string")
            .with_hint("Escape string must be empty or one character."));
    }
    let has_parts = escape.is_some_and(|escape| pattern.contains(&format!("{escape}\"")));
    let mut out = String::from("^(?:");
    let mut separators = 0;
    let mut in_brackets = false;
    let mut chars = pattern.chars();
    while let Some(c) = chars.next() {
        if Some(c) == escape {
            match chars.next() {
                // The second part takes as much as the first one leaves to it.
                Some('"') if !in_brackets && separators == 0 => {
                    out.push_str("){1,1}?(");
                    separators = 1;
                }
                Some('"') if !in_brackets && separators == 1 => {
                    out.push_str("){1,1}(?:");
                    separators = 2;
                }
                Some('"') if !in_brackets => {
                    let message = "SQL regular expression may not contain more than two escape-double-quote separators";
                    return Err(SqlError::new(ErrorKind::InvalidEscapeUse, message));
                }
                Some(literal) => {
                    out.push('\\');
                    out.push(literal);
                }
                None => {}
            }
            continue;
        }
        if in_brackets {
            if c == '\\' {
                out.push('\\');
            }
            out.push(c);
            in_brackets = c != ']';
            continue;
        }
        // The first of several parts takes as little as it can.
        let takes_least = has_parts && separators == 0;
        match c {
            '[' => {
                out.push(c);
                in_brackets = true;
            }
            '%' if takes_least => out.push_str(".*?"),
            '%' => out.push_str(".*"),
            '*' | '+' | '?' | '}' if takes_least => {
                out.push(c);
                out.push('?');
            }
            '_' => out.push('.'),
            '(' => out.push_str("(?:"),
            '\\' | '.' | '^' | '$' => {
                out.push('\\');
                out.push(c);
            }
            c => out.push(c),
        }
    }
    out.push_str(")$");
    Ok(out)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sql_patterns_become_regular_expressions() {
        for (pattern, escape, expected) in [
            ("%(b|d)_", "\\", "^(?:.*(?:b|d).)$"),
            ("a.b", "\\", "^(?:a\\.b)$"),
            ("a#%", "#", "^(?:a\\%)$"),
            ("%#\"o_b#\"%", "#", "^(?:.*?){1,1}?(o.b){1,1}(?:.*)$"),
            ("a+b{2}%#\"o*#\"%", "#", "^(?:a+?b{2}?.*?){1,1}?(o*){1,1}(?:.*)$"),
        ] {
            assert_eq!(to_regular(pattern, escape).unwrap(), expected);
        }
        assert!(to_regular("a", "##").is_err());
    }
}
