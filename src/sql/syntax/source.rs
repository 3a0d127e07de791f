//! The text that statements come from: where in it an error is.

use std::any::Any;
use std::fmt;
use std::ops::Deref;
use std::sync::Arc;

use sqlparser::dialect::PostgreSqlDialect;
use sqlparser::tokenizer::{self, Token, TokenWithSpan, Tokenizer};
use tablegate_types::error::{ErrorKind, Location, SqlError};

use crate::syntax::location;

/// A query text, as the client sent it.
#[derive(Clone, Default)]
pub(crate) struct SourceText {
    text: Arc<str>,
    /// What reading it takes, where that is much.
    _held: Option<Arc<dyn Any + Send + Sync>>,
}

impl SourceText {
    pub fn new(text: &str) -> Self {
        Self { text: text.into(), _held: None }
    }

    /// Holds something as long as there are statements of it.
    pub fn holding(text: &str, held: Arc<dyn Any + Send + Sync>) -> Self {
        Self { _held: Some(held), ..Self::new(text) }
    }

    /// The character position, from 1, of a line and column of the text.
    pub fn position(&self, place: tokenizer::Location) -> usize {
        self.position_of(location(place))
    }

    /// The line and the column of a character position, both from 1.
    pub fn line_and_column(&self, position: usize) -> (u64, u64) {
        let (mut line, mut column) = (1, position.max(1));
        for text in self.text.split_inclusive('\n') {
            let length = text.chars().count();
            if column <= length || !text.ends_with('\n') {
                break;
            }
            (line, column) = (line + 1, column - length);
        }
        (line, u64::try_from(column).unwrap_or(u64::MAX))
    }

    fn position_of(&self, location: Location) -> usize {
        if location.line == 0 {
            return 1;
        }
        let lines_before = usize::try_from(location.line - 1).unwrap_or(usize::MAX);
        let before: usize = self.text.split_inclusive('\n').take(lines_before).map(|line| line.chars().count()).sum();
        before + usize::try_from(location.column).unwrap_or(usize::MAX).max(1)
    }

    /// An error with the position of what it is about.
    pub fn located(&self, mut error: Box<SqlError>) -> Box<SqlError> {
        if error.position.is_none() {
            let location = error.location.or_else(|| self.only_call(&error));
            error.position = location.map(|location| self.position_of(location));
        }
        error
    }

    /// Functions and operators are looked up by a plan, which does not know their places: that of the only one in the text
    /// with the name that the error says.
    fn only_call(&self, error: &SqlError) -> Option<Location> {
        if error.kind != ErrorKind::UndefinedFunction {
            return None;
        }
        let tokens = Tokenizer::new(&PostgreSqlDialect {}, self).tokenize_with_location().ok()?;
        let mut found: Box<dyn Iterator<Item = &TokenWithSpan>> =
            if let Some((name, _)) = error.message.strip_prefix("function ").and_then(|call| call.split_once('(')) {
                let calls = tokens.windows(2).filter(|pair| pair[1].token == Token::LParen).map(|pair| &pair[0]);
                Box::new(calls.filter(move |call| matches!(&call.token, Token::Word(word) if word.value == name)))
            } else {
                let operation = error.message.strip_prefix("operator does not exist: ")?;
                let symbol = operation.split(' ').find(|part| part.chars().all(|c| "+-*/<>=~!@#%^&|`?".contains(c)))?;
                Box::new(tokens.iter().filter(move |token| token.token.to_string() == symbol))
            };
        let only = found.next()?;
        found.next().is_none().then(|| location(only.span.start))
    }
}

/// Not the text: it may have a password in it.
impl fmt::Debug for SourceText {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "SourceText({} bytes)", self.text.len())
    }
}

impl Deref for SourceText {
    type Target = str;

    fn deref(&self) -> &str {
        &self.text
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn position(text: &str, message: &str) -> Option<usize> {
        SourceText::new(text).located(SqlError::new(ErrorKind::UndefinedFunction, message)).position
    }

    #[test]
    fn an_only_call_is_found_and_one_of_several_is_not() {
        assert_eq!(position("SELECT 'é', fun(1)", "function fun(integer) does not exist"), Some(13));
        assert_eq!(position("SELECT fun, fun(1)", "function fun(integer) does not exist"), Some(13));
        assert_eq!(position("SELECT fun(1), fun(2)", "function fun(integer) does not exist"), None);
        assert_eq!(position("SELECT 1,\n 'a' || ~b", "operator does not exist: ~ text"), Some(19));
        assert_eq!(position("SELECT a + b", "operator does not exist: timestamp with time zone + text"), Some(10));
    }
}
