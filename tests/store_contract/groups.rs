//! Groups of batches: atomic over tables and partitions.

use std::sync::Arc;

use tablegate::store::model::{EdmValue, TableName};
use tablegate::store::table::{GroupError, IfMatch, Operation, Rejection, StoreError, Written};

use crate::store_contract::harness::{
    Scan, Store, batch, entity, get, insert_all, int, key, properties, stored, table, write,
};

async fn two_tables(store: &Store) -> (TableName, TableName) {
    let (first, second) = (table("First"), table("Second"));
    store.create_table(&first).await.unwrap();
    store.create_table(&second).await.unwrap();
    (first, second)
}

pub(super) async fn a_group_spans_tables_and_partitions(store: &Store) {
    assert!(store.promises().atomic_groups);
    let (first, second) = two_tables(store).await;
    write(store, &first, Operation::Insert(entity("p", "old", [("a", int(1))]))).await;
    let group = vec![
        batch(
            &first,
            vec![
                Operation::Delete(key("p", "old"), IfMatch::Any),
                Operation::Insert(entity("p", "new", [("a", int(1))])),
            ],
        ),
        batch(&first, vec![Operation::Insert(entity("q", "r", [("b", int(2))]))]),
        batch(&second, vec![Operation::InsertOrMerge(entity("p", "r", [("c", int(3))]))]),
    ];
    let outcome = store.commit_group(group).await.unwrap();
    assert_eq!(outcome.iter().map(Vec::len).collect::<Vec<_>>(), [2, 1, 1]);
    assert_eq!(outcome[0][0], Written::Deleted);
    let found = get(store, &second, &key("p", "r")).await.unwrap();
    assert_eq!(outcome[2][0], Written::Entity { etag: found.etag, timestamp: found.timestamp });
    assert_eq!(Scan::of(&first).run(store).await.keys(), [key("p", "new"), key("q", "r")]);
    assert!(store.reader().observed_schema(&second).await.unwrap().get("c").is_some());
}

pub(super) async fn a_rejected_group_writes_nothing(store: &Store) {
    let (first, second) = two_tables(store).await;
    write(store, &second, Operation::Insert(entity("p", "there", []))).await;
    let group = vec![
        batch(&first, vec![Operation::Insert(entity("p", "1", []))]),
        batch(&second, vec![Operation::Insert(entity("p", "new", [])), Operation::Insert(entity("p", "there", []))]),
        batch(&first, vec![Operation::Delete(key("q", "missing"), IfMatch::Any)]),
    ];
    match store.commit_group(group).await {
        Err(GroupError::Rejected { batch: 1, index: 1, key: found, reason: Rejection::EntityExists }) => {
            assert_eq!(found, key("p", "there"));
        }
        other => panic!("{other:?}"),
    }
    assert!(Scan::of(&first).run(store).await.keys().is_empty());
    assert_eq!(Scan::of(&second).run(store).await.keys(), [key("p", "there")]);
}

pub(super) async fn a_group_with_a_missing_table_writes_nothing(store: &Store) {
    let (first, _) = two_tables(store).await;
    let gone = table("Gone");
    let group = vec![
        batch(&first, vec![Operation::Insert(entity("p", "1", []))]),
        batch(&gone, vec![Operation::Insert(entity("p", "1", []))]),
    ];
    let result = store.commit_group(group).await;
    assert!(matches!(result, Err(GroupError::Store(StoreError::TableMissing(name))) if name == gone));
    assert!(Scan::of(&first).run(store).await.keys().is_empty());
}

pub(super) async fn a_key_occurs_once_in_a_group(store: &Store) {
    let (first, _) = two_tables(store).await;
    let group = vec![
        batch(&first, vec![Operation::Insert(entity("p", "1", []))]),
        // The same table, spelled differently.
        batch(
            &table("FIRST"),
            vec![Operation::Insert(entity("p", "2", [])), Operation::InsertOrMerge(entity("p", "1", []))],
        ),
    ];
    match store.commit_group(group).await {
        Err(GroupError::DuplicateKey { table, key: found }) => {
            assert_eq!((table, found), (first.clone(), key("p", "1")));
        }
        other => panic!("{other:?}"),
    }
    assert!(Scan::of(&first).run(store).await.keys().is_empty());
}

pub(super) async fn the_same_key_in_two_tables_is_two_keys(store: &Store) {
    let (first, second) = two_tables(store).await;
    let insert = |table: &TableName, v| batch(table, vec![Operation::Insert(entity("p", "r", [("a", int(v))]))]);
    store.commit_group(vec![insert(&first, 1), insert(&second, 2)]).await.unwrap();
    assert_eq!(stored(store, &first, &key("p", "r")).await, properties([("a", int(1))]));
    assert_eq!(stored(store, &second, &key("p", "r")).await, properties([("a", int(2))]));
}

pub(super) async fn batches_of_one_partition_can_share_a_group(store: &Store) {
    let (first, _) = two_tables(store).await;
    let hundred = |from: i32| {
        let insert = |i: i32| Operation::Insert(entity("p", &format!("{i:03}"), [("a", int(i))]));
        batch(&first, (from..from + 100).map(insert).collect())
    };
    store.commit_group((0..5).map(|i| hundred(i * 100)).collect()).await.unwrap();
    assert_eq!(Scan::of(&first).run(store).await.keys().len(), 500);
}

pub(super) async fn an_empty_group_is_nothing(store: &Store) {
    assert!(store.commit_group(Vec::new()).await.unwrap().is_empty());
}

pub(super) async fn readers_see_a_group_whole(store: &Store) {
    let (first, second) = two_tables(store).await;
    for name in [&first, &second] {
        insert_all(store, name, [entity("p", "r", [("n", int(0))])]).await;
    }
    let writer = {
        let (store, first, second) = (Arc::clone(store), first.clone(), second.clone());
        tokio::spawn(async move {
            for n in 1..=100 {
                let set = |table| batch(table, vec![Operation::InsertOrReplace(entity("p", "r", [("n", int(n))]))]);
                store.commit_group(vec![set(&first), set(&second)]).await.unwrap();
                tokio::task::yield_now().await;
            }
        })
    };
    let mut finished = false;
    while !finished {
        finished = writer.is_finished();
        let reader = store.reader();
        let mut seen = Vec::new();
        for name in [&first, &second] {
            let found = reader.get(name, &key("p", "r")).await.unwrap().unwrap();
            seen.push(found.entity.properties.get("n").cloned());
        }
        assert!(matches!(seen[0], Some(EdmValue::Int32(_))) && seen[0] == seen[1], "{seen:?}");
    }
    writer.await.unwrap();
    assert_eq!(stored(store, &second, &key("p", "r")).await, properties([("n", int(100))]));
}
