//! A segment that is written to faster than it is worth following is rows only, until it is made anew.

use tablegate_store::model::EntityKeys;
use tablegate_store::table::{KnownChange, KnownEntities, WriteGroup};

use super::*;

const ROWS: i32 = 500;

fn options() -> SegmentOptions {
    SegmentOptions { batch_rows: 64, segment_rows: 1000, ..SegmentOptions::eager() }
}

/// Writes all rows again and again until the segment is given up.
async fn overwrite(store: &EmbeddedStore) {
    for n in 0.. {
        let row = n % ROWS;
        let new = entity(&format!("p{}", row / 30), &format!("{row:04}"), [("n", EdmValue::Int32(n))]);
        write(store, Operation::InsertOrReplace(new)).await;
        if segment_of(store).is_given_up() {
            return;
        }
    }
}

#[tokio::test]
async fn it_is_not_followed_until_it_is_made_anew() {
    let folder = tempfile::tempdir().unwrap();
    let store = fill(open_with(folder.path(), options()), ROWS).await;
    assert_eq!(told(&store), [(500, Some(0), SegmentState::Clean)]);
    store.close().unwrap();
    // It looks while more is written.
    let looking = SegmentOptions { dirty_percent: 1, interval: Duration::from_millis(20), ..options() };
    let store = open_with(folder.path(), looking);
    let before = store.reader();
    let expected = numbers(&*before).await;
    overwrite(&store).await;
    assert_eq!(numbers(&*before).await, expected, "what was seen before is seen still");
    drop(before);
    store.close().unwrap();
    // Nobody looks: it stays as it is.
    let store = open_with(folder.path(), options());
    assert!(segment_of(&store).is_given_up());
    assert_eq!(told(&store)[0].2, SegmentState::Overwritten);
    let (noted, rows) = (delta_of(&store), check(&store).await);
    write(&store, Operation::InsertOrReplace(entity("p0", "0000 later", []))).await;
    write(&store, Operation::Delete(EntityKey::parse("p16", "0499").unwrap(), IfMatch::Any)).await;
    assert_eq!(delta_of(&store), noted);
    let after = check(&store).await;
    assert_eq!(after.len(), rows.len());
    assert_ne!(after, rows);
    store.build_segments();
    assert_eq!((told(&store), delta_of(&store)), (vec![(500, Some(0), SegmentState::Clean)], 0));
    assert_eq!(check(&store).await, after);
}

const MANY: i32 = 5_000;

/// The removal of these rows, in the versions that they are in.
async fn removal(store: &EmbeddedStore, rows: std::ops::Range<i32>) -> WriteGroup {
    let reader = store.reader();
    let (mut keys, mut versions) = (EntityKeys::with_capacity(rows.len()), Vec::new());
    for row in rows {
        let key = EntityKey::parse(&format!("p{}", row / 30), &format!("{row:04}")).unwrap();
        versions.push(reader.get(&table(), &key).await.unwrap().unwrap().etag);
        keys.push(key.partition.as_str(), key.row.as_str()).unwrap();
    }
    let removed = KnownEntities::new(&table(), keys, versions, KnownChange::Delete).unwrap();
    WriteGroup { windows: vec![removed.into()], ..WriteGroup::default() }
}

#[tokio::test]
async fn a_large_write_that_outdates_it_gives_it_up_before() {
    let folder = tempfile::tempdir().unwrap();
    let options = SegmentOptions { segment_rows: 10_000, ..options() };
    let store = fill(open_with(folder.path(), options.clone()), MANY).await;
    let before = store.reader();
    let expected = numbers(&*before).await;
    // Few of them, though often: that is looked at by who counts them.
    store.write_group(removal(&store, 0..900).await).await.unwrap();
    store.write_group(removal(&store, 900..1_800).await).await.unwrap();
    assert_eq!((segment_of(&store).is_given_up(), delta_of(&store)), (false, 1_800));
    // Several windows of one group count together.
    let mut group = removal(&store, 1_800..2_400).await;
    group.windows.extend(removal(&store, 2_400..3_000).await.windows);
    store.write_group(group).await.unwrap();
    assert_eq!((segment_of(&store).is_given_up(), delta_of(&store)), (true, 1_800));
    assert_eq!(numbers(&*before).await, expected, "what was seen before is seen still");
    drop(before);
    assert_eq!(check(&store).await.len(), 2_000);
    store.close().unwrap();
    let store = open_with(folder.path(), options);
    assert!(segment_of(&store).is_given_up());
    assert_eq!(check(&store).await.len(), 2_000);
    store.build_segments();
    assert_eq!((told(&store), delta_of(&store)), (vec![(2_000, Some(0), SegmentState::Clean)], 0));
    assert_eq!(check(&store).await.len(), 2_000);
}

#[tokio::test]
async fn a_large_write_that_leaves_most_of_it_is_noted() {
    let folder = tempfile::tempdir().unwrap();
    let store = fill(open_with(folder.path(), SegmentOptions { segment_rows: 10_000, ..options() }), MANY).await;
    store.write_group(removal(&store, 0..1_200).await).await.unwrap();
    assert_eq!((segment_of(&store).is_given_up(), delta_of(&store)), (false, 1_200));
    assert_eq!(check(&store).await.len(), 3_800);
}
