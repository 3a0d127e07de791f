//! Remembers which rows a statement has changed. A statement does not see its own changes, so it must not change a row
//! twice.

use std::collections::{BTreeMap, HashSet};

use datafusion::execution::memory_pool::MemoryReservation;
use tablegate_store::model::EntityKey;
use tablegate_types::error::SqlResult;

use crate::place::StoredTable;

/// What a key takes besides its text: two string headers and its place in the set.
const KEY_OVERHEAD_BYTES: usize = 64;
/// Memory is asked for in such pieces: rows are many, and the pool is shared.
const PIECE_BYTES: usize = 1 << 16;

/// The keys of changed rows, accounted for as long as they are remembered.
pub(crate) struct ChangedKeys {
    tables: BTreeMap<StoredTable, HashSet<EntityKey>>,
    memory: MemoryReservation,
    used: usize,
}

impl ChangedKeys {
    /// None yet, in memory that queries may use.
    pub(super) fn new(memory: MemoryReservation) -> Self {
        Self { tables: BTreeMap::new(), memory, used: 0 }
    }

    /// Notes a row. False when it is known already.
    ///
    /// # Errors
    /// 53200 when they are more than queries may hold.
    pub(super) fn note(&mut self, table: &StoredTable, key: &EntityKey) -> SqlResult<bool> {
        if self.contains(table, key) {
            return Ok(false);
        }
        self.used += KEY_OVERHEAD_BYTES + key.partition.as_str().len() + key.row.as_str().len();
        if self.used > self.memory.size() {
            self.memory.try_grow(PIECE_BYTES.max(self.used - self.memory.size()))?;
        }
        match self.tables.get_mut(table) {
            Some(keys) => keys.insert(key.clone()),
            None => self.tables.entry(table.clone()).or_default().insert(key.clone()),
        };
        Ok(true)
    }

    pub(super) fn contains(&self, table: &StoredTable, key: &EntityKey) -> bool {
        self.tables.get(table).is_some_and(|keys| keys.contains(key))
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use datafusion::execution::memory_pool::{GreedyMemoryPool, MemoryConsumer, MemoryPool};

    use super::*;
    use tablegate_store::model::TableName;
    use tablegate_types::error::ErrorKind;

    #[test]
    fn each_row_is_new_once_and_memory_ends() {
        let pool: Arc<dyn MemoryPool> = Arc::new(GreedyMemoryPool::new(2 * PIECE_BYTES));
        let mut changed = ChangedKeys::new(MemoryConsumer::new("test").register(&pool));
        let table = |name| StoredTable::public(TableName::parse(name).unwrap());
        let (orders, lines) = (table("orders"), table("lines"));
        let key = |n: usize| EntityKey::parse("p", &n.to_string()).unwrap();
        assert!(changed.note(&orders, &key(1)).unwrap());
        assert!(!changed.note(&orders, &key(1)).unwrap());
        assert!(changed.note(&lines, &key(1)).unwrap());
        let refused = (2..10_000).find_map(|n| changed.note(&orders, &key(n)).err()).unwrap();
        assert_eq!(refused.kind, ErrorKind::OutOfMemory);
        drop(changed);
        assert_eq!(pool.reserved(), 0);
    }
}
