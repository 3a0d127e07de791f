//! What only a store on disk can show: damage is found and named, folders are guarded, leftovers are removed.

mod own_tables;
mod partitions;

use std::io::Read as _;
use std::path::{Path, PathBuf};

use futures::TryStreamExt as _;
use tablegate_store::model::{EdmValue, Entity, EntityKey, EntityKeys, Properties, PropertyName, Span, SystemClock};
use tablegate_store::table::{EdmColumn, IfMatch, KeyRange, Operation, TableSize};

use super::engine::FLUSH_LOOK;
use super::key_bytes::NumberKind;
use super::*;

fn table() -> TableName {
    TableName::parse("Orders").unwrap()
}

fn options() -> EmbeddedOptions {
    EmbeddedOptions { fsync: Fsync::Always, reserve_bytes: 0, ..EmbeddedOptions::default() }
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

/// The number of a table whose rows were written ahead.
fn loaded(count: u32) -> u32 {
    NumberKind::Loaded.number(count).unwrap()
}

fn rows_of(store: &EmbeddedStore, number: u32) -> usize {
    let span = key_bytes::of_partitions(number, &Span::ALL);
    store.published.get().engine().unwrap().rows_in(&span).count()
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
async fn a_table_that_nobody_counted_is_counted_by_analyze() {
    let folder = tempfile::tempdir().unwrap();
    let store = open(folder.path());
    store.create_table(&table()).await.unwrap();
    insert(&store, "1", &["a"]).await;
    let counted = store.reader().estimate(&table()).unwrap();
    let engine = store.published.get().engine().unwrap();
    let mut writes = engine.batch();
    size::forget_size(store.published.get().tables[&table()].number, &engine, &mut writes);
    assert!(engine.write(writes).is_ok());
    engine.persist().unwrap();
    drop(engine);
    store.close().unwrap();

    let store = open(folder.path());
    insert(&store, "2", &["a"]).await;
    assert_eq!(store.reader().estimate(&table()).unwrap(), None);
    store.analyze(&table()).await.unwrap();
    let twice = counted.map(|one| TableSize { entities: 2, bytes: 2 * one.bytes });
    assert_eq!(store.reader().estimate(&table()).unwrap(), twice);
    store.close().unwrap();
    assert_eq!(open(folder.path()).reader().estimate(&table()).unwrap(), twice);
}

#[tokio::test]
async fn a_lost_commit_is_found() {
    let folder = tempfile::tempdir().unwrap();
    let store = open(folder.path());
    store.create_table(&table()).await.unwrap();
    insert(&store, "1", &[]).await;
    insert(&store, "2", &["lost"]).await;
    store.close().unwrap();
    // The journal ends within the last commit.
    let journal = folder.path().join("db/0.jnl");
    let bytes = std::fs::read(&journal).unwrap();
    let at = bytes.windows(4).rposition(|window| window == b"lost").unwrap();
    std::fs::OpenOptions::new().write(true).open(&journal).unwrap().set_len(at as u64).unwrap();

    match try_open(folder.path()).err().unwrap() {
        StoreError::Damaged { place, detail } => {
            assert!(place.ends_with("db") && detail.contains('3') && detail.contains('2'), "{place}: {detail}");
        }
        other => panic!("{other}"),
    }
}

/// What is in memory only is written into files as it comes, however fast that is, and none of it is written late.
#[tokio::test]
async fn memory_is_written_into_files_while_more_comes() {
    let folder = tempfile::tempdir().unwrap();
    let memtable_bytes = 16 << 10;
    let store =
        EmbeddedStore::open(folder.path(), Arc::new(SystemClock), EmbeddedOptions { memtable_bytes, ..options() });
    let store = store.unwrap();
    store.create_table(&table()).await.unwrap();
    for row in 0..4000 {
        insert(&store, &format!("{row:04}"), &["a", "b"]).await;
    }
    let unwritten = || store.figures().write_buffer_bytes.unwrap();
    // One of each keyspace is being filled.
    let most = 5 * memtable_bytes;
    for _ in 0..30_000 {
        if unwritten() <= most {
            break;
        }
        tokio::time::sleep(std::time::Duration::from_millis(10)).await;
    }
    assert!(unwritten() <= most, "{} bytes", unwritten());
    assert_eq!(read_all(&store).await.unwrap(), 4000);
}

/// A text of some 32 KB that cannot be compressed.
async fn write_long(store: &EmbeddedStore, row: &str, first: u64) {
    let text: String = (first..first + 2000).map(|n| format!("{:x}", n.wrapping_mul(0x9e37_79b9_7f4a_7c15))).collect();
    let name = PropertyName::parse("text").unwrap();
    let new = Entity::new(key(row), [(name, EdmValue::string(text))].into_iter().collect());
    store.commit(Batch::single(table(), Operation::InsertOrReplace(new)).unwrap()).await.unwrap();
}

/// Whatever else is written little: what is in files is in no journal for long, for the next start would read it.
#[tokio::test]
async fn old_journals_go_while_more_is_written() {
    let folder = tempfile::tempdir().unwrap();
    let options = EmbeddedOptions { fsync: Fsync::Never, memtable_bytes: 8 << 20, ..options() };
    let store = EmbeddedStore::open(folder.path(), Arc::new(SystemClock), options).unwrap();
    store.create_table(&table()).await.unwrap();
    let engine = store.published.get().engine().unwrap();
    engine.delta.insert("written once", "").unwrap();
    for row in 0..7500_u64 {
        write_long(&store, &format!("{:04}", row % 1000), row).await;
        if row == 2500 {
            // Nothing is left of it in any file.
            engine.delta.remove("written once").unwrap();
            engine.begin_flush().unwrap();
            while !engine.is_flushed() {
                tokio::time::sleep(FLUSH_LOOK).await;
            }
            engine.compact_delta().unwrap();
        }
    }
    let journals = || {
        let files = std::fs::read_dir(folder.path().join("db")).unwrap().map(|entry| entry.unwrap().path());
        files.filter(|file| file.extension().is_some_and(|extension| extension == "jnl")).count()
    };
    for _ in 0..30_000 {
        if journals() <= 2 {
            break;
        }
        tokio::time::sleep(FLUSH_LOOK).await;
    }
    assert!(journals() <= 2, "{} of what were at least 3", journals());
}

/// A crash may come when some keyspaces are in files and others are not yet: the journal knows all that files know.
#[tokio::test]
async fn what_goes_into_files_is_in_the_journal_before() {
    const KEY: &[u8] = b"the last one that was written";
    let folder = tempfile::tempdir().unwrap();
    let store = open(folder.path());
    let engine = store.published.get().engine().unwrap();
    let mut writes = engine.batch();
    writes.insert(&engine.sizes, KEY, "");
    assert!(engine.write(writes).is_ok());
    engine.begin_flush().unwrap();
    let files = std::fs::read_dir(folder.path().join("db")).unwrap().map(|entry| entry.unwrap().path());
    let has_key = |journal: PathBuf| {
        let mut begin = Vec::new();
        std::fs::File::open(journal).unwrap().take(1 << 16).read_to_end(&mut begin).unwrap();
        begin.windows(KEY.len()).any(|bytes| bytes == KEY)
    };
    assert!(files.filter(|file| file.extension().is_some_and(|extension| extension == "jnl")).any(has_key));
}

/// A store that is closed leaves no journal behind that the next start would read for long, and nothing is lost by it.
#[tokio::test]
async fn a_long_journal_ends_with_its_store() {
    let folder = tempfile::tempdir().unwrap();
    let journal = || std::fs::metadata(folder.path().join("db/0.jnl")).unwrap().len();
    let store = open(folder.path());
    store.create_table(&table()).await.unwrap();
    store.close().unwrap();
    assert!(journal() > 0, "a short one stays");

    let store = open(folder.path());
    for row in 0..200 {
        write_long(&store, &format!("{row:03}"), row).await;
    }
    let delete = Operation::Delete(key("007"), tablegate_store::table::IfMatch::Any);
    store.commit(Batch::single(table(), delete).unwrap()).await.unwrap();
    let estimate = store.reader().estimate(&table()).unwrap();
    store.close().unwrap();
    assert_eq!(journal(), 0);

    for rows in [199, 200] {
        let store = open(folder.path());
        assert_eq!(read_all(&store).await.unwrap(), rows);
        assert_eq!(store.reader().estimate(&table()).unwrap() == estimate, rows == 199);
        // What comes later counts, also what was there before.
        write_long(&store, "007", 3).await;
        write_long(&store, "008", 0).await;
        store.close().unwrap();
    }
    assert!(journal() > 0);
}

/// Every file of a small store, with one byte changed at several places.
#[tokio::test]
async fn a_damaged_file_is_an_error_and_no_panic() {
    let folder = tempfile::tempdir().unwrap();
    let store = EmbeddedStore::open(
        folder.path(),
        Arc::new(SystemClock),
        EmbeddedOptions { memtable_bytes: 4096, ..options() },
    );
    let store = store.unwrap();
    store.create_table(&table()).await.unwrap();
    for row in 0..100 {
        insert(&store, &format!("{row:04}"), &["a", "b"]).await;
    }
    store.close().unwrap();
    // Cuts the journal to what is in it.
    open(folder.path()).close().unwrap();
    let mut opened = 0;
    for file in files_of(folder.path()) {
        let bytes = std::fs::read(&file).unwrap();
        let length = bytes.iter().rposition(|byte| *byte != 0).map_or(0, |last| last + 1);
        for at in (0..length).step_by((length / 5).max(1)) {
            let copy = tempfile::tempdir().unwrap();
            copy_folder(folder.path(), copy.path());
            let mut damaged = bytes.clone();
            damaged[at] ^= 0x41;
            std::fs::write(copy.path().join(file.strip_prefix(folder.path()).unwrap()), damaged).unwrap();
            let result = match try_open(copy.path()) {
                Ok(store) => read_all(&store).await,
                Err(error) => Err(error),
            };
            match result {
                Ok(rows) => {
                    assert_eq!(rows, 100, "{} at {at}", file.display());
                    opened += 1;
                }
                Err(StoreError::Damaged { .. } | StoreError::Unavailable(_)) => {}
                Err(error) => panic!("{} at {at}: {error}", file.display()),
            }
        }
    }
    assert!(opened > 0);
}

async fn read_all(store: &EmbeddedStore) -> Result<usize, StoreError> {
    count_of(&*store.reader()).await
}

async fn count_of(reader: &dyn TableReader) -> Result<usize, StoreError> {
    let request = tablegate_store::table::ScanRequest {
        table: table(),
        ranges: Arc::new([tablegate_store::table::KeyRange::all()]),
        columns: Arc::new(tablegate_store::table::ScanColumns::new(Vec::new())),
        predicate: None,
        direction: tablegate_store::table::Direction::Forward,
        limit: None,
        batch_rows: 1000,
        stats: Arc::default(),
    };
    let batches: Vec<_> = reader.scan(request)?.try_collect().await?;
    Ok(batches.iter().map(arrow::record_batch::RecordBatch::num_rows).sum())
}

fn files_of(folder: &Path) -> Vec<PathBuf> {
    let mut files = Vec::new();
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() { files.extend(files_of(&path)) } else { files.push(path) }
    }
    files
}

fn copy_folder(from: &Path, to: &Path) {
    for file in files_of(from) {
        let target = to.join(file.strip_prefix(from).unwrap());
        std::fs::create_dir_all(target.parent().unwrap()).unwrap();
        std::fs::copy(file, target).unwrap();
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
    let engine = Engine::open(Arc::new(folder_guard), &options()).unwrap();
    let bytes = key_bytes::of_row(0, "p", "1");
    engine.rows_of(&bytes).insert(bytes, [1, 0xff, 0xff]).unwrap();
    engine.persist().unwrap();
    drop(engine);

    let store = open(folder.path());
    match store.reader().get(&table(), &key("1")).await.unwrap_err() {
        StoreError::Damaged { place, .. } => assert!(place.contains("Orders") && place.contains('1'), "{place}"),
        other => panic!("{other}"),
    }
    let replace = Operation::Delete(key("1"), tablegate_store::table::IfMatch::Any);
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
    let engine = Engine::open(Arc::new(Folder::open(folder.path()).unwrap()), &options()).unwrap();
    let live = meta::load(&engine).unwrap();
    assert!(live.dropped.is_empty() && live.next_number == 2);
}

/// Rows that were written ahead, for a table that did not get them.
#[tokio::test]
async fn the_rows_that_nobody_publishes_are_removed() {
    let new = |first: usize| {
        let mut keys = EntityKeys::default();
        (first..first + 700).for_each(|row| keys.push("p", &format!("{row:04}")).unwrap());
        NewEntities::new(&table(), keys, Vec::new()).unwrap()
    };
    let folder = tempfile::tempdir().unwrap();
    // Windows that are written ahead in no order are merged into files when somebody asks for a key.
    let open = |path: &Path| {
        let options = EmbeddedOptions { memtable_bytes: 1 << 10, ..options() };
        EmbeddedStore::open(path, Arc::new(SystemClock), options).unwrap()
    };
    let store = open(folder.path());
    store.create_table(&table()).await.unwrap();
    let staged = store.stage(&table()).await.unwrap().unwrap();
    staged.write(new(700)).await.unwrap();
    staged.write(new(0)).await.unwrap();
    assert_eq!(staged.first_known(&new(0)).await.unwrap(), Some(0));
    assert_eq!(rows_of(&store, loaded(1)), 1400);
    drop(staged);
    let crashed = store.stage(&table()).await.unwrap().unwrap();
    crashed.write(new(700)).await.unwrap();
    crashed.write(new(0)).await.unwrap();
    assert_eq!(crashed.first_known(&new(0)).await.unwrap(), Some(0));
    while rows_of(&store, loaded(1)) > 0 {
        tokio::time::sleep(std::time::Duration::from_millis(5)).await;
    }
    assert_eq!(rows_of(&store, loaded(2)), 1400, "these are cared for");
    store.close().unwrap();
    let store = open(folder.path());
    insert(&store, "new", &["b"]).await;
    while rows_of(&store, loaded(2)) > 0 {
        tokio::time::sleep(std::time::Duration::from_millis(5)).await;
    }
    assert_eq!(rows_of(&store, 0), 1);
    // What it had before goes when it gets others.
    store.commit(Batch::single(table(), Operation::Delete(key("new"), IfMatch::Any)).unwrap()).await.unwrap();
    let staged = store.stage(&table()).await.unwrap().unwrap();
    staged.write(new(0)).await.unwrap();
    assert!(staged.publish().await.unwrap());
    store.close().unwrap();
    let store = open(folder.path());
    insert(&store, "next", &["b"]).await;
    assert_eq!((rows_of(&store, 0), rows_of(&store, loaded(3))), (0, 701));
    store.close().unwrap();
    let engine = Engine::open(Arc::new(Folder::open(folder.path()).unwrap()), &options()).unwrap();
    let live = meta::load(&engine).unwrap();
    assert_eq!((live.tables[&table()].number, live.next_number), (loaded(3), 4));
}

/// Files with nothing but rows of a dropped table go as they are, and a reader that began before still reads them.
#[tokio::test]
async fn files_of_a_dropped_table_go_behind_its_readers() {
    const ROWS: usize = 6_000;
    let folder = tempfile::tempdir().unwrap();
    let open = || {
        let options = EmbeddedOptions { memtable_bytes: 64 << 10, ..options() };
        EmbeddedStore::open(folder.path(), Arc::new(SystemClock), options).unwrap()
    };
    let store = open();
    store.create_table(&table()).await.unwrap();
    let staged = store.stage(&table()).await.unwrap().unwrap();
    for first in (0..ROWS).step_by(1_000) {
        let mut keys = EntityKeys::default();
        (first..first + 1_000).for_each(|row| keys.push("p", &format!("{row:05}")).unwrap());
        staged.write(NewEntities::new(&table(), keys, Vec::new()).unwrap()).await.unwrap();
    }
    assert!(staged.publish().await.unwrap());
    insert(&store, "later", &["a"]).await;
    assert_eq!(rows_of(&store, loaded(1)), ROWS + 1);
    let reader = store.reader();
    store.drop_table(&table()).await.unwrap();
    store.create_table(&table()).await.unwrap();
    insert(&store, "another", &["a"]).await;
    while rows_of(&store, loaded(1)) > 0 {
        tokio::time::sleep(FLUSH_LOOK).await;
    }
    assert_eq!(count_of(&*reader).await.unwrap(), ROWS + 1);
    drop(reader);
    store.close().unwrap();
    let store = open();
    assert_eq!((read_all(&store).await.unwrap(), rows_of(&store, loaded(1))), (1, 0));
}

/// A crash can leave rows of which nothing is known.
#[tokio::test]
async fn rows_under_numbers_that_nobody_knows_are_removed() {
    let folder = tempfile::tempdir().unwrap();
    let store = open(folder.path());
    for name in ["First", "Second", "Third"] {
        store.create_table(&TableName::parse(name).unwrap()).await.unwrap();
    }
    store.drop_table(&TableName::parse("Second").unwrap()).await.unwrap();
    for name in ["First", "Third"] {
        let entity = Entity::new(key("a"), Properties::default());
        let batch = Batch::single(TableName::parse(name).unwrap(), Operation::Insert(entity)).unwrap();
        store.commit(batch).await.unwrap();
    }
    store.close().unwrap();
    let engine = Engine::open(Arc::new(Folder::open(folder.path()).unwrap()), &options()).unwrap();
    let mut writes = engine.batch();
    for number in [1, 3, 9] {
        for key in ["a", "b"].map(|row| key_bytes::of_row(number, "p", row)) {
            writes.insert(engine.rows_of(&key), key, "");
        }
    }
    assert!(engine.write(writes).is_ok());
    drop(engine);
    let store = open(folder.path());
    store.create_table(&table()).await.unwrap();
    while [1, 3, 9].iter().any(|number| rows_of(&store, *number) > 0) {
        tokio::time::sleep(FLUSH_LOOK).await;
    }
    assert_eq!((rows_of(&store, 0), rows_of(&store, 2)), (1, 1));
}

/// Rows of any order and form, while others write: whatever comes of them later, in the same program or the next.
#[tokio::test]
async fn rows_in_files_of_their_own_are_rows_as_others() {
    let folder = tempfile::tempdir().unwrap();
    let open = |memtable_bytes| {
        let options = EmbeddedOptions { memtable_bytes, ..options() };
        EmbeddedStore::open(folder.path(), Arc::new(SystemClock), options).unwrap()
    };
    let row = |n: usize| format!("{:05}", n * 7919 % 4000);
    let new = |window: usize| {
        let (mut keys, mut numbers, mut texts) = (EntityKeys::default(), Vec::new(), Vec::new());
        for n in window * 500..(window + 1) * 500 {
            keys.push("p", &row(n)).unwrap();
            numbers.push((n % 3 > 0).then(|| i64::try_from(n).unwrap()));
            texts.push((n % 5 > 0).then(|| "x".repeat(n % 50)));
        }
        let numbers = EdmColumn::Int64(numbers.into_iter().collect());
        let name = |text| PropertyName::parse(text).unwrap();
        let columns = vec![(name("n"), numbers), (name("t"), EdmColumn::String(texts.into_iter().collect()))];
        NewEntities::new(&table(), keys, columns).unwrap()
    };
    let other = TableName::parse("Others").unwrap();
    let windows: Vec<NewEntities> = (0..8).map(new).collect();
    for memtable_bytes in [1 << 10, 64 << 10, 32 << 20] {
        let store = open(memtable_bytes);
        for table in [&table(), &other] {
            store.create_table(table).await.unwrap();
        }
        let staged = store.stage(&table()).await.unwrap().unwrap();
        let before = store.reader();
        for (window, new) in windows.iter().enumerate() {
            staged.write(new.clone()).await.unwrap();
            let entity = Entity::new(key(&window.to_string()), Properties::default());
            store.commit(Batch::single(other.clone(), Operation::Insert(entity)).unwrap()).await.unwrap();
        }
        assert!(staged.publish().await.unwrap());
        let of_before = before.get(&table(), &key(&row(1))).await.unwrap();
        assert!(of_before.is_none(), "a reader keeps to its moment");
        drop(before);
        assert_eq!(store.reader().estimate(&table()).unwrap().unwrap().entities, 4000);
        // One that is written again is younger; one that is deleted is gone.
        let reader = store.reader();
        let stored = reader.get(&table(), &key(&row(4))).await.unwrap().unwrap();
        drop(reader);
        let update = Operation::Replace(Entity::new(key(&row(4)), Properties::default()), IfMatch::ETag(stored.etag));
        store.commit(Batch::single(table(), update).unwrap()).await.unwrap();
        let deletion = Operation::Delete(key(&row(5)), IfMatch::Any);
        store.commit(Batch::single(table(), deletion).unwrap()).await.unwrap();
        store.close().unwrap();
        let store = open(memtable_bytes);
        let reader = store.reader();
        for n in 0..4000 {
            let found = reader.get(&table(), &key(&row(n))).await.unwrap();
            let expected = match n {
                4 => Some(Properties::default()),
                5 => None,
                _ => Some(windows[n / 500].entity(n % 500).properties),
            };
            assert_eq!(found.as_ref().map(|found| &found.entity.properties), expected.as_ref(), "{n}");
            assert!(n != 4 || found.unwrap().timestamp > stored.timestamp);
        }
        for window in 0..8 {
            assert!(reader.get(&other, &key(&window.to_string())).await.unwrap().is_some());
        }
        assert_eq!(reader.estimate(&table()).unwrap().unwrap().entities, 3999);
        drop(reader);
        for table in [&table(), &other] {
            store.drop_table(table).await.unwrap();
        }
        store.close().unwrap();
    }
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
    assert_eq!(store.published.get().engine().unwrap().meta.prefix(b"s").count(), 256);
    assert_eq!(store.reader().observed_schema(&table()).await.unwrap().properties().len(), 300);
}

/// Rows that are no columns yet are read by several, whether they came through the journal or in files of their own.
#[tokio::test]
async fn scans_of_rows_that_came_in_windows_are_split_between_them() {
    const ROWS: usize = 40_000;
    let window = |first: usize| {
        let mut keys = EntityKeys::default();
        (first..first + 4_000).for_each(|row| keys.push(&format!("p{}", row / 9_000), &format!("{row:05}")).unwrap());
        NewEntities::new(&table(), keys, Vec::new()).unwrap()
    };
    for is_staged in [false, true] {
        let folder = tempfile::tempdir().unwrap();
        let store = EmbeddedStore::open(folder.path(), Arc::new(SystemClock), options()).unwrap();
        store.create_table(&table()).await.unwrap();
        let staged = store.stage(&table()).await.unwrap().unwrap();
        for first in (0..ROWS).step_by(4_000) {
            match is_staged {
                true => staged.write(window(first)).await.unwrap(),
                false => assert!(store.insert_window(window(first)).await.is_empty()),
            }
        }
        assert_eq!(staged.publish().await.unwrap(), is_staged);
        let reader = store.reader();
        let second = KeyRange { partitions: Span::point("p1"), rows: Arc::new([Span::ALL]) };
        for (range, middle) in [(KeyRange::all(), ROWS / 2), (second, 13_500)] {
            let keys = reader.split(&table(), &[range], 2);
            let [key] = &keys[..] else { panic!("{keys:?}") };
            let row: usize = key.row.as_str().parse().unwrap();
            assert!(row.abs_diff(middle) <= 2_000, "{row}");
        }
    }
}
