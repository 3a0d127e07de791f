//! What quoted parts of arrays and rows have in front of quotes and backslashes.

use std::fmt;

/// Writes on, with a mark in front of every quote and backslash.
pub(super) struct Escape<'w> {
    pub out: &'w mut dyn fmt::Write,
    pub mark: Mark,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Mark {
    /// `\"`, in arrays.
    Backslash,
    /// `""`, in rows.
    Itself,
}

impl fmt::Write for Escape<'_> {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        for piece in text.split_inclusive(['"', '\\']) {
            match piece.char_indices().next_back() {
                Some((at, special @ ('"' | '\\'))) => {
                    self.out.write_str(&piece[..at])?;
                    self.out.write_char(if self.mark == Mark::Itself { special } else { '\\' })?;
                    self.out.write_char(special)?;
                }
                _ => self.out.write_str(piece)?,
            }
        }
        Ok(())
    }
}
