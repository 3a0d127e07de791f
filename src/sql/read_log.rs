//! Which keys and ranges a serializable transaction has read. What it wrote may depend on any of them.

use std::collections::{HashMap, HashSet};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tablegate_store::model::EntityKey;
use tablegate_store::table::KeyRange;

use crate::place::StoredTable;

/// Ranges and keys of one table that are told apart. Beyond, the whole table counts as read.
const PLACES_MAX: usize = 10_000;

/// The places one transaction has read, whether there was anything or not.
#[derive(Default)]
pub(crate) struct ReadLog {
    tables: Mutex<HashMap<StoredTable, Places>>,
}

#[derive(Default)]
struct Places {
    everywhere: bool,
    keys: HashSet<EntityKey>,
    ranges: Vec<Arc<[KeyRange]>>,
}

impl ReadLog {
    /// Ranges of a table are about to be scanned.
    pub(crate) fn add_ranges(&self, table: &StoredTable, ranges: &Arc<[KeyRange]>) {
        self.add(table, |places| {
            let whole = |range: &KeyRange| range.has_all_rows() && range.partitions.is_all();
            if ranges.iter().any(whole) {
                places.everywhere = true;
            } else {
                places.ranges.push(Arc::clone(ranges));
            }
        });
    }

    /// An entity is about to be looked up.
    pub(crate) fn add_key(&self, table: &StoredTable, key: &EntityKey) {
        self.add(table, |places| {
            places.keys.insert(key.clone());
        });
    }

    /// Whether an entity under this key would have been seen.
    pub(crate) fn covers(&self, table: &StoredTable, key: &EntityKey) -> bool {
        let tables = self.tables();
        let Some(places) = tables.get(table) else { return false };
        places.everywhere
            || places.keys.contains(key)
            || places.ranges.iter().any(|ranges| ranges.iter().any(|range| range.contains(key)))
    }

    fn add(&self, table: &StoredTable, place: impl FnOnce(&mut Places)) {
        let mut tables = self.tables();
        let places = tables.entry(table.clone()).or_default();
        if !places.everywhere {
            place(places);
        }
        if places.everywhere || places.keys.len() + places.ranges.len() > PLACES_MAX {
            *places = Places { everywhere: true, ..Places::default() };
        }
    }

    fn tables(&self) -> MutexGuard<'_, HashMap<StoredTable, Places>> {
        // Every change of it is complete.
        self.tables.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tablegate_store::model::{Cut, Span, TableName};

    fn table() -> StoredTable {
        StoredTable::public(TableName::parse("orders").unwrap())
    }

    fn key(partition: &str, row: &str) -> EntityKey {
        EntityKey::parse(partition, row).unwrap()
    }

    #[test]
    fn what_was_looked_at_is_covered_and_nothing_else() {
        let log = ReadLog::default();
        log.add_key(&table(), &key("a", "1"));
        let rows = Span { from: Cut::Before("5".into()), to: Cut::Max };
        log.add_ranges(&table(), &[KeyRange { partitions: Span::point("b"), rows: [rows].into() }].into());
        assert!(log.covers(&table(), &key("a", "1")) && !log.covers(&table(), &key("a", "2")));
        assert!(log.covers(&table(), &key("b", "51")) && !log.covers(&table(), &key("b", "4")));
        assert!(!log.covers(&StoredTable::public(TableName::parse("others").unwrap()), &key("a", "1")));
        log.add_ranges(&table(), &[KeyRange::all()].into());
        assert!(log.covers(&table(), &key("z", "")));
    }

    #[test]
    fn too_many_places_are_the_whole_table() {
        let log = ReadLog::default();
        for row in 0..=PLACES_MAX {
            log.add_key(&table(), &key("a", &row.to_string()));
        }
        assert!(log.covers(&table(), &key("b", "")));
    }
}
