//! Operations on one table on their way to the store, collected so that those of one partition go together.
//!
//! Rows may come in any order: what is collected is sorted by partition, and each partition's rows are put into as few
//! entity group transactions as possible. How much is collected is bounded by memory.

use hashbrown::HashTable;
use tablegate_store::model::{Entity, EntityKey, TableName};
use tablegate_store::table::{Operation, SeededHash};
use tablegate_types::error::SqlResult;

use super::in_flight::Egt;
use crate::batches::pack;

/// Operations collected before they are committed: enough to fill 100 EGTs, so that even scattered keys share them.
pub(super) const OPERATIONS_MAX: usize = 10_000;
/// Bytes of entities collected before they are committed.
pub(super) const BYTES_MAX: usize = 16 * 1024 * 1024;

/// Collects operations, at most one on each key.
#[derive(Default)]
pub(super) struct Window {
    /// In the order they came, each with its position in the statement's input.
    operations: Vec<(u64, Operation)>,
    /// Each one's place among them, by its key: once they do not come in ascending order any more.
    places: Option<HashTable<usize>>,
    key_hash: SeededHash,
    bytes: usize,
}

impl Window {
    /// What is to be done to this key.
    pub(super) fn get(&self, key: &EntityKey) -> Option<&Operation> {
        match &self.places {
            Some(places) => {
                let is_it = |place: &usize| self.operations[*place].1.key() == key;
                places.find(self.key_hash.of(key), is_it).map(|place| &self.operations[*place].1)
            }
            // Most rows come behind all that are here.
            None if self.operations.last().is_none_or(|(_, last)| last.key() < key) => None,
            None => {
                let found = self.operations.binary_search_by(|(_, known)| known.key().cmp(key));
                found.ok().map(|place| &self.operations[place].1)
            }
        }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.operations.is_empty()
    }

    pub(super) fn is_full(&self) -> bool {
        self.operations.len() >= OPERATIONS_MAX || self.bytes >= BYTES_MAX
    }

    /// Takes an operation on a key that is not here yet; positions ascend.
    pub(super) fn push(&mut self, position: u64, operation: Operation) {
        self.bytes += operation.entity().map_or(0, Entity::stored_size);
        let ascends = self.operations.last().is_none_or(|(_, last)| last.key() < operation.key());
        self.operations.push((position, operation));
        let known = match &mut self.places {
            None if ascends => return,
            Some(_) => self.operations.len() - 1,
            None => 0,
        };
        let hash_of = |place: usize| self.key_hash.of(self.operations[place].1.key());
        let places = self.places.get_or_insert_default();
        for place in known..self.operations.len() {
            places.insert_unique(hash_of(place), place, |place| hash_of(*place));
        }
    }

    /// Gives out all that is collected as entity group transactions, in the order of their first rows.
    ///
    /// # Errors
    /// When an entity breaks a limit.
    pub(super) fn take(&mut self, table: &TableName) -> SqlResult<Vec<Egt>> {
        self.bytes = 0;
        self.places = None;
        let mut operations = std::mem::take(&mut self.operations);
        // Stable: in a partition they stay in the order they came.
        operations.sort_by(|(_, one), (_, other)| one.key().partition.cmp(&other.key().partition));
        let mut positions = Vec::with_capacity(operations.len());
        let batches = pack(
            table,
            operations.into_iter().map(|(position, operation)| {
                positions.push(position);
                Ok(operation)
            }),
        )?;
        let mut positions = positions.into_iter();
        let mut egts: Vec<Egt> = batches
            .into_iter()
            .map(|batch| Egt {
                positions: positions.by_ref().take(batch.operations().len()).collect(),
                batch,
                locks: None,
            })
            .collect();
        egts.sort_by_key(|egt| egt.positions.first().copied());
        Ok(egts)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tablegate_store::model::{EdmValue, Properties, PropertyName};

    fn insert(partition: &str, row: u64) -> Operation {
        let name = PropertyName::parse("n").unwrap();
        let properties: Properties = [(name, EdmValue::Int32(1))].into_iter().collect();
        Operation::Insert(Entity::new(EntityKey::parse(partition, &format!("{row:05}")).unwrap(), properties))
    }

    fn table() -> TableName {
        TableName::parse("Orders").unwrap()
    }

    #[test]
    fn scattered_rows_become_few_transactions_in_the_order_of_their_first_rows() {
        let mut window = Window::default();
        for row in 0..360 {
            window.push(row, insert(["c", "a", "b"][row as usize % 3], 1000 - row));
        }
        let egts = window.take(&table()).unwrap();
        let shape: Vec<_> = egts
            .iter()
            .map(|egt| (egt.batch.partition().as_str(), egt.batch.operations().len(), egt.positions[0]))
            .collect();
        assert_eq!(
            shape,
            [("c", 100, 0), ("a", 100, 1), ("b", 100, 2), ("c", 20, 300), ("a", 20, 301), ("b", 20, 302)]
        );
        for egt in &egts {
            let rows = egt.batch.operations().iter().map(|o| o.key().row.as_str().parse::<u64>().unwrap());
            assert!(rows.eq(egt.positions.iter().map(|position| 1000 - position)), "each has its own position");
        }
        assert!(window.take(&table()).unwrap().is_empty() && window.get(insert("a", 999).key()).is_none());
    }

    #[test]
    fn it_is_full_by_number_or_by_bytes() {
        let mut window = Window::default();
        for row in 0..OPERATIONS_MAX as u64 {
            assert!(!window.is_full());
            window.push(row, insert("p", row));
        }
        assert!(window.is_full());
        let mut window = Window::default();
        let text = EdmValue::string("x".repeat(30_000));
        let mut rows = 0;
        while !window.is_full() {
            let properties = [(PropertyName::parse("t").unwrap(), text.clone())].into_iter().collect();
            let key = EntityKey::parse("p", &rows.to_string()).unwrap();
            window.push(rows, Operation::Insert(Entity::new(key, properties)));
            rows += 1;
        }
        assert!((250..350).contains(&rows), "{rows}");
    }
}
