//! The delta: what was written into the spans of segments, under the keys of the rows.
//!
//! ```text
//! version  1 byte: 1
//! commit   8 bytes: the number of the commit that wrote it
//! row      the row's bytes; nothing where it was deleted
//! ```

use fjall::{Guard, Iter, OwnedWriteBatch, Slice};
use tablegate_store::table::StoreError;

use super::super::engine::Engine;
use super::super::key_bytes::{self, ByteSpan};
use super::super::reader::View;

const VERSION: u8 = 1;
const HEAD: usize = 9;

pub(in crate::embedded) fn put(
    key: &[u8],
    commit: u64,
    row: Option<&[u8]>,
    engine: &Engine,
    batch: &mut OwnedWriteBatch,
) {
    let row = row.unwrap_or_default();
    let mut value = Vec::with_capacity(HEAD + row.len());
    value.push(VERSION);
    value.extend_from_slice(&commit.to_le_bytes());
    value.extend_from_slice(row);
    batch.insert(&engine.delta, key, value);
}

/// What was written last under a key.
#[derive(Debug)]
pub(super) struct Entry {
    pub(super) key: Slice,
    value: Slice,
}

impl Entry {
    /// PartitionKey and RowKey.
    ///
    /// # Errors
    /// [`StoreError::Damaged`].
    pub(super) fn keys(&self) -> Result<(&str, &str), StoreError> {
        key_bytes::parse(&self.key).ok_or_else(|| damaged(&self.key))
    }

    /// The row; `None` where it was deleted.
    pub(super) fn row(&self) -> Option<&[u8]> {
        self.value.get(HEAD..).filter(|row| !row.is_empty())
    }
}

/// The commit of an entry; `None` when the bytes are none.
pub(super) fn commit_of(value: &[u8]) -> Option<u64> {
    let (version, rest) = value.split_first()?;
    (*version == VERSION).then_some(())?;
    Some(u64::from_le_bytes(*rest.first_chunk()?))
}

/// The entries of a span that are younger than a commit, one after the other.
pub(super) struct Delta {
    entries: Option<Iter>,
    ahead: Option<Entry>,
    after: u64,
}

impl Delta {
    /// Where it is known that there are none: removed ones would have to be skipped one by one.
    pub(super) fn empty() -> Self {
        Self { entries: None, ahead: None, after: u64::MAX }
    }

    /// # Errors
    /// When the engine cannot read its files.
    pub(super) fn new(view: &View, engine: &Engine, span: &ByteSpan, after: u64) -> Result<Self, StoreError> {
        Ok(Self { entries: Some(view.delta(engine, span)?), ahead: None, after })
    }

    /// Whether there are certainly none.
    pub(super) fn is_empty(&self) -> bool {
        self.entries.is_none() && self.ahead.is_none()
    }

    /// The next entry, which stays the next one.
    ///
    /// # Errors
    /// [`StoreError::Damaged`].
    pub(super) fn peek(&mut self, engine: &Engine) -> Result<Option<&Entry>, StoreError> {
        while self.ahead.is_none() {
            let Some(entries) = &mut self.entries else { break };
            let Some((key, value)) = engine.guarded(|| entries.next().map(Guard::into_inner).transpose())? else {
                self.entries = None;
                break;
            };
            let commit = commit_of(&value).ok_or_else(|| damaged(&key))?;
            if commit > self.after {
                self.ahead = Some(Entry { key, value });
            }
        }
        Ok(self.ahead.as_ref())
    }

    /// Takes the entry that was seen by [`Delta::peek`].
    pub(super) fn take(&mut self) -> Option<Entry> {
        self.ahead.take()
    }
}

fn damaged(key: &[u8]) -> StoreError {
    let place = format!("the delta's entry under \"{}\"", key.escape_ascii());
    StoreError::Damaged { place, detail: "it cannot be read".to_owned() }
}
