//! `a OPERATOR(pg_catalog.=) ANY (list)`: the operator alone, which sqlparser reads before ANY and ALL.

use sqlparser::dialect::PostgreSqlDialect;
use sqlparser::tokenizer::{Token, TokenWithSpan, Tokenizer};
use tablegate_types::error::{SqlError, SqlResult};

use crate::syntax::{is_significant, is_word};

/// Operators that are computed for the items of a list.
const OF_ITEMS: &[&str] = &["=", "<>", "!=", "<", "<=", ">", ">=", "~", "~*", "!~", "!~*", "~~", "~~*", "!~~", "!~~*"];

/// Rewrites the tokens of one statement.
///
/// # Errors
/// 0A000 for other operators before ANY and ALL.
pub(crate) fn readable(tokens: Vec<TokenWithSpan>) -> SqlResult<Vec<TokenWithSpan>> {
    if !tokens.iter().any(|token| quantifies(token) || is_word(token, "OPERATOR")) {
        return Ok(tokens);
    }
    let words: Vec<TokenWithSpan> = tokens.into_iter().filter(is_significant).collect();
    let mut kept: Vec<TokenWithSpan> = Vec::with_capacity(words.len());
    for (at, word) in words.iter().enumerate() {
        let is_before_list = words.get(at + 1).is_some_and(|next| next.token == Token::LParen);
        if quantifies(word) && is_before_list {
            name_operator(&mut kept);
            if is_word(word, "ALL") {
                symbol_of_pattern(&mut kept);
            }
            if let Some(symbol) = kept.last().and_then(|token| symbol(&token.token))
                && !OF_ITEMS.contains(&symbol.as_str())
            {
                return Err(SqlError::not_supported(format!("operator {symbol} {} (...)", word.token))
                    .with_hint("Use EXISTS over the items: EXISTS (SELECT FROM unnest(list) item WHERE ...)."));
            }
        }
        let is_pattern = kept.last().is_some_and(|before| is_word(before, "LIKE") || is_word(before, "ILIKE"));
        if is_pattern && is_word(word, "SOME") {
            kept.push(TokenWithSpan { token: Token::make_keyword("ANY"), span: word.span });
            continue;
        }
        kept.push(word.clone());
        if word.token == Token::RParen {
            unname_prefix(&mut kept);
        }
    }
    Ok(kept)
}

/// Puts the operator in the place of LIKE at the end, which the parser does not read before ALL.
fn symbol_of_pattern(kept: &mut Vec<TokenWithSpan>) {
    let Some(word) = kept.last() else { return };
    let ignores_case = is_word(word, "ILIKE");
    if !ignores_case && !is_word(word, "LIKE") {
        return;
    }
    let span = word.span;
    kept.pop();
    let is_not = kept.pop_if(|before| is_word(before, "NOT")).is_some();
    let token = match (is_not, ignores_case) {
        (false, false) => Token::DoubleTilde,
        (false, true) => Token::DoubleTildeAsterisk,
        (true, false) => Token::ExclamationMarkDoubleTilde,
        (true, true) => Token::ExclamationMarkDoubleTildeAsterisk,
    };
    kept.push(TokenWithSpan { token, span });
}

fn quantifies(token: &TokenWithSpan) -> bool {
    ["ANY", "SOME", "ALL"].iter().any(|word| is_word(token, word))
}

/// Puts the operator in the place of an `OPERATOR(schema.symbol)` at the end.
fn name_operator(kept: &mut Vec<TokenWithSpan>) {
    let Some((TokenWithSpan { token: Token::RParen, .. }, before)) = kept.split_last() else { return };
    let Some(open) = before.iter().rposition(|token| token.token == Token::LParen) else { return };
    let Some(start) = open.checked_sub(1).filter(|at| is_word(&before[*at], "OPERATOR")) else { return };
    let Some(named) = before[open + 1..].last().filter(|named| symbol(&named.token).is_some()) else { return };
    let text = named.token.to_string();
    let Ok(tokens) = Tokenizer::new(&PostgreSqlDialect {}, &text).tokenize() else { return };
    let [token] = tokens.as_slice() else { return };
    let operator = TokenWithSpan { token: token.clone(), span: named.span };
    kept.truncate(start);
    kept.push(operator);
}

/// `OPERATOR(-) a`, where no operand stands before it.
fn unname_prefix(kept: &mut Vec<TokenWithSpan>) {
    let open = kept.iter().rposition(|token| token.token == Token::LParen);
    let Some(start) = open.and_then(|open| open.checked_sub(1)).filter(|at| is_word(&kept[*at], "OPERATOR")) else {
        return;
    };
    let before = start.checked_sub(1).map(|at| &kept[at]);
    let is_prefix = before.is_none_or(|before| {
        matches!(before.token, Token::LParen | Token::Comma | Token::LBracket)
            || symbol(&before.token).is_some()
            || [
                "SELECT",
                "WHERE",
                "AND",
                "OR",
                "NOT",
                "BY",
                "WHEN",
                "THEN",
                "ELSE",
                "ON",
                "RETURNING",
                "SET",
                "DISTINCT",
            ]
            .iter()
            .any(|word| is_word(before, word))
    });
    if is_prefix {
        name_operator(kept);
    }
}

/// The text of a token that is an operator.
fn symbol(token: &Token) -> Option<String> {
    let text = token.to_string();
    let is_symbol = !text.is_empty() && text.chars().all(|c| "+-*/<>=~!@#%^&|`?".contains(c));
    is_symbol.then_some(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(sql: &str) -> SqlResult<String> {
        let tokens = readable(Tokenizer::new(&PostgreSqlDialect {}, sql).tokenize_with_location().unwrap())?;
        let words: Vec<String> = tokens.iter().filter(|t| is_significant(t)).map(|t| t.token.to_string()).collect();
        Ok(words.join(" "))
    }

    #[test]
    fn named_operators_of_lists_stand_alone() {
        assert_eq!(read("SELECT a OPERATOR(pg_catalog.=) ANY (b)").unwrap(), "SELECT a = ANY ( b )");
        assert_eq!(read("SELECT a OPERATOR ( <> ) ALL (SELECT 1)").unwrap(), "SELECT a <> ALL ( SELECT 1 )");
        assert_eq!(read("SELECT a OPERATOR(pg_catalog.!~~*) SOME (b)").unwrap(), "SELECT a !~~* SOME ( b )");
        let plain = "SELECT ALL ( a OPERATOR ( pg_catalog . + ) 1 ) , count ( ALL a )";
        assert_eq!(read(plain).unwrap(), plain);
        assert_eq!(read("SELECT OPERATOR(pg_catalog.-) a, 1 * OPERATOR(-) 2").unwrap(), "SELECT - a , 1 * - 2");
        assert!(read("SELECT a && ANY (b)").is_err());
    }
}
