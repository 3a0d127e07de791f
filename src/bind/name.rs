//! Names as statements write them.

/// A name as it is written: an unquoted one also means what it equals but for case, where nothing is called exactly so.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Name {
    /// Folded, unless it is quoted.
    pub text: String,
    pub is_quoted: bool,
}

impl Name {
    /// Whether it may mean what is called so.
    pub(crate) fn is(&self, known: &str) -> bool {
        if self.is_quoted { self.text == known } else { self.text.eq_ignore_ascii_case(known) }
    }
}
