//! The text that statements come from: where in it an error is.

use std::any::Any;
use std::fmt;
use std::ops::Deref;
use std::sync::Arc;

use sqlparser::dialect::PostgreSqlDialect;
use sqlparser::tokenizer::{self, Token, TokenWithSpan, Tokenizer};
use tablegate_types::error::{ErrorKind, Location, SqlError};

/// A query text, as the client sent it.
#[derive(Clone)]
pub(crate) struct SourceText(Arc<Text>);

struct Text {
    text: Box<str>,
    /// For each line the character that it begins with.
    lines: Vec<usize>,
    /// Where some characters begin, each [`STRIDE`] behind the one before; none when all of them are of one byte.
    strides: Vec<usize>,
    /// What reading it takes of the memory, where that is much.
    _held: Option<Arc<dyn Any + Send + Sync>>,
}

/// Characters from one whose place in the text is known to the next one.
const STRIDE: usize = 256;

impl SourceText {
    pub(crate) fn new(text: &str) -> Self {
        Self::with(text, None)
    }

    /// Holds something as long as there are statements of it.
    pub(crate) fn holding(text: &str, held: Arc<dyn Any + Send + Sync>) -> Self {
        Self::with(text, Some(held))
    }

    fn with(text: &str, held: Option<Arc<dyn Any + Send + Sync>>) -> Self {
        let (mut lines, mut strides) = (vec![0], Vec::new());
        if text.is_ascii() {
            lines.extend(text.bytes().enumerate().filter(|(_, byte)| *byte == b'\n').map(|(place, _)| place + 1));
        } else {
            for (count, (place, character)) in text.char_indices().enumerate() {
                if count.is_multiple_of(STRIDE) {
                    strides.push(place);
                }
                if character == '\n' {
                    lines.push(count + 1);
                }
            }
        }
        Self(Arc::new(Text { text: text.into(), lines, strides, _held: held }))
    }

    /// The text behind a character position, from 1.
    pub(crate) fn from(&self, position: usize) -> &str {
        self.get(self.place(position)..).unwrap_or_default()
    }

    /// The text between two character positions, from 1.
    pub(crate) fn between(&self, from: usize, to: usize) -> &str {
        self.get(self.place(from)..self.place(to)).unwrap_or_default()
    }

    /// Where a character, by its position from 1, begins in the text.
    fn place(&self, position: usize) -> usize {
        let character = position.saturating_sub(1);
        if self.0.strides.is_empty() {
            return character.min(self.len());
        }
        let Some(start) = self.0.strides.get(character / STRIDE).copied() else { return self.len() };
        let mut rest = self[start..].char_indices();
        rest.nth(character % STRIDE).map_or(self.len(), |(place, _)| start + place)
    }

    /// The character position, from 1, of a line and column of the text.
    pub(crate) fn position(&self, place: tokenizer::Location) -> usize {
        self.position_of(location(place))
    }

    /// The line and the column of a character position, both from 1.
    pub(crate) fn line_and_column(&self, position: usize) -> (u64, u64) {
        let character = position.saturating_sub(1);
        let line = self.0.lines.partition_point(|start| *start <= character).max(1);
        let column = character - self.0.lines.get(line - 1).copied().unwrap_or(0) + 1;
        (u64::try_from(line).unwrap_or(u64::MAX), u64::try_from(column).unwrap_or(u64::MAX))
    }

    fn position_of(&self, location: Location) -> usize {
        if location.line == 0 {
            return 1;
        }
        let line = usize::try_from(location.line - 1).unwrap_or(usize::MAX);
        let before = self.0.lines.get(line).copied().unwrap_or_else(|| self.chars().count());
        before + usize::try_from(location.column).unwrap_or(usize::MAX).max(1)
    }

    /// An error with the position of what it is about.
    pub(crate) fn located(&self, mut error: Box<SqlError>) -> Box<SqlError> {
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
        write!(f, "SourceText({} bytes)", self.len())
    }
}

impl Deref for SourceText {
    type Target = str;

    fn deref(&self) -> &str {
        &self.0.text
    }
}

impl Default for SourceText {
    fn default() -> Self {
        Self::new("")
    }
}

/// A place of the parser's.
fn location(place: tokenizer::Location) -> Location {
    Location { line: place.line, column: place.column }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn position(text: &str, message: &str) -> Option<usize> {
        SourceText::new(text).located(SqlError::new(ErrorKind::UndefinedFunction, message)).position
    }

    #[test]
    fn places_are_positions_and_back() {
        let long = "é".repeat(3 * STRIDE);
        for text in ["", "a", "ab\n\ncd", "é\nüx\n", "\n", &format!("x{long}\n{long}y")] {
            let source = SourceText::new(text);
            let (mut line, mut column) = (1, 1);
            for (index, character) in text.chars().enumerate() {
                let position = index + 1;
                assert_eq!(source.line_and_column(position), (line, column), "{text:?} {position}");
                assert_eq!(source.position(tokenizer::Location { line, column }), position);
                assert_eq!(source.between(position, position + 1), character.to_string());
                (line, column) = if character == '\n' { (line + 1, 1) } else { (line, column + 1) };
            }
            assert_eq!(source.between(1, text.chars().count() + 1), text);
        }
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
