//! A statement as observe mode remembers it.

use crate::syntax::shape_of;

/// Characters of a statement's text that are kept.
const TEXT_MAX_CHARS: usize = 2_000;
/// Characters of its shape that are kept.
const SHAPE_MAX_CHARS: usize = 1_000;

/// The text of a writing statement, and its shape: the text without its constants.
#[derive(Debug)]
pub(crate) struct SeenStatement {
    text: String,
    shape: String,
}

impl SeenStatement {
    pub(crate) fn new(text: &str) -> Self {
        Self::with_shape_of(text, text)
    }

    /// A statement of the same shape as another text.
    pub(crate) fn with_shape_of(text: &str, other: &str) -> Self {
        Self { text: bounded(text, TEXT_MAX_CHARS), shape: bounded(&shape_of(other), SHAPE_MAX_CHARS) }
    }

    pub(crate) fn text(&self) -> &str {
        &self.text
    }

    pub(crate) fn shape(&self) -> &str {
        &self.shape
    }
}

/// At most so many characters of a text; what is left out shows as `...`.
pub(super) fn bounded(text: &str, chars: usize) -> String {
    match text.char_indices().nth(chars) {
        Some((end, _)) => format!("{}...", text.get(..end).unwrap_or_default()),
        None => text.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_shape_is_bounded() {
        let names: Vec<String> = (0..1_000).map(|i| format!("column_{i}")).collect();
        let seen = SeenStatement::new(&format!("INSERT INTO t ({}) VALUES (1)", names.join(", ")));
        assert_eq!(seen.shape().chars().count(), SHAPE_MAX_CHARS + 3);
    }

    #[test]
    fn a_long_text_is_cut_between_characters() {
        assert_eq!(bounded("größe", 3), "grö...");
        assert_eq!(bounded("größe", 5), "größe");
    }
}
