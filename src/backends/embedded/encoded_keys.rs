//! The keys of many rows as the engine's bytes, one behind the other, before it is known which number their table has.

use super::key_bytes::{ByteSpan, NUMBER_BYTES, put_keys};

pub(super) struct EncodedKeys {
    /// With room for the table's number before each.
    bytes: Vec<u8>,
    ends: Vec<usize>,
    /// Each is behind the one before it.
    ascend: bool,
    /// The rows with the least and the greatest key.
    least: usize,
    greatest: usize,
}

impl EncodedKeys {
    pub(super) fn with_capacity(rows: usize) -> Self {
        let (bytes, ends) = (Vec::with_capacity(rows * 32), Vec::with_capacity(rows));
        Self { bytes, ends, ascend: true, least: 0, greatest: 0 }
    }

    pub(super) fn push(&mut self, partition: &str, row: &str) {
        put_keys(&mut self.bytes, 0, partition, row);
        self.ends.push(self.bytes.len());
        let here = self.ends.len() - 1;
        let Some(before) = here.checked_sub(1) else { return };
        self.ascend = self.ascend && self.get(before) < self.get(here);
        if self.get(here) < self.get(self.least) {
            self.least = here;
        }
        if self.get(here) > self.get(self.greatest) {
            self.greatest = here;
        }
    }

    /// Says which table's they are.
    pub(super) fn set_table(&mut self, number: u32) {
        let mut start = 0;
        for end in &self.ends {
            self.bytes[start..start + NUMBER_BYTES].copy_from_slice(&number.to_be_bytes());
            start = *end;
        }
    }

    pub(super) fn len(&self) -> usize {
        self.ends.len()
    }

    /// How many bytes they take.
    pub(super) fn bytes(&self) -> usize {
        self.bytes.len()
    }

    pub(super) fn get(&self, row: usize) -> &[u8] {
        let start = row.checked_sub(1).map_or(0, |before| self.ends[before]);
        &self.bytes[start..self.ends[row]]
    }

    /// Whether each is behind the one before it.
    pub(super) fn ascend(&self) -> bool {
        self.ascend
    }

    /// At least so many of them are in a span: exactly so many where they ascend, or none of them is outside.
    pub(super) fn count_within(&self, span: &ByteSpan) -> usize {
        if self.ascend {
            return self.count_before(&span.to).saturating_sub(self.count_before(&span.from));
        }
        match self.span() {
            Some((least, greatest)) if span.from.as_slice() <= least && greatest < span.to.as_slice() => self.len(),
            _ => 0,
        }
    }

    /// How many of them are before a key, where they ascend.
    fn count_before(&self, key: &[u8]) -> usize {
        let (mut least, mut most) = (0, self.len());
        while least < most {
            let middle = least.midpoint(most);
            match self.get(middle) < key {
                true => least = middle + 1,
                false => most = middle,
            }
        }
        least
    }

    /// The least and the greatest key.
    pub(super) fn span(&self) -> Option<(&[u8], &[u8])> {
        (self.len() > 0).then(|| (self.get(self.least), self.get(self.greatest)))
    }
}

#[cfg(test)]
mod tests {
    use super::super::key_bytes;
    use super::*;

    #[test]
    fn the_span_is_that_of_all_keys() {
        let mut keys = EncodedKeys::with_capacity(4);
        assert_eq!((keys.len(), keys.span()), (0, None));
        keys.push("b", "1");
        keys.push("b", "2");
        assert!(keys.ascend());
        keys.push("a", "3");
        keys.push("b", "");
        assert!(!keys.ascend());
        keys.set_table(7);
        assert_eq!(keys.get(2), key_bytes::of_row(7, "a", "3"));
        assert_eq!(keys.span(), Some((&*key_bytes::of_row(7, "a", "3"), &*key_bytes::of_row(7, "b", "2"))));
    }

    #[test]
    fn keys_within_a_span_are_counted() {
        let within = |keys: &EncodedKeys, from: &str, to: &str| {
            keys.count_within(&ByteSpan { from: key_bytes::of_row(0, from, ""), to: key_bytes::of_row(0, to, "") })
        };
        let mut keys = EncodedKeys::with_capacity(4);
        ["a", "b", "c"].iter().for_each(|partition| keys.push(partition, "1"));
        assert_eq!(["b", "c", "d"].map(|to| within(&keys, "a", to)), [1, 2, 3]);
        assert_eq!((within(&keys, "b", "c"), within(&keys, "d", "e")), (1, 0));
        keys.push("a", "2");
        assert_eq!((within(&keys, "a", "d"), within(&keys, "a", "c")), (4, 0));
    }
}
