//! Partition keys and row keys, and their order: the only definition of it.
//!
//! Keys order by their UTF-8 bytes, PartitionKey first. That is `str` order in Rust and string order in DataFusion, so
//! no layer ever needs to sort again what a store hands out.

use std::borrow::Borrow;
use std::fmt;
use std::sync::Arc;

use thiserror::Error;

use super::limits::{KEY_MAX_CHARS, KEY_SAFE_UTF16_UNITS};
use super::quoted::Quoted;

/// So much of a key that is too long is shown.
const SHOWN_CHARS: usize = 32;

/// Which of the two keys.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum KeyPart {
    PartitionKey,
    RowKey,
}

impl fmt::Display for KeyPart {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            KeyPart::PartitionKey => "PartitionKey",
            KeyPart::RowKey => "RowKey",
        })
    }
}

/// Why a key is refused.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum KeyError {
    #[error("{part} {} holds {character:?}, which the Table service does not allow in keys", Quoted(value))]
    IllegalCharacter { part: KeyPart, value: String, character: char },
    #[error("{part} {}.. is {chars} characters long; the Table service allows {KEY_MAX_CHARS}", Quoted(begins))]
    TooLong { part: KeyPart, chars: usize, begins: String },
}

/// Whether the service allows this character in keys: not `/ \ # ?` and no control character.
pub fn is_legal_in_keys(c: char) -> bool {
    !matches!(c, '/' | '\\' | '#' | '?' | '\u{0}'..='\u{1f}' | '\u{7f}'..='\u{9f}')
}

fn check(part: KeyPart, raw: &str) -> Result<(), KeyError> {
    // Most keys are short and plain.
    let is_plain = |byte: u8| matches!(byte, b' '..=b'~') && !matches!(byte, b'/' | b'\\' | b'#' | b'?');
    if raw.len() <= KEY_MAX_CHARS && raw.bytes().all(is_plain) {
        return Ok(());
    }
    if let Some(character) = raw.chars().find(|c| !is_legal_in_keys(*c)) {
        return Err(KeyError::IllegalCharacter { part, value: raw.to_owned(), character });
    }
    let chars = raw.chars().count();
    if chars > KEY_MAX_CHARS {
        return Err(KeyError::TooLong { part, chars, begins: raw.chars().take(SHOWN_CHARS).collect() });
    }
    Ok(())
}

/// Whether a legal key is longer than the 512 UTF-16 units that every page of the service's documentation allows.
pub fn exceeds_safe_length(key: &str) -> bool {
    key.len() > KEY_SAFE_UTF16_UNITS && key.encode_utf16().count() > KEY_SAFE_UTF16_UNITS
}

macro_rules! key_type {
    ($name:ident, $part:expr, $doc:literal) => {
        #[doc = $doc]
        #[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub struct $name(Arc<str>);

        impl $name {
            /// # Errors
            /// [`KeyError`] when the text holds a character the service forbids in keys or is longer than it allows.
            pub fn parse(raw: impl Into<Arc<str>>) -> Result<Self, KeyError> {
                let raw = raw.into();
                check($part, &raw)?;
                Ok(Self(raw))
            }

            pub fn as_str(&self) -> &str {
                &self.0
            }

            pub fn shared(&self) -> &Arc<str> {
                &self.0
            }
        }

        /// For looking up in sorted and hashed maps: a key orders and hashes as its text.
        impl Borrow<str> for $name {
            fn borrow(&self) -> &str {
                &self.0
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(&self.0)
            }
        }
    };
}

key_type!(PartitionKey, KeyPart::PartitionKey, "The key of a partition. The empty string is legal.");
key_type!(RowKey, KeyPart::RowKey, "The key of an entity inside its partition. The empty string is legal.");

/// The address of one entity in a table. Orders by partition, then row: the order of every scan.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct EntityKey {
    pub partition: PartitionKey,
    pub row: RowKey,
}

impl EntityKey {
    pub fn new(partition: PartitionKey, row: RowKey) -> Self {
        Self { partition, row }
    }

    /// # Errors
    /// [`KeyError`] as the two constructors give it.
    pub fn parse(partition: &str, row: &str) -> Result<Self, KeyError> {
        Ok(Self::new(PartitionKey::parse(partition)?, RowKey::parse(row)?))
    }

    /// The pair as `str`s, which compare as the keys do.
    pub fn as_pair(&self) -> (&str, &str) {
        (self.partition.as_str(), self.row.as_str())
    }
}

/// The keys of many entities, without a heap object for each.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct EntityKeys {
    /// All of them, one after the other.
    text: String,
    /// Of each: where its PartitionKey ends, and its RowKey.
    ends: Vec<(usize, usize)>,
}

impl EntityKeys {
    /// Empty, with room for so many.
    pub fn with_capacity(keys: usize) -> Self {
        Self { text: String::with_capacity(keys * 24), ends: Vec::with_capacity(keys) }
    }

    /// Adds a key.
    ///
    /// # Errors
    /// [`KeyError`] as the constructors of both keys give it.
    pub fn push(&mut self, partition: &str, row: &str) -> Result<(), KeyError> {
        check(KeyPart::PartitionKey, partition)?;
        check(KeyPart::RowKey, row)?;
        self.text.push_str(partition);
        let end = self.text.len();
        self.text.push_str(row);
        self.ends.push((end, self.text.len()));
        Ok(())
    }

    pub fn len(&self) -> usize {
        self.ends.len()
    }

    pub fn is_empty(&self) -> bool {
        self.ends.is_empty()
    }

    /// Bytes of all of them.
    pub fn bytes(&self) -> usize {
        self.text.len()
    }

    /// How much memory they take, with the room that is left in it.
    pub fn memory(&self) -> usize {
        self.text.capacity() + self.ends.capacity() * size_of::<(usize, usize)>()
    }

    /// PartitionKey and RowKey of the key at `index`, which compare as the keys do.
    pub fn pair(&self, index: usize) -> (&str, &str) {
        let start = index.checked_sub(1).map_or(0, |before| self.ends[before].1);
        let (end, next) = self.ends[index];
        (&self.text[start..end], &self.text[end..next])
    }

    /// The key at `index` on its own.
    pub fn key(&self, index: usize) -> EntityKey {
        let (partition, row) = self.pair(index);
        // Both were checked when they were added.
        EntityKey::new(PartitionKey(partition.into()), RowKey(row.into()))
    }

    /// Those at some places, in that order; none are expected to be refused.
    pub fn some(&self, places: impl ExactSizeIterator<Item = usize>) -> Option<Self> {
        let mut some = Self::with_capacity(places.len());
        for (partition, row) in places.map(|place| self.pair(place)) {
            some.push(partition, row).ok()?;
        }
        Some(some)
    }

    /// All of them, in the order they were added.
    pub fn pairs(&self) -> impl ExactSizeIterator<Item = (&str, &str)> {
        (0..self.len()).map(|index| self.pair(index))
    }
}

impl fmt::Display for EntityKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "(PartitionKey={:?}, RowKey={:?})", self.partition.as_str(), self.row.as_str())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn many_keys_are_what_each_is_alone() {
        let mut keys = EntityKeys::with_capacity(3);
        let pairs = [("p", "r"), ("", ""), ("größer", "1 ~")];
        pairs.iter().for_each(|(partition, row)| keys.push(partition, row).unwrap());
        assert!(keys.pairs().eq(pairs));
        assert_eq!(keys.key(2), EntityKey::parse("größer", "1 ~").unwrap());
        for bad in ["a/b", "a\\b", "a#", "?", "tab\t", "\u{7f}", "\u{85}", &"x".repeat(1025)] {
            assert_eq!(keys.push("p", bad), Err(RowKey::parse(bad).unwrap_err()));
            assert_eq!(keys.push(bad, "r"), Err(PartitionKey::parse(bad).unwrap_err()));
        }
        assert_eq!(keys.len(), 3);
    }

    #[test]
    fn keys_refuse_what_the_service_refuses() {
        for bad in ["a/b", "a\\b", "a#", "?", "tab\t", "\u{7f}", "\u{85}"] {
            assert!(matches!(RowKey::parse(bad), Err(KeyError::IllegalCharacter { .. })), "{bad:?}");
        }
        assert!(RowKey::parse("").is_ok());
        assert!(PartitionKey::parse("100% größer 😀").is_ok());
    }

    #[test]
    fn length_is_counted_in_characters() {
        assert!(RowKey::parse("é".repeat(1024)).is_ok());
        assert_eq!(
            RowKey::parse("é".repeat(1025)),
            Err(KeyError::TooLong { part: KeyPart::RowKey, chars: 1025, begins: "é".repeat(32) })
        );
        assert!(!exceeds_safe_length(&"a".repeat(512)));
        assert!(exceeds_safe_length(&"😀".repeat(257)));
    }

    #[test]
    fn order_is_utf8_bytes() {
        // UTF-16 units would order these two the other way round.
        assert!(RowKey::parse("\u{ff5e}").unwrap() < RowKey::parse("\u{1f600}").unwrap());
    }
}
