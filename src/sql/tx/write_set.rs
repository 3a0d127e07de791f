//! The writes a transaction has collected: for each entity, what it was and what it shall be.
//!
//! Several writes to one entity fold into one, so what commits is the net effect: an entity that was inserted and then
//! deleted costs nothing, one that was updated three times costs one operation.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::serial::WrittenKeys;
use crate::model::{ETag, EdmDateTime, Entity, EntityKey, PartitionKey, Properties, StoredEntity, TableName};
use crate::sql::error::SqlResult;
use crate::sql::observe::Footprint;
use crate::sql::reads::OwnWrites;
use crate::sql::relation::Relation;
use crate::table::{IfMatch, Operation, payload};

/// What a transaction does to one entity.
#[derive(Debug, Clone)]
pub(crate) struct NetWrite {
    /// The stored version it was read with; `None` when the entity was not there.
    base: Option<ETag>,
    /// What it shall be; `None` when it shall be gone.
    after: Option<Properties>,
    /// What Merge has to send, as long as nothing was removed.
    patch: Option<Properties>,
    /// When the transaction wrote it: shown as its Timestamp until it commits.
    written: EdmDateTime,
    /// What its operation takes in the `$batch` body.
    bytes: usize,
}

impl NetWrite {
    /// The operation that does this, `None` when nothing is left to do.
    fn operation(&self, key: &EntityKey) -> Option<Operation> {
        let entity = |properties: &Properties| Entity::new(key.clone(), properties.clone());
        match (&self.base, &self.after, &self.patch) {
            (None, None, _) => None,
            (None, Some(after), _) => Some(Operation::Insert(entity(after))),
            (Some(base), Some(_), Some(patch)) => Some(Operation::Merge(entity(patch), IfMatch::ETag(base.clone()))),
            (Some(base), Some(after), None) => Some(Operation::Replace(entity(after), IfMatch::ETag(base.clone()))),
            (Some(base), None, _) => Some(Operation::Delete(key.clone(), IfMatch::ETag(base.clone()))),
        }
    }

    fn image(&self, key: &EntityKey) -> Option<StoredEntity> {
        self.after.as_ref().map(|after| StoredEntity {
            entity: Entity::new(key.clone(), after.clone()),
            timestamp: self.written,
            etag: self.base.clone().unwrap_or_else(|| ETag::of_timestamp(self.written)),
        })
    }
}

/// The collected writes, by table and key.
#[derive(Debug, Clone, Default)]
pub(crate) struct WriteSet {
    tables: BTreeMap<TableName, TableWrites>,
    operations: usize,
    payload_bytes: usize,
    spread: Spread,
}

/// The collected writes to one table.
#[derive(Debug, Clone)]
struct TableWrites {
    relation: Arc<Relation>,
    writes: BTreeMap<EntityKey, NetWrite>,
}

/// What a ROLLBACK TO goes back to.
#[derive(Debug)]
pub(crate) struct Mark(WriteSet);

/// How far the operations lie apart, seen from the partition of the first one. Kept with each write, so that the rules
/// can be asked after each row.
#[derive(Debug, Clone, Default)]
struct Spread {
    home: Option<(TableName, PartitionKey)>,
    at_home: usize,
    other_tables: usize,
    other_partitions: usize,
}

impl Spread {
    fn add(&mut self, table: &TableName, partition: &PartitionKey) {
        let (home_table, home_partition) = self.home.get_or_insert_with(|| (table.clone(), partition.clone()));
        let (other_table, other_partition) = (home_table != table, home_partition != partition);
        self.other_tables += usize::from(other_table);
        self.other_partitions += usize::from(other_partition);
        self.at_home += usize::from(!other_table && !other_partition);
    }

    fn remove(&mut self, table: &TableName, partition: &PartitionKey) {
        let Some((home_table, home_partition)) = &self.home else { return };
        let (other_table, other_partition) = (home_table != table, home_partition != partition);
        self.other_tables -= usize::from(other_table);
        self.other_partitions -= usize::from(other_partition);
        self.at_home -= usize::from(!other_table && !other_partition);
        if self.at_home + self.other_tables + self.other_partitions == 0 {
            self.home = None;
        }
    }
}

impl WriteSet {
    pub fn is_empty(&self) -> bool {
        self.operations == 0
    }

    /// Operations the commit would have.
    pub fn operations(&self) -> usize {
        self.operations
    }

    /// Bytes the operations take in the `$batch` body, without its envelope.
    pub fn payload_bytes(&self) -> usize {
        self.payload_bytes
    }

    /// Whether there are operations on several tables.
    pub fn has_several_tables(&self) -> bool {
        self.spread.other_tables > 0
    }

    /// Whether there are operations with several PartitionKeys.
    pub fn has_several_partitions(&self) -> bool {
        self.spread.other_partitions > 0
    }

    /// Counts anew where the operations lie: where all of the first partition's were taken back, the others may share
    /// another one.
    pub fn settle(&mut self) {
        if self.spread.at_home > 0 {
            return;
        }
        let mut spread = Spread::default();
        for (table, writes) in &self.tables {
            writes.writes.keys().for_each(|key| spread.add(table, &key.partition));
        }
        self.spread = spread;
    }

    /// The tables that are written, by their stored names.
    pub fn tables(&self) -> impl Iterator<Item = &Arc<Relation>> {
        self.tables.values().filter(|table| !table.writes.is_empty()).map(|table| &table.relation)
    }

    /// The keys that are written.
    pub fn keys(&self) -> WrittenKeys {
        self.tables.iter().map(|(name, table)| (name.clone(), table.writes.keys().cloned().collect())).collect()
    }

    /// The partitions written in a table, in order.
    pub fn partitions<'a>(&'a self, relation: &Relation) -> impl Iterator<Item = &'a str> {
        let table = self.tables.get(&relation.stored);
        let mut partitions: Vec<&str> =
            table.iter().flat_map(|table| table.writes.keys()).map(|key| key.partition.as_str()).collect();
        partitions.dedup();
        partitions.into_iter()
    }

    /// The extent of what would be committed.
    pub fn footprint(&self) -> Footprint {
        let mut footprint = Footprint::new();
        for table in self.tables.values() {
            for (key, write) in &table.writes {
                footprint.add(&table.relation, &key.partition, 1, write.bytes);
            }
        }
        footprint
    }

    /// The state to come back to.
    pub fn mark(&mut self) -> Mark {
        Mark(self.clone())
    }

    /// Forgets what was collected since the mark was made.
    pub fn restore(&mut self, mark: &Mark) {
        *self = mark.0.clone();
    }

    /// Adds an entity that the caller knows is not there.
    ///
    /// # Errors
    /// When there is no room left to collect it.
    pub fn insert(&mut self, relation: &Arc<Relation>, entity: Entity, now: EdmDateTime) -> SqlResult<()> {
        self.change(relation, entity.key, now, None, |write| {
            write.after = Some(entity.properties);
            write.patch = None;
        })
    }

    /// Gives an entity read with `base` its new properties. `patch` are those that changed, when none was removed.
    ///
    /// # Errors
    /// As [`WriteSet::insert`].
    pub fn update(
        &mut self,
        relation: &Arc<Relation>,
        base: &StoredEntity,
        after: Properties,
        patch: Option<Properties>,
        now: EdmDateTime,
    ) -> SqlResult<()> {
        let is_new = !self.holds(&relation.stored, &base.entity.key);
        self.change(relation, base.entity.key.clone(), now, Some(base.etag.clone()), |write| {
            write.after = Some(after);
            write.patch = match (write.patch.take(), patch) {
                (None, Some(patch)) if is_new => Some(patch),
                (Some(mut earlier), Some(patch)) => {
                    earlier.merge(patch);
                    Some(earlier)
                }
                _ => None,
            };
        })
    }

    /// Removes an entity read with this version.
    ///
    /// # Errors
    /// As [`WriteSet::insert`].
    pub fn delete(&mut self, relation: &Arc<Relation>, key: EntityKey, base: &ETag, now: EdmDateTime) -> SqlResult<()> {
        self.change(relation, key, now, Some(base.clone()), |write| {
            write.after = None;
            write.patch = None;
        })
    }

    /// Drops the writes to a table that the transaction drops or empties.
    pub fn forget(&mut self, table: &TableName) {
        let Some(forgotten) = self.tables.remove(table) else { return };
        for (key, write) in forgotten.writes {
            self.operations -= 1;
            self.payload_bytes -= write.bytes;
            self.spread.remove(table, &key.partition);
        }
    }

    /// The entity as the transaction left it: `None` when it did not touch it, `Some(None)` when it deleted it.
    ///
    /// # Errors
    /// When what was collected cannot be read back.
    pub fn image(&self, table: &TableName, key: &EntityKey) -> SqlResult<Option<Option<StoredEntity>>> {
        let write = self.tables.get(table).and_then(|table| table.writes.get(key));
        Ok(write.map(|write| write.image(key)))
    }

    fn holds(&self, table: &TableName, key: &EntityKey) -> bool {
        self.tables.get(table).is_some_and(|table| table.writes.contains_key(key))
    }

    fn change(
        &mut self,
        relation: &Arc<Relation>,
        key: EntityKey,
        now: EdmDateTime,
        base: Option<ETag>,
        apply: impl FnOnce(&mut NetWrite),
    ) -> SqlResult<()> {
        let table = &relation.stored;
        let fresh = || TableWrites { relation: Arc::clone(relation), writes: BTreeMap::new() };
        let writes = &mut self.tables.entry(table.clone()).or_insert_with(fresh).writes;
        let fresh = NetWrite { base, after: None, patch: None, written: now, bytes: 0 };
        let write = writes.entry(key.clone()).or_insert(fresh);
        if write.bytes > 0 {
            self.operations -= 1;
            self.payload_bytes -= write.bytes;
            self.spread.remove(table, &key.partition);
        }
        apply(write);
        write.written = now;
        match write.operation(&key) {
            Some(operation) => {
                write.bytes = payload::operation_bytes(table, &operation);
                self.operations += 1;
                self.payload_bytes += write.bytes;
                self.spread.add(table, &key.partition);
            }
            None => {
                writes.remove(&key);
            }
        }
        Ok(())
    }

    /// What readers inside the transaction see of it.
    pub fn own_writes(&self) -> BTreeMap<TableName, Arc<OwnWrites>> {
        let images = |table: &TableWrites| {
            Arc::new(table.writes.iter().map(|(key, write)| (key.clone(), write.image(key))).collect::<OwnWrites>())
        };
        self.tables.iter().map(|(name, table)| (name.clone(), images(table))).collect()
    }

    /// The operations that commit it, by table, in key order.
    pub fn into_operations(self) -> impl Iterator<Item = (Arc<Relation>, Vec<Operation>)> {
        self.tables.into_values().map(|table| {
            let operations = table.writes.iter().filter_map(|(key, write)| write.operation(key)).collect();
            (table.relation, operations)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::{EdmValue, PropertyName};

    fn table() -> Arc<Relation> {
        Arc::new(Relation::for_tests("orders"))
    }

    fn now() -> EdmDateTime {
        EdmDateTime::from_unix_micros(0).unwrap()
    }

    fn properties(pairs: &[(&str, i32)]) -> Properties {
        pairs.iter().map(|(n, v)| (PropertyName::parse(n).unwrap(), EdmValue::Int32(*v))).collect()
    }

    fn stored(row: &str, pairs: &[(&str, i32)]) -> StoredEntity {
        let entity = Entity::new(EntityKey::parse("p", row).unwrap(), properties(pairs));
        StoredEntity { entity, timestamp: now(), etag: ETag::of_timestamp(now()) }
    }

    fn operations(set: WriteSet) -> Vec<Operation> {
        set.into_operations().flat_map(|(_, operations)| operations).collect()
    }

    #[test]
    fn an_insert_taken_back_leaves_nothing() {
        let mut set = WriteSet::default();
        let entity = stored("1", &[("a", 1)]).entity;
        set.insert(&table(), entity.clone(), now()).unwrap();
        assert_eq!(set.operations(), 1);
        set.delete(&table(), entity.key, &ETag::of_timestamp(now()), now()).unwrap();
        assert!(set.is_empty());
        assert_eq!(set.payload_bytes(), 0);
        assert!(operations(set).is_empty());
    }

    #[test]
    fn updates_of_one_entity_fold_into_one_merge() {
        let mut set = WriteSet::default();
        let base = stored("1", &[("a", 1), ("b", 1)]);
        set.update(&table(), &base, properties(&[("a", 2), ("b", 1)]), Some(properties(&[("a", 2)])), now()).unwrap();
        set.update(&table(), &base, properties(&[("a", 2), ("b", 3)]), Some(properties(&[("b", 3)])), now()).unwrap();
        assert_eq!(set.operations(), 1);
        let expected = Operation::Merge(
            Entity::new(base.entity.key.clone(), properties(&[("a", 2), ("b", 3)])),
            IfMatch::ETag(base.etag.clone()),
        );
        assert_eq!(operations(set), [expected]);
    }

    #[test]
    fn an_update_after_a_removal_stays_a_replace() {
        let mut set = WriteSet::default();
        let base = stored("1", &[("a", 1), ("b", 1)]);
        set.update(&table(), &base, properties(&[("b", 1)]), None, now()).unwrap();
        set.update(&table(), &base, properties(&[("b", 2)]), Some(properties(&[("b", 2)])), now()).unwrap();
        assert!(
            matches!(operations(set).as_slice(), [Operation::Replace(entity, _)] if entity.properties == properties(&[("b", 2)]))
        );
    }

    #[test]
    fn delete_then_insert_replaces_the_version_that_was_read() {
        let mut set = WriteSet::default();
        let base = stored("1", &[("a", 1)]);
        set.delete(&table(), base.entity.key.clone(), &base.etag, now()).unwrap();
        set.insert(&table(), stored("1", &[("c", 3)]).entity, now()).unwrap();
        assert!(
            matches!(operations(set).as_slice(), [Operation::Replace(_, IfMatch::ETag(etag))] if *etag == base.etag)
        );
    }
}
