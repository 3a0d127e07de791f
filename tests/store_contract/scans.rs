//! Scans: their order, what they read, and the moment they see.

use std::collections::BTreeSet;
use std::sync::Arc;

use futures::StreamExt;
use tablegate::store::model::{Cut, EdmValue, Entity, EntityKey, Span};
use tablegate::store::table::{ColumnType, Direction, IfMatch, KeyRange, Operation, ScanColumn};

use crate::store_contract::harness::{
    Scan, Store, entity, get, insert_all, int, key, keys_of, new_table, next_batch, properties, property, table, text,
    write,
};

/// A thousand entities in one partition.
fn thousand() -> impl Iterator<Item = Entity> {
    (0..1000).map(|i| entity("p", &format!("{i:04}"), [("a", int(i))]))
}

pub(super) async fn order_is_utf8_bytes_in_both_directions(store: &Store) {
    let orders = new_table(store).await;
    // Neither UTF-16 order (an astral character before U+FF5E), nor a collation, nor keys run together, gives this.
    let texts = [
        "",
        " ",
        "!",
        "$",
        "0",
        "1",
        "10",
        "2",
        "A",
        "Z",
        "_",
        "a",
        "a ",
        "a!",
        "aa",
        "ab",
        "b",
        "bB",
        "~",
        "\u{a0}",
        "e\u{301}",
        "é",
        "ß",
        "漢",
        "\u{d7ff}",
        "\u{e000}",
        "\u{ff5e}",
        "\u{ffff}",
        "\u{1f600}",
        "\u{10ffff}",
    ];
    let mut expected = BTreeSet::new();
    for partition in texts {
        insert_all(store, &orders, texts.iter().rev().map(|row| entity(partition, row, []))).await;
        expected.extend(texts.iter().map(|row| (partition.as_bytes(), row.as_bytes())));
    }
    let as_key = |(p, r): &(&[u8], &[u8])| key(str::from_utf8(p).unwrap(), str::from_utf8(r).unwrap());
    let mut expected: Vec<EntityKey> = expected.iter().map(as_key).collect();
    assert_eq!(Scan::of(&orders).batch_rows(7).run(store).await.keys(), expected);
    expected.reverse();
    let reverse = Scan::of(&orders).batch_rows(7).direction(Direction::Reverse);
    assert_eq!(reverse.run(store).await.keys(), expected);
}

pub(super) async fn an_empty_table_yields_nothing(store: &Store) {
    let orders = new_table(store).await;
    let scanned = Scan::of(&orders).run(store).await;
    assert!(scanned.batches.is_empty() && scanned.entities_scanned == 0);
    // Also one that is empty again.
    write(store, &orders, Operation::Insert(entity("p", "r", []))).await;
    write(store, &orders, Operation::Delete(key("p", "r"), IfMatch::Any)).await;
    let scanned = Scan::of(&orders).run(store).await;
    assert!(scanned.batches.is_empty() && scanned.entities_scanned == 0);
}

pub(super) async fn no_range_reads_nothing(store: &Store) {
    let orders = new_table(store).await;
    insert_all(store, &orders, thousand()).await;
    let scanned = Scan::of(&orders).ranges([]).run(store).await;
    assert!(scanned.batches.is_empty() && scanned.entities_scanned == 0);
}

pub(super) async fn a_limit_reads_no_more_entities_than_it_returns(store: &Store) {
    let orders = new_table(store).await;
    insert_all(store, &orders, thousand()).await;
    // Where reading backwards is no promise it may read everything.
    let backwards = store.promises().reverse_scans.then_some(Direction::Reverse);
    for direction in [Some(Direction::Forward), backwards].into_iter().flatten() {
        for (limit, batch_rows) in [(10, 1000), (10, 3), (10, 10), (999, 100)] {
            let scan = Scan::of(&orders).direction(direction).limit(limit).batch_rows(batch_rows);
            let scanned = scan.run(store).await;
            assert_eq!((scanned.keys().len(), scanned.entities_scanned), (limit, limit as u64));
        }
    }
    assert_eq!(Scan::of(&orders).limit(0).run(store).await.entities_scanned, 0);
    assert_eq!(Scan::of(&orders).limit(5000).run(store).await.entities_scanned, 1000);
}

pub(super) async fn batches_hold_at_most_the_asked_for_rows(store: &Store) {
    let orders = new_table(store).await;
    insert_all(store, &orders, thousand()).await;
    for batch_rows in [1, 7, 999, 1000, 5000] {
        let scanned = Scan::of(&orders).batch_rows(batch_rows).run(store).await;
        assert!(scanned.batches.iter().all(|batch| batch.num_rows() <= batch_rows));
        assert_eq!(scanned.keys().len(), 1000);
    }
}

pub(super) async fn long_values_do_not_make_huge_batches(store: &Store) {
    let orders = new_table(store).await;
    let long = EdmValue::Binary(vec![1; 65_536].into());
    let row = |i: i32| entity("p", &format!("{i:04}"), [("a", long.clone())]);
    insert_all(store, &orders, (0..400).map(row)).await;
    let scanned = Scan::of(&orders).property("a", ColumnType::Binary).batch_rows(100_000).run(store).await;
    assert_eq!(scanned.batches.iter().map(|batch| batch.num_rows()).sum::<usize>(), 400);
    assert!(scanned.batches.iter().all(|batch| batch.num_rows() <= 256), "16 MiB is enough for a batch");
}

pub(super) async fn nothing_is_read_before_the_first_poll(store: &Store) {
    let orders = new_table(store).await;
    insert_all(store, &orders, thousand()).await;
    let (stream, stats) = Scan::of(&orders).start(&store.reader()).unwrap();
    assert_eq!(stats.entities_scanned(), 0);
    drop(stream);
    assert_eq!(stats.entities_scanned(), 0);
}

pub(super) async fn a_dropped_scan_stops_reading(store: &Store) {
    let orders = new_table(store).await;
    insert_all(store, &orders, thousand()).await;
    let (mut stream, stats) = Scan::of(&orders).batch_rows(10).start(&store.reader()).unwrap();
    assert_eq!(next_batch(&mut stream).await.num_rows(), 10);
    drop(stream);
    assert!(stats.entities_scanned() <= 500, "{} entities read ahead", stats.entities_scanned());
}

pub(super) async fn a_point_reads_one_entity(store: &Store) {
    let orders = new_table(store).await;
    insert_all(store, &orders, thousand()).await;
    let point = |row: &str| KeyRange { partitions: Span::point("p"), rows: Arc::new([Span::point(row)]) };
    let found = Scan::of(&orders).ranges([point("0500")]).run(store).await;
    assert_eq!((found.keys(), found.entities_scanned), (vec![key("p", "0500")], 1));
    let missing = Scan::of(&orders).ranges([point("0500 ")]).run(store).await;
    assert_eq!((missing.keys(), missing.entities_scanned), (vec![], 0));
}

pub(super) async fn a_row_range_reads_exactly_its_rows(store: &Store) {
    let orders = new_table(store).await;
    insert_all(store, &orders, thousand()).await;
    insert_all(store, &orders, [entity("o", "0500", []), entity("q", "0500", [])]).await;
    let spans = [Span { from: Cut::After("0099".into()), to: Cut::Before("0200".into()) }, Span::prefix("05")];
    let range = KeyRange { partitions: Span::point("p"), rows: Arc::new(spans) };
    for direction in [Direction::Forward, Direction::Reverse] {
        let scanned = Scan::of(&orders).ranges([range.clone()]).direction(direction).run(store).await;
        assert_eq!((scanned.keys().len(), scanned.entities_scanned), (200, 200));
    }
}

pub(super) async fn a_reader_is_a_snapshot(store: &Store) {
    let orders = new_table(store).await;
    insert_all(store, &orders, [entity("p", "changed", [("a", int(1))]), entity("p", "deleted", [])]).await;
    let before = store.reader();
    write(store, &orders, Operation::InsertOrReplace(entity("p", "changed", [("b", int(2))]))).await;
    write(store, &orders, Operation::Delete(key("p", "deleted"), IfMatch::Any)).await;
    write(store, &orders, Operation::Insert(entity("p", "added", []))).await;
    store.create_table(&table("Later")).await.unwrap();

    assert_eq!(Scan::of(&orders).try_run(&before).await.unwrap().keys(), [key("p", "changed"), key("p", "deleted")]);
    let changed = before.get(&orders, &key("p", "changed")).await.unwrap().unwrap();
    assert_eq!(changed.entity.properties, properties([("a", int(1))]));
    assert!(before.get(&orders, &key("p", "deleted")).await.unwrap().is_some());
    assert_eq!(before.list_tables().await.unwrap(), std::slice::from_ref(&orders));
    assert_eq!(Scan::of(&orders).run(store).await.keys(), [key("p", "added"), key("p", "changed")]);
}

pub(super) async fn a_scan_in_progress_does_not_see_later_writes(store: &Store) {
    let orders = new_table(store).await;
    insert_all(store, &orders, thousand()).await;
    let columns = [ScanColumn::PartitionKey, ScanColumn::RowKey, property("a", ColumnType::Text)];
    let (mut stream, _) = Scan::of(&orders).columns(columns).batch_rows(100).start(&store.reader()).unwrap();
    let mut keys = keys_of(&next_batch(&mut stream).await);
    for i in (0..1000).step_by(10) {
        let row = format!("{i:04}");
        write(store, &orders, Operation::InsertOrReplace(entity("p", &row, [("a", text("later"))]))).await;
        write(store, &orders, Operation::Insert(entity("p", &format!("{row}-new"), []))).await;
        write(store, &orders, Operation::Delete(key("p", &format!("{:04}", i + 1)), IfMatch::Any)).await;
    }
    while let Some(batch) = stream.next().await {
        let batch = batch.unwrap();
        let values = arrow::array::AsArray::as_string::<i32>(batch.column(2));
        assert!(values.iter().flatten().all(|value| value != "later"));
        keys.extend(keys_of(&batch));
    }
    assert_eq!(keys, thousand().map(|entity| entity.key).collect::<Vec<_>>());
    assert!(get(store, &orders, &key("p", "0001")).await.is_none());
}

pub(super) async fn a_reader_is_a_snapshot_of_all_tables(store: &Store) {
    let (first, second) = (table("First"), table("Second"));
    for name in [&first, &second] {
        store.create_table(name).await.unwrap();
    }
    let before = store.reader();
    for name in [&first, &second] {
        write(store, name, Operation::Insert(entity("p", "r", []))).await;
    }
    for name in [&first, &second] {
        assert_eq!(before.get(name, &key("p", "r")).await.unwrap(), None);
    }
}
