//! Functions in FROM whose columns are told without a name for what they give, which the parser wants: they give it theirs, as
//! PostgreSQL does.

use sqlparser::keywords::Keyword;
use sqlparser::tokenizer::{Token, TokenWithSpan};

use crate::syntax::{is_significant, is_word, keyword};

/// Names what functions give after themselves where only its columns are told: `json_to_record(..) AS (a int)`.
pub(super) fn with_named_records(mut tokens: Vec<TokenWithSpan>) -> Vec<TokenWithSpan> {
    if !tokens.iter().any(|token| keyword(token) == Some(Keyword::AS)) {
        return tokens;
    }
    let significant: Vec<usize> = (0..tokens.len()).filter(|at| is_significant(&tokens[*at])).collect();
    let words: Vec<&TokenWithSpan> = significant.iter().map(|at| &tokens[*at]).collect();
    let mut named = Vec::new();
    for at in 1..words.len() {
        let is_list = keyword(words[at]) == Some(Keyword::AS)
            && words[at - 1].token == Token::RParen
            && words.get(at + 1).is_some_and(|next| next.token == Token::LParen)
            && defines_columns(&words[at + 2..]);
        if let Some(function) = is_list.then(|| called_before(&words[..at])).flatten() {
            named.push((significant[at], TokenWithSpan { token: function.token.clone(), span: words[at].span }));
        }
    }
    for (at, name) in named.into_iter().rev() {
        tokens.insert(at + 1, name);
    }
    tokens
}

/// Whether these words begin a list of columns with their types.
fn defines_columns(words: &[&TokenWithSpan]) -> bool {
    let [name, data_type, ..] = words else { return false };
    let is_query = ["SELECT", "WITH", "VALUES", "TABLE", "INSERT", "UPDATE", "DELETE", "MERGE"];
    let is_clause = ["ROWS", "RANGE", "GROUPS", "PARTITION", "ORDER"];
    let names = matches!(name.token, Token::Word(_)) && matches!(data_type.token, Token::Word(_));
    names && !is_query.iter().chain(&is_clause).any(|word| is_word(name, word)) && !is_word(data_type, "ORDER")
}

/// The name of the function whose call ends here.
fn called_before<'t>(words: &[&'t TokenWithSpan]) -> Option<&'t TokenWithSpan> {
    let mut depth = 0_usize;
    let open = words.iter().rposition(|token| {
        match token.token {
            Token::RParen => depth += 1,
            Token::LParen => depth -= 1,
            _ => {}
        }
        depth == 0
    })?;
    let name = words[..open].last()?;
    (matches!(name.token, Token::Word(_)) && keyword(name) != Some(Keyword::FROM)).then_some(*name)
}
