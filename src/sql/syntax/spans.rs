//! Where in a statement's text an error is, from the places that the parser notes.

use sqlparser::tokenizer::{self, Span};
use tablegate_types::error::{Location, SqlError};

/// An error that can be given the piece of the statement it is about.
pub(crate) trait AtSpan {
    /// Names the piece, unless something inside it was named already. What the statement did not say itself, names that a
    /// plan made, is nowhere.
    #[must_use]
    fn at_span(self, span: Span) -> Self;
}

impl AtSpan for Box<SqlError> {
    fn at_span(self, span: Span) -> Self {
        if span == Span::empty() { self } else { self.at_location(location(span.start)) }
    }
}

/// A place of the parser's.
pub(crate) fn location(place: tokenizer::Location) -> Location {
    Location { line: place.line, column: place.column }
}
