//! The keys of rows that are written ahead, so that none is written twice.

use std::sync::Arc;

use hashbrown::HashTable;
use tablegate_store::model::EntityKey;
use tablegate_store::table::{NewEntities, SeededHash};

use super::held_back_space::{HeldBackSpace, Taken};

/// What a hash takes in its table at most, while that grows: it doubles, and is copied then.
const HASH_BYTES: usize = 27;
/// So many rows that came in the order of their keys are followed by others like them: no hashes are kept any more.
const SURELY_IN_ORDER: usize = 1 << 17;

/// Keys, as far as it takes to tell whether one is new: while all come in order the last one is enough, else there is a
/// hash of each.
#[derive(Debug)]
pub(super) struct SeenKeys {
    hash: SeededHash,
    /// The greatest, while each was behind the one before.
    last: Option<EntityKey>,
    in_order: bool,
    /// `None` where they are not needed, or there was no memory for them.
    hashes: Option<Hashes>,
}

#[derive(Debug)]
struct Hashes {
    table: HashTable<u64>,
    taken: Taken,
}

impl SeenKeys {
    pub(super) fn new(space: &Arc<HeldBackSpace>) -> Self {
        let hashes = Hashes { table: HashTable::new(), taken: space.begin() };
        Self { hash: SeededHash::default(), last: None, in_order: true, hashes: Some(hashes) }
    }

    /// Takes the keys of rows. False where one of them may have come before, or there is no memory to tell: then nothing
    /// further is known.
    pub(super) fn take(&mut self, new: &NewEntities) -> bool {
        let keys = new.keys();
        let Some(last) = keys.len().checked_sub(1) else { return true };
        self.in_order = self.in_order && new.ascend() && self.last.as_ref().is_none_or(|l| l.as_pair() < keys.pair(0));
        self.last = self.in_order.then(|| keys.key(last));
        if self.in_order && self.hashes.as_ref().is_none_or(|known| known.table.len() + keys.len() > SURELY_IN_ORDER) {
            self.hashes = None;
            return true;
        }
        let Some(Hashes { table, taken }) = &mut self.hashes else { return false };
        if !taken.add(keys.len() * HASH_BYTES) {
            self.hashes = None;
            return false;
        }
        keys.pairs().map(|pair| self.hash.of_pair(pair)).all(|hash| {
            let is_new = table.find(hash, |known| *known == hash).is_none();
            if is_new {
                table.insert_unique(hash, hash, |known| *known);
            }
            is_new
        })
    }
}

#[cfg(test)]
mod tests {
    use datafusion::execution::memory_pool::GreedyMemoryPool;
    use tablegate_store::model::{EntityKeys, TableName};

    use super::*;

    fn rows(rows: impl IntoIterator<Item = usize>) -> NewEntities {
        let mut keys = EntityKeys::default();
        rows.into_iter().for_each(|row| keys.push(&format!("{row:07}"), "").unwrap());
        NewEntities::new(&TableName::parse("Orders").unwrap(), keys, Vec::new()).unwrap()
    }

    fn seen(bytes: usize) -> SeenKeys {
        SeenKeys::new(&HeldBackSpace::within(Arc::new(GreedyMemoryPool::new(bytes)), bytes))
    }

    #[test]
    fn rows_in_order_take_no_memory() {
        let mut seen = seen(16 << 20);
        assert!(seen.take(&rows(10..20)) && seen.take(&rows(20..SURELY_IN_ORDER + 21)));
        assert!(seen.hashes.is_none());
        assert!(seen.take(&rows(1_000_000..1_000_001)));
        assert!(!seen.take(&rows(5..6)), "nobody knows");
    }

    #[test]
    fn a_key_that_came_before_is_found_in_any_order() {
        let mut seen = seen(16 << 20);
        assert!(seen.take(&rows(10..20)) && seen.take(&rows((0..10).rev())) && seen.take(&rows(30..40)));
        assert!(seen.take(&rows([25, 21, 22])));
        assert!(!seen.take(&rows([50, 22])));
    }

    #[test]
    fn what_there_is_no_memory_for_may_have_come_before() {
        let mut seen = seen(4 * 1000 * HASH_BYTES);
        assert!(seen.take(&rows((0..900).rev())));
        assert!(!seen.take(&rows(900..1100)));
        assert!(!seen.take(&rows(2000..2001)));
    }
}
