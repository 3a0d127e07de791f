//! What segments show is what rows hold, whatever happens to their files.

mod against_rows;
mod derived;
mod dictionaries;
mod given_up;
mod recent;
mod small_scans;
mod untouched;

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use arrow::datatypes::SchemaRef;
use arrow::ipc::reader::FileReader;
use futures::TryStreamExt as _;
use tablegate_store::model::{
    Cut, EdmDateTime, EdmValue, Entity, EntityKey, Properties, PropertyName, Span, SystemClock, TableName,
};
use tablegate_store::table::predicate::{CompareOp, PredicateColumn, StoredValue};
use tablegate_store::table::{
    Batch, ColumnType, Direction, IfMatch, KeyRange, Operation, Predicate, Renewal, ScanColumn, ScanColumns,
    ScanRequest, ScanStream, SegmentState, StoreError, TableReader, TableStore,
};

use super::super::scan::Scan;
use super::super::{EmbeddedOptions, EmbeddedStore, Fsync, key_bytes};
use super::*;

fn table() -> TableName {
    TableName::parse("Orders").unwrap()
}

fn open_with(path: &Path, segments: SegmentOptions) -> EmbeddedStore {
    let options = EmbeddedOptions { fsync: Fsync::Never, reserve_bytes: 0, segments, ..EmbeddedOptions::default() };
    EmbeddedStore::open(path, Arc::new(SystemClock), options).unwrap()
}

fn open(path: &Path) -> EmbeddedStore {
    open_with(path, SegmentOptions { batch_rows: 8, segment_rows: 50, ..SegmentOptions::eager() })
}

async fn write(store: &EmbeddedStore, operation: Operation) {
    store.commit(Batch::single(table(), operation).unwrap()).await.unwrap();
}

fn entity<const N: usize>(partition: &str, row: &str, values: [(&str, EdmValue); N]) -> Entity {
    let named = |(name, value): (&str, EdmValue)| (PropertyName::parse(name).unwrap(), value);
    let properties: Properties = values.into_iter().map(named).collect();
    Entity::new(EntityKey::parse(partition, row).unwrap(), properties)
}

/// A store with rows of several partitions in segments.
async fn filled(path: &Path, rows: i32) -> EmbeddedStore {
    fill(open(path), rows).await
}

async fn fill(store: EmbeddedStore, rows: i32) -> EmbeddedStore {
    store.create_table(&table()).await.unwrap();
    for row in 0..rows {
        let values = [("n", EdmValue::Int32(row)), ("text", EdmValue::string(format!("value {row}")))];
        let new = entity(&format!("p{}", row / 30), &format!("{row:04}"), values);
        write(&store, Operation::Insert(new)).await;
    }
    store.build_segments();
    store
}

fn column(name: &str, column_type: ColumnType) -> ScanColumn {
    ScanColumn::Property { name: PropertyName::parse(name).unwrap(), column_type }
}

fn all_columns() -> Vec<ScanColumn> {
    let keys = [ScanColumn::PartitionKey, ScanColumn::RowKey, ScanColumn::Timestamp, ScanColumn::ETag];
    let values = [column("n", ColumnType::Int32), column("n", ColumnType::Double), column("text", ColumnType::Text)];
    keys.into_iter().chain(values).collect()
}

/// A scan forwards, for all rows.
fn request(ranges: &[KeyRange], columns: Vec<ScanColumn>) -> ScanRequest {
    ScanRequest {
        table: table(),
        ranges: ranges.into(),
        columns: Arc::new(ScanColumns::new(columns)),
        direction: Direction::Forward,
        predicate: None,
        limit: None,
        batch_rows: 1000,
        stats: Arc::default(),
    }
}

/// What a scan gives as printed rows, or why it fails.
async fn scan(
    reader: &dyn TableReader,
    ranges: &[KeyRange],
    columns: Vec<ScanColumn>,
    direction: Direction,
    batch_rows: usize,
) -> Result<Vec<String>, String> {
    scan_for(reader, ranges, columns, direction, batch_rows, None).await
}

/// The same, told what it is for.
async fn scan_for(
    reader: &dyn TableReader,
    ranges: &[KeyRange],
    columns: Vec<ScanColumn>,
    direction: Direction,
    batch_rows: usize,
    predicate: Option<Predicate>,
) -> Result<Vec<String>, String> {
    let request = ScanRequest { direction, predicate, batch_rows, ..request(ranges, columns) };
    printed(Arc::clone(request.columns.schema()), batch_rows, reader.scan(request).unwrap()).await
}

/// The same forwards, of rows whatever segments there are.
async fn rows_alone(
    store: &EmbeddedStore,
    ranges: &[KeyRange],
    columns: Vec<ScanColumn>,
) -> Result<Vec<String>, String> {
    let request = request(ranges, columns);
    printed(Arc::clone(request.columns.schema()), request.batch_rows, scan_of_rows(store, request)).await
}

fn scan_of_rows(store: &EmbeddedStore, request: ScanRequest) -> ScanStream {
    let view = store.published.get();
    let meta = Arc::clone(&view.tables[&table()]);
    Scan::of_rows(view, meta, request).into_stream()
}

async fn printed(schema: SchemaRef, batch_rows: usize, batches: ScanStream) -> Result<Vec<String>, String> {
    let batches: Result<Vec<_>, StoreError> = batches.try_collect().await;
    let batches = batches.map_err(|error| error.to_string())?;
    assert!(batches.iter().all(|batch| (1..=batch_rows).contains(&batch.num_rows()) && batch.schema() == schema));
    let mut rows = Vec::new();
    for batch in &batches {
        let options = arrow::util::display::FormatOptions::default().with_null("NULL");
        let columns: Vec<_> = batch
            .columns()
            .iter()
            .map(|column| arrow::util::display::ArrayFormatter::try_new(column, &options).unwrap())
            .collect();
        for row in 0..batch.num_rows() {
            let cells: Vec<String> = columns.iter().map(|column| column.value(row).to_string()).collect();
            rows.push(cells.join("|"));
        }
    }
    Ok(rows)
}

/// Segments show what the rows hold; the rows.
async fn check(store: &EmbeddedStore) -> Vec<String> {
    let (reader, all) = (store.reader(), [KeyRange::all()]);
    let rows = rows_alone(store, &all, all_columns()).await.unwrap();
    let forwards = scan(&*reader, &all, all_columns(), Direction::Forward, 5).await.unwrap();
    assert_eq!(forwards, rows);
    let mut backwards = scan(&*reader, &all, all_columns(), Direction::Reverse, 5).await.unwrap();
    backwards.reverse();
    assert_eq!(backwards, rows);
    rows
}

fn files(path: &Path) -> BTreeSet<PathBuf> {
    let Ok(entries) = std::fs::read_dir(path.join("segments")) else { return BTreeSet::new() };
    entries.map(|entry| entry.unwrap().path()).collect()
}

fn segment_of(store: &EmbeddedStore) -> Arc<Segment> {
    Arc::clone(&store.published.get().tables[&table()].segments.list()[0])
}

/// The numbers in rows.
async fn numbers(reader: &dyn TableReader) -> Vec<String> {
    let columns = vec![column("n", ColumnType::Int32)];
    scan(reader, &[KeyRange::all()], columns, Direction::Forward, 1000).await.unwrap()
}

/// What is noted of the table.
fn delta_of(store: &EmbeddedStore) -> usize {
    let all = key_bytes::of_partitions(store.published.get().tables[&table()].number, &Span::ALL);
    store.published.get().engine().unwrap().delta.range(all.from..all.to).count()
}

/// Segments with the rows of nobody: what is read then is read from segments.
fn remove_rows(store: &EmbeddedStore) {
    let engine = store.published.get().engine().unwrap();
    let span = key_bytes::of_partitions(0, &Span::ALL);
    let keys: Vec<_> = engine.rows_in(&span).map(|row| row.key().unwrap()).collect();
    keys.into_iter().for_each(|key| engine.rows_of(&key).remove(key).unwrap());
}

#[tokio::test]
async fn scans_read_segments_and_what_was_written_since() {
    let folder = tempfile::tempdir().unwrap();
    let store = filled(folder.path(), 120).await;
    write(&store, Operation::InsertOrReplace(entity("p1", "0040", [("n", EdmValue::Int32(-1))]))).await;
    write(&store, Operation::Insert(entity("p1", "0040 later", []))).await;
    write(&store, Operation::Delete(EntityKey::parse("p2", "0060").unwrap(), IfMatch::Any)).await;
    write(&store, Operation::Insert(entity("p9", "behind all", []))).await;
    let expected = check(&store).await;
    assert_eq!(expected.len(), 121);
    assert_eq!(delta_of(&store), 3, "what is behind the last segment is in the rows only");
    remove_rows(&store);
    // A view that is made after the rows went: a commit publishes it.
    write(&store, Operation::Insert(entity("q", "", []))).await;
    let rows = scan(&*store.reader(), &[KeyRange::all()], all_columns(), Direction::Forward, 7).await.unwrap();
    assert_eq!(rows[..120], expected[..120], "nothing but the rows behind the segments was read as rows");
}

#[tokio::test]
async fn batches_without_a_row_that_is_asked_for_are_left_out() {
    let folder = tempfile::tempdir().unwrap();
    let store = filled(folder.path(), 120).await;
    // In a batch that is left out, before one that is read, and behind it.
    write(&store, Operation::InsertOrReplace(entity("p1", "0040", [("n", EdmValue::Int32(61))]))).await;
    write(&store, Operation::Insert(entity("p3", "0119 later", [("n", EdmValue::Int32(61))]))).await;
    let n = PredicateColumn::Property { name: PropertyName::parse("n").unwrap(), column_type: ColumnType::Int32 };
    let predicate = Predicate::compare(n, CompareOp::Eq, EdmValue::Int32(61));
    let (reader, columns) = (store.reader(), vec![ScanColumn::RowKey, column("n", ColumnType::Int32)]);
    let all = [KeyRange::all()];
    let rows = scan_for(&*reader, &all, columns, Direction::Forward, 100, predicate).await.unwrap();
    let batch: Vec<String> = (58..66).map(|row| format!("{row:04}|{row}")).collect();
    let expected: Vec<_> =
        ["0040|61".to_owned()].into_iter().chain(batch).chain(["0119 later|61".to_owned()]).collect();
    assert_eq!(rows, expected);
    // The instants of writing are known too.
    let timestamp = PredicateColumn::Timestamp;
    let long_ago = EdmValue::DateTime(EdmDateTime::from_unix_ticks(0).unwrap());
    let predicate = Predicate::compare(timestamp, CompareOp::Lt, long_ago);
    let rows = scan_for(&*reader, &all, vec![ScanColumn::RowKey], Direction::Forward, 100, predicate).await.unwrap();
    assert_eq!(rows, ["0040", "0119 later"]);
}

#[tokio::test]
async fn parts_have_about_as_many_rows_each() {
    let folder = tempfile::tempdir().unwrap();
    let store = filled(folder.path(), 120).await;
    let reader = store.reader();
    let keys = reader.split(&table(), &[KeyRange::all()], 3);
    let keys: Vec<_> = keys.iter().map(|key| (key.partition.as_str(), key.row.as_str())).collect();
    assert_eq!(keys, [("p1", "0040"), ("p2", "0082")]);
    assert!(reader.split(&table(), &[KeyRange::all()], 1).is_empty());
    let point = KeyRange { partitions: Span::point("p1"), rows: Arc::new([Span::point("0040")]) };
    assert!(reader.split(&table(), &[point], 3).is_empty());
    let partition = KeyRange { partitions: Span::point("p1"), rows: Arc::new([Span::ALL]) };
    assert_eq!(reader.split(&table(), &[partition], 2).len(), 1);
}

#[tokio::test]
async fn a_new_segment_takes_in_what_was_written() {
    let folder = tempfile::tempdir().unwrap();
    let store = filled(folder.path(), 100).await;
    let before = files(folder.path());
    assert_eq!((before.len(), delta_of(&store)), (2, 0));
    write(&store, Operation::Delete(EntityKey::parse("p0", "0010").unwrap(), IfMatch::Any)).await;
    let expected = check(&store).await;
    let late = store.reader();
    store.build_segments();
    assert_eq!((check(&store).await, delta_of(&store)), (expected.clone(), 0));
    let both = files(folder.path());
    assert_eq!(both.len(), 3, "one was made anew; a reader still holds the old one");
    let rows = scan(&*late, &[KeyRange::all()], all_columns(), Direction::Forward, 1000).await.unwrap();
    assert_eq!(rows, expected);
    drop(late);
    let after = files(folder.path());
    assert_eq!((after.len(), before.intersection(&after).count()), (2, 1), "it goes with its last reader");

    // Rows one after the other go, until a segment is of nothing.
    for row in 0..50 {
        let key = EntityKey::parse(&format!("p{}", row / 30), &format!("{row:04}")).unwrap();
        let _ = store.commit(Batch::single(table(), Operation::Delete(key, IfMatch::Any)).unwrap()).await;
    }
    store.build_segments();
    assert_eq!((check(&store).await.len(), delta_of(&store)), (50, 0));
}

#[tokio::test]
async fn what_was_removed_from_the_delta_leaves_its_files() {
    let folder = tempfile::tempdir().unwrap();
    let store = open_with(folder.path(), SegmentOptions { segment_rows: 1 << 20, ..SegmentOptions::eager() });
    store.create_table(&table()).await.unwrap();
    for round in 0..2 {
        for partition in 0..90 {
            let mut batch = Batch::builder(table());
            for row in 0..100 {
                let new = entity(&format!("p{partition:02}"), &format!("{row:03}"), [("n", EdmValue::Int32(round))]);
                batch.push(Operation::InsertOrReplace(new)).unwrap();
            }
            store.commit(batch.build().unwrap()).await.unwrap();
        }
        store.build_segments();
    }
    assert_eq!((check(&store).await.len(), delta_of(&store)), (9000, 0));
    let held = store.published.get().engine().unwrap().delta_len();
    assert!(held < 1000, "{held} entries are still to be gone through");
    // A segment that is known to be as its rows are is told of the next write all the same.
    let changed = entity("p07", "070", [("n", EdmValue::Int32(7))]);
    write(&store, Operation::Replace(changed, IfMatch::Any)).await;
    let is_changed = |row: &&String| row.starts_with("p07|070|") && row.contains("|7|");
    let rows = check(&store).await;
    assert_eq!((rows.len(), rows.iter().filter(is_changed).count()), (9000, 1));
}

#[tokio::test]
async fn segments_are_the_same_after_reopening() {
    let folder = tempfile::tempdir().unwrap();
    let store = filled(folder.path(), 100).await;
    write(&store, Operation::InsertOrReplace(entity("p1", "0040", [("n", EdmValue::Int32(-1))]))).await;
    let (expected, before) = (check(&store).await, files(folder.path()));
    let list = |store: &EmbeddedStore| {
        let view = store.published.get();
        view.tables[&table()].segments.list().iter().map(|segment| segment.meta.clone()).collect::<Vec<_>>()
    };
    let metas = list(&store);
    store.close().unwrap();
    std::fs::write(folder.path().join("segments/00000000-orphan.arrow"), "cut short").unwrap();
    let store = open(folder.path());
    assert_eq!((list(&store), files(folder.path())), (metas, before));
    assert_eq!((check(&store).await, delta_of(&store)), (expected, 1));
}

/// What the store tells of its segments: rows, what was written since, state.
fn told(store: &EmbeddedStore) -> Vec<(u64, Option<u64>, SegmentState)> {
    store.segments(&table()).into_iter().map(|told| (told.entities, told.dirty, told.state)).collect()
}

#[tokio::test]
async fn segments_are_told_with_what_became_of_them() {
    use SegmentState::{Clean, Damaged, Dirty, Overwritten};
    let folder = tempfile::tempdir().unwrap();
    let store = filled(folder.path(), 120).await;
    assert_eq!(told(&store), [(50, Some(0), Clean), (50, Some(0), Clean), (20, Some(0), Clean)]);
    let first = store.segments(&table()).remove(0);
    let key = |partition, row| EntityKey::parse(partition, row).unwrap();
    assert_eq!(first.keys, Some((key("p0", "0000"), key("p1", "0049"))));
    assert_eq!((first.bytes.is_some(), first.built_at.is_some(), first.commit), (true, true, 121));
    for row in 100..106 {
        write(&store, Operation::InsertOrReplace(entity("p3", &format!("{row:04}"), []))).await;
    }
    write(&store, Operation::InsertOrReplace(entity("p0", "0001", []))).await;
    assert_eq!(told(&store), [(50, Some(1), Dirty), (50, Some(0), Clean), (20, Some(6), Overwritten)]);
    assert_eq!(store.figures().segments_building, Some(0));
    store.close().unwrap();
    let file = files(folder.path()).pop_first().unwrap();
    std::fs::write(&file, "cut short").unwrap();
    let store = open(folder.path());
    assert_eq!(told(&store).iter().filter(|(.., state)| *state == Damaged).count(), 1);
    store.build_segments();
    assert_eq!(told(&store), [(50, Some(0), Clean), (50, Some(0), Clean), (20, Some(0), Clean)]);
    assert!(store.segments(&TableName::parse("Other").unwrap()).is_empty());
    store.close().unwrap();
    let store = open_with(folder.path(), SegmentOptions::off());
    assert!(told(&store).is_empty() && store.figures().segments_building.is_none());
}

/// Rows that are behind the last segment get one when somebody asks for all; otherwise when they are enough.
#[tokio::test]
async fn segments_are_renewed_when_somebody_asks() {
    use SegmentState::{Clean, Dirty};
    let folder = tempfile::tempdir().unwrap();
    let options = SegmentOptions { min_rows: 30, dirty_percent: 10, ..SegmentOptions::eager() };
    let store = fill(open_with(folder.path(), options), 20).await;
    let (due, all) = (Renewal::Due, Renewal::All);
    store.renew_segments(&table(), all).await.unwrap();
    assert!(told(&store).is_empty(), "so few rows are rows alone");
    for row in 20..40 {
        write(&store, Operation::Insert(entity("p0", &format!("{row:04}"), []))).await;
    }
    store.renew_segments(&table(), due).await.unwrap();
    assert_eq!(told(&store), [(40, Some(0), Clean)]);
    write(&store, Operation::InsertOrReplace(entity("p0", "0001", []))).await;
    write(&store, Operation::Insert(entity("p5", "", []))).await;
    store.renew_segments(&table(), due).await.unwrap();
    assert_eq!(told(&store), [(40, Some(1), Dirty)]);
    let expected = check(&store).await;
    store.renew_segments(&table(), all).await.unwrap();
    assert_eq!(told(&store), [(40, Some(0), Clean), (1, Some(0), Clean)]);
    assert_eq!(check(&store).await, expected);
    let missing = store.renew_segments(&TableName::parse("Other").unwrap(), all).await;
    assert!(matches!(missing, Err(StoreError::TableMissing(_))));
}

#[tokio::test]
async fn a_file_is_one_of_arrows() {
    let folder = tempfile::tempdir().unwrap();
    let _store = filled(folder.path(), 40).await;
    let file = files(folder.path()).pop_first().unwrap();
    let reader = FileReader::try_new(std::fs::File::open(file).unwrap(), None).unwrap();
    let names: Vec<_> = reader.schema().fields().iter().map(|field| field.name().clone()).collect();
    assert_eq!(names, ["PartitionKey", "RowKey", "Timestamp", "Timestamp:100ns", "n:Edm.Int32", "text:Edm.String"]);
    assert_eq!(reader.map(|batch| batch.unwrap().num_rows()).sum::<usize>(), 40);
}

/// Every file changed, cut short, or gone: the rows are read, and a new file is made.
#[tokio::test]
async fn damaged_files_are_found_and_replaced() {
    let folder = tempfile::tempdir().unwrap();
    let store = filled(folder.path(), 40).await;
    write(&store, Operation::InsertOrReplace(entity("p1", "0035", [("n", EdmValue::Int32(-1))]))).await;
    let expected = check(&store).await;
    store.close().unwrap();
    let (mut found, mut cases) = (0, 0);
    let length = files(folder.path()).first().unwrap().metadata().unwrap().len();
    let places = (0..length).step_by(usize::try_from(length / 60).unwrap()).map(Some).chain([None]);
    for at in places {
        let file = files(folder.path()).pop_first().unwrap();
        let mut bytes = std::fs::read(&file).unwrap();
        match at {
            Some(at) if at % 7 == 3 => bytes.truncate(usize::try_from(at).unwrap()),
            Some(at) => bytes[usize::try_from(at).unwrap()] ^= 0x41,
            None => {}
        }
        // Written anew under the same name: the file before may still be mapped by somebody.
        std::fs::remove_file(&file).unwrap();
        if at.is_some() {
            std::fs::write(&file, bytes).unwrap();
        }
        let store = open(folder.path());
        assert_eq!(check(&store).await, expected, "{at:?}");
        let is_damaged = store.published.get().tables[&table()].segments.list()[0].is_damaged();
        store.build_segments();
        assert_eq!(check(&store).await, expected, "{at:?}");
        store.close().unwrap();
        assert!(files(folder.path()).len() == 1 && (!is_damaged || !files(folder.path()).contains(&file)));
        found += u32::from(is_damaged);
        cases += 1;
    }
    // Between the columns, and in the footer, there is nothing that is read.
    assert!(found * 3 > cases, "{found} of {cases}");
}

#[tokio::test]
async fn a_dropped_table_takes_its_files_with_it() {
    let folder = tempfile::tempdir().unwrap();
    let store = filled(folder.path(), 100).await;
    write(&store, Operation::InsertOrReplace(entity("p1", "0040", []))).await;
    let late = store.reader();
    store.drop_table(&table()).await.unwrap();
    store.create_table(&table()).await.unwrap();
    assert!(check(&store).await.is_empty());
    let rows = scan(&*late, &[KeyRange::all()], all_columns(), Direction::Forward, 1000).await.unwrap();
    assert_eq!((rows.len(), files(folder.path()).len()), (100, 2));
    drop(late);
    store.build_segments();
    assert_eq!((files(folder.path()).len(), delta_of(&store)), (0, 0));
}

#[tokio::test]
async fn commits_that_know_of_no_segments_end_them() {
    let folder = tempfile::tempdir().unwrap();
    filled(folder.path(), 60).await.close().unwrap();
    let store = open_with(folder.path(), SegmentOptions::off());
    let unread = check(&store).await;
    store.close().unwrap();
    assert_eq!(files(folder.path()).len(), 2, "nothing was written: they count again");
    let store = open_with(folder.path(), SegmentOptions::off());
    write(&store, Operation::InsertOrReplace(entity("p1", "0040", [("n", EdmValue::Int32(-1))]))).await;
    let expected = check(&store).await;
    assert_ne!(expected, unread);
    store.close().unwrap();
    let store = open(folder.path());
    assert!(files(folder.path()).is_empty());
    assert_eq!(check(&store).await, expected);
    store.build_segments();
    assert_eq!((check(&store).await, files(folder.path()).len()), (expected, 2));
}

#[tokio::test]
async fn a_table_at_rest_needs_fewer_rows_for_its_first_segment() {
    let folder = tempfile::tempdir().unwrap();
    let store = open_with(folder.path(), SegmentOptions { min_rows: 80, ..SegmentOptions::eager() });
    store.create_table(&table()).await.unwrap();
    let add = async |row: i32| write(&store, Operation::Insert(entity("p", &format!("{row:04}"), []))).await;
    for row in 0..10 {
        add(row).await;
    }
    store.build_segments();
    assert!(files(folder.path()).is_empty(), "there were more rows than before");
    store.build_segments();
    assert!(!files(folder.path()).is_empty(), "nobody has added one");
    // The same of a few rows behind it: there must be so many of them again.
    add(10).await;
    store.build_segments();
    store.build_segments();
    assert_eq!(files(folder.path()).len(), 1);
}
