//! How long partitions are, as a look at a few of them tells.

use super::*;

/// So many rows in each of so many partitions.
async fn table_of(store: &EmbeddedStore, name: &str, partitions: usize, rows: usize) -> TableName {
    let table = TableName::parse(name).unwrap();
    store.create_table(&table).await.unwrap();
    let staged = store.stage(&table).await.unwrap().unwrap();
    let mut keys = EntityKeys::default();
    for partition in 0..partitions {
        (0..rows).for_each(|row| keys.push(&format!("{partition:05}"), &format!("{row:05}")).unwrap());
    }
    staged.write(NewEntities::new(&table, keys, Vec::new()).unwrap()).await.unwrap();
    assert!(staged.publish().await.unwrap());
    table
}

#[tokio::test]
async fn they_are_as_long_as_those_that_are_looked_at() {
    let folder = tempfile::tempdir().unwrap();
    let store = EmbeddedStore::open(folder.path(), Arc::new(SystemClock), options()).unwrap();
    let mut seen = Vec::new();
    for (name, partitions, rows) in [("Orders", 3_000, 1), ("Lines", 1_000, 3), ("Days", 20, 300), ("Log", 2, 3_000)] {
        let table = table_of(&store, name, partitions, rows).await;
        seen.push(store.reader().partition_rows(&table, 512));
    }
    assert_eq!(seen[0], Some(1));
    assert!(seen[1].is_some_and(|rows| (2..=3).contains(&rows)), "{seen:?}");
    assert!(seen[2].is_some_and(|rows| (150..=300).contains(&rows)), "{seen:?}");
    assert_eq!(seen[3], Some(512), "as many as are looked at, or more");
    let empty = TableName::parse("Empty").unwrap();
    store.create_table(&empty).await.unwrap();
    assert_eq!(store.reader().partition_rows(&empty, 512), None);
}
