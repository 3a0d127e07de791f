//! One table: its entities in key order, and its observed schema.

use std::borrow::Borrow;
use std::collections::BTreeMap;
use std::collections::btree_map::Range;
use std::ops::Bound;
use std::sync::Arc;

use tablegate_store::model::{Cut, EntityKey, PartitionKey, RowKey, Span, StoredEntity};
use tablegate_store::table::{Direction, KeyRange, ObservedSchema, TableSize};

/// The entities of one partition.
type Partition = BTreeMap<RowKey, Arc<StoredEntity>>;

#[derive(Debug, Clone, Default)]
pub(super) struct Table {
    /// Never an empty partition.
    partitions: BTreeMap<PartitionKey, Arc<Partition>>,
    observed: Arc<ObservedSchema>,
    size: TableSize,
    /// The last commit that wrote to it.
    changed: u64,
}

impl Table {
    /// An empty one that this commit made.
    pub(super) fn made_by(commit: u64) -> Self {
        Self { changed: commit, ..Self::default() }
    }

    /// The last commit that wrote to it.
    pub(super) fn changed(&self) -> u64 {
        self.changed
    }

    pub(super) fn note_change(&mut self, commit: u64) {
        self.changed = commit;
    }

    /// This commit removes all entities.
    pub(super) fn clear(&mut self, commit: u64) {
        *self = Self { observed: Arc::clone(&self.observed), changed: commit, ..Self::default() };
    }

    pub(super) fn get(&self, key: &EntityKey) -> Option<&Arc<StoredEntity>> {
        self.partitions.get(&key.partition)?.get(&key.row)
    }

    /// The entity of these two keys.
    pub(super) fn get_pair(&self, partition: &str, row: &str) -> Option<&Arc<StoredEntity>> {
        self.partitions.get(partition)?.get(row)
    }

    pub(super) fn observed(&self) -> &Arc<ObservedSchema> {
        &self.observed
    }

    pub(super) fn put(&mut self, stored: StoredEntity) {
        Arc::make_mut(&mut self.observed).observe(&stored.entity.properties);
        let EntityKey { partition, row } = stored.entity.key.clone();
        let partition = self.partitions.entry(partition).or_default();
        self.size.entities += 1;
        self.size.bytes += bytes(&stored);
        let before = Arc::make_mut(partition).insert(row, Arc::new(stored));
        self.uncount(before);
    }

    pub(super) fn remove(&mut self, key: &EntityKey) {
        let Some(partition) = self.partitions.get_mut(&key.partition) else { return };
        let rows = Arc::make_mut(partition);
        let before = rows.remove(&key.row);
        if rows.is_empty() {
            self.partitions.remove(&key.partition);
        }
        self.uncount(before);
    }

    pub(super) fn size(&self) -> TableSize {
        self.size
    }

    /// How many entities a partition has on average; `None` of an empty table.
    pub(super) fn partition_rows(&self) -> Option<u64> {
        self.size.entities.checked_div(self.partitions.len() as u64)
    }

    /// An entity is no longer in the table, if there was one.
    fn uncount(&mut self, before: Option<Arc<StoredEntity>>) {
        if let Some(before) = before {
            self.size.entities -= 1;
            self.size.bytes -= bytes(&before);
        }
    }

    pub(super) fn analyze(&mut self) {
        let mut found = ObservedSchema::default();
        for stored in self.partitions.values().flat_map(|rows| rows.values()) {
            found.observe(&stored.entity.properties);
        }
        self.observed = Arc::new(self.observed.narrowed_to(&found));
    }

    /// The entities of a range, in this direction.
    pub(super) fn walk<'a>(
        &'a self,
        range: &'a KeyRange,
        direction: Direction,
    ) -> impl Iterator<Item = &'a Arc<StoredEntity>> {
        in_order(within(&self.partitions, &range.partitions), direction)
            .flat_map(move |(_, rows)| in_order(range.rows.iter(), direction).map(move |span| within(rows, span)))
            .flat_map(move |rows| in_order(rows, direction))
            .map(|(_, stored)| stored)
    }
}

fn bytes(stored: &StoredEntity) -> u64 {
    stored.entity.stored_size() as u64
}

fn in_order<'a, I: DoubleEndedIterator + 'a>(items: I, direction: Direction) -> Box<dyn Iterator<Item = I::Item> + 'a> {
    match direction {
        Direction::Forward => Box::new(items),
        Direction::Reverse => Box::new(items.rev()),
    }
}

/// The part of a map whose keys lie in the span.
fn within<'a, K: Ord + Borrow<str>, V>(map: &'a BTreeMap<K, V>, span: &Span) -> Range<'a, K, V> {
    let (from, to) = (without_prefix(&span.from), without_prefix(&span.to));
    // `range` panics on bounds that cross.
    if from >= to {
        return map.range::<str, _>((Bound::Included(""), Bound::Excluded("")));
    }
    let lower = match &from {
        Cut::Before(text) => Bound::Included(&**text),
        Cut::After(text) => Bound::Excluded(&**text),
        Cut::Min | Cut::AfterPrefix(_) | Cut::Max => Bound::Unbounded,
    };
    let upper = match &to {
        Cut::Before(text) => Bound::Excluded(&**text),
        Cut::After(text) => Bound::Included(&**text),
        Cut::Min | Cut::AfterPrefix(_) | Cut::Max => Bound::Unbounded,
    };
    map.range::<str, _>((lower, upper))
}

/// The same cut, never [`Cut::AfterPrefix`]: what follows every string with a prefix begins with the least string that
/// has a greater character in place of the prefix's last one.
fn without_prefix(cut: &Cut) -> Cut {
    let Cut::AfterPrefix(prefix) = cut else { return cut.clone() };
    let mut least = prefix.to_string();
    while let Some(last) = least.pop() {
        if let Some(greater) = (last..=char::MAX).nth(1) {
            least.push(greater);
            return Cut::Before(least.into());
        }
    }
    Cut::Max
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn cut() -> impl Strategy<Value = Cut> {
        let text = "[ab\u{d7ff}\u{10ffff}]{0,3}".prop_map(|s: String| Arc::<str>::from(s));
        prop_oneof![
            Just(Cut::Min),
            Just(Cut::Max),
            text.clone().prop_map(Cut::Before),
            text.clone().prop_map(Cut::After),
            text.prop_map(Cut::AfterPrefix),
        ]
    }

    proptest! {
        #[test]
        fn within_agrees_with_contains(
            keys in prop::collection::btree_set("[abc\u{d7ff}\u{e000}\u{10ffff}]{0,3}", 0..20),
            from in cut(),
            to in cut(),
        ) {
            let map: BTreeMap<RowKey, ()> = keys.iter().map(|key| (RowKey::parse(key.as_str()).unwrap(), ())).collect();
            let span = Span { from, to };
            let found: Vec<&str> = within(&map, &span).map(|(key, ())| key.as_str()).collect();
            let expected: Vec<&str> = keys.iter().map(String::as_str).filter(|key| span.contains(key)).collect();
            prop_assert_eq!(found, expected);
        }
    }
}
