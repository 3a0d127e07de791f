//! The gateway's own tables have files of their own, and so have tables that were loaded: what is declared, and what is written into
//! small tables, leaves the files of large ones as they are.

use std::collections::BTreeSet;

use tablegate_store::model::own_tables;

use super::*;

fn own_table() -> TableName {
    TableName::parse(own_tables::SCHEMA).unwrap()
}

async fn declare(store: &EmbeddedStore, row: usize) {
    let entity = Entity::new(key(&row.to_string()), Properties::default());
    store.commit(Batch::single(own_table(), Operation::Insert(entity)).unwrap()).await.unwrap();
}

/// An empty folder of this format.
fn folder_of(format: u32) -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    open(folder.path()).close().unwrap();
    std::fs::write(folder.path().join("FORMAT"), format!("tablegate embedded {format}\n")).unwrap();
    folder
}

fn number(store: &EmbeddedStore, table: &TableName) -> u32 {
    store.published.get().tables[table].number
}

async fn load(store: &EmbeddedStore, table: &TableName) {
    store.create_table(table).await.unwrap();
    let staged = store.stage(table).await.unwrap().unwrap();
    let mut keys = EntityKeys::default();
    (0..6_000).for_each(|row| keys.push("p", &format!("{row:05}")).unwrap());
    staged.write(NewEntities::new(table, keys, Vec::new()).unwrap()).await.unwrap();
    assert!(staged.publish().await.unwrap());
}

/// The engine's files, once nothing is merged any more.
async fn files_at_rest(store: &EmbeddedStore, folder: &Path) -> BTreeSet<PathBuf> {
    let merged = || store.figures().compactions;
    let (mut looks, mut seen) = (0, merged());
    while looks < 20 {
        tokio::time::sleep(FLUSH_LOOK).await;
        looks = if merged() == seen { looks + 1 } else { 0 };
        seen = merged();
    }
    let folders = std::fs::read_dir(folder.join("db/keyspaces")).unwrap().map(|entry| entry.unwrap().path());
    let files = folders.flat_map(|folder| std::fs::read_dir(folder.join("tables")).unwrap());
    files.map(|file| file.unwrap()).filter(|file| file.metadata().unwrap().len() > 10_000).map(|f| f.path()).collect()
}

#[tokio::test]
async fn what_is_written_between_loads_has_none_of_their_files_merged() {
    let folder = tempfile::tempdir().unwrap();
    let options = EmbeddedOptions { memtable_bytes: 64 << 10, ..options() };
    let store = EmbeddedStore::open(folder.path(), Arc::new(SystemClock), options).unwrap();
    for name in [&table(), &own_table()] {
        store.create_table(name).await.unwrap();
    }
    let mut files = BTreeSet::new();
    for n in 0..6 {
        declare(&store, n).await;
        insert(&store, &n.to_string(), &[]).await;
        // One whose rows are behind those of the load before.
        let small = TableName::parse(&format!("Small{n}")).unwrap();
        store.create_table(&small).await.unwrap();
        let entity = Entity::new(key("1"), Properties::default());
        store.commit(Batch::single(small, Operation::Insert(entity)).unwrap()).await.unwrap();
        load(&store, &TableName::parse(&format!("Loaded{n}")).unwrap()).await;
        let now = files_at_rest(&store, folder.path()).await;
        assert!(now.is_superset(&files) && now.len() > files.len(), "{files:?}, {now:?}");
        files = now;
    }
}

#[tokio::test]
async fn loaded_tables_are_read_and_written_in_folders_of_all_formats() {
    for format in [1, 2, 3] {
        let folder = folder_of(format);
        let store = open(folder.path());
        for name in ["First", "Second"] {
            load(&store, &TableName::parse(name).unwrap()).await;
        }
        let loaded = number(&store, &TableName::parse("Second").unwrap());
        let kind = NumberKind::of_key(&loaded.to_be_bytes());
        assert_eq!(kind == NumberKind::Loaded, format > 2, "format {format}");
        let second = TableName::parse("Second").unwrap();
        let entity = |row: &str| Entity::new(EntityKey::parse("p", row).unwrap(), Properties::default());
        store.commit(Batch::single(second.clone(), Operation::Insert(entity("new"))).unwrap()).await.unwrap();
        let delete = Operation::Delete(EntityKey::parse("p", "00000").unwrap(), IfMatch::Any);
        store.commit(Batch::single(second.clone(), delete).unwrap()).await.unwrap();
        store.close().unwrap();
        let store = open(folder.path());
        assert_eq!((rows_of(&store, loaded), number(&store, &second)), (6_000, loaded));
        store.create_table(&table()).await.unwrap();
        assert!(number(&store, &table()) > NumberKind::count_of(loaded), "numbers are not given twice");
        store.drop_table(&second).await.unwrap();
        while rows_of(&store, loaded) > 0 {
            tokio::time::sleep(FLUSH_LOOK).await;
        }
    }
}

#[tokio::test]
async fn own_tables_are_read_again_in_folders_of_all_formats() {
    for format in [1, 2, 3] {
        let folder = folder_of(format);
        let store = open(folder.path());
        for name in [&table(), &own_table()] {
            store.create_table(name).await.unwrap();
        }
        insert(&store, "of others", &[]).await;
        for row in [1, 2] {
            declare(&store, row).await;
        }
        let delete = Operation::Delete(key("1"), IfMatch::Any);
        store.commit(Batch::single(own_table(), delete).unwrap()).await.unwrap();
        let own = number(&store, &own_table());
        assert_eq!(
            (number(&store, &table()), NumberKind::of_key(&own.to_be_bytes()) == NumberKind::Own),
            (0, format > 1)
        );
        store.close().unwrap();
        let store = open(folder.path());
        assert_eq!((rows_of(&store, 0), rows_of(&store, own)), (1, 1));
        assert!(store.reader().get(&own_table(), &key("2")).await.unwrap().is_some());
        // A dropped one leaves nothing for the next one of its name.
        store.drop_table(&own_table()).await.unwrap();
        store.create_table(&own_table()).await.unwrap();
        declare(&store, 3).await;
        while rows_of(&store, own) > 0 {
            tokio::time::sleep(FLUSH_LOOK).await;
        }
        let next = number(&store, &own_table());
        assert!(next == own + 1 && rows_of(&store, next) == 1, "{own}, {next}");
    }
}
