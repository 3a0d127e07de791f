//! Items of ROLLUP, CUBE and GROUPING SETS that sqlparser does not read. It takes the parentheses of a sub-query for those of a
//! list, so they get others around them; and GROUPING SETS inside of others are spelled as a call.

use sqlparser::keywords::Keyword;
use sqlparser::tokenizer::{Token, TokenWithSpan};
use tablegate_bind::query::{EMPTY_SET, GROUPING_SETS};

use crate::syntax::{is_significant, keyword};

/// The tokens with one more pair of parentheses around each such sub-query, and calls for sets inside of others.
pub(super) fn with_grouped_queries(tokens: Vec<TokenWithSpan>) -> Vec<TokenWithSpan> {
    let is_mark = |token: &TokenWithSpan| token.token == mark(GROUPING_SETS);
    let is_list = |token: &TokenWithSpan| {
        matches!(keyword(token), Some(Keyword::ROLLUP | Keyword::CUBE | Keyword::SETS)) || is_mark(token)
    };
    if !tokens.iter().any(is_list) {
        return tokens;
    }
    let significant = with_calls(tokens.into_iter().filter(is_significant).collect());
    let mut kept = Vec::with_capacity(significant.len() + 2);
    // Of each pair of parentheses that is open: whether it is around the items of a list, and whether it gets another one.
    let mut open: Vec<(bool, bool)> = Vec::new();
    for (at, token) in significant.iter().enumerate() {
        let before = at.checked_sub(1).and_then(|before| significant.get(before));
        match token.token {
            Token::LParen => {
                let begins_item = before.is_some_and(|before| matches!(before.token, Token::LParen | Token::Comma));
                let is_item = begins_item && open.last().is_some_and(|(is_list, _)| *is_list);
                let is_query = significant.get(at + 1).and_then(keyword).is_some_and(begins_query);
                open.push((before.is_some_and(is_list), is_item && is_query));
                if is_item && is_query {
                    kept.push(token.clone());
                }
                kept.push(token.clone());
            }
            Token::RParen => {
                kept.push(token.clone());
                if open.pop().is_some_and(|(_, is_doubled)| is_doubled) {
                    kept.push(token.clone());
                }
            }
            _ => kept.push(token.clone()),
        }
    }
    kept
}

fn mark(name: &str) -> Token {
    Token::make_word(name, Some('"'))
}

/// Calls in the places of GROUPING SETS inside of others, and of `()` in these.
fn with_calls(tokens: Vec<TokenWithSpan>) -> Vec<TokenWithSpan> {
    let mut kept: Vec<TokenWithSpan> = Vec::with_capacity(tokens.len());
    // Of each pair of parentheses that is open: whether it is around sets, and whether these are inside of others.
    let mut open: Vec<(bool, bool)> = Vec::new();
    let mut tokens = tokens.into_iter().peekable();
    while let Some(token) = tokens.next() {
        let (in_sets, is_inside) = open.last().copied().unwrap_or_default();
        let of_sets = kept.last().is_some_and(|last| keyword(last) == Some(Keyword::SETS));
        let of_call = kept.last().is_some_and(|last| last.token == mark(GROUPING_SETS));
        match &token.token {
            Token::LParen if is_inside && tokens.peek().is_some_and(|next| next.token == Token::RParen) && !of_call => {
                kept.push(TokenWithSpan { token: mark(EMPTY_SET), span: token.span });
                open.push((false, false));
            }
            Token::LParen => open.push((of_sets || of_call, of_call)),
            Token::RParen => drop(open.pop()),
            Token::Word(_)
                if in_sets
                    && keyword(&token) == Some(Keyword::GROUPING)
                    && tokens.next_if(|next| keyword(next) == Some(Keyword::SETS)).is_some() =>
            {
                kept.push(TokenWithSpan { token: mark(GROUPING_SETS), span: token.span });
                continue;
            }
            _ => {}
        }
        kept.push(token);
    }
    kept
}

fn begins_query(word: Keyword) -> bool {
    matches!(word, Keyword::SELECT | Keyword::WITH | Keyword::VALUES | Keyword::TABLE)
}
