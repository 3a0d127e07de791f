//! Where in a statement's text an error is, from the places that the parser notes.

use sqlparser::tokenizer;
use tablegate_types::error::Location;

/// A place of the parser's.
pub(crate) fn location(place: tokenizer::Location) -> Location {
    Location { line: place.line, column: place.column }
}
