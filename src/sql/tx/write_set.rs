//! The writes a transaction has collected: for each entity, what it was and what it shall be.
//!
//! Several writes to one entity fold into one, so what commits is the net effect: an entity that was inserted and then
//! deleted costs nothing, one that was updated three times costs one operation.

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::model::{ETag, EdmDateTime, Entity, EntityKey, Properties, StoredEntity, TableName};
use crate::sql::reads::OwnWrites;
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
    tables: BTreeMap<TableName, BTreeMap<EntityKey, NetWrite>>,
    operations: usize,
    payload_bytes: usize,
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

    pub fn tables(&self) -> impl Iterator<Item = &TableName> {
        self.tables.iter().filter(|(_, writes)| !writes.is_empty()).map(|(table, _)| table)
    }

    /// The partitions written in a table, in order.
    pub fn partitions<'a>(&'a self, table: &TableName) -> impl Iterator<Item = &'a str> {
        let mut partitions: Vec<&str> =
            self.tables.get(table).into_iter().flatten().map(|(key, _)| key.partition.as_str()).collect();
        partitions.dedup();
        partitions.into_iter()
    }

    /// Adds an entity that the caller knows is not there.
    pub fn insert(&mut self, table: &TableName, entity: Entity, now: EdmDateTime) {
        self.change(table, entity.key, now, None, |write| {
            write.after = Some(entity.properties);
            write.patch = None;
        });
    }

    /// Gives an entity read with `base` its new properties. `patch` are those that changed, when none was removed.
    pub fn update(
        &mut self,
        table: &TableName,
        base: &StoredEntity,
        after: Properties,
        patch: Option<Properties>,
        now: EdmDateTime,
    ) {
        let is_new = !self.holds(table, &base.entity.key);
        self.change(table, base.entity.key.clone(), now, Some(base.etag.clone()), |write| {
            write.after = Some(after);
            write.patch = match (write.patch.take(), patch) {
                (None, Some(patch)) if is_new => Some(patch),
                (Some(mut earlier), Some(patch)) => {
                    earlier.merge(patch);
                    Some(earlier)
                }
                _ => None,
            };
        });
    }

    /// Removes an entity read with this version.
    pub fn delete(&mut self, table: &TableName, key: EntityKey, base: &ETag, now: EdmDateTime) {
        self.change(table, key, now, Some(base.clone()), |write| {
            write.after = None;
            write.patch = None;
        });
    }

    /// The entity as the transaction left it: `None` when it did not touch it, `Some(None)` when it deleted it.
    pub fn image(&self, table: &TableName, key: &EntityKey) -> Option<Option<StoredEntity>> {
        self.tables.get(table)?.get(key).map(|write| write.image(key))
    }

    fn holds(&self, table: &TableName, key: &EntityKey) -> bool {
        self.tables.get(table).is_some_and(|writes| writes.contains_key(key))
    }

    fn change(
        &mut self,
        table: &TableName,
        key: EntityKey,
        now: EdmDateTime,
        base: Option<ETag>,
        apply: impl FnOnce(&mut NetWrite),
    ) {
        let writes = self.tables.entry(table.clone()).or_default();
        let fresh = NetWrite { base, after: None, patch: None, written: now };
        let known = writes.get(&key).is_some();
        let write = writes.entry(key.clone()).or_insert(fresh);
        if known && let Some(operation) = write.operation(&key) {
            self.operations -= 1;
            self.payload_bytes -= payload::operation_bytes(table, &operation);
        }
        apply(write);
        write.written = now;
        match write.operation(&key) {
            Some(operation) => {
                self.operations += 1;
                self.payload_bytes += payload::operation_bytes(table, &operation);
            }
            None => {
                writes.remove(&key);
            }
        }
    }

    /// What readers inside the transaction see of it.
    pub fn own_writes(&self) -> BTreeMap<TableName, Arc<OwnWrites>> {
        let images = |writes: &BTreeMap<EntityKey, NetWrite>| {
            Arc::new(writes.iter().map(|(key, write)| (key.clone(), write.image(key))).collect::<OwnWrites>())
        };
        self.tables.iter().map(|(table, writes)| (table.clone(), images(writes))).collect()
    }

    /// The operations that commit it, by table, in key order.
    pub fn into_operations(self) -> impl Iterator<Item = (TableName, Vec<Operation>)> {
        self.tables.into_iter().map(|(table, writes)| {
            let operations = writes.iter().filter_map(|(key, write)| write.operation(key)).collect();
            (table, operations)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::{EdmValue, PropertyName};

    fn table() -> TableName {
        TableName::parse("orders").unwrap()
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
        set.insert(&table(), entity.clone(), now());
        assert_eq!(set.operations(), 1);
        set.delete(&table(), entity.key, &ETag::of_timestamp(now()), now());
        assert!(set.is_empty());
        assert_eq!(set.payload_bytes(), 0);
        assert!(operations(set).is_empty());
    }

    #[test]
    fn updates_of_one_entity_fold_into_one_merge() {
        let mut set = WriteSet::default();
        let base = stored("1", &[("a", 1), ("b", 1)]);
        set.update(&table(), &base, properties(&[("a", 2), ("b", 1)]), Some(properties(&[("a", 2)])), now());
        set.update(&table(), &base, properties(&[("a", 2), ("b", 3)]), Some(properties(&[("b", 3)])), now());
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
        set.update(&table(), &base, properties(&[("b", 1)]), None, now());
        set.update(&table(), &base, properties(&[("b", 2)]), Some(properties(&[("b", 2)])), now());
        assert!(
            matches!(operations(set).as_slice(), [Operation::Replace(entity, _)] if entity.properties == properties(&[("b", 2)]))
        );
    }

    #[test]
    fn delete_then_insert_replaces_the_version_that_was_read() {
        let mut set = WriteSet::default();
        let base = stored("1", &[("a", 1)]);
        set.delete(&table(), base.entity.key.clone(), &base.etag, now());
        set.insert(&table(), stored("1", &[("c", 3)]).entity, now());
        assert!(
            matches!(operations(set).as_slice(), [Operation::Replace(_, IfMatch::ETag(etag))] if *etag == base.etag)
        );
    }
}
