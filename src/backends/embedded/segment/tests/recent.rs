//! What was written into a segment's span is decoded once for all scans of a moment, and for no other moment.

use super::*;

/// Of one segment with 40 rows, in batches of 8.
async fn filled_one(path: &Path) -> EmbeddedStore {
    let options = SegmentOptions { batch_rows: 8, segment_rows: 1000, ..SegmentOptions::eager() };
    let store = fill(open_with(path, options), 40).await;
    assert_eq!(told(&store).len(), 1);
    store
}

fn put(row: &str, n: i32) -> Operation {
    Operation::InsertOrReplace(entity("p0", row, [("n", EdmValue::Int32(n))]))
}

#[tokio::test]
async fn it_is_kept_until_more_is_written() {
    let folder = tempfile::tempdir().unwrap();
    let store = filled_one(folder.path()).await;
    assert_eq!(segment_of(&store).recent.sets(), 0, "there is nothing to keep");
    for operation in [
        put("0000", 1000),
        put("0003 later", 1003),
        put("0007", 1007),
        put("0007 later", 1008),
        Operation::Delete(EntityKey::parse("p0", "0015").unwrap(), IfMatch::Any),
        Operation::Delete(EntityKey::parse("p0", "0016").unwrap(), IfMatch::Any),
        Operation::InsertOrReplace(entity("p1", "0038", [])),
    ] {
        write(&store, operation).await;
    }
    let expected = check(&store).await;
    assert_eq!(expected.len(), 40);
    assert_eq!(check(&store).await, expected);
    assert_eq!(segment_of(&store).recent.sets(), 1);
    let before = store.reader();
    let expected = numbers(&*before).await;
    assert_eq!((expected.len(), expected[0].as_str()), (40, "1000"));
    assert_eq!(segment_of(&store).recent.sets(), 2);
    // Then more is.
    write(&store, put("0001", 1001)).await;
    let after = store.reader();
    let now = numbers(&*after).await;
    assert_eq!((now[0].as_str(), now[1].as_str()), ("1000", "1001"));
    assert_eq!(segment_of(&store).recent.sets(), 1, "nothing of before is kept");
    // Who began before sees what was then, and those who began later are not misled by that.
    assert_eq!(numbers(&*before).await, expected);
    assert_eq!(numbers(&*after).await, now);
    check(&store).await;
}

#[tokio::test]
async fn a_part_of_the_span_is_cut_out_of_it() {
    let folder = tempfile::tempdir().unwrap();
    let store = filled_one(folder.path()).await;
    for row in (3..40).step_by(4) {
        let partition = if row < 30 { "p0" } else { "p1" };
        let value = [("n", EdmValue::Int32(-row))];
        write(&store, Operation::InsertOrReplace(entity(partition, &format!("{row:04} later"), value))).await;
    }
    let reader = store.reader();
    let all = check(&store).await;
    let text = |number: i32| format!("{number:04}").into();
    for (from, to) in [(0, 30), (3, 19), (4, 20), (8, 16), (23, 29)] {
        let span = Span { from: Cut::Before(text(from)), to: Cut::Before(text(to)) };
        let range = [KeyRange { partitions: Span::point("p0"), rows: Arc::new([span]) }];
        let found = scan(&*reader, &range, all_columns(), Direction::Forward, 6).await.unwrap();
        let is_within = |row: &&String| {
            let key = row.split('|').nth(1).unwrap();
            row.starts_with("p0|") && *key >= *format!("{from:04}") && *key < *format!("{to:04}")
        };
        assert_eq!(found, all.iter().filter(is_within).cloned().collect::<Vec<_>>(), "from {from} to {to}");
    }
}

#[tokio::test]
async fn what_was_written_between_batches_that_are_left_out_is_found() {
    let folder = tempfile::tempdir().unwrap();
    let store = filled_one(folder.path()).await;
    write(&store, put("0004", 20)).await;
    write(&store, put("0012 later", 20)).await;
    write(&store, put("0020", 1020)).await;
    write(&store, Operation::InsertOrReplace(entity("p1", "0039", [("n", EdmValue::Int32(20))]))).await;
    let n = PredicateColumn::Property { name: PropertyName::parse("n").unwrap(), column_type: ColumnType::Int32 };
    let predicate = Predicate::compare(n, CompareOp::Eq, EdmValue::Int32(20));
    let columns = || vec![ScanColumn::RowKey, column("n", ColumnType::Int32)];
    let (reader, all) = (store.reader(), [KeyRange::all()]);
    for _ in 0..2 {
        let rows = scan_for(&*reader, &all, columns(), Direction::Forward, 100, predicate.clone()).await.unwrap();
        let batch = ["0016|16", "0017|17", "0018|18", "0019|19", "0020|1020", "0021|21", "0022|22", "0023|23"];
        let expected: Vec<&str> = ["0004|20", "0012 later|20"].into_iter().chain(batch).chain(["0039|20"]).collect();
        assert_eq!(rows, expected);
    }
}

#[tokio::test]
async fn the_columns_asked_for_last_are_kept() {
    let folder = tempfile::tempdir().unwrap();
    let store = filled_one(folder.path()).await;
    write(&store, put("0000", 1000)).await;
    let (reader, all) = (store.reader(), [KeyRange::all()]);
    for count in 1..=6 {
        let columns = all_columns().into_iter().take(count).collect();
        assert_eq!(scan(&*reader, &all, columns, Direction::Forward, 100).await.unwrap().len(), 40);
        assert_eq!(segment_of(&store).recent.sets(), count.min(4));
    }
}

#[tokio::test]
async fn a_value_that_does_not_fit_is_told_where_it_is_read() {
    let folder = tempfile::tempdir().unwrap();
    let store = filled_one(folder.path()).await;
    write(&store, Operation::InsertOrReplace(entity("p0", "0009", [("n", EdmValue::string("many"))]))).await;
    let (reader, columns) = (store.reader(), || vec![column("n", ColumnType::Int32)]);
    let all = scan(&*reader, &[KeyRange::all()], columns(), Direction::Forward, 100).await;
    assert!(all.unwrap_err().contains("0009"));
    let later = Span { from: Cut::Before("0010".into()), to: Cut::Max };
    let range = [KeyRange { partitions: Span::point("p0"), rows: Arc::new([later]) }];
    assert_eq!(scan(&*reader, &range, columns(), Direction::Forward, 100).await.unwrap().len(), 20);
}
