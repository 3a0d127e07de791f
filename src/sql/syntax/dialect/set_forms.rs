//! Forms of SET and RESET that name a setting in words of their own: `SET SCHEMA 'x'`, `RESET TIME ZONE`.

use sqlparser::tokenizer::{Token, TokenWithSpan};
use tablegate_types::error::{SqlError, SqlResult};

use crate::syntax::{is_significant, is_word};

/// Rewrites the tokens of one statement.
///
/// # Errors
/// 0A000 for FROM CURRENT.
pub(crate) fn readable(tokens: Vec<TokenWithSpan>) -> SqlResult<Vec<TokenWithSpan>> {
    let words: Vec<&TokenWithSpan> = tokens.iter().filter(|token| is_significant(token)).collect();
    let is = |at: usize, name: &str| words.get(at).is_some_and(|token| is_word(token, name));
    let named = |from: usize, to: usize, tokens: Vec<Token>| {
        let span = words[from].span;
        let named = tokens.into_iter().map(|token| TokenWithSpan { token, span });
        let kept = words[..from].iter().map(|token| (*token).clone()).chain(named);
        kept.chain(words[to..].iter().map(|token| (*token).clone())).collect::<Vec<_>>()
    };
    let setting = |name: &str| Token::make_word(name, None);
    if is(0, "RESET") {
        return Ok(if is(1, "TIME") && is(2, "ZONE") && words.len() == 3 {
            named(1, 3, vec![setting("timezone")])
        } else if is(1, "TRANSACTION") && is(2, "ISOLATION") && is(3, "LEVEL") && words.len() == 4 {
            named(1, 4, vec![setting("transaction_isolation")])
        } else {
            tokens
        });
    }
    if !is(0, "SET") {
        return Ok(tokens);
    }
    let start = if is(1, "LOCAL") || is(1, "SESSION") { 2 } else { 1 };
    let behind = words.get(start + 1).map(|token| &token.token);
    if is(start, "SCHEMA") && words.len() == start + 2 && matches!(behind, Some(Token::SingleQuotedString(_))) {
        return Ok(named(start, start + 1, vec![setting("search_path"), Token::Eq]));
    }
    if is(start, "NAMES") && words.len() == start + 1 {
        return Ok(named(
            start,
            start + 1,
            vec![setting("client_encoding"), Token::Eq, Token::make_keyword("DEFAULT")],
        ));
    }
    let ends_with = |name: &str, back: usize| words.len() > start + 2 && is(words.len() - back, name);
    if ends_with("CURRENT", 1) && ends_with("FROM", 2) {
        return Err(SqlError::not_supported("SET ... FROM CURRENT").with_hint("It is for functions: leave it out."));
    }
    Ok(tokens)
}

#[cfg(test)]
mod tests {
    use sqlparser::dialect::PostgreSqlDialect;
    use sqlparser::tokenizer::Tokenizer;

    use super::*;

    #[test]
    fn settings_have_one_name() {
        for (sql, plain) in [
            ("SET SCHEMA 'x'", "SET search_path = 'x'"),
            ("SET LOCAL SCHEMA 'x'", "SET LOCAL search_path = 'x'"),
            ("SET NAMES", "SET client_encoding = DEFAULT"),
            ("RESET TIME ZONE", "RESET timezone"),
            ("RESET TRANSACTION ISOLATION LEVEL", "RESET transaction_isolation"),
            ("SET schema = 'x'", "SET schema = 'x'"),
        ] {
            let tokens = Tokenizer::new(&PostgreSqlDialect {}, sql).tokenize_with_location().unwrap();
            let tokens = readable(tokens).unwrap();
            let words: Vec<String> = tokens.iter().filter(|t| is_significant(t)).map(|t| t.token.to_string()).collect();
            assert_eq!(words.join(" "), plain);
        }
    }
}
