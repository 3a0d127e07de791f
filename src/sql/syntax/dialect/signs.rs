//! `a>-1`: where an operator ends, and the sign of its operand begins.

use sqlparser::dialect::PostgreSqlDialect;
use sqlparser::tokenizer::{Span, Token, TokenWithSpan, Tokenizer};

/// What operators are made of.
const SYMBOLS: &str = "+-*/<>=~!@#%^&|`?";
/// With one of these in it an operator may end in a sign.
const WITH_SIGNS: &str = "~!@#%^&|`?";

/// Parts the signs from operators that do not end in one, as PostgreSQL's scanner does.
pub(crate) fn apart(tokens: Vec<TokenWithSpan>) -> Vec<TokenWithSpan> {
    let signs = |token: &TokenWithSpan| match &token.token {
        Token::CustomBinaryOperator(text) => signs_behind(text),
        _ => 0,
    };
    if tokens.iter().all(|token| signs(token) == 0) {
        return tokens;
    }
    let mut kept = Vec::with_capacity(tokens.len() + 1);
    for token in tokens {
        match (signs(&token), &token.token) {
            (count @ 1.., Token::CustomBinaryOperator(text)) => part(text, count, token.span, &mut kept),
            _ => kept.push(token),
        }
    }
    kept
}

/// How many characters at the end of an operator are signs.
fn signs_behind(text: &str) -> usize {
    if !text.chars().all(|c| SYMBOLS.contains(c)) || text.contains(|c| WITH_SIGNS.contains(c)) {
        return 0;
    }
    let signs = text.bytes().rev().take_while(|byte| matches!(byte, b'+' | b'-')).count();
    signs.min(text.len().saturating_sub(1))
}

fn part(text: &str, signs: usize, span: Span, kept: &mut Vec<TokenWithSpan>) {
    let (operator, signs) = text.split_at(text.len() - signs);
    let mut start = span.start;
    let mut push = |token: Token, length: usize| {
        let mut end = start;
        end.column += length as u64;
        kept.push(TokenWithSpan { token, span: Span { start, end } });
        start = end;
    };
    // One that has no name of its own stays what it was.
    let tokens = Tokenizer::new(&PostgreSqlDialect {}, operator).tokenize().unwrap_or_default();
    let named = <[Token; 1]>::try_from(tokens).map(|[token]| token);
    push(named.unwrap_or_else(|_| Token::CustomBinaryOperator(operator.to_owned())), operator.len());
    for sign in signs.chars() {
        push(if sign == '-' { Token::Minus } else { Token::Plus }, 1);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parted(sql: &str) -> String {
        let tokens = Tokenizer::new(&PostgreSqlDialect {}, sql).tokenize_with_location().unwrap();
        let words: Vec<String> = apart(tokens).iter().map(|token| token.token.to_string()).collect();
        words.join("_")
    }

    #[test]
    fn an_operator_ends_before_signs() {
        for (sql, expected) in [
            ("5>-1", "5_>_-_1"),
            ("5<>-1", "5_<>_-_1"),
            ("5>=+1", "5_>=_+_1"),
            ("5=-1", "5_=_-_1"),
            ("5<>+-1", "5_<>_+_-_1"),
            ("j->-1", "j_->_-_1"),
            ("j->>-1", "j_->>_-_1"),
            ("2*-1", "2_*_-_1"),
            ("j#-k", "j_#-_k"),
        ] {
            assert_eq!(parted(sql), expected);
        }
    }
}
