//! `FETCH FIRST (1) ROWS ONLY`: sqlparser reads a number there, and PostgreSQL any value in parentheses.

use sqlparser::keywords::Keyword;
use sqlparser::tokenizer::{Token, TokenWithSpan};
use tablegate_types::error::{SqlError, SqlResult};

use crate::syntax::{is_significant, keyword};

/// What is not a plain number becomes LIMIT, which takes any value.
///
/// # Errors
/// 0A000 for WITH TIES behind what is not a number.
pub(crate) fn readable(tokens: Vec<TokenWithSpan>) -> SqlResult<Vec<TokenWithSpan>> {
    if !tokens.iter().any(|token| keyword(token) == Some(Keyword::FETCH)) {
        return Ok(tokens);
    }
    let words: Vec<TokenWithSpan> = tokens.into_iter().filter(is_significant).collect();
    let mut kept: Vec<TokenWithSpan> = Vec::with_capacity(words.len());
    let mut at = 0;
    while let Some(word) = words.get(at) {
        let is_clause = at > 0
            && keyword(word) == Some(Keyword::FETCH)
            && matches!(words.get(at + 1).and_then(keyword), Some(Keyword::FIRST | Keyword::NEXT));
        let value = if is_clause { value_length(&words[at + 2..]) } else { None };
        let Some(length) = value else {
            kept.push(word.clone());
            at += 1;
            continue;
        };
        let value = &words[at + 2..at + 2 + length];
        let behind = at + 3 + length;
        let is_only = words.get(behind).and_then(keyword) == Some(Keyword::ONLY);
        // sqlparser wants OFFSET first.
        let is_before_offset = words.get(behind + 1).and_then(keyword) == Some(Keyword::OFFSET);
        if let Some(number) = plain(value).filter(|_| !is_only || !is_before_offset) {
            kept.extend([word.clone(), words[at + 1].clone(), number.clone(), words[behind - 1].clone()]);
            at = behind;
        } else if is_only {
            kept.push(TokenWithSpan { token: Token::make_keyword("LIMIT"), span: word.span });
            kept.extend_from_slice(value);
            at = behind + 1;
        } else {
            return Err(SqlError::not_supported("FETCH FIRST of a computed number of rows WITH TIES")
                .with_hint("Write the number, or give it as a parameter."));
        }
    }
    Ok(kept)
}

/// How many tokens there are before ROW or ROWS; `None` where no value stands.
fn value_length(words: &[TokenWithSpan]) -> Option<usize> {
    let mut depth = 0_usize;
    let end = words.iter().position(|word| {
        match word.token {
            Token::LParen => depth += 1,
            Token::RParen => depth = depth.saturating_sub(1),
            _ => {}
        }
        depth == 0 && matches!(keyword(word), Some(Keyword::ROW | Keyword::ROWS))
    })?;
    (end > 0).then_some(end)
}

/// The number or parameter that the value is, in any parentheses.
fn plain(value: &[TokenWithSpan]) -> Option<&TokenWithSpan> {
    match value {
        [one] if matches!(one.token, Token::Number(..) | Token::Placeholder(_)) => Some(one),
        [open, inside @ .., close] if open.token == Token::LParen && close.token == Token::RParen => plain(inside),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use sqlparser::dialect::PostgreSqlDialect;
    use sqlparser::tokenizer::Tokenizer;

    use super::*;

    fn read(sql: &str) -> SqlResult<String> {
        let tokens = readable(Tokenizer::new(&PostgreSqlDialect {}, sql).tokenize_with_location().unwrap())?;
        let words: Vec<String> = tokens.iter().filter(|t| is_significant(t)).map(|t| t.token.to_string()).collect();
        Ok(words.join(" "))
    }

    #[test]
    fn any_value_may_say_how_many_rows() {
        for (sql, rest) in [
            ("SELECT 1 FETCH FIRST (1) ROWS ONLY", "SELECT 1 FETCH FIRST 1 ROWS ONLY"),
            ("SELECT 1 FETCH NEXT ((2)) ROW WITH TIES", "SELECT 1 FETCH NEXT 2 ROW WITH TIES"),
            ("SELECT 1 FETCH FIRST (1 + 1) ROWS ONLY OFFSET 2", "SELECT 1 LIMIT ( 1 + 1 ) OFFSET 2"),
            ("(SELECT 1 FETCH FIRST +1 ROWS ONLY)", "( SELECT 1 LIMIT + 1 )"),
            ("SELECT 1 FETCH FIRST 5 ROWS ONLY OFFSET 1", "SELECT 1 LIMIT 5 OFFSET 1"),
            ("SELECT 1 FETCH FIRST ROW ONLY", "SELECT 1 FETCH FIRST ROW ONLY"),
            ("FETCH FIRST FROM c", "FETCH FIRST FROM c"),
        ] {
            assert_eq!(read(sql).unwrap(), rest);
        }
        assert!(read("SELECT a FROM t ORDER BY a FETCH FIRST (1 + 1) ROWS WITH TIES").is_err());
    }
}
