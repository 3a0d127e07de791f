//! `a>-1`: where an operator ends, and the sign of its operand begins.

use sqlparser::dialect::PostgreSqlDialect;
use sqlparser::tokenizer::{Span, Token, TokenWithSpan, Tokenizer};

/// What operators are made of.
const SYMBOLS: &str = "+-*/<>=~!@#%^&|`?";
/// With one of these in it an operator may end in a sign.
const WITH_SIGNS: &str = "~!@#%^&|`?";

/// Cuts operators as PostgreSQL's scanner does: what touches is one, without the signs at its end where it does not end in one.
pub(crate) fn apart(tokens: Vec<TokenWithSpan>) -> Vec<TokenWithSpan> {
    parted(joined(tokens))
}

/// The library takes one character for an operator where it begins with one of these: of `2^-1` it makes `^` and `-`.
fn joined(tokens: Vec<TokenWithSpan>) -> Vec<TokenWithSpan> {
    let touches = |pair: &[TokenWithSpan]| pair[0].span.end == pair[1].span.start;
    let is_cut = |pair: &[TokenWithSpan]| ends_at_once(&pair[0].token) && touches(pair) && symbols(&pair[1]).is_some();
    if !tokens.windows(2).any(is_cut) {
        return tokens;
    }
    let mut kept = Vec::with_capacity(tokens.len());
    let mut rest = tokens.as_slice();
    while let Some(first) = rest.first() {
        let behind = rest.windows(2).take_while(|pair| touches(pair) && symbols(&pair[1]).is_some()).count();
        let (run, others) = rest.split_at(if ends_at_once(&first.token) { behind + 1 } else { 1 });
        let text: String = run.iter().filter_map(symbols).collect();
        // Without one of these it ends before the sign, which is where the library ends it.
        if run.len() > 1 && text.contains(|c| WITH_SIGNS.contains(c)) {
            let span = Span { start: first.span.start, end: run[behind].span.end };
            kept.push(TokenWithSpan { token: Token::CustomBinaryOperator(text), span });
        } else {
            kept.extend_from_slice(run);
        }
        rest = others;
    }
    kept
}

/// Whether the library looks at no more than the first character.
fn ends_at_once(token: &Token) -> bool {
    matches!(token, Token::Caret | Token::CaretAt | Token::Plus | Token::Minus | Token::Mul | Token::Div)
}

/// The text of a token that is made of what operators are made of.
fn symbols(token: &TokenWithSpan) -> Option<String> {
    let is_word = matches!(token.token, Token::Word(_) | Token::Whitespace(_) | Token::Number(..));
    let text = if is_word { String::new() } else { token.token.to_string() };
    (!text.is_empty() && text.chars().all(|c| SYMBOLS.contains(c))).then_some(text)
}

/// Parts the signs from operators that do not end in one.
fn parted(tokens: Vec<TokenWithSpan>) -> Vec<TokenWithSpan> {
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

    fn cut(sql: &str) -> String {
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
            ("2 ^ -1", "2_ _^_ _-_1"),
            ("2*-+1", "2_*_-_+_1"),
            ("count(*)-1", "count_(_*_)_-_1"),
        ] {
            assert_eq!(cut(sql), expected);
        }
    }
    #[test]
    fn an_operator_with_other_characters_keeps_its_signs() {
        for (sql, expected) in [
            ("2^-1", "2_^-_1"),
            ("'2'^-+1", "'2'_^-+_1"),
            ("2%-1", "2_%-_1"),
            ("2*~1", "2_*~_1"),
            ("2^-1^-1 - 2", "2_^-_1_^-_1_ _-_ _2"),
        ] {
            assert_eq!(cut(sql), expected);
        }
    }
}
