//! Derived columns that segments keep: made once, and the same as those made of rows.

use std::sync::atomic::AtomicUsize;

use arrow::array::{ArrayRef, AsArray, Int64Array};
use arrow::datatypes::{DataType, Int32Type};
use tablegate_store::table::DerivedColumn;

use super::*;

/// Where making fails for this value.
const REFUSED: i32 = 13_000;

/// The property n, many times over; counts how many values were made.
fn multiplied(by: i64, made: &Arc<AtomicUsize>) -> Arc<DerivedColumn> {
    let made = Arc::clone(made);
    let derive = move |inputs: &[ArrayRef]| {
        let numbers = inputs[0].as_primitive::<Int32Type>();
        if numbers.iter().flatten().any(|number| number == REFUSED) {
            return Err(Arc::from(Box::<dyn std::error::Error + Send + Sync>::from("thirteen thousand")));
        }
        made.fetch_add(numbers.len(), Ordering::Relaxed);
        let numbers: Int64Array = numbers.iter().map(|number| number.map(|number| i64::from(number) * by)).collect();
        Ok(Arc::new(numbers) as ArrayRef)
    };
    let id = format!("n times {by}");
    Arc::new(DerivedColumn::new(id, vec![column("n", ColumnType::Int32)], DataType::Int64, derive))
}

async fn rows_with(store: &EmbeddedStore, derived: &Arc<DerivedColumn>) -> Result<Vec<String>, String> {
    let columns = vec![ScanColumn::RowKey, ScanColumn::Derived(Arc::clone(derived)), column("n", ColumnType::Int32)];
    scan(&*store.reader(), &[KeyRange::all()], columns, Direction::Forward, 100).await
}

fn expected(rows: std::ops::Range<i32>, by: i64) -> Vec<String> {
    rows.map(|n| format!("{n:04}|{}|{n}", i64::from(n) * by)).collect()
}

#[tokio::test]
async fn they_are_made_when_the_segment_is() {
    let (folder, made) = (tempfile::tempdir().unwrap(), Arc::default());
    let store = open(folder.path());
    let derived = multiplied(10, &made);
    store.keep_derived(&table(), vec![Arc::clone(&derived)]);
    let store = fill(store, 120).await;
    assert_eq!(made.swap(0, Ordering::Relaxed), 120);
    assert_eq!(rows_with(&store, &derived).await.unwrap(), expected(0..120, 10));
    assert_eq!(made.load(Ordering::Relaxed), 0, "values were made although they are kept");
    // What was written since is not in the segment: its values are made, and come in between.
    write(&store, Operation::Insert(entity("p3", "0120", [("n", EdmValue::Int32(120))]))).await;
    assert_eq!(rows_with(&store, &derived).await.unwrap(), expected(0..121, 10));
    assert_eq!(made.swap(0, Ordering::Relaxed), 1);
    // They are found again by their ids.
    store.close().unwrap();
    let store = open(folder.path());
    assert_eq!(rows_with(&store, &derived).await.unwrap(), expected(0..121, 10));
    assert_eq!(made.load(Ordering::Relaxed), 1);
}

#[tokio::test]
async fn what_is_not_kept_is_made_of_what_is() {
    let (folder, made) = (tempfile::tempdir().unwrap(), Arc::default());
    let store = filled(folder.path(), 120).await;
    let derived = multiplied(10, &made);
    assert_eq!(rows_with(&store, &derived).await.unwrap(), expected(0..120, 10));
    assert_eq!(made.swap(0, Ordering::Relaxed), 120);
    // Said later, it is kept from the next look on.
    store.keep_derived(&table(), vec![Arc::clone(&derived)]);
    store.build_segments();
    assert_eq!(made.swap(0, Ordering::Relaxed), 120);
    assert_eq!(rows_with(&store, &derived).await.unwrap(), expected(0..120, 10));
    assert_eq!(made.load(Ordering::Relaxed), 0);
    // Nothing is made anew for what is there already, nor for what cannot be kept.
    let before = files(folder.path());
    let of_nothing =
        DerivedColumn::new("x".to_owned(), vec![column("x", ColumnType::Text)], DataType::Utf8, |inputs| {
            Ok(Arc::clone(&inputs[0]))
        });
    store.keep_derived(&table(), vec![derived, Arc::new(of_nothing)]);
    store.build_segments();
    assert_eq!(files(folder.path()), before);
}

#[tokio::test]
async fn a_value_that_cannot_be_made_fails_the_scan_and_no_segment() {
    let (folder, made) = (tempfile::tempdir().unwrap(), Arc::default());
    let store = open(folder.path());
    let derived = multiplied(10, &made);
    store.keep_derived(&table(), vec![Arc::clone(&derived)]);
    store.create_table(&table()).await.unwrap();
    write(&store, Operation::Insert(entity("p0", "0000", [("n", EdmValue::Int32(REFUSED))]))).await;
    for row in 1..60 {
        write(&store, Operation::Insert(entity("p0", &format!("{row:04}"), [("n", EdmValue::Int32(row))]))).await;
    }
    store.build_segments();
    assert_eq!(told(&store).len(), 2);
    assert_eq!(rows_with(&store, &derived).await.unwrap_err(), "thirteen thousand");
    assert_eq!(check(&store).await.len(), 60);
    write(&store, Operation::Replace(entity("p0", "0000", [("n", EdmValue::Int32(0))]), IfMatch::Any)).await;
    assert_eq!(rows_with(&store, &derived).await.unwrap(), expected(0..60, 10));
}
