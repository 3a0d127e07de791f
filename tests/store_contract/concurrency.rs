//! Many writers and readers at once.

use std::sync::Arc;

use tablegate::store::model::{ETag, EdmValue, TableName};
use tablegate::store::table::{CommitError, IfMatch, Operation, Rejection, ScanColumn};
use tokio::task::JoinSet;

use crate::store_contract::harness::{
    Scan, Store, batch, entity, get, insert_all, int, is, key, new_table, properties, stored, write, write_etag,
};

const WRITERS: i32 = 8;

/// How many of several operations, committed at once, are accepted; the others must be rejected with `reason`.
async fn winners(
    store: &Store,
    table: &TableName,
    reason: Rejection,
    operation: impl Fn(i32) -> Operation,
) -> Vec<i32> {
    let mut commits = JoinSet::new();
    for writer in 0..WRITERS {
        let (store, batch) = (Arc::clone(store), batch(table, vec![operation(writer)]));
        commits.spawn(async move { (writer, store.commit(batch).await) });
    }
    let mut winners = Vec::new();
    for (writer, result) in commits.join_all().await {
        match result {
            Ok(_) => winners.push(writer),
            Err(CommitError::Rejected { reason: found, .. }) => assert_eq!(found, reason),
            Err(error) => panic!("{error}"),
        }
    }
    winners
}

pub(super) async fn one_of_many_conditional_writers_wins(store: &Store) {
    let orders = new_table(store).await;
    for _ in 0..20 {
        let etag = write_etag(store, &orders, Operation::InsertOrReplace(entity("p", "r", []))).await;
        let replace = |writer| Operation::Replace(entity("p", "r", [("winner", int(writer))]), is(&etag));
        let winners = winners(store, &orders, Rejection::ETagMismatch, replace).await;
        assert_eq!(winners.len(), 1);
        assert_eq!(stored(store, &orders, &key("p", "r")).await, properties([("winner", int(winners[0]))]));
    }
}

pub(super) async fn one_of_many_inserts_wins(store: &Store) {
    let orders = new_table(store).await;
    for round in 0..20 {
        let row = round.to_string();
        let insert = |writer| Operation::Insert(entity("p", &row, [("winner", int(writer))]));
        let winners = winners(store, &orders, Rejection::EntityExists, insert).await;
        assert_eq!(winners.len(), 1);
        assert_eq!(stored(store, &orders, &key("p", &row)).await, properties([("winner", int(winners[0]))]));
    }
}

pub(super) async fn retried_increments_are_never_lost(store: &Store) {
    let orders = new_table(store).await;
    write(store, &orders, Operation::Insert(entity("p", "r", [("n", int(0))]))).await;
    let mut writers = JoinSet::new();
    for _ in 0..WRITERS {
        let (store, orders) = (Arc::clone(store), orders.clone());
        writers.spawn(async move {
            for _ in 0..20 {
                increment(&store, &orders).await;
            }
        });
    }
    writers.join_all().await;
    assert_eq!(stored(store, &orders, &key("p", "r")).await, properties([("n", int(20 * WRITERS))]));
}

/// Adds one to "n", again and again until nobody came between reading and writing.
async fn increment(store: &Store, orders: &TableName) {
    loop {
        let found = get(store, orders, &key("p", "r")).await.unwrap();
        let Some(EdmValue::Int32(n)) = found.entity.properties.get("n") else { panic!("n is missing") };
        let merge = Operation::Merge(entity("p", "r", [("n", int(n + 1))]), is(&found.etag));
        match store.commit(batch(orders, vec![merge])).await {
            Ok(_) => return,
            Err(CommitError::Rejected { reason: Rejection::ETagMismatch, .. }) => tokio::task::yield_now().await,
            Err(error) => panic!("{error}"),
        }
    }
}

pub(super) async fn an_acknowledged_commit_is_seen_by_later_readers(store: &Store) {
    let orders = new_table(store).await;
    let mut writers = JoinSet::new();
    for writer in 0..WRITERS {
        let (store, orders) = (Arc::clone(store), orders.clone());
        writers.spawn(async move {
            for i in 0..25 {
                let at = key(&writer.to_string(), &i.to_string());
                write(&store, &orders, Operation::Insert(entity(&writer.to_string(), &i.to_string(), []))).await;
                assert!(get(&store, &orders, &at).await.is_some(), "{at} was acknowledged");
            }
        });
    }
    writers.join_all().await;
    assert_eq!(Scan::of(&orders).run(store).await.keys().len(), 200);
}

pub(super) async fn a_commit_whose_caller_leaves_is_whole(store: &Store) {
    let orders = new_table(store).await;
    for round in 0..20 {
        let partition = round.to_string();
        let insert = |i: i32| Operation::Insert(entity(&partition, &i.to_string(), []));
        let commit = store.commit(batch(&orders, (0..50).map(insert).collect()));
        // Polled at most once, then dropped.
        let _ = tokio::time::timeout(std::time::Duration::ZERO, commit).await;
    }
    // A later commit is behind all of them.
    write(store, &orders, Operation::Insert(entity("last", "", []))).await;
    let keys = Scan::of(&orders).run(store).await.keys();
    for round in 0..20 {
        let partition = round.to_string();
        let rows = keys.iter().filter(|key| key.partition.as_str() == partition).count();
        assert!(rows == 0 || rows == 50, "{rows} of 50 rows");
    }
}

pub(super) async fn readers_see_batches_whole(store: &Store) {
    let orders = new_table(store).await;
    insert_all(store, &orders, (0..20).map(|i| entity("p", &i.to_string(), [("n", int(0))]))).await;
    let writer = {
        let (store, orders) = (Arc::clone(store), orders.clone());
        tokio::spawn(async move {
            for n in 1..=50 {
                let set = |i: i32| Operation::Merge(entity("p", &i.to_string(), [("n", int(n))]), IfMatch::Any);
                store.commit(batch(&orders, (0..20).map(set).collect())).await.unwrap();
                tokio::task::yield_now().await;
            }
        })
    };
    let mut finished = false;
    while !finished {
        finished = writer.is_finished();
        let columns = [crate::store_contract::harness::property("n", tablegate::store::table::ColumnType::Int32)];
        let values = Scan::of(&orders).columns(columns).batch_rows(3).run(store).await.column();
        assert_eq!(values.len(), 20);
        assert!(values.iter().all(|value| *value == values[0]), "{values:?}");
    }
    writer.await.unwrap();
    let etags = Scan::of(&orders).columns([ScanColumn::ETag]).run(store).await.column();
    assert!(etags.iter().flatten().all(|etag| matches!(etag, EdmValue::String(text) if ETag::parse(text).is_ok())));
}
