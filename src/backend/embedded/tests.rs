//! What only a store on disk can show: damage is found and named, folders are guarded, leftovers are removed.

use std::os::unix::fs::FileExt as _;
use std::path::Path;

use super::*;
use crate::model::{EdmValue, Entity, EntityKey, Properties, PropertyName, Span, SystemClock};
use crate::table::Operation;

fn table() -> TableName {
    TableName::parse("Orders").unwrap()
}

fn options() -> EmbeddedOptions {
    EmbeddedOptions { fsync: Fsync::Always, ..EmbeddedOptions::default() }
}

fn try_open(path: &Path) -> Result<EmbeddedStore, StoreError> {
    EmbeddedStore::open(path, Arc::new(SystemClock), options())
}

fn open(path: &Path) -> EmbeddedStore {
    try_open(path).unwrap()
}

fn key(row: &str) -> EntityKey {
    EntityKey::parse("p", row).unwrap()
}

async fn insert(store: &EmbeddedStore, row: &str, names: &[&str]) {
    let properties: Properties =
        names.iter().map(|name| (PropertyName::parse(name).unwrap(), EdmValue::string("value"))).collect();
    let operation = Operation::Insert(Entity::new(key(row), properties));
    store.commit(Batch::single(table(), operation).unwrap()).await.unwrap();
}

fn rows_of(store: &EmbeddedStore, number: u32) -> usize {
    let span = key_bytes::of_partitions(number, &Span::ALL);
    store.engine.rows.range(span.from..span.to).count()
}

#[tokio::test]
async fn a_folder_in_use_is_refused_by_name() {
    let folder = tempfile::tempdir().unwrap();
    let store = open(folder.path());
    let error = try_open(folder.path()).err().unwrap();
    assert!(matches!(&error, StoreError::Unavailable(text) if text.contains(folder.path().to_str().unwrap())));
    store.close().unwrap();
    open(folder.path());
}

#[tokio::test]
async fn a_lost_commit_is_found() {
    let folder = tempfile::tempdir().unwrap();
    let store = open(folder.path());
    store.create_table(&table()).await.unwrap();
    insert(&store, "1", &[]).await;
    insert(&store, "2", &["lost"]).await;
    store.close().unwrap();
    // A bit of the last commit turns over.
    let journal = folder.path().join("db/0.jnl");
    let bytes = std::fs::read(&journal).unwrap();
    let at = bytes.windows(4).rposition(|window| window == b"lost").unwrap();
    let file = std::fs::OpenOptions::new().write(true).open(&journal).unwrap();
    file.write_all_at(b"Lost", at as u64).unwrap();

    match try_open(folder.path()).err().unwrap() {
        StoreError::Damaged { place, detail } => {
            assert!(place.ends_with("db") && detail.contains('3') && detail.contains('2'), "{place}: {detail}");
        }
        other => panic!("{other}"),
    }
}

#[tokio::test]
async fn a_damaged_row_is_an_error_with_its_key() {
    let folder = tempfile::tempdir().unwrap();
    let store = open(folder.path());
    store.create_table(&table()).await.unwrap();
    insert(&store, "1", &[]).await;
    store.close().unwrap();
    let folder_guard = Folder::open(folder.path()).unwrap();
    let engine = Engine::open(folder_guard, &options()).unwrap();
    engine.rows.insert(key_bytes::of_row(0, "p", "1"), [1, 0xff, 0xff]).unwrap();
    engine.persist().unwrap();
    drop(engine);

    let store = open(folder.path());
    match store.reader().get(&table(), &key("1")).await.unwrap_err() {
        StoreError::Damaged { place, .. } => assert!(place.contains("Orders") && place.contains('1'), "{place}"),
        other => panic!("{other}"),
    }
    let replace = Operation::Delete(key("1"), crate::table::IfMatch::Any);
    let result = store.commit(Batch::single(table(), replace).unwrap()).await;
    assert!(matches!(result, Err(CommitError::Store(StoreError::Damaged { .. }))));
}

#[tokio::test]
async fn the_rows_of_a_dropped_table_are_removed() {
    let folder = tempfile::tempdir().unwrap();
    let store = open(folder.path());
    store.create_table(&table()).await.unwrap();
    for row in 0..1200 {
        insert(&store, &format!("{row:04}"), &["a"]).await;
    }
    assert_eq!(rows_of(&store, 0), 1200);
    store.drop_table(&table()).await.unwrap();
    store.close().unwrap();
    let store = open(folder.path());
    store.create_table(&table()).await.unwrap();
    insert(&store, "new", &["b"]).await;
    while rows_of(&store, 0) > 0 {
        tokio::time::sleep(std::time::Duration::from_millis(5)).await;
    }
    assert_eq!(rows_of(&store, 1), 1);
    store.close().unwrap();
    let engine = Engine::open(Folder::open(folder.path()).unwrap(), &options()).unwrap();
    let live = meta::load(&engine).unwrap();
    assert!(live.dropped.is_empty() && live.next_number == 2);
}

#[tokio::test]
async fn many_shapes_are_kept_in_bounds() {
    let folder = tempfile::tempdir().unwrap();
    let store =
        EmbeddedStore::open(folder.path(), Arc::new(SystemClock), EmbeddedOptions { fsync: Fsync::Never, ..options() })
            .unwrap();
    store.create_table(&table()).await.unwrap();
    for row in 0..300 {
        insert(&store, &row.to_string(), &[&format!("p{row}")]).await;
    }
    store.close().unwrap();
    let store = open(folder.path());
    for row in 0..300 {
        let found = store.reader().get(&table(), &key(&row.to_string())).await.unwrap().unwrap();
        assert!(found.entity.properties.get(&format!("p{row}")).is_some());
    }
    assert_eq!(store.engine.meta.prefix(b"s").count(), 256);
    assert_eq!(store.reader().observed_schema(&table()).await.unwrap().properties().len(), 300);
}
