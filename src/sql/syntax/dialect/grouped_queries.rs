//! Sub-queries as items of ROLLUP, CUBE and GROUPING SETS: sqlparser takes their parentheses for those of a list, so they get
//! others around them.

use sqlparser::keywords::Keyword;
use sqlparser::tokenizer::{Token, TokenWithSpan};

use crate::syntax::{is_significant, keyword};

/// The tokens with one more pair of parentheses around each such sub-query.
pub(super) fn with_grouped_queries(tokens: Vec<TokenWithSpan>) -> Vec<TokenWithSpan> {
    let is_list =
        |token: &TokenWithSpan| matches!(keyword(token), Some(Keyword::ROLLUP | Keyword::CUBE | Keyword::SETS));
    if !tokens.iter().any(is_list) {
        return tokens;
    }
    let significant: Vec<TokenWithSpan> = tokens.into_iter().filter(is_significant).collect();
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

fn begins_query(word: Keyword) -> bool {
    matches!(word, Keyword::SELECT | Keyword::WITH | Keyword::VALUES | Keyword::TABLE)
}
