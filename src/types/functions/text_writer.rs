//! Builds a column of texts, each written piece by piece.

use std::fmt;
use std::sync::Arc;

use arrow::array::{ArrayRef, StringBuilder};

use crate::error::{ErrorKind, SqlError, SqlResult};

/// Most bytes of one column of results: what PostgreSQL allows one value.
const BYTES_MAX: usize = 1 << 30;

/// The values so far, and the one being written.
pub struct TextWriter {
    builder: StringBuilder,
    bytes: usize,
}

impl TextWriter {
    pub fn new(rows: usize) -> Self {
        Self { builder: StringBuilder::with_capacity(rows, 0), bytes: 0 }
    }

    /// Makes sure that so many more bytes fit.
    ///
    /// # Errors
    /// 54000 when they do not.
    pub fn reserve(&self, bytes: usize) -> SqlResult<()> {
        if self.bytes.saturating_add(bytes) > BYTES_MAX {
            return Err(SqlError::new(ErrorKind::LimitExceeded, "requested length too large"));
        }
        Ok(())
    }

    /// Appends to the value being written. Beyond the limit nothing is appended, and finishing the value fails.
    pub fn push_str(&mut self, text: &str) {
        self.bytes = self.bytes.saturating_add(text.len());
        if self.bytes <= BYTES_MAX {
            // Writing to memory does not fail.
            let _ = fmt::Write::write_str(&mut self.builder, text);
        }
    }

    pub fn push(&mut self, c: char) {
        self.push_str(c.encode_utf8(&mut [0; 4]));
    }

    /// # Errors
    /// 54000 when the values are too long together.
    pub fn finish_value(&mut self) -> SqlResult<()> {
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
    use arrow::array::{Array, AsArray};

    use super::*;

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
        assert_eq!(out.reserve(BYTES_MAX + 1).unwrap_err().kind, ErrorKind::LimitExceeded);
    }
}
