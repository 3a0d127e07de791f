//! Entities that must not be there yet, as columns: many insertions handed over without an object for each.
//!
//! What a loader writes is rows of the same few properties. As [`NewEntities`] they stay what they came as, columns, until a
//! store makes its own bytes of them. They are divided into entity group transactions here, once for all stores, and each
//! of these is legal: [`NewEntities::new`] is the only way to make them.

use arrow::array::{
    Array, BinaryArray, BooleanArray, FixedSizeBinaryArray, Float64Array, Int32Array, Int64Array, StringArray,
};
use uuid::Uuid;

use super::payload::{ENVELOPE_BYTES, insertion_bytes_at_most};
use super::{Batch, BatchError, CommitError, Operation, SeededHash, StoreError, TypeSet, WindowOutcome};
use crate::model::limits::{
    BINARY_MAX_BYTES, CUSTOM_PROPERTIES_MAX, EGT_MAX_BYTES, EGT_MAX_OPERATIONS, ENTITY_MAX_BYTES,
    STRING_MAX_UTF16_UNITS,
};
use crate::model::{EdmDateTime, EdmRef, EdmType, Entity, EntityKeys, Properties, PropertyName, TableName};

/// The values of one property: NULL where an entity does not have it.
#[derive(Debug, Clone)]
pub enum EdmColumn {
    String(StringArray),
    Int32(Int32Array),
    Int64(Int64Array),
    Double(Float64Array),
    Boolean(BooleanArray),
    /// Ticks as [`EdmDateTime::unix_ticks`] gives them.
    DateTime(Int64Array),
    /// Of 16 bytes each.
    Guid(FixedSizeBinaryArray),
    Binary(BinaryArray),
}

impl EdmColumn {
    pub fn edm_type(&self) -> EdmType {
        match self {
            EdmColumn::String(_) => EdmType::String,
            EdmColumn::Int32(_) => EdmType::Int32,
            EdmColumn::Int64(_) => EdmType::Int64,
            EdmColumn::Double(_) => EdmType::Double,
            EdmColumn::Boolean(_) => EdmType::Boolean,
            EdmColumn::DateTime(_) => EdmType::DateTime,
            EdmColumn::Guid(_) => EdmType::Guid,
            EdmColumn::Binary(_) => EdmType::Binary,
        }
    }

    /// How many entities it has a value or NULL for.
    pub fn rows(&self) -> usize {
        self.array().len()
    }

    pub fn has_nulls(&self) -> bool {
        self.array().null_count() > 0
    }

    pub fn is_null(&self, row: usize) -> bool {
        self.array().is_null(row)
    }

    /// The value in a row that has one.
    pub fn value(&self, row: usize) -> EdmRef<'_> {
        match self {
            EdmColumn::String(array) => EdmRef::String(array.value(row)),
            EdmColumn::Int32(array) => EdmRef::Int32(array.value(row)),
            EdmColumn::Int64(array) => EdmRef::Int64(array.value(row)),
            EdmColumn::Double(array) => EdmRef::Double(array.value(row)),
            EdmColumn::Boolean(array) => EdmRef::Boolean(array.value(row)),
            EdmColumn::DateTime(array) => {
                EdmRef::DateTime(EdmDateTime::from_unix_ticks(array.value(row)).unwrap_or(EdmDateTime::MIN))
            }
            EdmColumn::Guid(array) => EdmRef::Guid(Uuid::from_slice(array.value(row)).unwrap_or_default()),
            EdmColumn::Binary(array) => EdmRef::Binary(array.value(row)),
        }
    }

    /// The types that its values show. Of integers one that is wide makes all of them so.
    pub fn types(&self) -> TypeSet {
        match self {
            EdmColumn::Int64(array) => {
                let values = (0..array.len()).filter(|row| array.is_valid(*row)).map(|row| array.value(row));
                values
                    .map(|value| TypeSet::of(EdmRef::Int64(value)))
                    .fold(TypeSet::of(EdmRef::Int64(0)), TypeSet::union)
            }
            other => TypeSet::of_type(other.edm_type()),
        }
    }

    fn array(&self) -> &dyn Array {
        match self {
            EdmColumn::String(array) => array,
            EdmColumn::Int32(array) => array,
            EdmColumn::Int64(array) | EdmColumn::DateTime(array) => array,
            EdmColumn::Double(array) => array,
            EdmColumn::Boolean(array) => array,
            EdmColumn::Guid(array) => array,
            EdmColumn::Binary(array) => array,
        }
    }

    /// Bytes of its longest text or binary; 0 of what is neither.
    pub fn longest(&self) -> usize {
        let longest = |ends: &[i32]| ends.windows(2).map(|pair| pair[1] - pair[0]).max().unwrap_or(0);
        usize::try_from(match self {
            EdmColumn::String(array) => longest(array.value_offsets()),
            EdmColumn::Binary(array) => longest(array.value_offsets()),
            _ => 0,
        })
        .unwrap_or(usize::MAX)
    }

    /// About how much memory its values take.
    fn bytes(&self) -> usize {
        let of_texts = |ends: &[i32]| {
            let bytes = ends.last().zip(ends.first()).map_or(0, |(last, first)| last - first);
            usize::try_from(bytes).unwrap_or_default()
        };
        match self {
            EdmColumn::String(array) => of_texts(array.value_offsets()) + 4 * array.len(),
            EdmColumn::Binary(array) => of_texts(array.value_offsets()) + 4 * array.len(),
            EdmColumn::Int32(array) => 4 * array.len(),
            EdmColumn::Boolean(array) => array.len() / 8,
            EdmColumn::Guid(array) => 16 * array.len(),
            EdmColumn::Int64(array) | EdmColumn::DateTime(array) => 8 * array.len(),
            EdmColumn::Double(array) => 8 * array.len(),
        }
    }

    /// Whether each value is certainly within the service's limits.
    fn is_short(&self, longest: usize) -> bool {
        match self {
            EdmColumn::String(_) => longest <= STRING_MAX_UTF16_UNITS,
            EdmColumn::Binary(_) => longest <= BINARY_MAX_BYTES,
            EdmColumn::Guid(array) => array.value_length() == 16,
            EdmColumn::DateTime(array) => {
                let is_legal = |ticks: i64| EdmDateTime::from_unix_ticks(ticks).is_some();
                array.iter().flatten().all(is_legal)
            }
            _ => true,
        }
    }
}

/// Entities of one table that must not be there yet, in legal entity group transactions. No two have the same key.
#[derive(Debug, Clone)]
pub struct NewEntities {
    table: TableName,
    keys: EntityKeys,
    columns: Vec<(PropertyName, EdmColumn)>,
    /// The entities by their places in `keys`, those of a transaction one behind the other; `None` where that is the order
    /// they came in.
    order: Option<Vec<usize>>,
    /// Where each transaction ends in that order. Empty where each entity is one of its own.
    ends: Vec<usize>,
}

impl NewEntities {
    /// `None` where not all is known to be legal at a glance: long values, or a key that may be there twice. Such entities
    /// are to be looked at one by one. No name may be twice among the columns.
    pub fn new(table: &TableName, keys: EntityKeys, columns: Vec<(PropertyName, EdmColumn)>) -> Option<Self> {
        let bounds = Bounds::of(table, &keys, &columns)?;
        let order = order_of(&keys)?;
        let mut entities = Self { table: table.clone(), keys, columns, order, ends: Vec::new() };
        entities.divide(&bounds)?;
        Some(entities)
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

    /// How many entity group transactions there are.
    pub fn transactions(&self) -> usize {
        if self.ends.is_empty() { self.len() } else { self.ends.len() }
    }

    /// That none of the transactions is committed, for one reason.
    pub fn all_refused(&self, error: &StoreError) -> InsertOutcome {
        (0..self.transactions()).map(|index| (index, error.clone().into())).collect()
    }

    /// The places of a transaction's entities in [`NewEntities::keys`] and the columns.
    pub fn transaction(&self, index: usize) -> impl ExactSizeIterator<Item = usize> + Clone + '_ {
        let range = match self.ends.get(index) {
            Some(end) => index.checked_sub(1).map_or(0, |before| self.ends[before])..*end,
            None => index..index + 1,
        };
        range.map(move |place| self.order.as_ref().map_or(place, |order| order[place]))
    }

    /// The entity at a place.
    pub fn entity(&self, place: usize) -> Entity {
        let mut properties = Properties::with_capacity(self.columns.len());
        for (name, column) in &self.columns {
            if !column.is_null(place) {
                properties.add(name.clone(), column.value(place).to_owned());
            }
        }
        Entity::new(self.keys.key(place), properties)
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

    /// Finds out where transactions end: with their partition, or when they are full. `None` where they could be too long
    /// before that.
    fn divide(&mut self, bounds: &Bounds) -> Option<()> {
        let partition = |place: usize| {
            let place = self.order.as_ref().map_or(place, |order| order[place]);
            self.keys.pair(place).0
        };
        let (mut ends, mut begin, mut largest) = (Vec::new(), 0, 0);
        for place in 1..=self.keys.len() {
            let is_full = place - begin == EGT_MAX_OPERATIONS;
            if place == self.keys.len() || is_full || partition(place) != partition(begin) {
                ends.push(place);
                largest = largest.max(place - begin);
                begin = place;
            }
        }
        if ends.len() < self.keys.len() {
            self.ends = ends;
        }
        (ENVELOPE_BYTES + largest * bounds.payload < EGT_MAX_BYTES).then_some(())
    }
}

/// What each of some entities takes at most.
struct Bounds {
    /// Bytes of the body of a transaction.
    payload: usize,
}

impl Bounds {
    /// `None` where an entity could be beyond a limit.
    fn of(table: &TableName, keys: &EntityKeys, columns: &[(PropertyName, EdmColumn)]) -> Option<Self> {
        if columns.len() > CUSTOM_PROPERTIES_MAX || columns.iter().any(|(_, column)| column.rows() != keys.len()) {
            return None;
        }
        let key_bytes = keys.pairs().map(|(partition, row)| partition.len() + row.len()).max().unwrap_or(0);
        let longest: Vec<usize> = columns.iter().map(|(_, column)| column.longest()).collect();
        let are_short = columns.iter().zip(&longest).all(|((_, column), longest)| column.is_short(*longest));
        // As the service counts: a text has no more UTF-16 units than bytes, and nothing else takes more than 16.
        let property =
            |((name, _), longest): (&(PropertyName, EdmColumn), &usize)| 8 + 16 + 2 * (name.as_str().len() + longest);
        let stored = 4 + 2 * key_bytes + columns.iter().zip(&longest).map(property).sum::<usize>();
        let properties = columns.iter().zip(&longest).map(|((name, _), longest)| (name, *longest));
        let payload = insertion_bytes_at_most(table, key_bytes, properties);
        (are_short && stored <= ENTITY_MAX_BYTES).then_some(Self { payload })
    }
}

/// The entities by partition, those of each in the order they came; inner `None` where they came like that. Outer `None`
/// where two of them may have the same key.
fn order_of(keys: &EntityKeys) -> Option<Option<Vec<usize>>> {
    let ascends = (1..keys.len()).all(|place| keys.pair(place - 1) < keys.pair(place));
    if ascends {
        return Some(None);
    }
    let hash = SeededHash::default();
    let mut hashes: Vec<u64> = keys.pairs().map(|pair| hash.of_pair(pair)).collect();
    hashes.sort_unstable();
    if hashes.windows(2).any(|pair| pair[0] == pair[1]) {
        return None;
    }
    let mut order: Vec<usize> = (0..keys.len()).collect();
    order.sort_by(|one, other| keys.pair(*one).0.cmp(keys.pair(*other).0));
    Some(Some(order))
}

/// What became of new entities: transactions by their indexes, ascending, that were not committed. All others were.
pub type InsertOutcome = Vec<(usize, CommitError)>;

/// What a window of all the transactions came to, as an outcome of new entities.
pub(super) fn refused_of(outcome: WindowOutcome) -> InsertOutcome {
    let refused = |(index, result): (usize, Result<_, CommitError>)| Some((index, result.err()?));
    outcome.into_iter().enumerate().filter_map(refused).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::limits::CUSTOM_PROPERTIES_MAX;

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
        // Twenty-two of them may be more than a transaction holds, though they are less.
        assert!(of_texts(vec![Some(&*long); 21]).is_some());
        assert!(of_texts(vec![Some(&*long); 22]).is_none());
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

    /// Where transactions are not counted exactly, they are no longer than what was supposed.
    #[test]
    fn bodies_are_no_longer_than_their_bounds() {
        let text = "\u{1}".repeat(500);
        let entities = of_texts(vec![Some(&text); 100]).unwrap();
        let batch = entities.batch(0).unwrap();
        let bounds = Bounds::of(&table(), entities.keys(), entities.columns()).unwrap();
        assert!(batch.payload_bytes() <= ENVELOPE_BYTES + 100 * bounds.payload);
        assert!(batch.payload_bytes_at_most() <= ENVELOPE_BYTES + 100 * bounds.payload);
    }
}
