//! Windows of changes and removals handed over as columns: they come to what the same batches come to, all or nothing.

use arrow::array::{BinaryArray, Int32Array, Int64Array, StringArray};
use tablegate::store::model::{ETag, EdmValue, Entity, EntityKey, EntityKeys, PropertyName, TableName};
use tablegate::store::table::{
    Batch, EdmColumn, Emptied, EntityWindow, GroupError, IfMatch, KnownChange, KnownEntities, NewEntities, Operation,
    Rejection, StoreError, WriteGroup, Written,
};

use crate::store_contract::harness::{
    Durable, Scan, Store, batch, entity, get, int, key, name, new_table, properties, stale_etag, stored, system_clock,
    table, text, write,
};

const ROWS: usize = 600;

fn pair(row: usize) -> (String, String) {
    // Some partitions of many rows, and many of one.
    if row.is_multiple_of(2) {
        (format!("p{}", row % 5), format!("{row:04}"))
    } else {
        (format!("q{row:04}"), String::new())
    }
}

/// Rows of several shapes: `n` is of one type or another or missing, and what is beside it differs.
fn row(place: usize) -> Entity {
    let (partition, row) = pair(place);
    let mut values = vec![("beside", text(&"é".repeat(place % 9)))];
    match place % 4 {
        0 => values.push(("n", text("a text"))),
        1 => {}
        _ => values.push(("n", int(7))),
    }
    if place.is_multiple_of(3) {
        values.push(("t", text("before")));
        values.push(("more", EdmValue::Double(0.5)));
    }
    entity(&partition, &row, values)
}

async fn fill(store: &Store, table: &TableName) {
    let mut rows: Vec<Entity> = (0..ROWS).map(row).collect();
    rows.sort_by(|one, other| one.key.cmp(&other.key));
    let batches: Vec<Batch> = rows
        .chunk_by(|one, other| one.key.partition == other.key.partition)
        .flat_map(|partition| partition.chunks(100))
        .map(|rows| batch(table, rows.iter().cloned().map(Operation::Insert).collect()))
        .collect();
    assert!(store.commit_window(batches).await.iter().all(Result::is_ok));
}

/// The rows at these places, in the versions that they are in.
async fn known(store: &Store, table: &TableName, places: &[usize], change: KnownChange) -> KnownEntities {
    let (mut keys, mut versions) = (EntityKeys::default(), Vec::new());
    for (partition, row) in places.iter().map(|place| pair(*place)) {
        keys.push(&partition, &row).unwrap();
        versions.push(get(store, table, &key(&partition, &row)).await.unwrap().etag);
    }
    KnownEntities::new(table, keys, versions, change).unwrap()
}

/// A number, a wide number and a text for each of so many rows.
fn values(rows: usize) -> Vec<(PropertyName, EdmColumn)> {
    let texts = (0..rows).map(|row| "grün ".repeat(row % 6));
    vec![
        (
            name("n"),
            EdmColumn::Int32(Int32Array::from_iter_values((0..rows).map(|row| i32::try_from(row).unwrap() - 3))),
        ),
        (name("t"), EdmColumn::String(StringArray::from_iter_values(texts))),
        (
            name("wide"),
            EdmColumn::Int64(Int64Array::from_iter_values((0..rows).map(|row| i64::try_from(row).unwrap() << 52))),
        ),
    ]
}

async fn contents(store: &Store, table: &TableName) -> Vec<String> {
    let mut contents = Vec::new();
    for key in Scan::of(table).run(store).await.keys() {
        contents.push(format!("{key} {:?}", stored(store, table, &key).await));
    }
    contents
}

async fn observed(store: &Store, table: &TableName) -> Vec<String> {
    let observed = store.reader().observed_schema(table).await.unwrap();
    let mut all: Vec<String> = observed.properties().iter().map(|property| format!("{property:?}")).collect();
    all.sort();
    all
}

/// Each of them is a legal entity group transaction, wherever it goes.
pub(super) async fn known_entities_are_legal_batches(store: &Store) {
    let orders = new_table(store).await;
    fill(store, &orders).await;
    let places: Vec<usize> = (0..40).collect();
    let change = KnownChange::Merge(values(places.len()));
    let merging = known(store, &orders, &places, change).await.batches().unwrap();
    assert!(store.commit_window(merging).await.iter().all(Result::is_ok));
    let (partition, row_key) = pair(39);
    let merged = stored(store, &orders, &key(&partition, &row_key)).await;
    let expected = [("n", int(36)), ("t", text(&"grün ".repeat(3))), ("wide", EdmValue::Int64(39 << 52))];
    assert!(expected.iter().all(|(name, value)| merged.get(name) == Some(value)), "{merged:?}");
    assert_eq!(merged.get("beside"), row(39).properties.get("beside"), "what is not written stays");
    let removing = known(store, &orders, &places[10..], KnownChange::Delete).await.batches().unwrap();
    assert!(store.commit_window(removing.clone()).await.iter().all(Result::is_ok));
    assert!(store.commit_window(removing).await.iter().all(Result::is_err));
    assert_eq!(Scan::of(&orders).run(store).await.keys().len(), ROWS - 30);
}

/// Few of the rows or all of them, in the order of their keys or in another.
pub(super) async fn known_entities_come_to_what_their_batches_come_to(store: &Store) {
    for (round, (step, sorts)) in [(1, true), (1, false), (3, true), (37, true), (37, false)].into_iter().enumerate() {
        let tables = ["Objects", "Columns"].map(|name| table(&format!("{name}{round}")));
        for table in &tables {
            store.create_table(table).await.unwrap();
            fill(store, table).await;
        }
        let mut places: Vec<usize> = (0..ROWS).step_by(step).collect();
        if sorts {
            places.sort_by_key(|place| pair(*place));
        } else {
            places.reverse();
        }
        for change in [KnownChange::Merge(values(places.len())), KnownChange::Delete] {
            // Some of the rows are gone at last, and some stay.
            let places = if matches!(change, KnownChange::Delete) { &places[places.len() / 3..] } else { &places };
            let objects = known(store, &tables[0], places, change.clone()).await;
            let columns = known(store, &tables[1], places, change).await;
            store.commit_group(objects.batches().unwrap()).await.unwrap();
            store.write_group(vec![columns.into()].into()).await.unwrap();
            assert_eq!(contents(store, &tables[1]).await, contents(store, &tables[0]).await);
            let [objects, columns] = tables.each_ref().map(|table| store.reader().estimate(table).unwrap());
            assert_eq!(columns, objects, "they are counted alike");
            assert_eq!(observed(store, &tables[1]).await, observed(store, &tables[0]).await);
        }
    }
}

pub(super) async fn a_known_entity_that_changed_refuses_all(store: &Store) {
    let orders = new_table(store).await;
    fill(store, &orders).await;
    let places: Vec<usize> = (0..ROWS).collect();
    for change in [KnownChange::Merge(values(ROWS)), KnownChange::Delete] {
        let columns = known(store, &orders, &places, change).await;
        let [changed, gone] = [450, 300].map(|place| {
            let (partition, row) = pair(place);
            key(&partition, &row)
        });
        let merged = Operation::InsertOrMerge(Entity::new(changed.clone(), properties([("other", int(1))])));
        write(store, &orders, merged).await;
        let before = contents(store, &orders).await;
        let refused = store.write_group(vec![columns.clone().into()].into()).await.unwrap_err();
        let GroupError::Rejected { key: found, reason: Rejection::ETagMismatch, .. } = &refused else {
            panic!("{refused:?}")
        };
        assert_eq!(*found, changed);
        write(store, &orders, Operation::Delete(gone.clone(), tablegate::store::table::IfMatch::Any)).await;
        let refused = store.write_group(vec![columns.clone().into()].into()).await.unwrap_err();
        let GroupError::Rejected { batch, index, key: found, reason } = &refused else { panic!("{refused:?}") };
        // The service would tell of either; that of the first transaction in a store of our own, or of the first row.
        let told = columns.batches().unwrap()[*batch].operations()[*index].key().clone();
        assert_eq!((&told, found), (found, found));
        assert!(
            (*found == gone && *reason == Rejection::EntityMissing)
                || (*found == changed && *reason == Rejection::ETagMismatch),
            "{refused:?}"
        );
        write(store, &orders, Operation::Insert(row(300))).await;
        let mut after = contents(store, &orders).await;
        after.sort();
        let mut before = before;
        before.sort();
        assert_eq!(after, before, "nothing was written");
    }
}

pub(super) async fn versions_that_no_store_gives_are_refused(store: &Store) {
    let orders = new_table(store).await;
    fill(store, &orders).await;
    for version in [stale_etag(), ETag::parse("\"opaque\"").unwrap()] {
        let mut keys = EntityKeys::default();
        let (partition, row) = pair(8);
        keys.push(&partition, &row).unwrap();
        let columns = KnownEntities::new(&orders, keys, vec![version], KnownChange::Delete).unwrap();
        let refused = store.write_group(vec![columns.into()].into()).await.unwrap_err();
        assert!(matches!(refused, GroupError::Rejected { reason: Rejection::ETagMismatch, .. }), "{refused:?}");
    }
}

/// Rows and what belongs to them, in several tables.
pub(super) async fn new_and_known_entities_are_written_together(store: &Store) {
    let (orders, index) = (new_table(store).await, table("OrdersIndex"));
    store.create_table(&index).await.unwrap();
    fill(store, &orders).await;
    let new = |entries: &[&str]| {
        let mut keys = EntityKeys::default();
        entries.iter().for_each(|entry| keys.push("index", entry).unwrap());
        EntityWindow::from(NewEntities::new(&index, keys, Vec::new()).unwrap())
    };
    let merge = || KnownChange::Merge(values(2));
    let group = vec![known(store, &orders, &[1, 2], merge()).await.into(), new(&["a", "b"])];
    store.write_group(group.into()).await.unwrap();
    let before = (contents(store, &orders).await, contents(store, &index).await);
    assert_eq!(before.1.len(), 2);
    // Its key is taken.
    let merging = known(store, &orders, &[3, 4], merge()).await;
    let transactions = merging.transactions();
    let refused = store.write_group(vec![merging.into(), new(&["c", "b"])].into()).await.unwrap_err();
    let GroupError::Rejected { batch, index: 1, reason: Rejection::EntityExists, .. } = &refused else {
        panic!("{refused:?}")
    };
    assert_eq!(*batch, transactions, "batches are counted through");
    // One of the rows is another one by now.
    let stale = known(store, &orders, &[5, 6], KnownChange::Delete).await;
    let (partition, row) = pair(6);
    write(store, &orders, Operation::InsertOrMerge(entity(&partition, &row, [("beside", text(&"é".repeat(6)))]))).await;
    assert!(store.write_group(vec![new(&["d"]), stale.into()].into()).await.is_err());
    let twice = [known(store, &orders, &[7, 8], merge()).await, known(store, &orders, &[8, 9], merge()).await];
    let twice = store.write_group(Vec::from(twice.map(EntityWindow::from)).into()).await.unwrap_err();
    assert!(matches!(twice, GroupError::DuplicateKey { .. }), "{twice:?}");
    let gone = KnownEntities::new(&table("Gone"), EntityKeys::default(), Vec::new(), KnownChange::Delete).unwrap();
    let mut keys = EntityKeys::default();
    keys.push("p", "").unwrap();
    let missing = KnownEntities::new(&table("Gone"), keys, vec![stale_etag()], KnownChange::Delete).unwrap();
    let missing = store.write_group(vec![new(&["e"]), missing.into()].into()).await.unwrap_err();
    assert!(matches!(missing, GroupError::Store(StoreError::TableMissing(_))), "{missing:?}");
    store.write_group(vec![gone.into()].into()).await.unwrap();
    assert_eq!((contents(store, &orders).await, contents(store, &index).await), before);
    let group = vec![new(&["c"]), known(store, &orders, &[3, 4], KnownChange::Delete).await.into()];
    store.write_group(group.into()).await.unwrap();
    assert_eq!(contents(store, &orders).await.len(), ROWS - 2);
}

/// Where nothing was written to it since, a table of which all is removed may be emptied at once: it comes to the same.
pub(super) async fn all_of_a_table_is_removed(store: &Store) {
    let tables = [new_table(store).await, table("Others")];
    store.create_table(&tables[1]).await.unwrap();
    let places: Vec<usize> = (0..ROWS).collect();
    let new = |rows: &[&str]| {
        let mut keys = EntityKeys::default();
        rows.iter().for_each(|row| keys.push("new", row).unwrap());
        EntityWindow::from(NewEntities::new(&tables[0], keys, Vec::new()).unwrap())
    };
    for (is_changed, later) in [(false, vec![]), (true, vec![]), (false, vec!["a", "b"]), (true, vec!["a"])] {
        fill(store, &tables[0]).await;
        let unchanged_since = store.reader().commit().unwrap_or_default();
        let removed = known(store, &tables[0], &places, KnownChange::Delete).await;
        if is_changed {
            write(store, &tables[0], Operation::Insert(entity("new", "meanwhile", [("n", int(1))]))).await;
        }
        let beside = Operation::InsertOrReplace(entity("p", "beside", [("n", int(2))]));
        let mut group = WriteGroup::from(vec![removed.into()]);
        group.windows.extend((!later.is_empty()).then(|| new(&later)));
        group.batches = vec![
            batch(&tables[1], vec![beside]),
            batch(&tables[0], vec![Operation::Insert(entity("last", "", [("added", text("now"))]))]),
        ];
        group.emptied = vec![Emptied { table: tables[0].clone(), unchanged_since }];
        store.write_group(group).await.unwrap();
        let expected = 1 + later.len() + usize::from(is_changed);
        let found = Scan::of(&tables[0]).run(store).await.keys();
        assert_eq!(found.len(), expected, "{found:?}");
        assert_eq!(
            store.reader().estimate(&tables[0]).unwrap().map_or(expected as u64, |size| size.entities),
            expected as u64
        );
        assert!(observed(store, &tables[0]).await.iter().any(|property| property.contains("added")));
        let left = found.into_iter().map(|key| Operation::Delete(key, IfMatch::Any));
        for operation in left {
            write(store, &tables[0], operation).await;
        }
    }
}

/// What is removed with all others of its table may come again: as another row, where it is still what it was.
pub(super) async fn a_table_is_refilled(store: &Store) {
    let orders = new_table(store).await;
    let places: Vec<usize> = (0..ROWS).collect();
    let (again, values) = (|place: usize| place % 3 < 2, values(ROWS));
    // Rows of the table without those that do not come again, and one that was not there.
    let new = || {
        let pairs = places.iter().filter(|place| again(**place)).map(|place| pair(*place));
        let mut keys = EntityKeys::default();
        pairs
            .chain([("new".to_owned(), "0".to_owned())])
            .for_each(|(partition, row)| keys.push(&partition, &row).unwrap());
        let first = |column: &EdmColumn| match column {
            EdmColumn::Int32(array) => EdmColumn::Int32(array.slice(0, keys.len())),
            EdmColumn::Int64(array) => EdmColumn::Int64(array.slice(0, keys.len())),
            EdmColumn::String(array) => EdmColumn::String(array.slice(0, keys.len())),
            _ => panic!("there are no others"),
        };
        let columns = values.iter().map(|(name, column)| (name.clone(), first(column))).collect();
        EntityWindow::from(NewEntities::new(&orders, keys, columns).unwrap())
    };
    for (meanwhile, expected) in
        [(None, None), (Some("other"), None), (Some("new"), Some(true)), (Some("old"), Some(false))]
    {
        fill(store, &orders).await;
        let unchanged_since = store.reader().commit().unwrap_or_default();
        let removed = known(store, &orders, &places, KnownChange::Delete).await;
        let written = match meanwhile {
            Some("old") => Some(Operation::InsertOrReplace(row(7))),
            Some(partition) => Some(Operation::Insert(entity(partition, "0", [("n", int(1))]))),
            None => None,
        };
        let others = usize::from(meanwhile == Some("other"));
        if let Some(written) = written {
            write(store, &orders, written).await;
        }
        let mut group = WriteGroup::from(vec![removed.into(), new()]);
        group.emptied = vec![Emptied { table: orders.clone(), unchanged_since }];
        let (before, size) = (contents(store, &orders).await, store.reader().estimate(&orders).unwrap());
        match (store.write_group(group).await, expected) {
            (Ok(()), None) => {
                let found = contents(store, &orders).await;
                let came = places.iter().filter(|place| again(**place)).count() + 1;
                assert_eq!(found.len(), came + others, "{meanwhile:?}");
                assert!(found.iter().all(|row| !row.contains("beside")), "nothing is left of what was removed");
                let entities = store.reader().estimate(&orders).unwrap().map(|size| size.entities);
                assert!(entities.is_none_or(|entities| entities == found.len() as u64), "{meanwhile:?}: {entities:?}");
                assert_eq!(stored(store, &orders, &key("new", "0")).await.get("n"), Some(&int(397)));
            }
            (Err(GroupError::Rejected { reason, key: at, .. }), Some(is_new)) => {
                let (partition, row) = pair(7);
                let expected = match is_new {
                    true => (Rejection::EntityExists, key("new", "0")),
                    false => (Rejection::ETagMismatch, key(&partition, &row)),
                };
                assert_eq!((reason, at), expected);
                assert_eq!(contents(store, &orders).await, before);
                assert_eq!(store.reader().estimate(&orders).unwrap(), size);
            }
            other => panic!("{meanwhile:?}: {other:?}"),
        }
        for key in Scan::of(&orders).run(store).await.keys() {
            write(store, &orders, Operation::Delete(key, IfMatch::Any)).await;
        }
    }
    let twice = WriteGroup::from(vec![new(), new()]);
    assert!(matches!(store.write_group(twice).await, Err(GroupError::DuplicateKey { .. })));
}

/// Each side is within the limits, both together are not.
pub(super) async fn a_known_entity_does_not_grow_beyond_the_limits(store: &Store) {
    let orders = new_table(store).await;
    let bytes = EdmValue::Binary(vec![7; 64_000].into());
    let names: Vec<String> = (0..10).map(|i| format!("b{i}")).collect();
    let large = |key: EntityKey| Entity::new(key, properties(names.iter().map(|name| (name.as_str(), bytes.clone()))));
    let mut versions = Vec::new();
    for row in ["0", "1"] {
        match write(store, &orders, Operation::Insert(large(key("p", row)))).await {
            Written::Entity { etag, .. } => versions.push(etag),
            Written::Deleted => panic!("it was inserted"),
        }
    }
    let change = |prefix: &str, count: usize| {
        let column = |i| {
            let values = BinaryArray::from(vec![&[8; 64_000][..]]);
            (name(&format!("{prefix}{i}")), EdmColumn::Binary(values))
        };
        KnownChange::Merge((0..count).map(column).collect())
    };
    let merge = |row: &str, change: KnownChange| {
        let mut keys = EntityKeys::default();
        keys.push("p", row).unwrap();
        vec![
            KnownEntities::new(&orders, keys, vec![versions[row.parse::<usize>().unwrap()].clone()], change)
                .unwrap()
                .into(),
        ]
    };
    let refused = store.write_group(merge("0", change("c", 7)).into()).await.unwrap_err();
    assert!(matches!(refused, GroupError::Rejected { reason: Rejection::EntityTooLarge { .. }, .. }), "{refused:?}");
    let number = |i| (name(&format!("n{i}")), EdmColumn::Int32(Int32Array::from(vec![1])));
    let many = KnownChange::Merge((0..243).map(number).collect());
    let refused = store.write_group(merge("0", many).into()).await.unwrap_err();
    let too_many = Rejection::TooManyProperties { count: 253 };
    assert!(matches!(&refused, GroupError::Rejected { reason, .. } if *reason == too_many), "{refused:?}");
    // In the places of those that are there.
    store.write_group(merge("0", change("b", 7)).into()).await.unwrap();
    store.write_group(merge("1", change("c", 3)).into()).await.unwrap();
    assert_eq!(get(store, &orders, &key("p", "1")).await.unwrap().entity.properties.len(), 13);
    let patched = stored(store, &orders, &key("p", "0")).await;
    assert_eq!(patched.get("b6"), Some(&EdmValue::Binary(vec![8; 64_000].into())));
    assert_eq!(patched.get("b7"), Some(&bytes));
}

pub(super) async fn known_entities_are_changed_after_reopening<B: Durable>() {
    let backend = B::create(system_clock()).await;
    let orders = new_table(backend.store()).await;
    fill(backend.store(), &orders).await;
    let backend = backend.reopen(system_clock()).await;
    let store = backend.store();
    let places: Vec<usize> = (0..ROWS).collect();
    let merging = known(store, &orders, &places, KnownChange::Merge(values(ROWS))).await;
    store.write_group(vec![merging.into()].into()).await.unwrap();
    let removing = known(store, &orders, &places[100..], KnownChange::Delete).await;
    store.write_group(vec![removing.into()].into()).await.unwrap();
    let (before, size) = (contents(store, &orders).await, store.reader().estimate(&orders).unwrap());
    let backend = backend.reopen(system_clock()).await;
    let store = backend.store();
    assert_eq!(contents(store, &orders).await, before);
    assert_eq!((before.len(), store.reader().estimate(&orders).unwrap()), (100, size));
    let unchanged_since = store.reader().commit().unwrap_or_default();
    let mut group = WriteGroup::from(vec![known(store, &orders, &places[..100], KnownChange::Delete).await.into()]);
    group.batches = vec![batch(&orders, vec![Operation::Insert(entity("last", "", [("added", text("now"))]))])];
    group.emptied = vec![Emptied { table: orders.clone(), unchanged_since }];
    store.write_group(group).await.unwrap();
    let (before, size) = (contents(store, &orders).await, store.reader().estimate(&orders).unwrap());
    assert_eq!(before.len(), 1);
    let backend = backend.reopen(system_clock()).await;
    assert_eq!(contents(backend.store(), &orders).await, before);
    assert_eq!(backend.store().reader().estimate(&orders).unwrap(), size);
    assert!(observed(backend.store(), &orders).await.iter().any(|property| property.contains("added")));
}
