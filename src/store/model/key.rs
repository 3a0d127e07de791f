//! Partition keys and row keys, and their order: the only definition of it.
//!
//! Keys order by their UTF-8 bytes, PartitionKey first. That is `str` order in Rust and string order in DataFusion, so
//! no layer ever needs to sort again what a store hands out.

use std::borrow::Borrow;
use std::fmt;
use std::sync::Arc;

use thiserror::Error;

use super::limits::{KEY_MAX_CHARS, KEY_SAFE_UTF16_UNITS};

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
    #[error("{part} {value:?} holds {character:?}, which the Table service does not allow in keys")]
    IllegalCharacter { part: KeyPart, value: String, character: char },
    #[error("{part} is {chars} characters long; the Table service allows {KEY_MAX_CHARS}")]
    TooLong { part: KeyPart, chars: usize },
}

/// Whether the service allows this character in keys: not `/ \ # ?` and no control character.
pub fn is_legal_in_keys(c: char) -> bool {
    !matches!(c, '/' | '\\' | '#' | '?' | '\u{0}'..='\u{1f}' | '\u{7f}'..='\u{9f}')
}

fn check(part: KeyPart, raw: &str) -> Result<(), KeyError> {
    if let Some(character) = raw.chars().find(|c| !is_legal_in_keys(*c)) {
        return Err(KeyError::IllegalCharacter { part, value: raw.to_owned(), character });
    }
    let chars = raw.chars().count();
    if chars > KEY_MAX_CHARS {
        return Err(KeyError::TooLong { part, chars });
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

impl fmt::Display for EntityKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "(PartitionKey={:?}, RowKey={:?})", self.partition.as_str(), self.row.as_str())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

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
        assert_eq!(RowKey::parse("é".repeat(1025)), Err(KeyError::TooLong { part: KeyPart::RowKey, chars: 1025 }));
        assert!(!exceeds_safe_length(&"a".repeat(512)));
        assert!(exceeds_safe_length(&"😀".repeat(257)));
    }

    #[test]
    fn order_is_utf8_bytes() {
        // UTF-16 units would order these two the other way round.
        assert!(RowKey::parse("\u{ff5e}").unwrap() < RowKey::parse("\u{1f600}").unwrap());
    }
}
