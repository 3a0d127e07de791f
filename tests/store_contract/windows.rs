//! Windows: many batches handed over together, each on its own.

use std::sync::Arc;

use tablegate::store::model::{EntityKey, TableName};
use tablegate::store::table::{Batch, CommitError, IfMatch, Operation, Rejection, StoreError, WindowOutcome, Written};

use crate::store_contract::harness::{
    Durable, Scan, Store, batch, entity, get, int, is, key, new_table, properties, stale_etag, stored, system_clock,
    table, write, write_etag,
};
use crate::support::rng::Rng;

fn insert(table: &TableName, partition: &str, row: &str, n: i32) -> Batch {
    batch(table, vec![Operation::Insert(entity(partition, row, [("n", int(n))]))])
}

/// What became of each, in a word.
fn words(outcome: &WindowOutcome) -> Vec<String> {
    let word = |result: &Result<Vec<Written>, CommitError>| match result {
        Ok(written) => format!("{} written", written.len()),
        Err(CommitError::Rejected { index, key, reason }) => format!("{index} {key}: {reason}"),
        Err(CommitError::Store(error)) => error.to_string(),
    };
    outcome.iter().map(word).collect()
}

pub(super) async fn a_refused_batch_leaves_the_others_as_they_are(store: &Store) {
    let orders = new_table(store).await;
    write(store, &orders, Operation::Insert(entity("there", "1", []))).await;
    let gone = table("Gone");
    let outcome = store
        .commit_window(vec![
            insert(&orders, "a", "1", 1),
            // Its first operation alone would be taken.
            batch(&orders, ["0", "1"].map(|row| Operation::Insert(entity("there", row, []))).to_vec()),
            insert(&gone, "a", "1", 1),
            batch(&orders, vec![Operation::Delete(key("missing", "1"), IfMatch::Any)]),
            insert(&orders, "b", "1", 2),
        ])
        .await;
    assert!(matches!(&outcome[..], [Ok(_), Err(_), Err(_), Err(_), Ok(_)]), "{outcome:?}");
    assert!(matches!(
        &outcome[1],
        Err(CommitError::Rejected { index: 1, key: found, reason: Rejection::EntityExists }) if *found == key("there", "1")
    ));
    assert!(matches!(&outcome[2], Err(CommitError::Store(StoreError::TableMissing(name))) if *name == gone));
    assert!(matches!(&outcome[3], Err(CommitError::Rejected { index: 0, reason: Rejection::EntityMissing, .. })));
    assert_eq!(Scan::of(&orders).run(store).await.keys(), [key("a", "1"), key("b", "1"), key("there", "1")]);
    let found = get(store, &orders, &key("b", "1")).await.unwrap();
    let Ok(written) = &outcome[4] else { panic!("{outcome:?}") };
    let [Written::Entity { etag, .. }] = &written[..] else { panic!("{written:?}") };
    assert_eq!(*etag, found.etag);
}

pub(super) async fn a_window_of_refused_batches_writes_nothing(store: &Store) {
    let orders = new_table(store).await;
    write(store, &orders, Operation::Insert(entity("p", "1", [("n", int(0))]))).await;
    let outcome = store.commit_window((0..3).map(|n| insert(&orders, "p", "1", n)).collect()).await;
    assert!(outcome.iter().all(Result::is_err), "{outcome:?}");
    assert_eq!(stored(store, &orders, &key("p", "1")).await, properties([("n", int(0))]));
}

/// Those of one partition meet what was written before them, in the order given.
pub(super) async fn a_key_may_occur_in_several_batches_of_a_window(store: &Store) {
    let orders = new_table(store).await;
    let one = |operation| batch(&orders, vec![operation]);
    let version = write_etag(store, &orders, Operation::Insert(entity("q", "1", [("n", int(0))]))).await;
    let replace = |n| Operation::Replace(entity("q", "1", [("n", int(n))]), is(&version));
    let outcome = store
        .commit_window(vec![
            insert(&orders, "p", "1", 1),
            one(Operation::Merge(entity("p", "1", [("m", int(2))]), IfMatch::Any)),
            insert(&orders, "p", "1", 3),
            one(Operation::Delete(key("p", "1"), IfMatch::Any)),
            one(replace(1)),
            one(Operation::Delete(key("p", "1"), IfMatch::Any)),
            one(Operation::InsertOrMerge(entity("p", "1", [("k", int(4))]))),
            one(replace(2)),
        ])
        .await;
    let taken: Vec<bool> = outcome.iter().map(Result::is_ok).collect();
    assert_eq!(taken, [true, true, false, true, true, false, true, false], "{outcome:?}");
    assert_eq!(stored(store, &orders, &key("p", "1")).await, properties([("k", int(4))]));
    assert_eq!(stored(store, &orders, &key("q", "1")).await, properties([("n", int(1))]));
}

pub(super) async fn a_window_spans_tables_and_partitions(store: &Store) {
    let (first, second) = (new_table(store).await, table("Second"));
    store.create_table(&second).await.unwrap();
    let hundred = |table: &TableName, partition: &str| {
        let insert = |i| Operation::Insert(entity(partition, &format!("{i:03}"), [("n", int(i))]));
        batch(table, (0..100).map(insert).collect())
    };
    let mut window: Vec<Batch> = ["c", "a", "b"].iter().map(|partition| hundred(&first, partition)).collect();
    window.push(hundred(&second, "a"));
    window.extend((0..40).map(|i| insert(&second, &format!("{:02}", i * 7 % 40), "", i)));
    let outcome = store.commit_window(window).await;
    let written: Vec<usize> = outcome.iter().map(|result| result.as_ref().unwrap().len()).collect();
    assert_eq!((written[..4].to_vec(), written[4..].iter().sum()), (vec![100; 4], 40_usize));
    assert_eq!(Scan::of(&first).run(store).await.keys().len(), 300);
    assert_eq!(Scan::of(&second).run(store).await.keys().len(), 140);
}

pub(super) async fn an_empty_window_is_nothing(store: &Store) {
    assert!(store.commit_window(Vec::new()).await.is_empty());
}

pub(super) async fn a_window_whose_caller_leaves_has_whole_batches(store: &Store) {
    let orders = new_table(store).await;
    for round in 0..5 {
        let partition = |i: i32| format!("{round}-{i}");
        let row = |i: i32, row: i32| Operation::Insert(entity(&partition(i), &row.to_string(), []));
        let window = (0..10).map(|i| batch(&orders, (0..20).map(|r| row(i, r)).collect())).collect();
        // Polled at most once, then dropped.
        let _ = tokio::time::timeout(std::time::Duration::ZERO, store.commit_window(window)).await;
    }
    let keys = Scan::of(&orders).run(store).await.keys();
    let rows_of = |key: &EntityKey| keys.iter().filter(|other| other.partition == key.partition).count();
    assert!(keys.iter().all(|key| rows_of(key) == 20), "{keys:?}");
}

/// The same batches, one by one into one table and in windows into another.
pub(super) async fn a_window_comes_to_what_its_batches_come_to_alone(store: &Store) {
    for round in 0..12 {
        let mut rng = Rng::of_case(0x5eed, round);
        let tables = ["Alone", "Together"].map(|name| table(&format!("{name}{round}")));
        for table in &tables {
            store.create_table(table).await.unwrap();
        }
        let steps: Vec<Step> = (0..30).map(|_| step(&mut rng)).collect();
        let of_table = |table: &TableName| steps.iter().map(|step| random_batch(table, step)).collect::<Vec<_>>();
        let mut alone = WindowOutcome::new();
        for batch in of_table(&tables[0]) {
            alone.push(store.commit(batch).await);
        }
        let together = store.commit_window(of_table(&tables[1])).await;
        assert_eq!(words(&together), words(&alone), "{steps:?}");
        let [one, other] = [&tables[0], &tables[1]].map(|table| async { contents(store, table).await });
        assert_eq!(other.await, one.await, "{steps:?}");
        let sizes = tables.each_ref().map(|table| store.reader().estimate(table).unwrap());
        assert_eq!(sizes[0], sizes[1], "they are counted alike");
    }
}

/// A partition, and operations on rows of it: row, kind, value.
type Step = (usize, Vec<(usize, usize, i32)>);

fn step(rng: &mut Rng) -> Step {
    let mut operations = Vec::new();
    for row in 0..3 {
        if row == 0 || rng.percent(50) {
            operations.push((row, rng.below(8), i32::try_from(rng.below(100)).unwrap()));
        }
    }
    (rng.below(4), operations)
}

fn random_batch(table: &TableName, (partition, operations): &Step) -> Batch {
    let partition = format!("p{partition}");
    let operation = |(row, kind, n): &(usize, usize, i32)| {
        let name = if n % 2 == 0 { "even" } else { "odd" };
        let entity = entity(&partition, &row.to_string(), [(name, int(*n))]);
        match kind {
            0..=2 => Operation::Insert(entity),
            3 => Operation::Merge(entity, IfMatch::Any),
            4 => Operation::Replace(entity, IfMatch::Any),
            5 => Operation::InsertOrMerge(entity),
            6 => Operation::InsertOrReplace(entity),
            _ if n % 5 == 0 => Operation::Delete(entity.key, is(&stale_etag())),
            _ => Operation::Delete(entity.key, IfMatch::Any),
        }
    };
    batch(table, operations.iter().map(operation).collect())
}

async fn contents(store: &Store, table: &TableName) -> Vec<String> {
    let mut contents = Vec::new();
    for key in Scan::of(table).run(store).await.keys() {
        contents.push(format!("{key} {:?}", stored(store, table, &key).await));
    }
    contents
}

/// Where the store promises groups, a reader sees none or all of a window.
pub(super) async fn readers_see_a_window_at_once(store: &Store) {
    let orders = new_table(store).await;
    let set = |n: i32| {
        let set = |i: i32| Operation::InsertOrReplace(entity(&i.to_string(), "", [("n", int(n))]));
        (0..20).map(|i| batch(&orders, vec![set(i)])).collect::<Vec<_>>()
    };
    assert!(store.commit_window(set(0)).await.iter().all(Result::is_ok));
    let writer = {
        let (store, windows) = (Arc::clone(store), (1..=50).map(set).collect::<Vec<_>>());
        tokio::spawn(async move {
            for window in windows {
                assert!(store.commit_window(window).await.iter().all(Result::is_ok));
                tokio::task::yield_now().await;
            }
        })
    };
    let mut finished = false;
    while !finished {
        finished = writer.is_finished();
        let reader = store.reader();
        let mut seen = Vec::new();
        for i in [0, 7, 19] {
            let found = reader.get(&orders, &key(&i.to_string(), "")).await.unwrap().unwrap();
            seen.push(found.entity.properties.get("n").cloned());
        }
        assert!(seen[0].is_some() && seen.iter().all(|n| *n == seen[0]), "{seen:?}");
    }
    writer.await.unwrap();
}

pub(super) async fn timestamps_rise_within_a_window(store: &Store) {
    let orders = new_table(store).await;
    let outcome = store.commit_window((0..100).map(|i| insert(&orders, &format!("{i:03}"), "", i)).collect()).await;
    let times = outcome.into_iter().flat_map(|result| result.unwrap()).map(|written| match written {
        Written::Entity { timestamp, .. } => timestamp,
        Written::Deleted => panic!("nothing was deleted"),
    });
    assert!(times.collect::<Vec<_>>().is_sorted_by(|one, next| one < next));
}

pub(super) async fn a_window_is_there_after_reopening<B: Durable>() {
    let backend = B::create(system_clock()).await;
    let orders = new_table(backend.store()).await;
    // The last one meets the first, so that the window is written in two.
    let mut window: Vec<Batch> = (0..500).map(|i| insert(&orders, &format!("{:03}", i * 7 % 500), "", i)).collect();
    window.push(batch(&orders, vec![Operation::Merge(entity("000", "", [("m", int(1))]), IfMatch::Any)]));
    assert!(backend.store().commit_window(window).await.iter().all(Result::is_ok));
    let before = contents(backend.store(), &orders).await;
    let size = backend.store().reader().estimate(&orders).unwrap();
    let backend = backend.reopen(system_clock()).await;
    assert_eq!(contents(backend.store(), &orders).await, before);
    assert_eq!((before.len(), backend.store().reader().estimate(&orders).unwrap()), (500, size));
}
