//! Emptying a table at once, as long as nobody has written to it behind a reader.

use arrow::array::Int32Array;
use tablegate::store::model::{EntityKeys, TableName};
use tablegate::store::table::{EdmColumn, IfMatch, NewEntities, Operation, StoreError};

use crate::store_contract::harness::{
    Durable, Scan, Store, entity, int, key, name, new_table, properties, stored, system_clock, table, write,
};

async fn fill(store: &Store, table: &TableName) {
    let mut keys = EntityKeys::default();
    (0..500).for_each(|row| keys.push(&format!("{row:03}"), "").unwrap());
    let numbers = EdmColumn::Int32(Int32Array::from_iter_values(0..500));
    let new = NewEntities::new(table, keys, vec![(name("n"), numbers)]).unwrap();
    assert!(store.insert_window(new).await.is_empty());
}

fn now(store: &Store) -> u64 {
    store.reader().commit().unwrap()
}

async fn count(store: &Store, table: &TableName) -> usize {
    Scan::of(table).run(store).await.keys().len()
}

pub(super) async fn a_table_that_nobody_wrote_to_is_cleared(store: &Store) {
    let (orders, others) = (new_table(store).await, table("Others"));
    store.create_table(&others).await.unwrap();
    fill(store, &orders).await;
    let before = store.reader();
    // Of other tables it does not matter.
    write(store, &others, Operation::Insert(entity("p", "", [("n", int(1))]))).await;
    assert_eq!(store.clear(&orders, before.commit().unwrap()).await.unwrap(), Some(500));
    assert_eq!((count(store, &orders).await, count(store, &others).await), (0, 1));
    assert_eq!(Scan::of(&orders).try_run(&before).await.unwrap().keys().len(), 500, "a reader keeps its moment");
    let reader = store.reader();
    assert_eq!(reader.estimate(&orders).unwrap().unwrap().entities, 0);
    assert_eq!(reader.observed_schema(&orders).await.unwrap().properties().len(), 1);
    // What comes next meets none of them.
    fill(store, &orders).await;
    write(store, &orders, Operation::Merge(entity("007", "", [("m", int(1))]), IfMatch::Any)).await;
    assert_eq!(stored(store, &orders, &key("007", "")).await, properties([("n", int(7)), ("m", int(1))]));
    assert_eq!(store.reader().estimate(&orders).unwrap().unwrap().entities, 500);
    assert_eq!(store.clear(&orders, now(store)).await.unwrap(), Some(500));
    assert_eq!(store.clear(&orders, now(store)).await.unwrap(), Some(0));
    assert!(matches!(store.clear(&table("Gone"), now(store)).await, Err(StoreError::TableMissing(_))));
}

pub(super) async fn a_table_that_was_written_to_is_not_cleared(store: &Store) {
    let orders = new_table(store).await;
    fill(store, &orders).await;
    let removes = Operation::Delete(key("000", ""), IfMatch::Any);
    let merges = Operation::Merge(entity("001", "", [("n", int(0))]), IfMatch::Any);
    for (operation, rows) in [(removes, 499), (merges, 499), (Operation::Insert(entity("x", "", [])), 500)] {
        let before = now(store);
        write(store, &orders, operation).await;
        assert_eq!(store.clear(&orders, before).await.unwrap(), None);
        assert_eq!(count(store, &orders).await, rows);
    }
    // Nor one that is another one by now.
    let before = now(store);
    store.drop_table(&orders).await.unwrap();
    store.create_table(&orders).await.unwrap();
    assert_eq!(store.clear(&orders, before).await.unwrap(), None);
    let before = now(store);
    assert_eq!(store.clear(&orders, before).await.unwrap(), Some(0));
    assert_eq!(store.clear(&orders, before).await.unwrap(), None, "it has been cleared behind that");
}

pub(super) async fn a_cleared_table_is_empty_after_reopening<B: Durable>() {
    let backend = B::create(system_clock()).await;
    let orders = new_table(backend.store()).await;
    fill(backend.store(), &orders).await;
    let backend = backend.reopen(system_clock()).await;
    let store = backend.store();
    assert_eq!(store.clear(&orders, now(store)).await.unwrap(), Some(500));
    let backend = backend.reopen(system_clock()).await;
    assert_eq!(count(backend.store(), &orders).await, 0);
    fill(backend.store(), &orders).await;
    let backend = backend.reopen(system_clock()).await;
    let store = backend.store();
    assert_eq!(count(store, &orders).await, 500);
    assert_eq!(store.reader().estimate(&orders).unwrap().unwrap().entities, 500);
    assert_eq!(stored(store, &orders, &key("499", "")).await, properties([("n", int(499))]));
}
