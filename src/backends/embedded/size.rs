//! How much each table holds: counted as its rows are written.
//!
//! The counts are in a keyspace of their own, under the tables' numbers, and each is written in the batch that changes the
//! rows: it survives what they survive. A program that does not know of them can still open the folder; what it writes is
//! then not counted until the table is analyzed.

use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering};

use fjall::OwnedWriteBatch;
use tablegate_store::table::{StoreError, TableSize};

use super::bytes::Bytes;
use super::engine::Engine;

/// The version of the bytes of a count.
const VERSION: u8 = 1;
/// Stands for a number of entities that was not counted.
const UNKNOWN: u64 = u64::MAX;

/// The count of one table, shared by all its states: it is about now, not about a reader's moment.
#[derive(Debug)]
pub(super) struct Size {
    entities: AtomicU64,
    bytes: AtomicU64,
}

impl Size {
    pub(super) fn new(size: Option<TableSize>) -> Self {
        let TableSize { entities, bytes } = size.unwrap_or(TableSize { entities: UNKNOWN, bytes: 0 });
        Self { entities: AtomicU64::new(entities), bytes: AtomicU64::new(bytes) }
    }

    /// Who reads while it is set may find one number of before and one of after.
    pub(super) fn get(&self) -> Option<TableSize> {
        let entities = self.entities.load(Ordering::Relaxed);
        (entities != UNKNOWN).then(|| TableSize { entities, bytes: self.bytes.load(Ordering::Relaxed) })
    }

    pub(super) fn set(&self, size: TableSize) {
        self.bytes.store(size.bytes, Ordering::Relaxed);
        self.entities.store(size.entities, Ordering::Relaxed);
    }
}

/// By how much commits make a table larger.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Growth {
    entities: i64,
    bytes: i64,
}

impl Growth {
    /// A row under a key of so many bytes was of this length, or not there, and is to be of that.
    pub(super) fn add(&mut self, key: usize, before: Option<usize>, after: Option<usize>) {
        for (row, sign) in [(before, -1), (after, 1)] {
            let Some(row) = row else { continue };
            self.entities += sign;
            self.bytes += sign * i64::try_from(key + row).unwrap_or(i64::MAX);
        }
    }

    /// What a table grew by between two counts.
    pub(super) fn between(before: TableSize, after: TableSize) -> Self {
        let difference = |before: u64, after: u64| after.wrapping_sub(before).cast_signed();
        Self { entities: difference(before.entities, after.entities), bytes: difference(before.bytes, after.bytes) }
    }

    pub(super) fn of(self, size: TableSize) -> TableSize {
        TableSize {
            entities: size.entities.saturating_add_signed(self.entities).min(UNKNOWN - 1),
            bytes: size.bytes.saturating_add_signed(self.bytes),
        }
    }
}

pub(super) fn put_size(table: u32, size: TableSize, engine: &Engine, batch: &mut OwnedWriteBatch) {
    let mut value = vec![VERSION];
    value.extend_from_slice(&size.entities.to_le_bytes());
    value.extend_from_slice(&size.bytes.to_le_bytes());
    batch.insert(&engine.sizes, table.to_be_bytes().as_slice(), value);
}

pub(super) fn forget_size(table: u32, engine: &Engine, batch: &mut OwnedWriteBatch) {
    batch.remove(&engine.sizes, table.to_be_bytes().as_slice());
}

/// All counts, by the tables' numbers. One that cannot be read is not worth refusing the folder: it is unknown.
///
/// # Errors
/// [`StoreError::Damaged`] when the engine cannot read its files.
pub(super) fn load(engine: &Engine) -> Result<HashMap<u32, TableSize>, StoreError> {
    let pairs: Vec<fjall::KvPair> = engine.guarded(|| engine.sizes.iter().map(fjall::Guard::into_inner).collect())?;
    Ok(pairs.iter().filter_map(|(key, value)| parse(key, value)).collect())
}

fn parse(key: &[u8], value: &[u8]) -> Option<(u32, TableSize)> {
    let (mut key, mut value) = (Bytes::new(key), Bytes::new(value));
    let table = u32::from_be_bytes(key.array()?);
    (value.byte()? == VERSION).then_some(())?;
    let entities = u64::from_le_bytes(value.array()?);
    Some((table, TableSize { entities, bytes: u64::from_le_bytes(value.array()?) }))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_count_with_their_keys() {
        let mut growth = Growth::default();
        growth.add(5, None, Some(10));
        growth.add(5, None, Some(20));
        growth.add(5, Some(20), Some(7));
        growth.add(5, Some(10), None);
        let size = growth.of(TableSize { entities: 3, bytes: 100 });
        assert_eq!(size, TableSize { entities: 4, bytes: 112 });
        assert_eq!(Growth::between(TableSize { entities: 3, bytes: 100 }, size), growth);
    }

    #[test]
    fn a_count_never_goes_below_nothing() {
        let mut growth = Growth::default();
        growth.add(5, Some(10), None);
        assert_eq!(growth.of(TableSize::default()), TableSize::default());
        assert_eq!(Size::new(None).get(), None);
    }

    #[test]
    fn bytes_of_another_version_are_unknown() {
        let count = [&[VERSION][..], &7_u64.to_le_bytes(), &9_u64.to_le_bytes()].concat();
        assert_eq!(parse(&3_u32.to_be_bytes(), &count), Some((3, TableSize { entities: 7, bytes: 9 })));
        assert_eq!(parse(&3_u32.to_be_bytes(), &[&[2][..], &count[1..]].concat()), None);
        assert_eq!(parse(&3_u32.to_be_bytes(), &count[..9]), None);
    }
}
