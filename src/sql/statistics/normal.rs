//! The text of a statement without what differs from call to call: constants become parameters, as in
//! `pg_stat_statements`. So it names no value, and may be shown and logged.

use std::fmt::Write;

use datafusion::sql::sqlparser::dialect::PostgreSqlDialect;
use datafusion::sql::sqlparser::tokenizer::{Token, Tokenizer, Whitespace};

/// Most bytes of a text that are kept.
const TEXT_BYTES: usize = 4096;

/// The text with its constants as `$1`, `$2`, ..., after the parameters it has, and without comments. What cannot be read
/// is not shown at all: it may have anything in it.
pub(in crate::sql) fn normalized(text: &str) -> String {
    let Ok(tokens) = Tokenizer::new(&PostgreSqlDialect {}, text).tokenize() else {
        return "<unreadable>".to_owned();
    };
    let number = |token: &Token| match token {
        Token::Placeholder(name) => name.strip_prefix('$').and_then(|number| number.parse::<u64>().ok()),
        _ => None,
    };
    let mut next = tokens.iter().filter_map(number).max().unwrap_or(0);
    let mut out = String::with_capacity(text.len().min(TEXT_BYTES));
    for token in &tokens {
        if out.len() >= TEXT_BYTES {
            break;
        }
        match token {
            Token::EOF => {}
            Token::Whitespace(Whitespace::SingleLineComment { .. } | Whitespace::MultiLineComment(_)) => {}
            Token::Whitespace(_) => {
                if !out.is_empty() && !out.ends_with(' ') {
                    out.push(' ');
                }
            }
            _ if is_constant(token) => {
                next += 1;
                // Writing to memory does not fail.
                let _ = write!(out, "${next}");
            }
            other => {
                let _ = write!(out, "{other}");
            }
        }
    }
    out.truncate(out.floor_char_boundary(TEXT_BYTES));
    out.truncate(out.trim_end().len());
    out
}

fn is_constant(token: &Token) -> bool {
    matches!(
        token,
        Token::Number(..)
            | Token::SingleQuotedString(_)
            | Token::DollarQuotedString(_)
            | Token::EscapedStringLiteral(_)
            | Token::UnicodeStringLiteral(_)
            | Token::NationalStringLiteral(_)
            | Token::HexStringLiteral(_)
            | Token::SingleQuotedByteStringLiteral(_)
    )
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
