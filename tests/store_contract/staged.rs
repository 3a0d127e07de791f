//! Rows that are written ahead of their commit, where a store does that.

use std::sync::{Arc, Mutex};

use arrow::array::Int32Array;
use tablegate::store::model::{EntityKeys, TableName};
use tablegate::store::table::{
    Batch, CommitError, EdmColumn, GroupError, IfMatch, NewEntities, Operation, Rejection, SealedRows, StagedRows,
    StoreError, WriteGroup,
};

use crate::store_contract::harness::{
    Durable, Scan, Store, entity, int, key, name, new_table, properties, stored, system_clock, table, write,
};

/// So many rows with a number, each a partition of its own.
fn rows(table: &TableName, range: std::ops::Range<i32>, property: &str) -> NewEntities {
    let mut keys = EntityKeys::default();
    range.clone().for_each(|row| keys.push(&format!("{row:05}"), "").unwrap());
    let numbers = EdmColumn::Int32(Int32Array::from_iter_values(range));
    NewEntities::new(table, keys, vec![(name(property), numbers)]).unwrap()
}

async fn stage(store: &Store, table: &TableName) -> Box<dyn StagedRows> {
    store.stage(table).await.unwrap().expect("the table is empty")
}

async fn count(store: &Store, table: &TableName) -> usize {
    Scan::of(table).run(store).await.keys().len()
}

pub(super) async fn staged_rows_are_in_their_table_at_once(store: &Store) {
    let (orders, others) = (new_table(store).await, table("Others"));
    store.create_table(&others).await.unwrap();
    // What the table had is known of it still.
    write(store, &orders, Operation::Insert(entity("gone", "", [("before", int(1))]))).await;
    write(store, &orders, Operation::Delete(key("gone", ""), IfMatch::Any)).await;
    let staged = stage(store, &orders).await;
    for window in 0..5 {
        staged.write(rows(&orders, window * 400..(window + 1) * 400, &format!("n{window}"))).await.unwrap();
        assert_eq!(count(store, &orders).await, 0, "nobody sees them");
        assert_eq!(store.reader().estimate(&orders).unwrap().unwrap().entities, 0);
    }
    let before = store.reader();
    assert!(staged.publish().await.unwrap());
    assert_eq!(Scan::of(&orders).try_run(&before).await.unwrap().keys().len(), 0, "a reader keeps its moment");
    assert_eq!(count(store, &orders).await, 2_000);
    assert_eq!(stored(store, &orders, &key("00401", "")).await, properties([("n1", int(401))]));
    // They are as if they had been inserted.
    for window in 0..5 {
        let refused = store.insert_window(rows(&others, window * 400..(window + 1) * 400, &format!("n{window}"))).await;
        assert!(refused.is_empty());
    }
    let reader = store.reader();
    assert_eq!(reader.estimate(&orders).unwrap(), reader.estimate(&others).unwrap());
    let names: Vec<String> = (0..5).map(|window| format!("n{window}")).collect();
    let observed = reader.observed_schema(&orders).await.unwrap();
    let observed: Vec<&str> = observed.properties().iter().map(|property| property.name.as_str()).collect();
    assert_eq!(observed, [&["before".to_owned()], &names[..]].concat());
    // And what is written later meets them.
    assert_eq!(store.insert_window(rows(&orders, 1_999..2_001, "m")).await.len(), 1);
    write(store, &orders, Operation::Merge(entity("00000", "", [("m", int(2))]), IfMatch::Any)).await;
    assert_eq!(stored(store, &orders, &key("00000", "")).await, properties([("n0", int(0)), ("m", int(2))]));
    assert!(store.stage(&orders).await.unwrap().is_none(), "it is not empty");
}

pub(super) async fn staged_rows_are_forgotten_where_their_table_is_another_one(store: &Store) {
    let orders = new_table(store).await;
    let [first, second] = [stage(store, &orders).await, stage(store, &orders).await];
    first.write(rows(&orders, 0..10, "n")).await.unwrap();
    second.write(rows(&orders, 5..15, "m")).await.unwrap();
    assert!(second.publish().await.unwrap());
    assert!(!first.publish().await.unwrap(), "it has rows by now");
    assert!(second.publish().await.is_err() && second.write(rows(&orders, 20..21, "n")).await.is_err());
    assert!(!first.publish().await.unwrap(), "it has rows still");
    assert_eq!(stored(store, &orders, &key("00005", "")).await, properties([("m", int(5))]));
    assert_eq!(count(store, &orders).await, 10);
    store.drop_table(&orders).await.unwrap();
    assert!(matches!(store.stage(&orders).await, Err(StoreError::TableMissing(_))));
    // One row was written and is gone again; then the table is dropped, and made again.
    for recreates in [false, true] {
        store.create_table(&orders).await.unwrap();
        let staged = stage(store, &orders).await;
        staged.write(rows(&orders, 0..10, "n")).await.unwrap();
        write(store, &orders, Operation::Insert(entity("x", "", [("other", int(1))]))).await;
        if recreates {
            store.drop_table(&orders).await.unwrap();
            store.create_table(&orders).await.unwrap();
        }
        assert!(!staged.publish().await.unwrap());
        assert_eq!(count(store, &orders).await, usize::from(!recreates));
        store.drop_table(&orders).await.unwrap();
    }
    store.create_table(&orders).await.unwrap();
    let staged = stage(store, &orders).await;
    store.drop_table(&orders).await.unwrap();
    assert!(!staged.publish().await.unwrap());
    assert!(store.reader().list_tables().await.unwrap().is_empty());
}

/// In any order: their keys are looked up, and where the table gets others meanwhile they are inserted like any.
pub(super) async fn staged_rows_are_inserted_where_their_table_has_others(store: &Store) {
    let orders = new_table(store).await;
    let staged = stage(store, &orders).await;
    for first in [3_000, 3_400, 1_000, 1_400, 9_000, 200] {
        assert_eq!(staged.first_known(&rows(&orders, first..first + 400, "n")).await.unwrap(), None);
        staged.write(rows(&orders, first..first + 400, &format!("n{first}"))).await.unwrap();
    }
    for (range, known) in [(2_990..3_010, Some(10)), (1_799..1_802, Some(0)), (500..550, Some(0)), (600..1_000, None)] {
        assert_eq!(staged.first_known(&rows(&orders, range, "n")).await.unwrap(), known);
    }
    write(store, &orders, Operation::Insert(entity("00700", "", [("other", int(1))]))).await;
    write(store, &orders, Operation::Insert(entity("00701", "", [("another", int(1))]))).await;
    assert!(!staged.publish().await.unwrap());
    let inserted = Mutex::new((0, 0));
    let count_them = |egts, rows| {
        let mut inserted = inserted.lock().unwrap();
        *inserted = (inserted.0 + egts, inserted.1 + rows);
    };
    staged.insert(&count_them).await.unwrap();
    assert_eq!(*inserted.lock().unwrap(), (2_400, 2_400));
    assert_eq!(count(store, &orders).await, 2_402);
    for (row, property) in [(3_399, "n3000"), (1_000, "n1000"), (599, "n200"), (9_399, "n9000")] {
        let found = stored(store, &orders, &key(&format!("{row:05}"), "")).await;
        assert_eq!(found, properties([(property, int(row))]));
    }
    assert_eq!(store.reader().estimate(&orders).unwrap().unwrap().entities, 2_402);
    // One of them is there already: those before it are in.
    store.drop_table(&orders).await.unwrap();
    store.create_table(&orders).await.unwrap();
    let staged = stage(store, &orders).await;
    for first in (0..6_000).step_by(1_000) {
        staged.write(rows(&orders, first..first + 1_000, "n")).await.unwrap();
    }
    write(store, &orders, Operation::Insert(entity("05500", "", [("other", int(1))]))).await;
    *inserted.lock().unwrap() = (0, 0);
    let refused = staged.insert(&count_them).await;
    let is_it = |error: &CommitError| matches!(error, CommitError::Rejected { key: found, reason: Rejection::EntityExists, .. } if *found == key("05500", ""));
    assert!(refused.as_ref().is_err_and(is_it), "{refused:?}");
    let (egts, rows) = *inserted.lock().unwrap();
    assert!(egts == rows && rows >= 2_500 && count(store, &orders).await == rows + 1, "{rows}");
    assert_eq!(stored(store, &orders, &key("05500", "")).await, properties([("other", int(1))]));
}

pub(super) async fn readers_see_staged_rows_whole(store: &Store) {
    let orders = new_table(store).await;
    for round in 0..20 {
        let staged = stage(store, &orders).await;
        for window in 0..4 {
            staged.write(rows(&orders, window * 25..(window + 1) * 25, "n")).await.unwrap();
        }
        let reading = {
            let (store, orders) = (Arc::clone(store), orders.clone());
            tokio::spawn(async move {
                loop {
                    match count(&store, &orders).await {
                        0 => tokio::task::yield_now().await,
                        rows => return rows,
                    }
                }
            })
        };
        assert!(staged.publish().await.unwrap());
        assert_eq!(reading.await.unwrap(), 100, "round {round}");
        // Until somebody makes columns of them.
        store.drop_table(&orders).await.unwrap();
        store.create_table(&orders).await.unwrap();
    }
}

/// Writes some windows ahead, the last one first where they are not to come in order, and seals them.
async fn sealed(store: &Store, table: &TableName, in_order: bool) -> (Box<dyn StagedRows>, SealedRows) {
    let staged = stage(store, table).await;
    for window in 0..5 {
        let window = if in_order { window } else { 4 - window };
        staged.write(rows(table, window * 400..(window + 1) * 400, &format!("n{window}"))).await.unwrap();
        if window % 2 == 0 {
            staged.rest().await.unwrap();
        }
    }
    let number = staged.seal().await.unwrap();
    (staged, SealedRows { table: table.clone(), number, extent: (2_000, 2_000) })
}

fn insertion(table: &TableName, row: &str) -> Batch {
    Batch::single(table.clone(), Operation::Insert(entity(row, "", [("n", int(1))]))).unwrap()
}

pub(super) async fn sealed_rows_are_committed_with_a_group(store: &Store) {
    let (orders, others, log) = (new_table(store).await, table("Others"), table("Log"));
    for table in [&others, &log] {
        store.create_table(table).await.unwrap();
    }
    let (held, first) = sealed(store, &orders, true).await;
    let (also_held, second) = sealed(store, &others, false).await;
    let before = store.reader();
    let windows = vec![rows(&log, 0..300, "n").into()];
    let group =
        WriteGroup { windows, batches: vec![insertion(&log, "x")], staged: vec![first, second], ..Default::default() };
    store.write_group(group.clone()).await.unwrap();
    drop((held, also_held));
    for (table, expected) in [(&orders, 2_000), (&others, 2_000), (&log, 301)] {
        assert_eq!(Scan::of(table).try_run(&before).await.unwrap().keys().len(), 0, "a reader keeps its moment");
        assert_eq!(count(store, table).await, expected);
        assert_eq!(store.reader().estimate(table).unwrap().unwrap().entities, expected as u64);
    }
    for table in [&orders, &others] {
        assert_eq!(stored(store, table, &key("00401", "")).await, properties([("n1", int(401))]));
        assert_eq!(
            store.insert_window(rows(table, 1_999..2_001, "m")).await.len(),
            1,
            "what is written later meets them"
        );
    }
    assert!(store.write_group(group).await.is_err(), "they are staged no longer");
    assert_eq!(count(store, &log).await, 301);
}

pub(super) async fn sealed_rows_are_left_out_where_their_group_is_refused(store: &Store) {
    let (orders, others, log) = (new_table(store).await, table("Others"), table("Log"));
    for table in [&others, &log] {
        store.create_table(table).await.unwrap();
    }
    store.commit(insertion(&log, "x")).await.unwrap();
    let (_held, first) = sealed(store, &orders, true).await;
    let (_also_held, second) = sealed(store, &others, true).await;
    let staged = vec![first, second];
    let refused = WriteGroup { batches: vec![insertion(&log, "x")], staged: staged.clone(), ..Default::default() };
    let is_it =
        |error: &GroupError| matches!(error, GroupError::Rejected { batch: 0, reason: Rejection::EntityExists, .. });
    assert!(store.write_group(refused).await.as_ref().is_err_and(is_it));
    store.commit(insertion(&others, "of somebody else")).await.unwrap();
    let group = WriteGroup { batches: vec![insertion(&log, "y")], staged: staged.clone(), ..Default::default() };
    let refused = store.write_group(group).await;
    assert!(matches!(&refused, Err(GroupError::NotEmpty { table }) if *table == others), "{refused:?}");
    for (table, expected) in [(&orders, 0), (&others, 1), (&log, 1)] {
        assert_eq!(count(store, table).await, expected);
    }
    // They still may come with another one.
    let [first, _] = &staged[..] else { unreachable!("there are two") };
    let group = WriteGroup { staged: vec![first.clone()], ..Default::default() };
    store.write_group(group).await.unwrap();
    assert_eq!(count(store, &orders).await, 2_000);
}

pub(super) async fn staged_rows_are_there_after_reopening<B: Durable>() {
    let backend = B::create(system_clock()).await;
    let (orders, others) = (new_table(backend.store()).await, table("Others"));
    backend.store().create_table(&others).await.unwrap();
    let staged = stage(backend.store(), &orders).await;
    let forgotten = stage(backend.store(), &others).await;
    for window in 0..5 {
        let range = window * 100..(window + 1) * 100;
        staged.write(rows(&orders, range.clone(), &format!("n{window}"))).await.unwrap();
        forgotten.write(rows(&others, range, "n")).await.unwrap();
    }
    assert!(staged.publish().await.unwrap());
    let before = backend.store().reader().estimate(&orders).unwrap();
    // One that is not published does not keep the store open.
    let backend = backend.reopen(system_clock()).await;
    let store = backend.store();
    assert!(forgotten.publish().await.is_err());
    assert_eq!((count(store, &orders).await, count(store, &others).await), (500, 0));
    assert_eq!(store.reader().estimate(&orders).unwrap(), before);
    assert_eq!(stored(store, &orders, &key("00499", "")).await, properties([("n4", int(499))]));
    let again = stage(store, &others).await;
    again.write(rows(&others, 0..7, "again")).await.unwrap();
    assert!(again.publish().await.unwrap());
    assert_eq!(count(store, &others).await, 7);
}
