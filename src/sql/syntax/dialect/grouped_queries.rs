//! Items of ROLLUP, CUBE and GROUPING SETS that sqlparser does not read. It takes the parentheses that an item begins with for
//! those of a list, so a sub-query, and an expression that goes on behind them, get others around them; and GROUPING SETS
//! inside of others are spelled as a call.

use sqlparser::keywords::Keyword;
use sqlparser::tokenizer::{Token, TokenWithSpan};
use tablegate_bind::query::{EMPTY_SET, GROUPING_SETS};

use crate::syntax::{is_significant, keyword};

/// A pair of parentheses that is open.
#[derive(Default)]
struct Open {
    /// Around the items of a list.
    is_list: bool,
    /// Another pair is around it.
    is_doubled: bool,
    /// Of a list: another pair is around the item that has begun.
    is_item_wrapped: bool,
}

/// The tokens with one more pair of parentheses around each such item, and calls for sets inside of others.
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
    let mut open: Vec<Open> = Vec::new();
    for (at, token) in significant.iter().enumerate() {
        let before = at.checked_sub(1).and_then(|before| significant.get(before));
        match token.token {
            Token::LParen => {
                let begins_item = before.is_some_and(|before| matches!(before.token, Token::LParen | Token::Comma));
                let of_list = open.last_mut().filter(|around| begins_item && around.is_list);
                let is_query = significant.get(at + 1).and_then(keyword).is_some_and(begins_query);
                let is_doubled = of_list.is_some() && is_query;
                let is_wrapped = !is_query && of_list.is_some() && goes_on_behind(&significant[at..]);
                if let Some(around) = of_list {
                    around.is_item_wrapped = is_wrapped;
                }
                if is_doubled || is_wrapped {
                    kept.push(token.clone());
                }
                kept.push(token.clone());
                open.push(Open { is_list: before.is_some_and(is_list), is_doubled, is_item_wrapped: false });
            }
            Token::RParen => {
                let Open { is_doubled, is_item_wrapped, .. } = open.pop().unwrap_or_default();
                let count = 1 + usize::from(is_doubled) + usize::from(is_item_wrapped);
                kept.extend(std::iter::repeat_n(token.clone(), count));
            }
            Token::Comma => {
                if open.last_mut().is_some_and(|around| std::mem::take(&mut around.is_item_wrapped)) {
                    kept.push(TokenWithSpan { token: Token::RParen, span: token.span });
                }
                kept.push(token.clone());
            }
            _ => kept.push(token.clone()),
        }
    }
    kept
}

/// Whether an item that begins with parentheses goes on behind them.
fn goes_on_behind(item: &[TokenWithSpan]) -> bool {
    let mut depth = 0_usize;
    let closed = item.iter().position(|token| {
        match token.token {
            Token::LParen => depth += 1,
            Token::RParen => depth = depth.saturating_sub(1),
            _ => {}
        }
        depth == 0
    });
    let next = closed.and_then(|closed| item.get(closed + 1));
    next.is_some_and(|next| !matches!(next.token, Token::Comma | Token::RParen))
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
