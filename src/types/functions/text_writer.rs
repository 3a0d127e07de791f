//! Builds a column of texts, each written piece by piece.

use std::fmt;
use std::sync::Arc;

use arrow::array::{ArrayRef, BooleanBufferBuilder, StringArray};
use arrow::buffer::{NullBuffer, OffsetBuffer, ScalarBuffer};

use crate::allowance::{self, Allowance};
use crate::error::{SqlError, SqlResult};
use crate::interrupt;
use crate::pieces::Pieces;

/// How many bytes are written without a look at whether somebody waits for them.
const BYTES_UNASKED: usize = 1 << 16;
/// Characters that come one by one are put together to so many bytes.
const PIECE_BYTES: usize = 1 << 12;

/// The values so far, and the one being written.
pub struct TextWriter {
    texts: Pieces,
    /// Where each value ends, behind a zero: less than a GiB is allowed.
    ends: Vec<i32>,
    valid: BooleanBufferBuilder,
    allowance: Allowance,
    /// Why nothing more is written.
    stopped: Option<Box<SqlError>>,
}

impl TextWriter {
    pub fn new(rows: usize) -> Self {
        let mut ends = Vec::with_capacity(rows + 1);
        ends.push(0);
        let valid = BooleanBufferBuilder::new(rows);
        Self { texts: Pieces::default(), ends, valid, allowance: Allowance::now(), stopped: None }
    }

    /// Makes sure that so many more bytes fit.
    ///
    /// # Errors
    /// 54000 or 53200 when they do not.
    pub fn reserve(&self, bytes: usize) -> SqlResult<()> {
        self.allowance.check(self.texts.len().saturating_add(bytes))
    }

    /// Appends to the value being written. Where there is no room for it nothing is appended from then on, and
    /// [`TextWriter::going_on`] says so.
    pub fn push_str(&mut self, text: &str) {
        if self.stopped.is_some() {
            return;
        }
        match self.room_for(text.len()) {
            Ok(()) => self.texts.push(text.as_bytes()),
            Err(error) => self.stopped = Some(error),
        }
    }

    fn room_for(&self, more: usize) -> SqlResult<()> {
        let before = self.texts.len();
        let bytes = before.saturating_add(more);
        if before / BYTES_UNASKED != bytes / BYTES_UNASKED {
            interrupt::check_now()?;
        }
        self.allowance.check(bytes)
    }

    pub fn push(&mut self, c: char) {
        self.push_str(c.encode_utf8(&mut [0; 4]));
    }

    /// Appends many characters.
    ///
    /// # Errors
    /// As [`TextWriter::going_on`].
    pub fn push_chars(&mut self, chars: impl Iterator<Item = char>) -> SqlResult<()> {
        let mut piece = String::new();
        for c in chars {
            piece.push(c);
            if piece.len() >= PIECE_BYTES {
                self.push_str(&piece);
                self.going_on()?;
                piece.clear();
            }
        }
        self.push_str(&piece);
        self.going_on()
    }

    /// To be asked by whoever writes much in pieces.
    ///
    /// # Errors
    /// 54000 or 53200 when the values are too long together, 57014 when nobody waits for them.
    pub fn going_on(&mut self) -> SqlResult<()> {
        self.stopped.take().map_or(Ok(()), Err)
    }

    /// # Errors
    /// As [`TextWriter::going_on`].
    pub fn finish_value(&mut self) -> SqlResult<()> {
        self.going_on()?;
        self.end(true)
    }

    /// # Errors
    /// As [`TextWriter::going_on`].
    pub fn append_null(&mut self) -> SqlResult<()> {
        self.end(false)
    }

    fn end(&mut self, is_valid: bool) -> SqlResult<()> {
        let end = i32::try_from(self.texts.len());
        self.ends.push(end.map_err(|_too_long| allowance::too_long())?);
        self.valid.append(is_valid);
        Ok(())
    }

    /// # Errors
    /// Internal: texts are written whole.
    pub fn finish(mut self) -> SqlResult<ArrayRef> {
        let ends = OffsetBuffer::new(ScalarBuffer::from(self.ends));
        let valid = NullBuffer::new(self.valid.finish());
        let nulls = (valid.null_count() > 0).then_some(valid);
        Ok(Arc::new(StringArray::try_new(ends, self.texts.into_buffer(), nulls)?))
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
    use crate::allowance::{Memory, within};
    use crate::error::ErrorKind;
    use crate::interrupt::Interrupt;

    /// Of which there is none.
    struct Nothing;

    impl Memory for Nothing {
        fn hold(&self, _before: usize, _bytes: usize) -> bool {
            false
        }
    }

    #[test]
    fn values_are_written_in_pieces() {
        let mut out = TextWriter::new(3);
        out.push_str("a");
        out.push('ß');
        out.finish_value().unwrap();
        out.append_null().unwrap();
        out.finish_value().unwrap();
        let values = out.finish().unwrap();
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

    #[test]
    fn many_characters_are_written_as_long_as_somebody_waits() {
        let mut out = TextWriter::new(1);
        let text = "aé€😀".repeat(3000);
        out.push_chars(text.chars()).unwrap();
        out.finish_value().unwrap();
        let interrupt = Interrupt::default();
        let mut given = 0;
        let refused = interrupt.during(|| {
            interrupt.raise();
            out.push_chars(std::iter::repeat_n('x', 1 << 30).inspect(|_| given += 1))
        });
        assert_eq!(refused.unwrap_err().kind, ErrorKind::QueryCanceled);
        assert!(given <= 2 * BYTES_UNASKED, "{given}");
        assert_eq!(out.finish().unwrap().as_string::<i32>().value(0), text);
    }
}
