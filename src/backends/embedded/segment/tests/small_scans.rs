//! Which scans are read from rows although there are segments, on both sides of each threshold; what they give is the same.

use super::*;

/// Of a table of four segments with 40 rows each, in batches of 8; a partition has 30 rows.
const ROWS: i32 = 160;
const FEW_ROWS: usize = 16;

async fn filled_where_few_rows_count(path: &Path) -> EmbeddedStore {
    let options = SegmentOptions { batch_rows: 8, segment_rows: 40, few_rows: FEW_ROWS, ..SegmentOptions::eager() };
    let store = fill(open_with(path, options), ROWS).await;
    assert_eq!(told(&store).len(), 4);
    store
}

fn row(number: i32) -> EntityKey {
    EntityKey::parse(&format!("p{}", number / 30), &format!("{number:04}")).unwrap()
}

/// The rows of the first partition from one to another, both inclusive.
fn rows_between(from: i32, to: i32) -> KeyRange {
    let text = |number: i32| format!("{number:04}").into();
    let span = Span { from: Cut::Before(text(from)), to: Cut::After(text(to)) };
    KeyRange { partitions: Span::point("p0"), rows: Arc::new([span]) }
}

/// Each row as it is printed.
async fn rows_of(store: &EmbeddedStore, range: &KeyRange, direction: Direction, limit: Option<usize>) -> Vec<String> {
    let request = ScanRequest { direction, limit, ..request(std::slice::from_ref(range), all_columns()) };
    shown(store.reader().scan(request).unwrap()).await
}

async fn shown(batches: ScanStream) -> Vec<String> {
    let batches: Vec<_> = batches.try_collect().await.unwrap();
    let rows = batches.iter().flat_map(|batch| (0..batch.num_rows()).map(move |row| batch.slice(row, 1)));
    rows.map(|row| format!("{:?}", row.columns())).collect()
}

/// Whether this scan reads segments: its rows are removed before, so there are none unless it does.
async fn reads_segments(range: &KeyRange, limit: Option<usize>, changes: impl IntoIterator<Item = Operation>) -> bool {
    let folder = tempfile::tempdir().unwrap();
    let store = filled_where_few_rows_count(folder.path()).await;
    for change in changes {
        write(&store, change).await;
    }
    remove_rows(&store);
    // A view that is made after the rows went.
    write(&store, Operation::Insert(entity("q", "", []))).await;
    let found = rows_of(&store, range, Direction::Forward, limit).await;
    found.iter().any(|row| !row.contains("\"q\""))
}

#[tokio::test]
async fn a_scan_with_a_small_limit_reads_rows() {
    let all = KeyRange::all();
    assert!(!reads_segments(&all, Some(FEW_ROWS), []).await);
    assert!(reads_segments(&all, Some(FEW_ROWS + 1), []).await);
    assert!(reads_segments(&all, None, []).await);
}

#[tokio::test]
async fn a_span_within_one_batch_reads_rows_once_its_segment_was_written_to() {
    let written = || [Operation::InsertOrReplace(Entity::new(row(2), Properties::default()))];
    assert!(reads_segments(&rows_between(9, 14), None, []).await);
    // A batch has the rows from 8 to 15. Where a span begins with its first row nobody knows how much is before.
    assert!(!reads_segments(&rows_between(9, 14), None, written()).await);
    assert!(reads_segments(&rows_between(8, 14), None, written()).await);
    assert!(reads_segments(&rows_between(9, 16), None, written()).await);
}

#[tokio::test]
async fn a_segment_a_quarter_of_which_was_written_reads_rows() {
    let changed =
        |rows: i32| (0..rows).map(|number| Operation::InsertOrReplace(Entity::new(row(number), Properties::default())));
    // Behind what was written, in the same segment.
    let rest = rows_between(12, 29);
    assert!(reads_segments(&rest, None, changed(10)).await);
    assert!(!reads_segments(&rest, None, changed(11)).await);
    // The other segments are read as such all the same.
    assert!(reads_segments(&KeyRange::all(), None, changed(11)).await);
}

/// Few rows in each of many partitions, and single rows.
#[tokio::test]
async fn scattered_rows_read_rows() {
    let scattered = KeyRange { partitions: Span::ALL, rows: rows_between(0, 200).rows };
    assert!(!reads_segments(&scattered, None, []).await);
    let point = KeyRange { partitions: Span::point("p1"), rows: Arc::new([Span::point("0040")]) };
    assert!(!reads_segments(&point, None, []).await);
}

#[tokio::test]
async fn a_scan_backwards_reads_segments_too() {
    let folder = tempfile::tempdir().unwrap();
    let store = filled_where_few_rows_count(folder.path()).await;
    remove_rows(&store);
    write(&store, Operation::Insert(entity("q", "", []))).await;
    let all = KeyRange::all();
    assert_eq!(rows_of(&store, &all, Direction::Reverse, Some(FEW_ROWS)).await.len(), 1);
    assert!(rows_of(&store, &all, Direction::Reverse, None).await.len() > FEW_ROWS);
}

#[tokio::test]
async fn a_scan_of_few_rows_is_not_split() {
    for (few_rows, parts) in [(4, 2), (5, 2), (6, 1)] {
        let folder = tempfile::tempdir().unwrap();
        let options = SegmentOptions { batch_rows: 8, segment_rows: 40, few_rows, ..SegmentOptions::eager() };
        let store = fill(open_with(folder.path(), options), ROWS).await;
        let keys = store.reader().split(&table(), &[KeyRange::all()], 2);
        assert_eq!(keys.len() + 1, parts, "{few_rows}");
    }
}

/// Clean, written to, and fresh ranges, with limits on both sides of every threshold: what rows hold, always.
#[tokio::test]
async fn either_way_gives_the_same_rows() {
    let folder = tempfile::tempdir().unwrap();
    let store = filled_where_few_rows_count(folder.path()).await;
    let partition = |name: &str| KeyRange { partitions: Span::point(name), rows: Arc::new([Span::ALL]) };
    let ranges = [
        KeyRange::all(),
        partition("p0"),
        partition("p5"),
        partition("p9"),
        rows_between(9, 14),
        rows_between(8, 14),
        rows_between(9, 16),
    ];
    // More than is read before the rest of a scan goes to another thread.
    let fresh = (0..300).map(|number| Operation::Insert(entity("p9", &format!("{number:04}"), [])));
    let dirty = (0..14).map(|number| match number % 3 {
        0 => Operation::Delete(row(number), IfMatch::Any),
        1 => Operation::Insert(entity("p0", &format!("{number:04} later"), [("n", EdmValue::Int32(-1))])),
        _ => Operation::InsertOrReplace(Entity::new(row(number), Properties::default())),
    });
    compare_limits(&store, &ranges).await;
    for insert in fresh {
        write(&store, insert).await;
    }
    for change in dirty {
        compare_limits(&store, &ranges).await;
        write(&store, change).await;
    }
    compare_limits(&store, &ranges).await;
}

async fn compare_limits(store: &EmbeddedStore, ranges: &[KeyRange]) {
    for range in ranges {
        let rows = shown(scan_of_rows(store, request(std::slice::from_ref(range), all_columns()))).await;
        for limit in [1, FEW_ROWS - 1, FEW_ROWS, FEW_ROWS + 1, 127, 128, 129, usize::MAX] {
            let found = rows_of(store, range, Direction::Forward, Some(limit)).await;
            assert_eq!(found, rows[..limit.min(rows.len())], "{range:?} {limit}");
            let mut found = rows_of(store, range, Direction::Reverse, Some(limit)).await;
            found.reverse();
            assert_eq!(found, rows[rows.len() - limit.min(rows.len())..], "{range:?} {limit} backwards");
        }
    }
}
