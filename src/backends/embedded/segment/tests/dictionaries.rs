//! Texts that segments keep a dictionary of, where many rows have the same one.

use arrow::array::{Array as _, AsArray as _, DictionaryArray, StringArray};
use arrow::datatypes::UInt32Type;
use arrow::record_batch::RecordBatch;
use tablegate_store::table::DerivedColumn;

use super::*;

const BATCH: i32 = 64;

/// Two batches, in one segment: in the first one rows have few different texts and some have none, in the second one all
/// differ.
async fn filled_one(path: &Path, derived: &Arc<DerivedColumn>) -> EmbeddedStore {
    let options = SegmentOptions { batch_rows: 64, segment_rows: 1000, ..SegmentOptions::eager() };
    let store = open_with(path, options);
    store.keep_derived(&table(), vec![Arc::clone(derived)]);
    store.create_table(&table()).await.unwrap();
    for row in 0..2 * BATCH {
        let text = if row < BATCH { format!("text {}", row % 3) } else { format!("text {row}") };
        let new = match row % 10 {
            7 => entity("p", &format!("{row:04}"), []),
            _ => entity("p", &format!("{row:04}"), [("text", EdmValue::string(text))]),
        };
        write(&store, Operation::Insert(new)).await;
    }
    store.build_segments();
    store
}

fn dictionary() -> Arc<DerivedColumn> {
    Arc::new(DerivedColumn::dictionary(&PropertyName::parse("text").unwrap()))
}

async fn read(store: &EmbeddedStore, derived: &Arc<DerivedColumn>) -> Vec<RecordBatch> {
    let columns = vec![ScanColumn::Derived(Arc::clone(derived)), column("text", ColumnType::Text)];
    store.reader().scan(request(&[KeyRange::all()], columns)).unwrap().try_collect().await.unwrap()
}

fn keys(batch: &RecordBatch) -> &DictionaryArray<UInt32Type> {
    batch.column(0).as_dictionary()
}

/// How many different keys there are, and that they stand for the texts.
fn different(batch: &RecordBatch) -> usize {
    let texts = keys(batch).downcast_dict::<StringArray>().unwrap();
    assert!(texts.into_iter().eq(batch.column(1).as_string::<i32>()));
    keys(batch).keys().iter().flatten().collect::<BTreeSet<_>>().len()
}

#[tokio::test]
async fn rows_with_the_same_text_have_the_same_key() {
    let (folder, derived) = (tempfile::tempdir().unwrap(), dictionary());
    let store = filled_one(folder.path(), &derived).await;
    let before = read(&store, &derived).await;
    assert_eq!(before.iter().map(different).collect::<Vec<_>>(), [3, 57], "13 of 128 rows have no text");
    // The texts are those of the other column, and the keys lie in the file.
    let texts = before[0].column(1);
    assert!(keys(&before[0]).values().to_data().ptr_eq(&texts.to_data()));
    let again = read(&store, &derived).await;
    let place = |batch: &RecordBatch| keys(batch).keys().values().as_ptr();
    assert_eq!(place(&again[0]), place(&before[0]));
    assert_ne!(place(&again[1]), place(&before[1]), "where all differ nothing is kept");
    // What is written between the rows comes in between.
    let new = |row: &str, text: &str| entity("p", row, [("text", EdmValue::string(text.to_owned()))]);
    write(&store, Operation::Insert(new("0003 later", "text 0"))).await;
    write(&store, Operation::Insert(new("0004 later", "another"))).await;
    write(&store, Operation::Delete(EntityKey::parse("p", "0005").unwrap(), IfMatch::Any)).await;
    write(&store, Operation::Insert(new("q", "behind all"))).await;
    let after = read(&store, &derived).await;
    assert_eq!(after.iter().map(RecordBatch::num_rows).sum::<usize>(), 130);
    assert_eq!(different(&after[0]), 4, "no text is there twice");
    assert_eq!(keys(&after[0]).values().len(), 4, "of the texts of the batch no others are copied");
    // And a part of them, in a store that finds the file.
    store.close().unwrap();
    let store = open(folder.path());
    let rows = Span { from: Cut::Before("0010".into()), to: Cut::Before("0020".into()) };
    let range = KeyRange { partitions: Span::point("p"), rows: Arc::new([rows]) };
    let columns = vec![ScanColumn::Derived(Arc::clone(&derived)), column("text", ColumnType::Text)];
    let part: Vec<RecordBatch> = store.reader().scan(request(&[range], columns)).unwrap().try_collect().await.unwrap();
    assert_eq!(part.iter().map(|batch| (batch.num_rows(), different(batch))).collect::<Vec<_>>(), [(10, 3)]);
}
