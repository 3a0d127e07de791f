//! A segment that is written to faster than it is worth following is rows only, until it is made anew.

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
