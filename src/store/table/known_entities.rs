//! Entities that were read in a known version, as columns: many changes or removals handed over without an object for each.
//!
//! The counterpart of [`NewEntities`](super::NewEntities) for what is there already. Each is changed only if it still is in the version that
//! it was read in. They are divided into entity group transactions as new ones are, and each of these is legal.

use super::division::Division;
use super::edm_column::{EdmColumn, some_values};
use super::new_entities::properties_at;
use super::{Batch, BatchError, IfMatch, Operation, payload};
use crate::model::{ETag, Entity, EntityKeys, PropertyName, TableName};

/// What happens to entities that are known.
#[derive(Debug, Clone)]
pub enum KnownChange {
    Delete,
    /// These properties get these values, and all others stay. A value for each entity: no NULLs.
    Merge(Vec<(PropertyName, EdmColumn)>),
}

impl KnownChange {
    /// The values that are written.
    pub fn columns(&self) -> &[(PropertyName, EdmColumn)] {
        match self {
            KnownChange::Delete => &[],
            KnownChange::Merge(columns) => columns,
        }
    }

    /// The same for some of the entities.
    pub fn some(&self, rows: &[usize]) -> Option<Self> {
        Some(match self {
            KnownChange::Delete => KnownChange::Delete,
            KnownChange::Merge(columns) => KnownChange::Merge(some_values(columns, rows)?),
        })
    }
}

/// Entities of one table that are there, each in its version, in legal entity group transactions. No two have the same key.
#[derive(Debug, Clone)]
pub struct KnownEntities {
    table: TableName,
    keys: EntityKeys,
    versions: Vec<ETag>,
    change: KnownChange,
    division: Division,
}

impl KnownEntities {
    /// `None` where not all is known to be legal at a glance: values or rows that may be too long, values that are
    /// missing, or a key that may be there twice. Such entities are to be looked at one by one. No name may be twice among the columns.
    pub fn new(table: &TableName, keys: EntityKeys, versions: Vec<ETag>, change: KnownChange) -> Option<Self> {
        if versions.len() != keys.len() || change.columns().iter().any(|(_, column)| column.has_nulls()) {
            return None;
        }
        let version_bytes = versions.iter().map(ETag::bytes_at_most).max().unwrap_or(0);
        let division = Division::of(table, &keys, version_bytes, change.columns())?;
        Some(Self { table: table.clone(), keys, versions, change, division })
    }

    pub fn table(&self) -> &TableName {
        &self.table
    }

    /// In the order in which they came.
    pub fn keys(&self) -> &EntityKeys {
        &self.keys
    }

    /// By the places of keys: what each is to be in still.
    pub fn versions(&self) -> &[ETag] {
        &self.versions
    }

    pub fn change(&self) -> &KnownChange {
        &self.change
    }

    /// The same entities with these columns, which have the same values.
    pub(super) fn with_columns(mut self, columns: Vec<(PropertyName, EdmColumn)>) -> Self {
        if let KnownChange::Merge(before) = &mut self.change {
            *before = columns;
        }
        self
    }

    pub fn len(&self) -> usize {
        self.keys.len()
    }

    pub fn is_empty(&self) -> bool {
        self.keys.is_empty()
    }

    /// About how much memory they take.
    pub fn bytes(&self) -> usize {
        let columns = self.change.columns().iter().map(|(_, column)| column.bytes()).sum::<usize>();
        self.keys.bytes() + self.versions.len() * size_of::<ETag>() + columns
    }

    /// How much memory they take besides their values.
    pub(super) fn key_memory(&self) -> usize {
        self.keys.memory() + self.division.memory() + self.versions.capacity() * size_of::<ETag>()
    }

    /// How many entity group transactions there are.
    pub fn transactions(&self) -> usize {
        self.division.transactions()
    }

    /// The places of a transaction's entities in [`KnownEntities::keys`], the versions and the columns.
    pub fn transaction(&self, index: usize) -> impl ExactSizeIterator<Item = usize> + Clone + '_ {
        self.division.transaction(index)
    }

    /// What each operation adds to the body of a transaction, in bytes, by the places of keys.
    pub fn operations_bytes(&self) -> Vec<usize> {
        let columns = match &self.change {
            KnownChange::Delete => None,
            KnownChange::Merge(columns) => Some(columns.as_slice()),
        };
        payload::known_bytes(&self.table, &self.keys, &self.versions, columns)
    }

    /// What happens to the entity at a place.
    pub fn operation(&self, place: usize) -> Operation {
        let (key, version) = (self.keys.key(place), IfMatch::ETag(self.versions[place].clone()));
        match &self.change {
            KnownChange::Delete => Operation::Delete(key, version),
            KnownChange::Merge(columns) => Operation::Merge(Entity::new(key, properties_at(columns, place)), version),
        }
    }

    /// A transaction as an object of its own.
    ///
    /// # Errors
    /// None are expected: each of them is legal.
    pub fn batch(&self, index: usize) -> Result<Batch, BatchError> {
        let mut batch = Batch::builder(self.table.clone());
        for place in self.transaction(index) {
            batch.push(self.operation(place)).map_err(|(_, error)| error)?;
        }
        batch.build()
    }

    /// All transactions as objects of their own.
    ///
    /// # Errors
    /// As [`KnownEntities::batch`].
    pub fn batches(&self) -> Result<Vec<Batch>, BatchError> {
        (0..self.transactions()).map(|index| self.batch(index)).collect()
    }
}

#[cfg(test)]
mod tests {
    use arrow::array::{Int32Array, StringArray};

    use super::super::division::longest_payload;
    use super::super::payload::ENVELOPE_BYTES;
    use super::*;
    use crate::model::EdmDateTime;

    fn table() -> TableName {
        TableName::parse("Orders").unwrap()
    }

    fn name(text: &str) -> PropertyName {
        PropertyName::parse(text).unwrap()
    }

    fn keys(rows: usize) -> EntityKeys {
        let mut keys = EntityKeys::default();
        (0..rows).for_each(|row| keys.push(["b", "a"][row % 2], &format!("{row:03}")).unwrap());
        keys
    }

    fn versions(rows: usize) -> Vec<ETag> {
        (0_i64..).take(rows).map(|row| ETag::of_timestamp(EdmDateTime::from_unix_ticks(row).unwrap())).collect()
    }

    #[test]
    fn each_keeps_its_version_and_its_values() {
        let values = Int32Array::from_iter_values(0..250);
        let change = KnownChange::Merge(vec![(name("n"), EdmColumn::Int32(values))]);
        let entities = KnownEntities::new(&table(), keys(250), versions(250), change).unwrap();
        let lengths: Vec<usize> = (0..entities.transactions()).map(|i| entities.transaction(i).len()).collect();
        assert_eq!(lengths, [100, 25, 100, 25]);
        for (index, batch) in entities.batches().unwrap().iter().enumerate() {
            for (operation, place) in batch.operations().iter().zip(entities.transaction(index)) {
                let Operation::Merge(entity, IfMatch::ETag(version)) = operation else { panic!("{operation:?}") };
                assert_eq!((&entity.key, version), (&entities.keys().key(place), &versions(250)[place]));
                assert_eq!(
                    entity.properties.get("n"),
                    Some(&crate::model::EdmValue::Int32(i32::try_from(place).unwrap()))
                );
            }
        }
        let gone = KnownEntities::new(&table(), keys(3), versions(3), KnownChange::Delete).unwrap();
        let deletes =
            |batch: &Batch| batch.operations().iter().all(|o| matches!(o, Operation::Delete(_, IfMatch::ETag(_))));
        assert!(gone.batches().unwrap().iter().all(deletes));
    }

    #[test]
    fn what_may_be_illegal_is_looked_at_one_by_one() {
        let of = |values: Vec<Option<&str>>, versions: Vec<ETag>| {
            let change = KnownChange::Merge(vec![(name("t"), EdmColumn::String(StringArray::from(values)))]);
            KnownEntities::new(&table(), keys(2), versions, change)
        };
        assert!(of(vec![Some("a"), Some("b")], versions(2)).is_some());
        assert!(of(vec![Some("a"), None], versions(2)).is_none(), "a merge removes nothing");
        assert!(of(vec![Some("a"), Some("b")], versions(1)).is_none());
        assert!(of(vec![Some("a")], versions(2)).is_none());
        let mut twice = keys(1);
        twice.push("b", "000").unwrap();
        assert!(KnownEntities::new(&table(), twice, versions(2), KnownChange::Delete).is_none());
    }

    /// Where transactions are not counted exactly, they are no longer than what was supposed.
    #[test]
    fn bodies_are_no_longer_than_their_bounds() {
        let text = "\u{1}".repeat(500);
        let change = KnownChange::Merge(vec![(name("t"), EdmColumn::String(StringArray::from(vec![&*text; 100])))]);
        let of_text = |_| ETag::parse(&format!("\"{}\"", "x".repeat(300))).unwrap();
        for (versions, change) in [(versions(100), change), ((0..100).map(of_text).collect(), KnownChange::Delete)] {
            let longest = versions.iter().map(ETag::bytes_at_most).max().unwrap();
            let entities = KnownEntities::new(&table(), keys(100), versions, change).unwrap();
            let payload = longest_payload(&table(), entities.keys(), longest, entities.change().columns()).unwrap();
            let bytes = entities.operations_bytes();
            for (index, batch) in entities.batches().unwrap().into_iter().enumerate() {
                let exact: usize = entities.transaction(index).map(|place| bytes[place]).sum();
                assert_eq!(batch.payload_bytes(), ENVELOPE_BYTES + exact);
                assert!(batch.payload_bytes() <= ENVELOPE_BYTES + batch.operations().len() * payload);
            }
        }
    }
}
