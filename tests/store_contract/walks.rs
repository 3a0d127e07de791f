//! Walks: whole entities one after the other.

use std::ops::ControlFlow;
use std::sync::Arc;

use tablegate::store::model::{Cut, EdmValue, PropertyName, Span, StoredEntity};
use tablegate::store::table::predicate::{CompareOp, PredicateColumn};
use tablegate::store::table::{
    Batch, ColumnType, Direction, EntityView, EntityWalk, KeyRange, Operation, Predicate, RowETag, ScanColumns,
    ScanRequest, StoreError, sift, walk,
};

use super::harness::{Store, entity, instant, table};

fn request(ranges: Vec<KeyRange>) -> ScanRequest {
    ScanRequest {
        table: table("walked"),
        ranges: ranges.into(),
        columns: Arc::new(ScanColumns::new(Vec::new())),
        predicate: None,
        direction: Direction::Forward,
        limit: None,
        batch_rows: 1000,
        stats: Arc::default(),
    }
}

/// Six entities in three partitions, each with a property of its own type.
async fn filled(store: &Store) {
    store.create_table(&table("walked")).await.unwrap();
    let values = [
        EdmValue::string("é"),
        EdmValue::Int64(i64::MAX),
        EdmValue::Double(-0.5),
        EdmValue::DateTime(instant("2024-02-29T01:02:03.1234567Z")),
        EdmValue::Boolean(true),
        EdmValue::Binary([0, 255].into()),
    ];
    let keys = [("a", "1"), ("a", "2"), ("a", "3"), ("b", ""), ("c", "1"), ("c", "2")];
    for ((partition, row), value) in keys.into_iter().zip(values) {
        let entity = entity(partition, row, [("second", EdmValue::Int32(1)), ("first", value)]);
        let batch = Batch::single(table("walked"), Operation::Insert(entity)).unwrap();
        store.commit(batch).await.unwrap();
    }
}

fn key_of(entity: &EntityView<'_>) -> String {
    format!("{}/{}", entity.partition, entity.row)
}

async fn keys(walk: &mut dyn EntityWalk, entities: usize) -> (Vec<String>, bool) {
    let mut keys = Vec::new();
    let mut note = |entity: &EntityView<'_>| {
        keys.push(key_of(entity));
        Ok(ControlFlow::Continue(()))
    };
    let goes_on = walk.advance(entities, &mut note).await.unwrap();
    (keys, goes_on)
}

pub(super) async fn a_walk_shows_entities_whole_in_key_order(store: &Store) {
    filled(store).await;
    let reader = store.reader();
    let mut shown: Vec<StoredEntity> = Vec::new();
    let mut walk = walk(&reader, request(vec![KeyRange::all()])).unwrap();
    walk.advance(usize::MAX, &mut |view| {
        let mut properties = Vec::new();
        view.properties.each(&mut |name, value| properties.push((name.to_owned(), value.to_owned())))?;
        assert_eq!(view.properties.get("first")?.map(|value| value.to_owned()), Some(properties[1].1.clone()));
        assert_eq!(view.properties.get("third")?, None);
        let pairs = properties.iter().map(|(name, value)| (name.as_str(), value.clone()));
        let entity = entity(view.partition, view.row, pairs);
        let etag = match view.etag {
            RowETag::Text(text) => tablegate::store::model::ETag::parse(text).unwrap(),
            RowETag::Of(timestamp) => tablegate::store::model::ETag::of_timestamp(timestamp),
        };
        shown.push(StoredEntity { entity, timestamp: view.timestamp, etag });
        Ok(ControlFlow::Continue(()))
    })
    .await
    .unwrap();
    assert_eq!(shown.len(), 6);
    assert!(shown.windows(2).all(|pair| pair[0].entity.key < pair[1].entity.key));
    for entity in shown {
        assert_eq!(reader.get(&table("walked"), &entity.entity.key).await.unwrap(), Some(entity));
    }
}

pub(super) async fn a_walk_goes_on_behind_where_it_stopped(store: &Store) {
    filled(store).await;
    let mut walk = walk(&store.reader(), request(vec![KeyRange::all()])).unwrap();
    assert_eq!(keys(&mut *walk, 2).await.0, ["a/1", "a/2"]);
    let mut stopped_at = None;
    let mut stop_at_b = |entity: &EntityView<'_>| {
        stopped_at = Some(key_of(entity));
        Ok(if entity.partition == "b" { ControlFlow::Break(()) } else { ControlFlow::Continue(()) })
    };
    assert!(walk.advance(usize::MAX, &mut stop_at_b).await.unwrap());
    assert_eq!(stopped_at.as_deref(), Some("b/"));
    assert_eq!(keys(&mut *walk, usize::MAX).await, (vec!["c/1".to_owned(), "c/2".to_owned()], false));
    let failed = StoreError::Unsupported("going on");
    let refused = walk_again(store).advance(1, &mut |_| Err(failed.clone())).await;
    assert!(matches!(refused, Err(StoreError::Unsupported("going on"))));
}

fn walk_again(store: &Store) -> Box<dyn EntityWalk> {
    walk(&store.reader(), request(vec![KeyRange::all()])).unwrap()
}

pub(super) async fn a_walk_stays_in_its_ranges(store: &Store) {
    filled(store).await;
    let rows = |spans: &[Span]| spans.iter().cloned().collect::<Arc<[Span]>>();
    let behind = Span { from: Cut::After("1".into()), to: Cut::Max };
    let ranges = vec![
        KeyRange { partitions: Span::point("a"), rows: rows(&[Span::point("1"), Span::point("3"), Span::point("x")]) },
        KeyRange { partitions: Span { from: Cut::After("a".into()), to: Cut::Max }, rows: rows(&[behind]) },
    ];
    let mut walk = walk(&store.reader(), request(ranges)).unwrap();
    assert_eq!(keys(&mut *walk, usize::MAX).await.0, ["a/1", "a/3", "c/2"]);
    let mut nothing = self::walk(&store.reader(), request(Vec::new())).unwrap();
    assert!(keys(&mut *nothing, usize::MAX).await.0.is_empty());
}

/// Whether an entity is looked for, by its number.
type IsLookedFor = fn(i32) -> bool;

/// What is looked for by its properties is found, in key order and each once, whether it is rare or not.
pub(super) async fn sifting_leaves_out_nothing_that_is_looked_for(store: &Store) {
    store.create_table(&table("walked")).await.unwrap();
    let value = |n: i32| match n {
        100 => [("n", EdmValue::Int32(n)), ("s", EdmValue::string("rare")), ("mixed", EdmValue::string("text"))],
        _ => [("n", EdmValue::Int32(n)), ("s", EdmValue::string("often")), ("mixed", EdmValue::Int64(n.into()))],
    };
    for partition in ["a", "b"] {
        for from in [0, 100] {
            let mut batch = Batch::builder(table("walked"));
            for n in from..from + 100 {
                // One in four has no properties.
                let properties = value(n).into_iter().filter(|_| n % 4 != 1);
                let entity = entity(partition, &format!("{n:03}"), properties);
                batch.push(Operation::Insert(entity)).map_err(|(_, error)| error).unwrap();
            }
            store.commit(batch.build().unwrap()).await.unwrap();
        }
    }
    let of = |name: &str, column_type, op, constant| {
        let column = PredicateColumn::Property { name: PropertyName::parse(name).unwrap(), column_type };
        Predicate::compare(column, op, constant).unwrap()
    };
    let n = |op, number: f64| of("n", ColumnType::Double, op, EdmValue::Double(number));
    let s = |text: &str| of("s", ColumnType::Text, CompareOp::Eq, EdmValue::string(text));
    let some = |from: &str| {
        let rows = Span { from: Cut::Before(from.into()), to: Cut::Before("150".into()) };
        let behind = Span { from: Cut::After("a".into()), to: Cut::Max };
        let rest = KeyRange { partitions: behind, rows: [rows.clone()].into() };
        vec![KeyRange { partitions: Span::point("a"), rows: [rows].into() }, rest]
    };
    // Those that may be shown are at least these: one, all from somewhere on, most, none, one of another type.
    let cases: Vec<(Predicate, IsLookedFor)> = vec![
        (n(CompareOp::Eq, 100.0), |n| n == 100),
        (s("rare"), |n| n == 100),
        (n(CompareOp::GtEq, 90.0), |n| n >= 90 && n % 4 != 1),
        (s("often"), |n| n != 100 && n % 4 != 1),
        (n(CompareOp::Gt, 1000.0), |_| false),
        (of("mixed", ColumnType::Text, CompareOp::Eq, EdmValue::string("text")), |n| n == 100),
        (of("absent", ColumnType::Text, CompareOp::Eq, EdmValue::string("x")), |_| false),
        (Predicate::any([n(CompareOp::Eq, 12.0), s("rare")]).unwrap(), |n| n == 12 || n == 100),
        (Predicate::all([n(CompareOp::Lt, 70.0), s("often")]).unwrap(), |n| n < 70 && n % 4 != 1),
    ];
    for (predicate, is_looked_for) in cases {
        for (ranges, first, end) in [(vec![KeyRange::all()], 0, 200), (some("040"), 40, 150)] {
            let request = ScanRequest { predicate: Some(predicate.clone()), batch_rows: 32, ..request(ranges) };
            let mut walk = sift(&store.reader(), request).await.unwrap();
            let (mut shown, mut goes_on) = (Vec::new(), true);
            while goes_on {
                let (next, more) = keys(&mut *walk, 7).await;
                assert!(next.len() <= 7);
                shown.extend(next);
                goes_on = more;
            }
            assert!(shown.windows(2).all(|pair| pair[0] < pair[1]), "{predicate}: in order, each once");
            let numbers = (first..end).filter(|n| is_looked_for(*n));
            let expected = numbers.flat_map(|n| ["a", "b"].map(|partition| format!("{partition}/{n:03}")));
            let missing: Vec<_> = expected.filter(|key| !shown.contains(key)).collect();
            assert!(missing.is_empty(), "{predicate}: {missing:?}");
            let is_in = |key: &String| (first..end).contains(&key[2..].parse::<i32>().unwrap());
            assert!(shown.iter().all(is_in), "{predicate}: only what is asked for");
        }
    }
}

pub(super) async fn a_missing_table_is_not_walked_through(store: &Store) {
    let found = match walk(&store.reader(), request(vec![KeyRange::all()])) {
        Ok(mut walk) => walk.advance(1, &mut |_| Ok(ControlFlow::Continue(()))).await.map(|_| ()),
        Err(error) => Err(error),
    };
    assert!(matches!(found, Err(StoreError::TableMissing(_))), "{found:?}");
}
