//! EXPLAIN as a command: options, and a statement, which is read as if it stood alone. So whatever of its syntax sqlparser
//! does not know is known behind EXPLAIN too.

use sqlparser::tokenizer::{Token, TokenWithSpan};

use super::words::{Read, Unexpected, Words};

/// EXPLAIN as far as words tell it.
pub(crate) struct ExplainSyntax<'a, 't> {
    pub analyze: bool,
    pub verbose: bool,
    pub options: Vec<ExplainOption>,
    /// The tokens of the statement.
    pub statement: &'a [&'t TokenWithSpan],
}

/// One of the options in parentheses.
#[derive(Debug, Clone)]
pub(crate) struct ExplainOption {
    /// Folded.
    pub name: String,
    pub value: Option<String>,
}

/// Words that a query in parentheses begins with, and no option does.
const QUERIES: [&str; 4] = ["SELECT", "WITH", "VALUES", "TABLE"];

/// The command these tokens are; `None` when they are of another kind. White space is left out.
pub(crate) fn read<'a, 't>(tokens: &'a [&'t TokenWithSpan]) -> Option<Read<'t, ExplainSyntax<'a, 't>>> {
    let mut words = Words::new(tokens);
    words.eat("EXPLAIN").then(|| explain(&mut words))
}

fn explain<'a, 't>(words: &mut Words<'a, 't>) -> Read<'t, ExplainSyntax<'a, 't>> {
    let mut found = ExplainSyntax { analyze: false, verbose: false, options: Vec::new(), statement: &[] };
    if begins_with_options(words.rest()) {
        words.eat_token(&Token::LParen);
        found.options.push(option(words)?);
        while words.eat_token(&Token::Comma) {
            found.options.push(option(words)?);
        }
        if !words.eat_token(&Token::RParen) {
            return Err(Unexpected(words.peek()));
        }
    } else {
        found.analyze = words.eat("ANALYZE") || words.eat("ANALYSE");
        found.verbose = words.eat("VERBOSE");
    }
    found.statement = words.rest();
    if found.statement.is_empty() { Err(Unexpected(None)) } else { Ok(found) }
}

fn begins_with_options(rest: &[&TokenWithSpan]) -> bool {
    let [open, next, ..] = rest else { return false };
    let is_option = |token: &Token| match token {
        Token::Word(word) => word.quote_style.is_some() || !QUERIES.iter().any(|q| word.value.eq_ignore_ascii_case(q)),
        _ => false,
    };
    open.token == Token::LParen && is_option(&next.token)
}

/// `FORMAT JSON`, `COSTS off`, `ANALYZE`
fn option<'t>(words: &mut Words<'_, 't>) -> Read<'t, ExplainOption> {
    let name = words.name()?;
    let value = match words.peek().map(|token| &token.token) {
        None | Some(Token::Comma | Token::RParen) => None,
        Some(Token::Word(_)) => Some(words.name()?),
        Some(Token::Number(..) | Token::Minus) => match words.integer()? {
            Some(number) => Some(number.to_string()),
            None => return Err(Unexpected(words.peek())),
        },
        Some(_) => Some(words.text()?),
    };
    Ok(ExplainOption { name, value })
}
