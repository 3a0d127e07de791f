//! Short texts on the stack: a cell is put together here and handed over in one piece.

use std::fmt;

/// At most `N` bytes of text. Writing beyond them is an error, so `N` is the longest form of what is written.
pub struct StackText<const N: usize> {
    bytes: [u8; N],
    len: usize,
}

impl<const N: usize> Default for StackText<N> {
    fn default() -> Self {
        Self { bytes: [0; N], len: 0 }
    }
}

impl<const N: usize> StackText<N> {
    /// Appends one ASCII character; what does not fit is left out.
    pub fn push(&mut self, ascii: u8) {
        if let Some(slot) = self.bytes.get_mut(self.len) {
            *slot = ascii;
            self.len += 1;
        }
    }

    /// Appends a number with at least `width` digits.
    pub fn digits(&mut self, value: u64, width: usize) {
        if let (2, Some(pair), Some(place)) =
            (width, pair(value), self.bytes.get_mut(self.len..).and_then(<[u8]>::first_chunk_mut))
        {
            *place = pair;
            self.len += 2;
            return;
        }
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
    while let Some(rest) = value.checked_div(100).filter(|rest| *rest > 0) {
        at -= 2;
        buffer[at..at + 2].copy_from_slice(&PAIRS[usize::try_from(value - rest * 100).unwrap_or_default()]);
        value = rest;
    }
    let [ten, one] = pair(value).unwrap_or_default();
    at -= 1;
    buffer[at] = one;
    if value >= 10 {
        at -= 1;
        buffer[at] = ten;
    }
    at
}

/// Both digits of a number below a hundred.
fn pair(value: u64) -> Option<[u8; 2]> {
    PAIRS.get(usize::try_from(value).ok()?).copied()
}

const PAIRS: [[u8; 2]; 100] = {
    let mut pairs = [[b'0'; 2]; 100];
    let (mut ten, mut one, mut at) = (b'0', b'0', 0);
    while at < pairs.len() {
        pairs[at] = [ten, one];
        (ten, one) = if one == b'9' { (ten + 1, b'0') } else { (ten, one + 1) };
        at += 1;
    }
    pairs
};

#[cfg(test)]
mod tests {
    use std::fmt::Write;

    use super::StackText;

    #[test]
    fn digits_are_padded_to_their_width() {
        let mut text = StackText::<40>::default();
        text.digits(7, 2);
        text.push(b':');
        text.digits(u64::MAX, 2);
        assert_eq!(text.as_str(), "07:18446744073709551615");
    }

    #[test]
    fn what_does_not_fit_is_an_error() {
        let mut text = StackText::<3>::default();
        assert!(text.write_str("abc").is_ok());
        assert!(text.write_str("d").is_err());
        assert_eq!(text.as_str(), "abc");
    }
}
