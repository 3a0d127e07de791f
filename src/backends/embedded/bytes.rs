//! Reading and writing of the small binary forms on disk; what is read is never trusted.

/// Bytes that are taken from the front. Every method gives `None` when they run out or are not what was asked for.
#[derive(Debug, Clone, Copy)]
pub(super) struct Bytes<'a>(&'a [u8]);

impl<'a> Bytes<'a> {
    pub(super) fn new(bytes: &'a [u8]) -> Self {
        Self(bytes)
    }

    pub(super) fn rest(self) -> &'a [u8] {
        self.0
    }

    pub(super) fn is_empty(self) -> bool {
        self.0.is_empty()
    }

    pub(super) fn take(&mut self, n: usize) -> Option<&'a [u8]> {
        let (taken, rest) = self.0.split_at_checked(n)?;
        self.0 = rest;
        Some(taken)
    }

    pub(super) fn array<const N: usize>(&mut self) -> Option<[u8; N]> {
        self.take(N)?.try_into().ok()
    }

    pub(super) fn byte(&mut self) -> Option<u8> {
        self.array::<1>().map(|[byte]| byte)
    }

    /// Seven bits a byte, the lowest first; the top bit says that more follow.
    pub(super) fn varint(&mut self) -> Option<u64> {
        let mut value = 0_u64;
        for shift in (0..64).step_by(7) {
            let byte = self.byte()?;
            let bits = u64::from(byte & 0x7f);
            // The tenth byte has room for one bit.
            if bits << shift >> shift != bits {
                return None;
            }
            value |= bits << shift;
            if byte & 0x80 == 0 {
                return Some(value);
            }
        }
        None
    }

    /// Bytes behind their length.
    pub(super) fn blob(&mut self) -> Option<&'a [u8]> {
        let length = usize::try_from(self.varint()?).ok()?;
        self.take(length)
    }

    /// A text behind its length.
    pub(super) fn text(&mut self) -> Option<&'a str> {
        std::str::from_utf8(self.blob()?).ok()
    }
}

pub(super) fn put_varint(out: &mut Vec<u8>, mut value: u64) {
    loop {
        let [low, ..] = value.to_le_bytes();
        value >>= 7;
        if value == 0 {
            out.push(low & 0x7f);
            return;
        }
        out.push(low | 0x80);
    }
}

pub(super) fn put_text(out: &mut Vec<u8>, text: &str) {
    put_blob(out, text.as_bytes());
}

pub(super) fn put_blob(out: &mut Vec<u8>, bytes: &[u8]) {
    put_varint(out, bytes.len() as u64);
    out.extend_from_slice(bytes);
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn numbers_survive(value in any::<u64>(), shift in 0_u32..64) {
            let value = value >> shift;
            let mut out = Vec::new();
            put_varint(&mut out, value);
            let mut bytes = Bytes::new(&out);
            prop_assert_eq!(bytes.varint(), Some(value));
            prop_assert!(bytes.is_empty());
            prop_assert_eq!(Bytes::new(&out[..out.len() - 1]).varint(), None);
        }

        #[test]
        fn texts_survive(text in ".{0,200}") {
            let mut out = Vec::new();
            put_text(&mut out, &text);
            prop_assert_eq!(Bytes::new(&out).text(), Some(text.as_str()));
            prop_assert_eq!(Bytes::new(&out[..out.len() - 1]).text(), None);
        }
    }

    #[test]
    fn a_number_of_more_than_64_bits_is_refused() {
        assert_eq!(Bytes::new(&[0xff; 9]).varint(), None);
        let mut too_wide = [0xff; 10];
        too_wide[9] = 0x02;
        assert_eq!(Bytes::new(&too_wide).varint(), None);
        assert_eq!(Bytes::new(&[0x80; 11]).varint(), None);
    }
}
