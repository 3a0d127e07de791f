//! Writes fold, are counted, come back with savepoints, and are not copied.

use super::*;
use datafusion::execution::memory_pool::{GreedyMemoryPool, MemoryPool};
use tablegate_store::model::{EdmValue, PropertyName};
use tablegate_store::table::IfMatch;

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

fn set() -> WriteSet {
    WriteSet::new(space(200, 1 << 30))
}

/// So much for values, and so much for queries.
fn space(limit: usize, query_memory: usize) -> Arc<WriteSpace> {
    let queries = Arc::new(GreedyMemoryPool::new(query_memory));
    WriteSpace::new(limit, std::env::temp_dir(), queries, query_memory)
}

fn operations(set: WriteSet) -> Vec<Operation> {
    set.into_operations().flat_map(|(_, operations)| operations).collect::<SqlResult<_>>().unwrap()
}

#[test]
fn an_insert_taken_back_leaves_nothing() {
    let mut set = set();
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
    let mut set = set();
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
    let mut set = set();
    let base = stored("1", &[("a", 1), ("b", 1)]);
    set.update(&table(), &base, properties(&[("b", 1)]), None, now()).unwrap();
    set.update(&table(), &base, properties(&[("b", 2)]), Some(properties(&[("b", 2)])), now()).unwrap();
    assert!(
        matches!(operations(set).as_slice(), [Operation::Replace(entity, _)] if entity.properties == properties(&[("b", 2)]))
    );
}

#[test]
fn delete_then_insert_replaces_the_version_that_was_read() {
    let mut set = set();
    let base = stored("1", &[("a", 1)]);
    set.delete(&table(), base.entity.key.clone(), &base.etag, now()).unwrap();
    set.insert(&table(), stored("1", &[("c", 3)]).entity, now()).unwrap();
    assert!(matches!(operations(set).as_slice(), [Operation::Replace(_, IfMatch::ETag(etag))] if *etag == base.etag));
}

#[test]
fn a_savepoint_brings_back_rows_and_totals_and_readers_keep_theirs() {
    let mut set = set();
    for row in 0..50 {
        set.insert(&table(), stored(&row.to_string(), &[("a", row)]).entity, now()).unwrap();
    }
    set.settle();
    let (mark, own, bytes) = (set.mark(), set.own_writes(), set.payload_bytes());
    let other = Arc::new(Relation { oid: 2, ..Relation::for_tests("others") });
    set.insert(&other, Entity::new(EntityKey::parse("q", "1").unwrap(), Properties::new()), now()).unwrap();
    for row in 0..40 {
        set.delete(&table(), stored(&row.to_string(), &[]).entity.key, &ETag::of_timestamp(now()), now()).unwrap();
    }
    assert_eq!((set.operations(), set.has_several_tables(), set.has_several_partitions()), (11, true, true));
    let image = |own: &BTreeMap<StoredTable, OwnWrites>| own[&table().stored].get(&stored("7", &[]).entity.key);
    assert!(image(&own).unwrap().is_some_and(|image| image.is_some()), "an earlier reader sees it still");
    assert_eq!(image(&set.own_writes()).unwrap(), None, "a later one sees what the store has");
    set.forget(&table().stored);
    assert_eq!((set.operations(), set.has_several_tables()), (1, false));
    set.restore(&mark);
    assert_eq!((set.operations(), set.payload_bytes(), set.has_several_tables()), (50, bytes, false));
    assert!(image(&set.own_writes()).unwrap().is_some());
    assert_eq!(operations(set).len(), 50);
}

#[test]
fn a_transaction_writes_so_many_bytes_and_no_more() {
    let rows = || ["1", "2"].map(|row| stored(row, &[("a", 1)]).entity);
    let written = |space: Arc<WriteSpace>| {
        let mut set = WriteSet::new(space);
        let written = rows().into_iter().try_for_each(|entity| set.insert(&table(), entity, now()));
        written.map(|()| set.payload_bytes())
    };
    let bytes = written(space(200, 1 << 30)).unwrap();
    assert_eq!(written(space(200, bytes)).unwrap(), bytes);
    let refused = written(space(200, bytes - 1)).unwrap_err();
    assert_eq!(refused.kind, ErrorKind::LimitExceeded);
    for (query_memory, most) in [(1 << 30, "1 GiB"), (8 << 30, "1 GiB"), (100 << 20, "100 MiB")] {
        let refused = too_large(space(200, query_memory).transaction_max());
        assert_eq!(refused.message, format!("a transaction cannot write more than {most}"));
    }
}

/// What has no room fails before anything is collected, and what was taken is given back.
#[test]
fn rows_that_are_written_one_by_one_are_counted() {
    let queries: Arc<dyn MemoryPool> = Arc::new(GreedyMemoryPool::new(100_000));
    let mut set = WriteSet::new(WriteSpace::new(1 << 20, std::env::temp_dir(), Arc::clone(&queries), 1 << 30));
    let mut write = |row: usize| set.insert(&table(), stored(&row.to_string(), &[("a", 1)]).entity, now());
    let refused = (0..1_000).map(&mut write).find_map(Result::err).unwrap();
    assert_eq!(refused.kind, ErrorKind::OutOfMemory);
    let taken = queries.reserved();
    assert!((99_000..=100_000).contains(&taken), "{taken}");
    // A row that is written again takes no more.
    write(200).unwrap_err();
    drop(set);
    assert_eq!(queries.reserved(), 0);
}

#[test]
fn what_commits_is_not_copied() {
    let mut set = WriteSet::new(space(1 << 20, 1 << 30));
    let (name, text) = (PropertyName::parse("a").unwrap(), EdmValue::string("x".repeat(100)));
    let EdmValue::String(text_here) = &text else { panic!("a text") };
    let place = text_here.as_ptr();
    let entity = |row: &str, value| {
        Entity::new(EntityKey::parse("p", row).unwrap(), [(name.clone(), value)].into_iter().collect())
    };
    set.insert(&table(), entity("5", text), now()).unwrap();
    // In runs of their own, as several statements leave them; the last is a recent one.
    for row in 0..40 {
        set.settle();
        set.insert(&table(), entity(&(10 + row).to_string(), EdmValue::Int32(row)), now()).unwrap();
    }
    let place_of = |operations: &[Operation]| {
        let entity = operations.iter().find(|operation| operation.key().row.as_str() == "5")?.entity()?;
        let Some(EdmValue::String(text)) = entity.properties.get("a") else { return None };
        Some(text.as_ptr())
    };
    let committed = operations(set);
    assert_eq!((committed.len(), place_of(&committed)), (41, Some(place)));
    assert!(committed.is_sorted_by_key(|operation| operation.key().clone()));
}

#[test]
fn a_reader_keeps_what_commits() {
    let mut set = set();
    set.insert(&table(), stored("1", &[("a", 1)]).entity, now()).unwrap();
    set.settle();
    let own = set.own_writes();
    set.insert(&table(), stored("2", &[("a", 2)]).entity, now()).unwrap();
    assert_eq!(operations(set).len(), 2);
    let image = own[&table().stored].get(&stored("1", &[]).entity.key).unwrap().unwrap().unwrap();
    assert_eq!(image.entity.properties, properties(&[("a", 1)]));
}

#[test]
fn where_operations_lie_is_counted_anew_when_the_first_place_is_empty() {
    let mut set = set();
    let entity = |partition: &str| Entity::new(EntityKey::parse(partition, "1").unwrap(), Properties::new());
    for partition in ["p", "q"] {
        set.insert(&table(), entity(partition), now()).unwrap();
    }
    assert!(set.has_several_partitions());
    set.delete(&table(), entity("p").key, &ETag::of_timestamp(now()), now()).unwrap();
    set.recount();
    assert!(!set.has_several_partitions());
}
