//! What is wrong with a text, said as PostgreSQL says it.

use sqlparser::parser::ParserError;
use sqlparser::tokenizer::{Location, TokenWithSpan};
use tablegate_types::error::{ErrorKind, SqlError};

use super::depth::nested_too_deeply;
use super::dialect::sequence::CONFLICTING;
use super::source::SourceText;

/// A token that makes no sense where it is; `None` stands for the end of the statement.
pub(super) fn unexpected_token(
    sql: &SourceText,
    token: Option<&TokenWithSpan>,
    tokens: &[&TokenWithSpan],
) -> Box<SqlError> {
    let end = tokens.last().map_or(Location { line: 1, column: 1 }, |token| token.span.end);
    match token {
        None => at_end(sql, end),
        Some(token) => SqlError::new(ErrorKind::Syntax, format!("syntax error at or near \"{}\"", token.token))
            .at(sql.position(token.span.start)),
    }
}

/// A statement that ends too early: with the text, or at a semicolon.
fn at_end(sql: &SourceText, end: Location) -> Box<SqlError> {
    let position = sql.position(end);
    let behind = sql.from(position);
    let blank = behind.len() - behind.trim_start().len();
    let message = match behind[blank..].starts_with(';') {
        true => "syntax error at or near \";\"",
        false => "syntax error at end of input",
    };
    SqlError::new(ErrorKind::Syntax, message).at(position + behind[..blank].chars().count())
}

/// sqlparser's message, said as PostgreSQL says it, with the position.
pub(super) fn syntax_error(sql: &SourceText, end: Location, error: &ParserError) -> Box<SqlError> {
    let text = match error {
        ParserError::TokenizerError(text) | ParserError::ParserError(text) => text.as_str(),
        ParserError::RecursionLimitExceeded => return nested_too_deeply(),
    };
    let (what, location) = split_location(text);
    let position = sql.position(location.unwrap_or(end));
    let error = match what.rsplit_once("found: ") {
        Some((_, "EOF")) => return at_end(sql, location.unwrap_or(end)),
        Some((expected, found)) => SqlError::new(ErrorKind::Syntax, format!("syntax error at or near \"{found}\""))
            .with_detail(expected.trim_end_matches([',', ' ']).to_owned() + "."),
        None if is_postgresqls(what) => return SqlError::new(ErrorKind::Syntax, what),
        None => SqlError::new(ErrorKind::Syntax, format!("syntax error: {what}")),
    };
    error.at(position)
}

/// Whether it is what PostgreSQL says of a sequence's options: our own reader of them does.
fn is_postgresqls(message: &str) -> bool {
    message == CONFLICTING || message.starts_with("sequence option ")
}

/// Takes ` at Line: 1, Column: 8` off the end of a message.
fn split_location(text: &str) -> (&str, Option<Location>) {
    let parse = || {
        let (what, location) = text.rsplit_once(" at Line: ")?;
        let (line, column) = location.split_once(", Column: ")?;
        Some((what, Location { line: line.parse().ok()?, column: column.trim().parse().ok()? }))
    };
    parse().map_or((text, None), |(what, location)| (what, Some(location)))
}
