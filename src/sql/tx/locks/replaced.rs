//! Rows in whose places other rows were committed: a statement that found one of them before, and locks it only now, learns that
//! it is gone, as in PostgreSQL. What is there under its key is another row.

use std::collections::VecDeque;
use std::sync::{Mutex, PoisonError};

use hashbrown::HashTable;
use tablegate_store::model::{ETag, EntityKey};
use tablegate_store::table::SeededHash;

use crate::place::StoredTable;

/// The last ones that are remembered: some megabytes. Only statements ask for them that were under way at the commit.
const REMEMBERED: usize = 1 << 17;

/// Rows in certain versions, by hashes.
#[derive(Default)]
pub(super) struct ReplacedRows {
    hash: SeededHash,
    rows: Mutex<Rows>,
}

#[derive(Default)]
struct Rows {
    hashes: HashTable<u64>,
    /// In the order in which they came.
    order: VecDeque<u64>,
}

impl ReplacedRows {
    /// Another row was committed in the place of the one that had this version.
    pub(super) fn note(&self, table: &StoredTable, key: &EntityKey, version: &ETag) {
        let hash = self.hash_of(table, key, version);
        let mut rows = self.rows.lock().unwrap_or_else(PoisonError::into_inner);
        let Rows { hashes, order } = &mut *rows;
        if hashes.find(hash, |known| *known == hash).is_some() {
            return;
        }
        if order.len() >= REMEMBERED
            && let Some(oldest) = order.pop_front()
            && let Ok(entry) = hashes.find_entry(oldest, |known| *known == oldest)
        {
            entry.remove();
        }
        hashes.insert_unique(hash, hash, |known| *known);
        order.push_back(hash);
    }

    pub(super) fn holds(&self, table: &StoredTable, key: &EntityKey, version: &ETag) -> bool {
        let hash = self.hash_of(table, key, version);
        let rows = self.rows.lock().unwrap_or_else(PoisonError::into_inner);
        rows.hashes.find(hash, |known| *known == hash).is_some()
    }

    fn hash_of(&self, table: &StoredTable, key: &EntityKey, version: &ETag) -> u64 {
        let (place, (partition, row), version) = (table.place.schema(), key.as_pair(), version.text());
        self.hash.of_bytes([&*place, table.name.as_str(), partition, row, &*version].join("\0").as_bytes())
    }
}

#[cfg(test)]
mod tests {
    use tablegate_store::model::{EdmDateTime, TableName};

    use super::*;

    #[test]
    fn the_last_ones_are_remembered() {
        let rows = ReplacedRows::default();
        let table = StoredTable::public(TableName::parse("Orders").unwrap());
        let key = |n: usize| EntityKey::parse("p", &n.to_string()).unwrap();
        let version = ETag::of_timestamp(EdmDateTime::MIN);
        for n in 0..REMEMBERED + 10 {
            rows.note(&table, &key(n), &version);
            rows.note(&table, &key(n), &version);
        }
        assert!(!rows.holds(&table, &key(9), &version) && rows.holds(&table, &key(10), &version));
        assert!(!rows.holds(&table, &key(10), &ETag::of_timestamp(EdmDateTime::MAX)), "it is another row");
        assert_eq!(rows.rows.lock().unwrap().hashes.len(), REMEMBERED);
    }
}
