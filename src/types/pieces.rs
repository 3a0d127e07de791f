//! Bytes that are put together before anybody knows how many they will be.

use std::mem;

use arrow::buffer::{Buffer, MutableBuffer};

/// So many bytes are one piece, which is copied to more room as it grows.
const FIRST_BYTES: usize = 1 << 20;
/// Pieces have twice the room of those before them together, up to this: what is as long, the allocator gives back at once.
const PIECE_BYTES: usize = 8 << 20;

/// The bytes so far, in pieces that stay where they are: what is long is not copied while it grows.
#[derive(Default)]
pub(crate) struct Pieces {
    full: Vec<Vec<u8>>,
    last: Vec<u8>,
    /// Of all of them.
    len: usize,
}

impl Pieces {
    pub(crate) fn len(&self) -> usize {
        self.len
    }

    pub(crate) fn push(&mut self, bytes: &[u8]) {
        let fits = self.last.capacity() - self.last.len();
        if bytes.len() <= fits || self.len + bytes.len() <= FIRST_BYTES {
            self.last.extend_from_slice(bytes);
        } else {
            let (here, beyond) = bytes.split_at(fits);
            self.last.extend_from_slice(here);
            let room = beyond.len().max(self.len.clamp(FIRST_BYTES, PIECE_BYTES));
            let mut next = Vec::with_capacity(room);
            next.extend_from_slice(beyond);
            self.full.push(mem::replace(&mut self.last, next));
        }
        self.len += bytes.len();
    }

    /// All of them in one piece. Each goes as it is copied, so that the bytes are there once, and one piece twice.
    pub(crate) fn into_buffer(self) -> Buffer {
        if self.full.is_empty() {
            return Buffer::from_vec(self.last);
        }
        let mut all = MutableBuffer::with_capacity(self.len);
        for piece in self.full.into_iter().chain([self.last]) {
            all.extend_from_slice(&piece);
        }
        all.into()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_pushed_comes_out_in_one_piece() {
        for step in [1000, 300_001, 3_000_000, 20_000_000] {
            let (mut pieces, mut expected) = (Pieces::default(), Vec::new());
            for number in 0..40_000_000 / step {
                let bytes = vec![u8::try_from(number % 251).unwrap(); step];
                pieces.push(&bytes);
                expected.extend_from_slice(&bytes);
                assert!(pieces.full.iter().all(|piece| piece.len() == piece.capacity()));
            }
            assert_eq!(pieces.len(), expected.len());
            assert_eq!(pieces.into_buffer().as_slice(), expected);
        }
        assert_eq!(Pieces::default().into_buffer().len(), 0);
    }
}
