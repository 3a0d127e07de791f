//! What a store on disk has after it was closed and opened again.

use tablegate::store::model::EdmDateTime;
use tablegate::store::table::{ColumnType, IfMatch, Operation, Rejection, ScanColumn};

use crate::store_contract::harness::{
    Durable, Scan, Store, TestClock, batch, entity, exactly, get, insert_all, int, key, name, new_table, property,
    rejection, system_clock, table, text, write, write_etag,
};

pub(super) async fn data_is_the_same_after_reopening<B: Durable>() {
    let backend = B::create(system_clock()).await;
    let orders = new_table(backend.store()).await;
    let samples = crate::store_contract::values::samples();
    let row = |(i, v): (usize, _)| entity("p", &format!("{i:03}"), [("a", v), ("b", int(1))]);
    insert_all(backend.store(), &orders, samples.into_iter().enumerate().map(row)).await;
    write(backend.store(), &orders, Operation::Delete(key("p", "000"), IfMatch::Any)).await;
    write(backend.store(), &orders, Operation::Merge(entity("p", "001", [("c", int(2))]), IfMatch::Any)).await;

    let before = contents(backend.store()).await;
    let backend = backend.reopen(system_clock()).await;
    assert_eq!(contents(backend.store()).await, before);
}

pub(super) async fn tables_are_the_same_after_reopening<B: Durable>() {
    let backend = B::create(system_clock()).await;
    for name in ["Kept", "dropped", "Recreated"] {
        backend.store().create_table(&table(name)).await.unwrap();
        insert_all(backend.store(), &table(name), [entity("p", "old", [("old", int(1))])]).await;
    }
    backend.store().drop_table(&table("dropped")).await.unwrap();
    backend.store().drop_table(&table("Recreated")).await.unwrap();
    backend.store().create_table(&table("recreateD")).await.unwrap();

    let backend = backend.reopen(system_clock()).await;
    let listed = backend.store().reader().list_tables().await.unwrap();
    assert_eq!(listed.iter().map(|name| name.as_str()).collect::<Vec<_>>(), ["Kept", "recreateD"]);
    assert!(Scan::of(&table("recreated")).run(backend.store()).await.keys().is_empty());
    backend.store().create_table(&table("dropped")).await.unwrap();
    assert!(Scan::of(&table("dropped")).run(backend.store()).await.keys().is_empty());
    assert_eq!(Scan::of(&table("kept")).run(backend.store()).await.keys(), [key("p", "old")]);
}

pub(super) async fn observed_schemas_are_the_same_after_reopening<B: Durable>() {
    let backend = B::create(system_clock()).await;
    let orders = new_table(backend.store()).await;
    insert_all(backend.store(), &orders, [entity("p", "1", [("b", int(1)), ("a", text("x")), ("gone", int(1))])]).await;
    write(backend.store(), &orders, Operation::Replace(entity("p", "1", [("b", text("x"))]), IfMatch::Any)).await;
    let observed = async |store: &Store| store.reader().observed_schema(&table("Orders")).await.unwrap();
    let before = observed(backend.store()).await;
    let backend = backend.reopen(system_clock()).await;
    assert_eq!(observed(backend.store()).await, before);

    backend.store().analyze(&orders).await.unwrap();
    let backend = backend.reopen(system_clock()).await;
    let names: Vec<_> = observed(backend.store()).await.properties().iter().map(|p| p.name.clone()).collect();
    assert_eq!(names, [name("b")]);
}

pub(super) async fn counts_are_the_same_after_reopening<B: Durable>() {
    let backend = B::create(system_clock()).await;
    let orders = new_table(backend.store()).await;
    insert_all(backend.store(), &orders, (0..30).map(|i| entity("p", &i.to_string(), [("n", int(i))]))).await;
    write(backend.store(), &orders, Operation::Delete(key("p", "7"), IfMatch::Any)).await;
    let size = |store: &Store| store.reader().estimate(&table("Orders")).unwrap();
    let before = size(backend.store());
    assert!(before.is_none_or(|size| size.entities == 29));
    let backend = backend.reopen(system_clock()).await;
    assert_eq!(size(backend.store()), before);
    write(backend.store(), &orders, Operation::Delete(key("p", "8"), IfMatch::Any)).await;
    assert!(size(backend.store()).is_none_or(|size| size.entities == 28));
}

pub(super) async fn preconditions_hold_after_reopening<B: Durable>() {
    let backend = B::create(system_clock()).await;
    let orders = new_table(backend.store()).await;
    let old = write_etag(backend.store(), &orders, Operation::Insert(entity("p", "r", []))).await;
    let current = write_etag(backend.store(), &orders, Operation::InsertOrMerge(entity("p", "r", []))).await;

    let backend = backend.reopen(system_clock()).await;
    let insert = vec![Operation::Insert(entity("p", "r", []))];
    assert_eq!(rejection(backend.store(), &orders, insert).await, (0, Rejection::EntityExists));
    let stale = vec![Operation::Delete(key("p", "r"), IfMatch::ETag(old))];
    assert_eq!(rejection(backend.store(), &orders, stale).await, (0, Rejection::ETagMismatch));
    write(backend.store(), &orders, Operation::Delete(key("p", "r"), IfMatch::ETag(current))).await;
}

/// Also where the latest version was deleted, so that nothing stored tells of it: an ETag must never come back.
pub(super) async fn timestamps_rise_over_reopening<B: Durable>() {
    let backend = B::create(TestClock::at("2020-01-01T00:00:00Z")).await;
    let orders = new_table(backend.store()).await;
    let mut last = EdmDateTime::MIN;
    for operation in [Operation::InsertOrMerge(entity("p", "r", [])), Operation::InsertOrMerge(entity("p", "s", []))] {
        let at = operation.key().clone();
        backend.store().commit(batch(&orders, vec![operation])).await.unwrap();
        last = get(backend.store(), &orders, &at).await.unwrap().timestamp.max(last);
    }
    write(backend.store(), &orders, Operation::Delete(key("p", "s"), IfMatch::Any)).await;
    let backend = backend.reopen(TestClock::at("2019-01-01T00:00:00Z")).await;
    write(backend.store(), &orders, Operation::Insert(entity("p", "s", []))).await;
    let after = get(backend.store(), &orders, &key("p", "s")).await.unwrap().timestamp;
    assert!(after > last, "{after} after {last}");
}

/// Every row of the table the tests use, with its version.
async fn contents(store: &Store) -> Vec<Vec<Option<String>>> {
    let columns = [
        ScanColumn::PartitionKey,
        ScanColumn::RowKey,
        ScanColumn::ETag,
        ScanColumn::EdmTypeOf(name("a")),
        property("a", ColumnType::Text),
        property("c", ColumnType::Int32),
    ];
    let rows = Scan::of(&table("Orders")).columns(columns).run(store).await.rows();
    rows.into_iter().map(|row| row.iter().map(|value| value.as_ref().map(exactly)).collect()).collect()
}
