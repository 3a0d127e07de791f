//! Windows of insertions handed over as columns: they come to what the same batches come to.

use std::sync::Arc;

use arrow::array::{
    BinaryArray, BooleanArray, FixedSizeBinaryArray, Float64Array, Int32Array, Int64Array, StringArray,
};
use tablegate::store::model::{EdmValue, EntityKeys, PropertyName, TableName};
use tablegate::store::table::{
    Batch, CommitError, EdmColumn, EntityWindow, GroupError, NewEntities, Operation, Rejection, StoreError, WriteGroup,
};

use crate::store_contract::harness::{
    Durable, Scan, Store, entity, get, int, key, name, new_table, properties, stored, system_clock, table, write,
};
use crate::support::rng::Rng;

fn keys(pairs: impl IntoIterator<Item = (String, String)>) -> EntityKeys {
    let mut keys = EntityKeys::default();
    pairs.into_iter().for_each(|(partition, row)| keys.push(&partition, &row).unwrap());
    keys
}

/// One entity in each partition, with its number.
fn numbered(table: &TableName, partitions: &[&str]) -> NewEntities {
    let keys = keys(partitions.iter().map(|partition| ((*partition).to_owned(), String::new())));
    let numbers = Int32Array::from_iter_values(0..i32::try_from(partitions.len()).unwrap());
    NewEntities::new(table, keys, vec![(name("n"), EdmColumn::Int32(numbers))]).unwrap()
}

/// Columns of all types, with values missing here and there.
fn columns(rows: usize, rng: &mut Rng) -> Vec<(PropertyName, EdmColumn)> {
    let mut some = |percent| (0..rows).map(|row| rng.percent(percent).then_some(row)).collect::<Vec<_>>();
    let number = |row: usize| i64::try_from(row).unwrap();
    let text = |row: usize| "grün ".repeat(row % 7);
    vec![
        (
            name("n"),
            EdmColumn::Int32(some(90).iter().map(|row| row.map(|row| i32::try_from(row).unwrap() - 3)).collect()),
        ),
        (name("big"), EdmColumn::Int64(some(50).iter().map(|row| row.map(|row| number(row) << 50)).collect())),
        (name("text"), EdmColumn::String(some(80).iter().map(|row| row.map(text)).collect::<StringArray>())),
        (name("half"), EdmColumn::Double(some(99).iter().map(|row| row.map(|row| row as f64 / 2.0)).collect())),
        (
            name("yes"),
            EdmColumn::Boolean(some(70).iter().map(|row| row.map(|row| row % 2 == 0)).collect::<BooleanArray>()),
        ),
        (name("at"), EdmColumn::DateTime(some(100).iter().map(|row| row.map(number)).collect::<Int64Array>())),
        (name("id"), {
            let ids = some(60).into_iter().map(|row| row.map(|row| [u8::try_from(row % 256).unwrap(); 16]));
            EdmColumn::Guid(FixedSizeBinaryArray::try_from_sparse_iter_with_size(ids, 16).unwrap())
        }),
        (
            name("bytes"),
            EdmColumn::Binary(some(60).iter().map(|row| row.map(|row| vec![7; row % 5])).collect::<BinaryArray>()),
        ),
        (name("never"), EdmColumn::Double(Float64Array::new_null(rows))),
    ]
}

async fn contents(store: &Store, table: &TableName) -> Vec<String> {
    let mut contents = Vec::new();
    for key in Scan::of(table).run(store).await.keys() {
        contents.push(format!("{key} {:?}", stored(store, table, &key).await));
    }
    contents
}

/// In any order, into a table that has some of them: refused is what has one of those.
pub(super) async fn new_entities_come_to_what_their_batches_come_to(store: &Store) {
    for round in 0..4 {
        let mut rng = Rng::of_case(0xc01, round);
        let tables = ["Objects", "Columns"].map(|name| table(&format!("{name}{round}")));
        let pair = |i: u64| (format!("p{:02}", i * 7 % 11), format!("{:04}", i * 37 % 600));
        let rows = 160;
        for table in &tables {
            store.create_table(table).await.unwrap();
            for there in (0..round).map(|i| pair(i * 29)) {
                write(store, table, Operation::Insert(entity(&there.0, &there.1, [("n", int(-1))]))).await;
            }
        }
        let columns = columns(rows, &mut rng);
        let of_table = |table: &TableName| {
            let pairs: Vec<_> = (0..rows as u64).map(pair).collect();
            let mut pairs = if round % 2 == 0 { pairs } else { pairs.into_iter().rev().collect() };
            if round == 2 {
                pairs.sort();
            }
            NewEntities::new(table, keys(pairs), columns.clone()).unwrap()
        };
        let alone = store.commit_window(of_table(&tables[0]).batches().unwrap()).await;
        let together = store.insert_window(of_table(&tables[1])).await;
        let refused: Vec<_> =
            alone.into_iter().enumerate().filter_map(|(index, result)| Some((index, result.err()?))).collect();
        assert_eq!(format!("{together:?}"), format!("{refused:?}"));
        assert_eq!(refused.is_empty(), round == 0);
        assert_eq!(contents(store, &tables[1]).await, contents(store, &tables[0]).await);
        let reader = store.reader();
        assert_eq!(
            reader.estimate(&tables[1]).unwrap(),
            reader.estimate(&tables[0]).unwrap(),
            "they are counted alike"
        );
        let observed = [&tables[0], &tables[1]].map(|table| reader.observed_schema(table));
        let [objects, columns] = observed.map(|observed| async { sorted(&observed.await.unwrap()) });
        assert_eq!(columns.await, objects.await);
    }
}

fn sorted(observed: &tablegate::store::table::ObservedSchema) -> Vec<String> {
    let mut all: Vec<String> = observed.properties().iter().map(|property| format!("{property:?}")).collect();
    all.sort();
    all
}

pub(super) async fn a_new_entity_that_is_there_refuses_its_transaction_alone(store: &Store) {
    let orders = new_table(store).await;
    write(store, &orders, Operation::Insert(entity("b", "", [("n", int(7))]))).await;
    let outcome = store.insert_window(numbered(&orders, &["c", "b", "a"])).await;
    // They are in the order of their partitions.
    let [(1, CommitError::Rejected { index: 0, key: found, reason: Rejection::EntityExists })] = &outcome[..] else {
        panic!("{outcome:?}")
    };
    assert_eq!(*found, key("b", ""));
    assert_eq!(stored(store, &orders, &key("b", "")).await, properties([("n", int(7))]));
    assert_eq!(stored(store, &orders, &key("c", "")).await, properties([("n", int(0))]));
    assert_eq!(stored(store, &orders, &key("a", "")).await, properties([("n", int(2))]));
}

pub(super) async fn new_entities_of_a_missing_table_are_refused(store: &Store) {
    let gone = table("Gone");
    let outcome = store.insert_window(numbered(&gone, &["a", "b"])).await;
    let [(0, CommitError::Store(StoreError::TableMissing(one))), (1, CommitError::Store(StoreError::TableMissing(_)))] =
        &outcome[..]
    else {
        panic!("{outcome:?}")
    };
    assert_eq!(*one, gone);
    let none = NewEntities::new(&gone, EntityKeys::default(), Vec::new()).unwrap();
    assert!(store.insert_window(none).await.is_empty());
}

/// What is written later meets them, and they meet what was written before.
pub(super) async fn new_entities_and_batches_meet_each_other(store: &Store) {
    let orders = new_table(store).await;
    let rows = 300_u64;
    let all = || keys((0..rows).map(|i| ("p".to_owned(), format!("{i:03}"))));
    assert!(store.insert_window(NewEntities::new(&orders, all(), Vec::new()).unwrap()).await.is_empty());
    let merged = Operation::InsertOrMerge(entity("p", "150", [("text", EdmValue::string("x"))]));
    write(store, &orders, merged).await;
    assert_eq!(get(store, &orders, &key("p", "150")).await.unwrap().entity.properties.len(), 1);
    let again = store.insert_window(NewEntities::new(&orders, all(), Vec::new()).unwrap()).await;
    assert_eq!(again.iter().map(|(index, _)| *index).collect::<Vec<_>>(), [0, 1, 2]);
}

pub(super) async fn a_group_of_new_entities_is_all_or_nothing(store: &Store) {
    let orders = new_table(store).await;
    write(store, &orders, Operation::Insert(entity("d", "", [("n", int(7))]))).await;
    let window = |partitions: &[&str]| EntityWindow::from(numbered(&orders, partitions));
    let refused = store.write_group(vec![window(&["b", "a"]), window(&["e", "d", "c"])].into()).await.unwrap_err();
    let GroupError::Rejected { batch: 3, index: 0, key: found, reason: Rejection::EntityExists } = &refused else {
        panic!("{refused:?}")
    };
    assert_eq!(*found, key("d", ""));
    let twice = store.write_group(vec![window(&["x", "y"]), window(&["z", "x"])].into()).await.unwrap_err();
    assert!(matches!(&twice, GroupError::DuplicateKey { key: found, .. } if *found == key("x", "")), "{twice:?}");
    let gone =
        store.write_group(vec![window(&["a"]), numbered(&table("Gone"), &["a"]).into()].into()).await.unwrap_err();
    assert!(matches!(gone, GroupError::Store(StoreError::TableMissing(_))), "{gone:?}");
    assert_eq!(Scan::of(&orders).run(store).await.keys(), [key("d", "")], "nothing was written");
    let none = window(&[]);
    store.write_group(vec![window(&["b", "a"]), none, window(&["e", "c"])].into()).await.unwrap();
    store.write_group(WriteGroup::default()).await.unwrap();
    assert_eq!(
        Scan::of(&orders).run(store).await.keys(),
        ["a", "b", "c", "d", "e"].map(|partition| key(partition, ""))
    );
    assert_eq!(store.reader().estimate(&orders).unwrap().map(|size| size.entities), Some(5));
}

/// Transactions of a group that are no columns are counted behind those that are, and go the same way.
pub(super) async fn batches_go_with_the_windows_of_their_group(store: &Store) {
    let (orders, notes) = (new_table(store).await, table("Notes"));
    store.create_table(&notes).await.unwrap();
    let window = |partitions: &[&str]| EntityWindow::from(numbered(&orders, partitions));
    let batch = |table: &TableName, row: &str| {
        let mut batch = Batch::builder(table.clone());
        batch.push(Operation::Insert(entity("p", row, [("n", int(1))]))).unwrap();
        batch.build().unwrap()
    };
    let group =
        |windows: Vec<EntityWindow>, batches: Vec<Batch>| WriteGroup { windows, batches, ..WriteGroup::default() };
    store.write_group(group(vec![window(&["a", "b"])], vec![batch(&notes, "1"), batch(&orders, "1")])).await.unwrap();
    let of_both =
        async || (Scan::of(&orders).run(store).await.keys().len(), Scan::of(&notes).run(store).await.keys().len());
    assert_eq!(of_both().await, (3, 1));
    let refused = store.write_group(group(vec![window(&["c", "d"])], vec![batch(&notes, "1")])).await.unwrap_err();
    assert!(matches!(refused, GroupError::Rejected { batch: 2, index: 0, .. }), "{refused:?}");
    let twice = store.write_group(group(vec![window(&["c", "p"])], vec![batch(&orders, "")])).await.unwrap_err();
    assert!(matches!(&twice, GroupError::DuplicateKey { key: found, .. } if *found == key("p", "")), "{twice:?}");
    assert_eq!(of_both().await, (3, 1), "nothing was written");
    store.write_group(group(Vec::new(), vec![batch(&notes, "2")])).await.unwrap();
    assert_eq!(of_both().await, (3, 2));
    // A reader tells which key is taken.
    let found = |rows: &[&str]| {
        let (mut keys, reader) = (EntityKeys::default(), store.reader());
        rows.iter().for_each(|row| keys.push("p", row).unwrap());
        let notes = &notes;
        async move { reader.first_present(notes, &keys).await.unwrap() }
    };
    assert_eq!((found(&["0", "3"]).await, found(&["0", "1", "2"]).await), (None, Some(1)));
    assert_eq!((found(&["3", "2", "1"]).await, found(&["0", "2"]).await, found(&[]).await), (Some(1), Some(1), None));
}

pub(super) async fn readers_see_a_group_of_new_entities_whole(store: &Store) {
    let orders = new_table(store).await;
    let group = |n: usize| {
        let partitions: Vec<String> = (0..40).map(|i| format!("{i:02}-{n}")).collect();
        let partitions: Vec<&str> = partitions.iter().map(String::as_str).collect();
        vec![numbered(&orders, &partitions[..20]).into(), numbered(&orders, &partitions[20..]).into()]
    };
    let writer = {
        let (store, groups) = (Arc::clone(store), (0..50).map(group).collect::<Vec<_>>());
        tokio::spawn(async move {
            for group in groups {
                store.write_group(group.into()).await.unwrap();
                tokio::task::yield_now().await;
            }
        })
    };
    let mut finished = false;
    while !finished {
        finished = writer.is_finished();
        let keys = Scan::of(&orders).run(store).await.keys();
        assert_eq!(keys.len() % 40, 0, "{keys:?}");
    }
    writer.await.unwrap();
}

pub(super) async fn new_entities_are_there_after_reopening<B: Durable>() {
    let backend = B::create(system_clock()).await;
    let orders = new_table(backend.store()).await;
    let mut rng = Rng::of_case(0xdead, 1);
    let pairs = (0..500).map(|i| (format!("{:03}", i * 7 % 500), String::new()));
    let new = NewEntities::new(&orders, keys(pairs), columns(500, &mut rng)).unwrap();
    assert!(backend.store().insert_window(new).await.is_empty());
    let before = contents(backend.store(), &orders).await;
    let size = backend.store().reader().estimate(&orders).unwrap();
    let backend = backend.reopen(system_clock()).await;
    assert_eq!(contents(backend.store(), &orders).await, before);
    assert_eq!((before.len(), backend.store().reader().estimate(&orders).unwrap()), (500, size));
}
