//! How much something writes, found out by writing it nowhere.

use std::fmt::{self, Write};

/// How many bytes something writes.
pub(super) fn length(write: impl FnOnce(&mut Length) -> fmt::Result) -> usize {
    let mut length = Length(0);
    write(&mut length).expect("counting cannot fail, and no value's Display does");
    length.0
}

pub(super) struct Length(usize);

impl Write for Length {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        self.0 += text.len();
        Ok(())
    }
}
