//! Forms of changes that sqlparser cannot read, as tokens that it can.
//!
//! A join that MERGE uses gets parentheses, which say where its own conditions end.
//!
//! `ONLY (t)` is the table alone: tables have no descendants here. Before ON CONFLICT a SELECT that ends with its list
//! gets `WHERE true`, or ON would be taken for the last column's label.

use sqlparser::keywords::Keyword;
use sqlparser::tokenizer::{Token, TokenWithSpan};

use crate::syntax::{is_significant, keyword};

/// Rewrites the tokens of one statement.
pub(crate) fn readable(tokens: Vec<TokenWithSpan>) -> Vec<TokenWithSpan> {
    let has = |wanted| tokens.iter().any(|token| keyword(token) == Some(wanted));
    let joins = has(Keyword::JOIN) && merges(&tokens);
    if !has(Keyword::ONLY) && !has(Keyword::CONFLICT) && !joins {
        return tokens;
    }
    let mut words: Vec<TokenWithSpan> = tokens.into_iter().filter(is_significant).collect();
    let mut at = 0;
    while at < words.len() {
        if keyword(&words[at]) == Some(Keyword::ONLY) {
            without_parentheses(&mut words, at + 1);
        }
        at += 1;
    }
    end_list_before_conflict(&mut words);
    if joins {
        with_joined_source(&mut words);
    }
    words
}

/// `(t)` and `(s.t)` behind ONLY are the table alone.
fn without_parentheses(words: &mut Vec<TokenWithSpan>, at: usize) {
    let token = |i: usize| words.get(at + i).map(|word| &word.token);
    let is_name = |i: usize| matches!(token(i), Some(Token::Word(_)));
    if token(0) != Some(&Token::LParen) || !is_name(1) {
        return;
    }
    let end = if token(2) == Some(&Token::Period) && is_name(3) { 4 } else { 2 };
    if token(end) == Some(&Token::RParen) {
        words.remove(at + end);
        words.remove(at);
    }
}

/// Whether it is a MERGE, also behind WITH.
fn merges(tokens: &[TokenWithSpan]) -> bool {
    let mut words = tokens.iter().filter(|token| is_significant(token));
    match words.next().and_then(keyword) {
        Some(Keyword::MERGE) => true,
        Some(Keyword::WITH) => merge_of(tokens).is_some(),
        _ => false,
    }
}

/// Where `MERGE INTO` stands outside of all parentheses.
fn merge_of(words: &[TokenWithSpan]) -> Option<usize> {
    let mut depth = 0_usize;
    let mut before = None;
    for (at, word) in words.iter().enumerate().filter(|(_, word)| is_significant(word)) {
        match (&word.token, keyword(word)) {
            (Token::LParen, _) => depth += 1,
            (Token::RParen, _) => depth = depth.saturating_sub(1),
            (_, Some(Keyword::INTO)) if depth == 0 && before.is_some() => return before,
            _ => {}
        }
        before = (depth == 0 && keyword(word) == Some(Keyword::MERGE)).then_some(at);
    }
    None
}

/// Parentheses around the join behind the USING of a MERGE: from there to the last ON before the first WHEN.
fn with_joined_source(words: &mut Vec<TokenWithSpan>) {
    let (mut depth, mut source, mut joined, mut condition) = (0_usize, None, false, None);
    let start = merge_of(words).unwrap_or(0);
    for (at, word) in words.iter().enumerate().skip(start) {
        match (&word.token, keyword(word)) {
            (Token::LParen, _) => depth += 1,
            (Token::RParen, _) => depth = depth.saturating_sub(1),
            (_, Some(Keyword::USING)) if depth == 0 && source.is_none() => source = Some(at + 1),
            (_, Some(Keyword::JOIN)) if depth == 0 => joined |= source.is_some(),
            (_, Some(Keyword::ON)) if depth == 0 => condition = Some(at),
            (_, Some(Keyword::WHEN)) if depth == 0 => break,
            _ => {}
        }
    }
    if let (Some(source), Some(condition), true) = (source, condition, joined) {
        let parenthesis = |token, at: usize, words: &[TokenWithSpan]| TokenWithSpan { token, span: words[at].span };
        let (open, close) = (parenthesis(Token::LParen, source, words), parenthesis(Token::RParen, condition, words));
        words.insert(condition, close);
        words.insert(source, open);
    }
}

fn end_list_before_conflict(words: &mut Vec<TokenWithSpan>) {
    let at = |i: usize| words.get(i).and_then(keyword);
    let found = (0..words.len()).find(|&i| at(i) == Some(Keyword::ON) && at(i + 1) == Some(Keyword::CONFLICT));
    let Some(conflict) = found else { return };
    let mut depth = 0_usize;
    // Back to what the list begins with, over whatever stands in parentheses.
    for word in words[..conflict].iter().rev() {
        match (&word.token, keyword(word)) {
            (Token::RParen, _) => depth += 1,
            (Token::LParen, _) if depth == 0 => return,
            (Token::LParen, _) => depth -= 1,
            (_, Some(Keyword::SELECT)) if depth == 0 => break,
            (_, Some(Keyword::FROM | Keyword::WHERE | Keyword::VALUES | Keyword::TABLE | Keyword::INSERT))
                if depth == 0 =>
            {
                return;
            }
            _ => {}
        }
    }
    let span = words[conflict].span;
    let condition = ["WHERE", "TRUE"].map(|word| TokenWithSpan { token: Token::make_keyword(word), span });
    words.splice(conflict..conflict, condition);
}

#[cfg(test)]
mod tests {
    use sqlparser::dialect::PostgreSqlDialect;
    use sqlparser::tokenizer::Tokenizer;

    use super::*;

    fn rewritten(sql: &str) -> String {
        let tokens = Tokenizer::new(&PostgreSqlDialect {}, sql).tokenize_with_location().unwrap();
        let words: Vec<String> = readable(tokens).iter().map(|token| token.token.to_string()).collect();
        words.join(" ")
    }

    #[test]
    fn a_table_behind_only_stands_alone() {
        assert_eq!(rewritten("DELETE FROM ONLY (s.t) AS x"), "DELETE FROM ONLY s . t AS x");
        assert_eq!(rewritten("UPDATE ONLY (t) SET a = (b)"), "UPDATE ONLY t SET a = ( b )");
    }

    #[test]
    fn a_list_ends_before_on_conflict() {
        let conflict = "ON CONFLICT DO NOTHING";
        for (select, ended) in [
            ("SELECT 1 , f ( 2 )", "SELECT 1 , f ( 2 ) WHERE TRUE"),
            ("SELECT 1 FROM a", "SELECT 1 FROM a"),
            ("SELECT ( SELECT 1 FROM a )", "SELECT ( SELECT 1 FROM a ) WHERE TRUE"),
            ("VALUES ( 1 )", "VALUES ( 1 )"),
        ] {
            let sql = format!("INSERT INTO t {select} {conflict}");
            assert_eq!(rewritten(&sql), format!("INSERT INTO t {ended} {conflict}"));
        }
    }
}
