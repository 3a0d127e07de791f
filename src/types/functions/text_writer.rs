//! Builds a column of texts, each written piece by piece.

use std::fmt;
use std::sync::Arc;

use arrow::array::{ArrayRef, StringBuilder};

use super::allowance::Allowance;
use crate::error::SqlResult;
use crate::interrupt;

/// How many bytes are written without a look at whether somebody waits for them.
const BYTES_UNASKED: usize = 1 << 20;

/// The values so far, and the one being written.
pub struct TextWriter {
    builder: StringBuilder,
    bytes: usize,
    allowance: Allowance,
}

impl TextWriter {
    pub fn new(rows: usize) -> Self {
        Self { builder: StringBuilder::with_capacity(rows, 0), bytes: 0, allowance: Allowance::now() }
    }

    /// Makes sure that so many more bytes fit.
    ///
    /// # Errors
    /// 54000 or 53200 when they do not.
    pub fn reserve(&self, bytes: usize) -> SqlResult<()> {
        self.allowance.check(self.bytes.saturating_add(bytes))
    }

    /// Appends to the value being written. Beyond the limit nothing is appended, and finishing the value fails.
    pub fn push_str(&mut self, text: &str) {
        let before = self.bytes;
        self.bytes = before.saturating_add(text.len());
        if before / BYTES_UNASKED != self.bytes / BYTES_UNASKED && interrupt::check_now().is_err() {
            // Nothing more of it is written; who asks next meets the error.
            self.bytes = usize::MAX;
        }
        if self.allowance.allows(self.bytes) {
            // Writing to memory does not fail.
            let _ = fmt::Write::write_str(&mut self.builder, text);
        }
    }

    pub fn push(&mut self, c: char) {
        self.push_str(c.encode_utf8(&mut [0; 4]));
    }

    /// # Errors
    /// 54000 or 53200 when the values are too long together, 57014 when nobody waits for them.
    pub fn finish_value(&mut self) -> SqlResult<()> {
        if self.bytes == usize::MAX {
            interrupt::check_now()?;
        }
        self.reserve(0)?;
        self.builder.append_value("");
        Ok(())
    }

    pub fn append_null(&mut self) {
        self.builder.append_null();
    }

    pub fn finish(mut self) -> ArrayRef {
        Arc::new(self.builder.finish())
    }
}

impl fmt::Write for TextWriter {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        self.push_str(text);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use std::rc::Rc;

    use arrow::array::{Array, AsArray};

    use super::*;
    use crate::error::ErrorKind;
    use crate::functions::allowance::{Memory, within};

    /// Of which there is none.
    struct Nothing;

    impl Memory for Nothing {
        fn hold(&self, _bytes: usize) -> bool {
            false
        }
    }

    #[test]
    fn values_are_written_in_pieces() {
        let mut out = TextWriter::new(3);
        out.push_str("a");
        out.push('ß');
        out.finish_value().unwrap();
        out.append_null();
        out.finish_value().unwrap();
        let values = out.finish();
        let values = values.as_string::<i32>();
        assert_eq!((values.value(0), values.is_null(1), values.value(2)), ("aß", true, ""));
    }

    #[test]
    fn values_too_long_are_refused() {
        let out = TextWriter::new(1);
        assert_eq!(out.reserve((1 << 30) + 1).unwrap_err().kind, ErrorKind::LimitExceeded);
        let mut out = within(Some(Rc::new(Nothing)), || TextWriter::new(1));
        out.push_str(&"x".repeat(1 << 20));
        out.finish_value().unwrap();
        out.push_str("more");
        assert_eq!(out.finish_value().unwrap_err().kind, ErrorKind::OutOfMemory);
    }
}
