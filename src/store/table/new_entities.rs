//! Entities that must not be there yet, as columns: many insertions handed over without an object for each.
//!
//! What a loader writes is rows of the same few properties. As [`NewEntities`] they stay what they came as, columns, until a
//! store makes its own bytes of them. They are divided into entity group transactions here, once for all stores, and each
//! of these is legal: [`NewEntities::new`] is the only way to make them.

use std::sync::Arc;

use super::division::Division;
use super::edm_column::{EdmColumn, values_bytes};
use super::{Batch, BatchError, Operation, Refusals, StoreError, payload};
use crate::model::{Entity, EntityKeys, Properties, PropertyName, TableName};

/// Where the values of [`NewEntities::changed`] are.
const BEFORE: usize = 0;
const AFTER: usize = 1;

/// Entities of one table that must not be there yet, in legal entity group transactions. No two have the same key.
#[derive(Debug, Clone)]
pub struct NewEntities {
    table: TableName,
    keys: Arc<EntityKeys>,
    columns: Vec<(PropertyName, EdmColumn)>,
    division: Division,
}

impl NewEntities {
    /// `None` where not all is known to be legal at a glance: values or rows that may be too long, or a key that may be there twice. Such entities
    /// are to be looked at one by one. No name may be twice among the columns.
    pub fn new(
        table: &TableName,
        keys: impl Into<Arc<EntityKeys>>,
        columns: Vec<(PropertyName, EdmColumn)>,
    ) -> Option<Self> {
        let keys = keys.into();
        let division = Division::of(table, &keys, 0, &columns)?;
        Some(Self { table: table.clone(), keys, columns, division })
    }

    pub fn table(&self) -> &TableName {
        &self.table
    }

    /// In the order in which they came.
    pub fn keys(&self) -> &EntityKeys {
        &self.keys
    }

    pub fn columns(&self) -> &[(PropertyName, EdmColumn)] {
        &self.columns
    }

    /// About how much memory the values take.
    pub fn values_bytes(&self) -> usize {
        values_bytes(&self.columns)
    }

    /// Their keys in the same transactions, for a store that has made its own bytes of their values.
    pub fn without_values(self) -> Self {
        Self { columns: Vec::new(), ..self }
    }

    /// The same entities with these columns, which have the same values.
    pub(super) fn with_columns(self, columns: Vec<(PropertyName, EdmColumn)>) -> Self {
        Self { columns, ..self }
    }

    pub fn len(&self) -> usize {
        self.keys.len()
    }

    pub fn is_empty(&self) -> bool {
        self.keys.is_empty()
    }

    /// About how much memory they take.
    pub fn bytes(&self) -> usize {
        self.keys.bytes() + self.columns.iter().map(|(_, column)| column.bytes()).sum::<usize>()
    }

    /// How much memory they take besides their values.
    pub(super) fn key_memory(&self) -> usize {
        self.keys.memory() + self.division.memory()
    }

    /// Whether each key is behind the one before it, as they came.
    pub fn ascend(&self) -> bool {
        self.division.is_in_order()
    }

    /// The same entities, some of them with other values: by their places, each with the row of the columns that has its values. `None` where they are
    /// not known to be legal, or a property had values of another type.
    pub fn changed(&self, places: &[(usize, usize)], values: &[(PropertyName, EdmColumn)]) -> Option<Self> {
        let mut rows: Vec<(usize, usize)> = (0..self.len()).map(|place| (BEFORE, place)).collect();
        places.iter().for_each(|(place, row)| rows[*place] = (AFTER, *row));
        let of = |of: &[(PropertyName, EdmColumn)], name: &PropertyName| of.iter().position(|(known, _)| known == name);
        let kept = |(name, before): &(PropertyName, EdmColumn)| {
            let column = match of(values, name) {
                Some(after) => before.gathered(&[before, &values[after].1], &rows)?,
                None => before.clone(),
            };
            Some((name.clone(), column))
        };
        let added = |(name, after): &(PropertyName, EdmColumn)| {
            let before = after.of_nulls(self.len())?;
            Some((name.clone(), after.gathered(&[&before, after], &rows)?))
        };
        let others = values.iter().filter(|(name, _)| of(&self.columns, name).is_none());
        let columns = self.columns.iter().map(kept).chain(others.map(added)).collect::<Option<Vec<_>>>()?;
        Self::new(&self.table, Arc::clone(&self.keys), columns)
    }

    /// Entities of several, by the number of each and the place in it, in this order. `None` where they have not the same columns.
    pub fn gathered(of: &[&Self], places: &[(usize, usize)]) -> Option<Self> {
        let first = of.first()?;
        let column = |(index, (name, column)): (usize, &(PropertyName, EdmColumn))| {
            let others = of.iter().map(|new| new.columns.get(index).filter(|(of, _)| of == name));
            let others: Vec<&EdmColumn> = others.map(|other| other.map(|(_, column)| column)).collect::<Option<_>>()?;
            Some((name.clone(), column.gathered(&others, places)?))
        };
        if of.iter().any(|new| new.columns.len() != first.columns.len()) {
            return None;
        }
        let columns = first.columns.iter().enumerate().map(column).collect::<Option<Vec<_>>>()?;
        let mut keys = EntityKeys::with_capacity(places.len());
        for (number, place) in places {
            let (partition, row) = of[*number].keys.pair(*place);
            keys.push(partition, row).ok()?;
        }
        Self::new(&first.table, keys, columns)
    }

    /// How many entity group transactions there are.
    pub fn transactions(&self) -> usize {
        self.division.transactions()
    }

    /// That none of the transactions is committed, for one reason.
    pub fn all_refused(&self, error: &StoreError) -> Refusals {
        (0..self.transactions()).map(|index| (index, error.clone().into())).collect()
    }

    /// The places of a transaction's entities in [`NewEntities::keys`] and the columns.
    pub fn transaction(&self, index: usize) -> impl ExactSizeIterator<Item = usize> + Clone + '_ {
        self.division.transaction(index)
    }

    /// The entity at a place.
    pub fn entity(&self, place: usize) -> Entity {
        Entity::new(self.keys.key(place), properties_at(&self.columns, place))
    }

    /// What each insertion adds to the body of a transaction, in bytes, by the places of keys.
    pub fn operations_bytes(&self) -> Vec<usize> {
        payload::insertions_bytes(&self.table, &self.keys, &self.columns).collect()
    }

    /// A transaction as an object of its own.
    ///
    /// # Errors
    /// None are expected: each of them is legal.
    pub fn batch(&self, index: usize) -> Result<Batch, BatchError> {
        let mut batch = Batch::builder(self.table.clone());
        for place in self.transaction(index) {
            batch.push(Operation::Insert(self.entity(place))).map_err(|(_, error)| error)?;
        }
        batch.build()
    }

    /// All transactions as objects of their own.
    ///
    /// # Errors
    /// As [`NewEntities::batch`].
    pub fn batches(&self) -> Result<Vec<Batch>, BatchError> {
        (0..self.transactions()).map(|index| self.batch(index)).collect()
    }
}

/// The values that columns have at a place.
pub(super) fn properties_at(columns: &[(PropertyName, EdmColumn)], place: usize) -> Properties {
    let mut properties = Properties::with_capacity(columns.len());
    for (name, column) in columns {
        if !column.is_null(place) {
            properties.add(name.clone(), column.value(place).to_owned());
        }
    }
    properties
}

#[cfg(test)]
mod tests {
    use arrow::array::{BinaryArray, Int32Array, Int64Array, StringArray};

    use super::super::division::longest_payload;
    use super::super::payload::ENVELOPE_BYTES;
    use super::*;
    use crate::model::EdmDateTime;
    use crate::model::limits::{BINARY_MAX_BYTES, CUSTOM_PROPERTIES_MAX, EGT_MAX_BYTES, STRING_MAX_UTF16_UNITS};

    fn table() -> TableName {
        TableName::parse("Orders").unwrap()
    }

    fn name(text: &str) -> PropertyName {
        PropertyName::parse(text).unwrap()
    }

    fn keys(pairs: impl IntoIterator<Item = (String, usize)>) -> EntityKeys {
        let mut keys = EntityKeys::default();
        pairs.into_iter().for_each(|(partition, row)| keys.push(&partition, &format!("{row:03}")).unwrap());
        keys
    }

    fn of_texts(texts: Vec<Option<&str>>) -> Option<NewEntities> {
        let keys = keys((0..texts.len()).map(|row| ("p".to_owned(), row)));
        NewEntities::new(&table(), keys, vec![(name("t"), EdmColumn::String(StringArray::from(texts)))])
    }

    fn shape(entities: &NewEntities) -> Vec<(String, usize)> {
        let shape = |index| {
            let mut places = entities.transaction(index);
            let length = places.len();
            (entities.keys().pair(places.next().unwrap()).0.to_owned(), length)
        };
        (0..entities.transactions()).map(shape).collect()
    }

    #[test]
    fn transactions_are_a_hundred_entities_of_one_partition() {
        let scattered = keys((0..360).map(|row| (["c", "a", "b"][row % 3].to_owned(), 999 - row)));
        let entities = NewEntities::new(&table(), scattered, Vec::new()).unwrap();
        let expected = [("a", 100), ("a", 20), ("b", 100), ("b", 20), ("c", 100), ("c", 20)];
        assert_eq!(shape(&entities), expected.map(|(partition, length)| (partition.to_owned(), length)));
        for batch in entities.batches().unwrap() {
            let rows: Vec<_> = batch.operations().iter().map(|o| o.key().row.as_str().to_owned()).collect();
            assert!(rows.is_sorted_by(|one, next| one > next), "in the order they came");
        }
        let alone = NewEntities::new(&table(), keys((0..50).map(|row| (row.to_string(), 0))), Vec::new()).unwrap();
        assert_eq!((alone.transactions(), alone.transaction(49).len()), (50, 1));
    }

    #[test]
    fn what_may_be_illegal_is_looked_at_one_by_one() {
        let twice = keys([("p".to_owned(), 1), ("q".to_owned(), 1), ("p".to_owned(), 1)]);
        assert!(NewEntities::new(&table(), twice, Vec::new()).is_none());
        let long = "x".repeat(STRING_MAX_UTF16_UNITS);
        assert!(of_texts(vec![Some("a"), Some(&long), None]).is_some());
        assert!(of_texts(vec![Some("a"), Some(&format!("{long}x"))]).is_none());
        let number = || EdmColumn::Int32(Int32Array::from(vec![1]));
        let many = |count| (0..count).map(|i| (name(&format!("p{i}")), number())).collect::<Vec<_>>();
        let one = || keys([("p".to_owned(), 1)]);
        assert!(NewEntities::new(&table(), one(), many(CUSTOM_PROPERTIES_MAX)).is_some());
        assert!(NewEntities::new(&table(), one(), many(CUSTOM_PROPERTIES_MAX + 1)).is_none());
        let ticks = |ticks: i64| vec![(name("at"), EdmColumn::DateTime(Int64Array::from(vec![ticks])))];
        assert!(NewEntities::new(&table(), one(), ticks(EdmDateTime::MAX.unix_ticks())).is_some());
        assert!(NewEntities::new(&table(), one(), ticks(EdmDateTime::MAX.unix_ticks() + 1)).is_none());
        let big = EdmColumn::Binary(BinaryArray::from(vec![&[0; BINARY_MAX_BYTES][..]]));
        let of_big = |count| {
            NewEntities::new(&table(), one(), (0..count).map(|i| (name(&format!("b{i}")), big.clone())).collect())
        };
        assert!(of_big(7).is_some());
        assert!(of_big(9).is_none(), "counted as if it were text, it is more than a mebibyte");
        assert!(NewEntities::new(&table(), keys([]), many(1)).is_none(), "columns are as long as the keys");
    }

    /// Each takes as many rows as fit, be they told by the longest value of each column or one by one.
    #[test]
    fn long_rows_are_divided_by_their_bytes() {
        let plain = "x".repeat(STRING_MAX_UTF16_UNITS);
        let entities = of_texts(vec![Some(&*plain); 150]).unwrap();
        assert_eq!(shape(&entities), [("p".to_owned(), 100), ("p".to_owned(), 50)]);
        // Each character becomes six.
        let escaped = "\u{1}".repeat(STRING_MAX_UTF16_UNITS);
        let texts = (0..100).map(|row| Some(if row % 2 == 0 { "short" } else { &*escaped })).collect();
        let entities = of_texts(texts).unwrap();
        let lengths: Vec<usize> = shape(&entities).into_iter().map(|(_, length)| length).collect();
        assert_eq!(lengths, [43, 42, 15], "{} bytes each pair of rows", 6 * STRING_MAX_UTF16_UNITS);
        for (index, batch) in entities.batches().unwrap().iter().enumerate() {
            assert!(batch.payload_bytes() < EGT_MAX_BYTES, "{index}");
        }
        let alone = keys((0..50).map(|row| (row.to_string(), 0)));
        let column = EdmColumn::String(StringArray::from(vec![&*escaped; 50]));
        assert_eq!(NewEntities::new(&table(), alone, vec![(name("t"), column)]).unwrap().transactions(), 50);
    }

    /// Where transactions are not counted exactly, they are no longer than what was supposed.
    #[test]
    fn bodies_are_no_longer_than_their_bounds() {
        let text = "\u{1}".repeat(500);
        let entities = of_texts(vec![Some(&text); 100]).unwrap();
        let batch = entities.batch(0).unwrap();
        let payload = longest_payload(&table(), entities.keys(), 0, entities.columns()).unwrap();
        assert!(batch.payload_bytes() <= ENVELOPE_BYTES + 100 * payload);
        let bytes = entities.operations_bytes();
        assert_eq!(batch.payload_bytes(), ENVELOPE_BYTES + bytes[..100].iter().sum::<usize>());
        assert!(batch.payload_bytes_at_most() <= ENVELOPE_BYTES + 100 * payload);
    }
}
