//! Columns that nobody has set since are the segment's own.

use arrow::array::Array as _;
use arrow::record_batch::RecordBatch;

use super::*;

/// Of one segment with 32 rows, in batches of 8.
async fn filled_one(path: &Path) -> EmbeddedStore {
    let options = SegmentOptions { batch_rows: 8, segment_rows: 1000, ..SegmentOptions::eager() };
    fill(open_with(path, options), 32).await
}

/// Sets the number of a row, and leaves its text.
async fn set(store: &EmbeddedStore, row: i32, n: i32) {
    let (partition, row) = (format!("p{}", row / 30), format!("{row:04}"));
    write(store, Operation::Merge(entity(&partition, &row, [("n", EdmValue::Int32(n))]), IfMatch::Any)).await;
}

/// The batches of a scan for the number and the text.
async fn read(store: &EmbeddedStore) -> Vec<RecordBatch> {
    let columns = vec![column("n", ColumnType::Int32), column("text", ColumnType::Text)];
    store.reader().scan(request(&[KeyRange::all()], columns)).unwrap().try_collect().await.unwrap()
}

/// Where the values of a column lie.
fn place(batches: &[RecordBatch], batch: usize, column: usize) -> *const u8 {
    batches[batch].column(column).to_data().buffers()[0].as_ptr()
}

#[tokio::test]
async fn what_is_not_set_is_not_copied() {
    let folder = tempfile::tempdir().unwrap();
    let store = filled_one(folder.path()).await;
    let before = read(&store).await;
    assert_eq!(before.len(), 4);
    // In the first batch the number changes, in the second one it does not. In the third one a row is added.
    for (row, n) in [(3, -3), (5, -5), (9, 9)] {
        set(&store, row, n).await;
    }
    write(&store, Operation::InsertOrReplace(entity("p0", "0017 later", [("n", EdmValue::Int32(0))]))).await;
    for _ in 0..2 {
        let after = read(&store).await;
        let is_own = |batch, column| place(&after, batch, column) == place(&before, batch, column);
        assert_eq!([is_own(0, 0), is_own(0, 1)], [false, true]);
        assert_eq!([is_own(1, 0), is_own(1, 1)], [true, true]);
        assert_eq!([is_own(2, 0), is_own(2, 1)], [false, false]);
        assert_eq!([is_own(3, 0), is_own(3, 1)], [true, true]);
        check(&store).await;
    }
    let rows: Vec<usize> = read(&store).await.iter().map(RecordBatch::num_rows).collect();
    assert_eq!(rows, [8, 8, 9, 8]);
    // What was set back is as it was; what was deleted is not there.
    for row in [3, 5] {
        set(&store, row, row).await;
    }
    write(&store, Operation::Delete(EntityKey::parse("p0", "0008").unwrap(), IfMatch::Any)).await;
    let after = read(&store).await;
    assert_eq!(place(&after, 0, 0), place(&before, 0, 0));
    assert_eq!((after[1].num_rows(), check(&store).await.len()), (7, 32));
}

#[tokio::test]
async fn small_batches_and_parts_of_a_batch_show_the_same() {
    let folder = tempfile::tempdir().unwrap();
    let store = filled_one(folder.path()).await;
    for row in [2, 3, 7, 8, 21, 30] {
        set(&store, row, -row).await;
    }
    let text = |row: i32| format!("{row:04}").into();
    let columns = || vec![ScanColumn::RowKey, column("n", ColumnType::Int32), column("text", ColumnType::Text)];
    for (from, to, batch_rows) in [(0, 30, 3), (1, 8, 100), (3, 9, 2), (5, 25, 4)] {
        let span = Span { from: Cut::Before(text(from)), to: Cut::Before(text(to)) };
        let range = [KeyRange { partitions: Span::point("p0"), rows: Arc::new([span]) }];
        let found = scan(&*store.reader(), &range, columns(), Direction::Forward, batch_rows).await.unwrap();
        let row = |row: i32| {
            let n = if [2, 3, 7, 8, 21].contains(&row) { -row } else { row };
            format!("{row:04}|{n}|value {row}")
        };
        assert_eq!(found, (from..to).map(row).collect::<Vec<_>>());
    }
}
