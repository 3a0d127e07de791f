//! Tokens that PostgreSQL takes for none: numbers that go over into a word (`123abc` is no number with a label behind it), names
//! without a letter.

use sqlparser::tokenizer::{Token, TokenWithSpan};
use tablegate_types::error::{ErrorKind, SqlError, SqlResult};

use super::source::SourceText;

/// # Errors
/// 42601 for letters that follow a number, or the number of a parameter, without anything between, and for a name of no letters.
pub(super) fn refuse_junk(sql: &SourceText, tokens: &[TokenWithSpan]) -> SqlResult<()> {
    for (at, token) in tokens.iter().enumerate() {
        let begins_word = |next: &&TokenWithSpan| {
            next.span.start == token.span.end && matches!(&next.token, Token::Word(word) if word.quote_style.is_none())
        };
        let next = tokens.get(at + 1).filter(begins_word);
        let (kind, has_junk) = match &token.token {
            Token::Number(digits, is_long) => ("numeric literal", *is_long || next.is_some() || digits.contains('_')),
            // PostgreSQL 15 knows numbers of base ten only.
            Token::HexStringLiteral(_) => {
                ("numeric literal", sql.from(sql.position(token.span.start)).starts_with('0'))
            }
            Token::Word(word) if word.quote_style.is_some() && word.value.is_empty() => {
                let message = "zero-length delimited identifier at or near \"\"\"\"";
                return Err(SqlError::new(ErrorKind::Syntax, message).at(sql.position(token.span.start)));
            }
            Token::Placeholder(name) => {
                ("parameter", !name.trim_start_matches('$').chars().all(|c| c.is_ascii_digit()))
            }
            _ => continue,
        };
        if has_junk {
            let (start, end) = (token.span.start, next.map_or(token.span.end, |next| next.span.end));
            let text = sql.between(sql.position(start), sql.position(end));
            let message = format!("trailing junk after {kind} at or near \"{text}\"");
            return Err(SqlError::new(ErrorKind::Syntax, message).at(sql.position(start)));
        }
    }
    Ok(())
}
