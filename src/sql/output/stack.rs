//! Short texts on the stack: a cell is put together here and handed over in one piece.

use std::fmt;

/// At most `N` bytes of text. Writing beyond them is an error, so `N` is the longest form of what is written.
pub(crate) struct StackText<const N: usize> {
    bytes: [u8; N],
    len: usize,
}

impl<const N: usize> StackText<N> {
    pub fn new() -> Self {
        Self { bytes: [0; N], len: 0 }
    }

    /// Appends one ASCII character; what does not fit is left out.
    pub fn push(&mut self, ascii: u8) {
        if let Some(slot) = self.bytes.get_mut(self.len) {
            *slot = ascii;
            self.len += 1;
        }
    }

    /// Appends a number with at least `width` digits.
    pub fn digits(&mut self, value: u64, width: usize) {
        let mut digits = [b'0'; 20];
        let start = fill_digits(&mut digits, value).min(20 - width.min(20));
        digits[start..].iter().for_each(|d| self.push(*d));
    }

    pub fn as_str(&self) -> &str {
        std::str::from_utf8(&self.bytes[..self.len]).unwrap_or_default()
    }
}

impl<const N: usize> fmt::Write for StackText<N> {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        let end = self.len + text.len();
        self.bytes.get_mut(self.len..end).ok_or(fmt::Error)?.copy_from_slice(text.as_bytes());
        self.len = end;
        Ok(())
    }
}

/// Writes the decimal digits of `value` to the end of `buffer`; gives where they start.
pub(super) fn fill_digits(buffer: &mut [u8], mut value: u64) -> usize {
    let mut at = buffer.len();
    loop {
        at -= 1;
        buffer[at] = ascii_digit(value % 10);
        value /= 10;
        if value == 0 {
            return at;
        }
    }
}

fn ascii_digit(digit: u64) -> u8 {
    b'0' + u8::try_from(digit % 10).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use std::fmt::Write;

    use super::StackText;

    #[test]
    fn digits_are_padded_to_their_width() {
        let mut text = StackText::<40>::new();
        text.digits(7, 2);
        text.push(b':');
        text.digits(u64::MAX, 2);
        assert_eq!(text.as_str(), "07:18446744073709551615");
    }

    #[test]
    fn what_does_not_fit_is_an_error() {
        let mut text = StackText::<3>::new();
        assert!(text.write_str("abc").is_ok());
        assert!(text.write_str("d").is_err());
        assert_eq!(text.as_str(), "abc");
    }
}
