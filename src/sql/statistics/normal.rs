//! The text of a statement without what differs from call to call: constants become parameters, as in
//! `pg_stat_statements`. So it names no value, and may be shown and logged.

use std::fmt::Write;

use crate::syntax::{Lexeme, Lexemes, Unended};

/// Most bytes of a text that are kept.
const TEXT_BYTES: usize = 4096;

/// The text with its constants as `$1`, `$2`, ..., after the parameters it has, and without comments. What cannot be read
/// is not shown at all: it may have anything in it.
pub(crate) fn normalized(text: &str) -> String {
    without_constants(text).unwrap_or_else(|Unended| "<unreadable>".to_owned())
}

fn without_constants(text: &str) -> Result<String, Unended> {
    let mut next = last_parameter(text)?;
    let mut out = String::with_capacity(text.len().min(TEXT_BYTES));
    let mut lexemes = Lexemes::new(text);
    while let Some((lexeme, piece)) = lexemes.take()?
        && out.len() < TEXT_BYTES
    {
        match lexeme {
            Lexeme::Space if out.is_empty() || out.ends_with(' ') => {}
            Lexeme::Space => out.push(' '),
            Lexeme::Constant => {
                next += 1;
                // Writing to memory does not fail.
                let _ = write!(out, "${next}");
            }
            Lexeme::Parameter | Lexeme::Other => out.push_str(piece),
        }
    }
    out.truncate(out.floor_char_boundary(TEXT_BYTES));
    out.truncate(out.trim_end().len());
    Ok(out)
}

/// The greatest number of a parameter.
fn last_parameter(text: &str) -> Result<u64, Unended> {
    let mut last = 0;
    if text.contains('$') {
        let mut lexemes = Lexemes::new(text);
        while let Some((lexeme, piece)) = lexemes.take()? {
            if lexeme == Lexeme::Parameter {
                last = last.max(piece[1..].parse().unwrap_or(0));
            }
        }
    }
    Ok(last)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn constants_become_parameters() {
        for (text, expected) in [
            ("SELECT 1, 'a', $$b$$  FROM t -- c\n WHERE x = -2.5", "SELECT $1, $2, $3 FROM t WHERE x = -$4"),
            ("SELECT $2, E'\\n', /* 'secret' */ $1, 3", "SELECT $2, $3, $1, $4"),
            ("SELECT \"a b\", NULL, true", "SELECT \"a b\", NULL, true"),
            ("SELECT 'open", "<unreadable>"),
        ] {
            assert_eq!(normalized(text), expected);
        }
        assert!(normalized(&format!("SELECT {}", "a, ".repeat(5000))).len() <= TEXT_BYTES);
    }
}
