//! Where in a text something stands: what the parser notes of it, and what is looked up among the tokens where it notes
//! nothing.

use std::cell::OnceCell;

use sqlparser::dialect::PostgreSqlDialect;
use sqlparser::tokenizer::{self, Span, Token, TokenWithSpan, Tokenizer};
use tablegate_types::error::{Location, SqlError};

/// A line and a column, both from 1; zeros where nothing is known.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default)]
pub struct Place {
    line: u32,
    column: u32,
}

impl Place {
    pub const NOWHERE: Place = Place { line: 0, column: 0 };

    pub(crate) fn start(span: Span) -> Self {
        Self::of(span.start)
    }

    fn of(location: tokenizer::Location) -> Self {
        let short = |number: u64| u32::try_from(number).unwrap_or(u32::MAX);
        Self { line: short(location.line), column: short(location.column) }
    }

    /// For syntax that is made, to stand where something else was written.
    pub(crate) fn span(self) -> Span {
        let at = tokenizer::Location { line: self.line.into(), column: self.column.into() };
        Span { start: at, end: at }
    }

    pub fn is_known(self) -> bool {
        self.line != 0
    }

    /// The one further to the left, of those that are known.
    #[must_use]
    pub(crate) fn leftmost(self, other: Place) -> Place {
        match (self.is_known(), other.is_known()) {
            (true, true) => self.min(other),
            (true, false) => self,
            (false, _) => other,
        }
    }
}

/// Errors about a piece of the text.
pub trait AtPlace {
    #[must_use]
    fn at_place(self, place: Place) -> Self;
}

impl AtPlace for Box<SqlError> {
    fn at_place(self, place: Place) -> Self {
        if !place.is_known() {
            return self;
        }
        self.at_location(Location { line: place.line.into(), column: place.column.into() })
    }
}

/// The text of a statement. Its tokens are read when something is first looked for among them.
pub struct Source<'s> {
    text: &'s str,
    tokens: OnceCell<Vec<TokenWithSpan>>,
}

impl<'s> Source<'s> {
    pub fn new(text: &'s str) -> Self {
        Self { text, tokens: OnceCell::new() }
    }

    fn tokens(&self) -> &[TokenWithSpan] {
        self.tokens.get_or_init(|| {
            let tokens = Tokenizer::new(&PostgreSqlDialect {}, self.text).tokenize_with_location();
            let mut tokens = tokens.unwrap_or_default();
            tokens.retain(|token| !matches!(token.token, Token::Whitespace(_) | Token::EOF));
            tokens
        })
    }

    /// The first token that begins at a place or behind it.
    fn first_at(&self, place: Place) -> usize {
        self.tokens().partition_point(|token| Place::start(token.span) < place)
    }

    /// The nearest of these words or symbols before a place, which is not inside of parentheses that end before it.
    pub(crate) fn before(&self, place: Place, words: &[&str]) -> Option<Place> {
        if !place.is_known() {
            return None;
        }
        let mut depth = 0_usize;
        for token in self.tokens()[..self.first_at(place)].iter().rev() {
            match &token.token {
                Token::RParen | Token::RBracket => depth += 1,
                other if depth == 0 && is_one_of(other, words) => return Some(Place::start(token.span)),
                Token::LParen | Token::LBracket => depth = depth.saturating_sub(1),
                _ => {}
            }
        }
        None
    }

    /// Where the last such pair of words is.
    pub(crate) fn last_pair(&self, first: &str, second: &str) -> Option<Place> {
        let is_pair =
            |pair: &&[TokenWithSpan]| is_one_of(&pair[0].token, &[first]) && is_one_of(&pair[1].token, &[second]);
        self.tokens().windows(2).rfind(is_pair).map(|pair| Place::start(pair[0].span))
    }

    /// Whether the word stands right before a place.
    pub(crate) fn follows(&self, place: Place, word: &str) -> bool {
        let before = self.first_at(place).checked_sub(1).and_then(|at| self.tokens().get(at));
        before.is_some_and(|token| is_one_of(&token.token, &[word]))
    }

    /// What begins behind the piece that begins at a place.
    pub(crate) fn after(&self, place: Place) -> Option<Place> {
        self.tokens().get(self.first_at(place) + 1).map(|token| Place::start(token.span))
    }

    /// The first of these symbols or words behind a place.
    pub(crate) fn next(&self, place: Place, word: &str) -> Option<Place> {
        let behind = self.tokens().get(self.first_at(place) + 1..)?;
        behind.iter().find(|token| is_one_of(&token.token, &[word])).map(|token| Place::start(token.span))
    }

    /// Where the only array without items is.
    pub(crate) fn empty_array(&self) -> Option<Place> {
        let is_empty_array = |next: &&[TokenWithSpan]| {
            is_one_of(&next[0].token, &["ARRAY"])
                && matches!((&next[1].token, &next[2].token), (Token::LBracket, Token::RBracket))
        };
        let mut found = self.tokens().windows(3).filter(is_empty_array);
        let only = found.next()?;
        found.next().is_none().then(|| Place::start(only[0].span))
    }

    /// The first of these words or symbols behind the end of an operand, as the parser notes it: what it leaves out of an
    /// operand's end is passed over.
    pub(crate) fn behind(&self, end: tokenizer::Location, words: &[&str], skipped: usize) -> Option<Place> {
        if end.line == 0 {
            return None;
        }
        let (mut depth, mut skipped) = (0_usize, skipped);
        for token in &self.tokens()[self.first_at(Place::of(end))..] {
            match &token.token {
                Token::LParen | Token::LBracket => depth += 1,
                Token::RParen | Token::RBracket => depth = depth.saturating_sub(1),
                other if depth == 0 && is_one_of(other, words) => match skipped {
                    0 => return Some(Place::start(token.span)),
                    _ => skipped -= 1,
                },
                _ => {}
            }
        }
        None
    }
}

fn is_one_of(token: &Token, words: &[&str]) -> bool {
    match token {
        Token::Word(word) => {
            word.quote_style.is_none() && words.iter().any(|wanted| word.value.eq_ignore_ascii_case(wanted))
        }
        Token::SingleQuotedString(_) | Token::Number(..) => false,
        other => {
            let text = other.to_string();
            words.contains(&text.as_str())
        }
    }
}
