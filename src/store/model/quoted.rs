//! Names and keys in messages.

use std::fmt::{self, Write as _};

/// A text in double quotes as it is, but for control characters.
pub(super) struct Quoted<'t>(pub &'t str);

impl fmt::Display for Quoted<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_char('"')?;
        for c in self.0.chars() {
            if c.is_control() { write!(f, "{}", c.escape_default())? } else { f.write_char(c)? }
        }
        f.write_char('"')
    }
}
