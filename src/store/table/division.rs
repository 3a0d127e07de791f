//! Rows that are handed over as columns, divided into entity group transactions: of one partition each, a hundred at most.
//!
//! Once for all stores, and for all that is handed over like that. What may be illegal is not divided: it is to be looked
//! at row by row, and each row says what is wrong with it.

use super::SeededHash;
use super::edm_column::EdmColumn;
use super::payload::{ENVELOPE_BYTES, operation_bytes_at_most_of, operation_bytes_at_most_with};
use crate::model::limits::{CUSTOM_PROPERTIES_MAX, EGT_MAX_BYTES, EGT_MAX_OPERATIONS, ENTITY_MAX_BYTES};
use crate::model::{EntityKeys, PropertyName, TableName};

/// Which rows go together, in which order.
#[derive(Debug, Clone)]
pub(super) struct Division {
    rows: usize,
    /// The rows by their places, those of a transaction one behind the other; `None` where that is the order they came in.
    order: Option<Vec<usize>>,
    /// Where each transaction ends in that order. Empty where each row is one of its own.
    ends: Vec<usize>,
}

impl Division {
    /// Rows of a table with these keys, whose versions, where they are told, are no longer than this. `None` where not all
    /// is known to be legal at a glance: values or rows that may be too long, or a key that may be there twice.
    pub(super) fn of(
        table: &TableName,
        keys: &EntityKeys,
        version_bytes: usize,
        columns: &[(PropertyName, EdmColumn)],
    ) -> Option<Self> {
        let payload = longest_payload(table, keys, version_bytes, columns)?;
        let mut division = Self { rows: keys.len(), order: order_of(keys)?, ends: Vec::new() };
        let longest = division.divide(keys, |_| 0);
        if ENVELOPE_BYTES + longest * payload < EGT_MAX_BYTES {
            return Some(division);
        }
        // They would be too long if each row was as long as the longest value of each column could become.
        let payload_of = |place: usize| {
            let (partition, row) = keys.pair(place);
            let there = columns.iter().filter(|(_, column)| !column.is_null(place));
            let properties = there.map(|(name, column)| (name, column.value(place)));
            operation_bytes_at_most_with(table, partition.len() + row.len(), version_bytes, properties)
        };
        division.divide(keys, payload_of);
        Some(division)
    }

    /// Whether each key is behind the one before it, as they came.
    pub(super) fn is_in_order(&self) -> bool {
        self.order.is_none()
    }

    /// How much memory it takes.
    pub(super) fn memory(&self) -> usize {
        (self.order.as_ref().map_or(0, Vec::capacity) + self.ends.capacity()) * size_of::<usize>()
    }

    /// How many entity group transactions there are.
    pub(super) fn transactions(&self) -> usize {
        if self.ends.is_empty() { self.rows } else { self.ends.len() }
    }

    /// The places of a transaction's rows.
    pub(super) fn transaction(&self, index: usize) -> impl ExactSizeIterator<Item = usize> + Clone + '_ {
        let range = match self.ends.get(index) {
            Some(end) => index.checked_sub(1).map_or(0, |before| self.ends[before])..*end,
            None => index..index + 1,
        };
        range.map(move |place| self.place(place))
    }

    fn place(&self, place: usize) -> usize {
        self.order.as_ref().map_or(place, |order| order[place])
    }

    /// Finds out where transactions end: with their partition, or when they are full, of rows or of the bytes that
    /// `payload_of` tells of each. The most rows of one.
    fn divide(&mut self, keys: &EntityKeys, payload_of: impl Fn(usize) -> usize) -> usize {
        let partition = |place: usize| keys.pair(self.place(place)).0;
        let (mut ends, mut begin, mut longest, mut bytes) = (Vec::new(), 0, 0, ENVELOPE_BYTES);
        for place in 0..self.rows {
            let payload = payload_of(self.place(place));
            let is_full = place - begin == EGT_MAX_OPERATIONS || bytes + payload >= EGT_MAX_BYTES;
            if place > begin && (is_full || partition(place) != partition(begin)) {
                ends.push(place);
                longest = longest.max(place - begin);
                (begin, bytes) = (place, ENVELOPE_BYTES);
            }
            bytes += payload;
        }
        longest = longest.max(self.rows - begin);
        ends.push(self.rows);
        self.ends = if ends.len() < self.rows { ends } else { Vec::new() };
        longest
    }
}

/// What each of the rows takes at most in the body of a transaction. `None` where one could be beyond a limit.
pub(super) fn longest_payload(
    table: &TableName,
    keys: &EntityKeys,
    version_bytes: usize,
    columns: &[(PropertyName, EdmColumn)],
) -> Option<usize> {
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
    let payload = operation_bytes_at_most_of(table, key_bytes, version_bytes, properties);
    (are_short && stored <= ENTITY_MAX_BYTES).then_some(payload)
}

/// The rows by partition, those of each in the order they came; inner `None` where they came like that. Outer `None`
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
