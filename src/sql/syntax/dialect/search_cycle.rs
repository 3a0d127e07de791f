//! SEARCH and CYCLE behind a part of WITH, which the parser has no form for: they become parts of their own behind it, whose
//! names say what they are.

use sqlparser::keywords::Keyword;
use sqlparser::tokenizer::{Token, TokenWithSpan};
use tablegate_bind::query::{CYCLE, SEARCH_BREADTH, SEARCH_DEPTH};

use super::respell::{is_called, is_word, symbol, word};

/// Respells the significant tokens of a statement.
pub(super) fn with_search_and_cycle(tokens: Vec<TokenWithSpan>) -> Vec<TokenWithSpan> {
    let is_clause = |pair: &[TokenWithSpan]| {
        pair[0].token == Token::RParen && (is_called(&pair[1], "SEARCH") || is_called(&pair[1], "CYCLE"))
    };
    if !tokens.windows(2).any(is_clause) {
        return tokens;
    }
    let mut kept: Vec<TokenWithSpan> = Vec::with_capacity(tokens.len());
    let mut rest = tokens.as_slice();
    while let Some((token, mut behind)) = rest.split_first() {
        kept.push(token.clone());
        if token.token == Token::RParen {
            behind = after(behind, search(behind), &mut kept);
            behind = after(behind, cycle(behind), &mut kept);
        }
        rest = behind;
    }
    kept
}

/// A clause: its part of WITH, and how many tokens it has.
type Clause = Option<(Vec<TokenWithSpan>, usize)>;

fn after<'t>(tokens: &'t [TokenWithSpan], clause: Clause, kept: &mut Vec<TokenWithSpan>) -> &'t [TokenWithSpan] {
    match clause {
        Some((part, length)) => {
            kept.extend(part);
            &tokens[length..]
        }
        None => tokens,
    }
}

/// `SEARCH DEPTH FIRST BY a, b SET c`
fn search(tokens: &[TokenWithSpan]) -> Clause {
    let [search, how, first, by, rest @ ..] = tokens else { return None };
    let name = match how {
        _ if !is_called(search, "SEARCH") || !is_called(first, "FIRST") || !is_called(by, "BY") => return None,
        how if is_called(how, "DEPTH") => SEARCH_DEPTH,
        how if is_called(how, "BREADTH") => SEARCH_BREADTH,
        _ => return None,
    };
    let (mut columns, length) = names(rest)?;
    let [set, order, ..] = rest.get(length..)? else { return None };
    if !is_called(set, "SET") {
        return None;
    }
    columns.push(order.clone());
    let nothing = vec![symbol(search, Token::Number("1".to_owned(), false))];
    Some((part(search, name, columns, nothing), 4 + length + 2))
}

/// `CYCLE a, b SET c [TO x DEFAULT y] USING d`
fn cycle(tokens: &[TokenWithSpan]) -> Clause {
    let (cycle, rest) = tokens.split_first().filter(|(cycle, _)| is_called(cycle, "CYCLE"))?;
    let (mut columns, mut at) = names(rest)?;
    let [set, mark, ..] = rest.get(at..)? else { return None };
    if !is_called(set, "SET") {
        return None;
    }
    at += 2;
    let mut values =
        vec![word(cycle, "true", Keyword::TRUE), symbol(cycle, Token::Comma), word(cycle, "false", Keyword::FALSE)];
    if rest.get(at).is_some_and(|token| is_called(token, "TO")) {
        let said = &rest[at + 1..];
        let default = said.iter().position(|token| is_called(token, "DEFAULT"))?;
        let using = said.iter().position(|token| is_called(token, "USING")).filter(|using| *using > default)?;
        values = said[..default].to_vec();
        values.push(symbol(cycle, Token::Comma));
        values.extend_from_slice(&said[default + 1..using]);
        at += 1 + using;
    }
    let [using, path, ..] = rest.get(at..)? else { return None };
    if !is_called(using, "USING") {
        return None;
    }
    columns.extend([mark.clone(), path.clone()]);
    Some((part(cycle, CYCLE, columns, values), 1 + at + 2))
}

/// Names with commas between them, and how many tokens these are.
fn names(tokens: &[TokenWithSpan]) -> Option<(Vec<TokenWithSpan>, usize)> {
    let mut names = Vec::new();
    let mut at = 0;
    loop {
        names.push(tokens.get(at).filter(|token| is_word(token))?.clone());
        match tokens.get(at + 1)?.token {
            Token::Comma => at += 2,
            _ => return Some((names, at + 1)),
        }
    }
}

/// `, "name" (columns) AS (SELECT values)`
fn part(at: &TokenWithSpan, name: &str, columns: Vec<TokenWithSpan>, values: Vec<TokenWithSpan>) -> Vec<TokenWithSpan> {
    let mut part =
        vec![symbol(at, Token::Comma), symbol(at, Token::make_word(name, Some('"'))), symbol(at, Token::LParen)];
    for (number, column) in columns.into_iter().enumerate() {
        part.extend((number > 0).then(|| symbol(at, Token::Comma)));
        part.push(column);
    }
    part.push(symbol(at, Token::RParen));
    part.extend([word(at, "AS", Keyword::AS), symbol(at, Token::LParen)]);
    part.push(word(at, "SELECT", Keyword::SELECT));
    part.extend(values);
    part.push(symbol(at, Token::RParen));
    part
}
