//! Random operations and scans, compared with a sorted map that is written down here again, independently.

use std::collections::BTreeMap;
use std::hash::{BuildHasher, RandomState};

use proptest::prelude::*;
use proptest::test_runner::{Config, RngSeed, TestRunner};
use tablegate::store::model::{Cut, ETag, EdmValue, Entity, EntityKey, Properties, Span, TableName};
use tablegate::store::table::{
    ColumnType, CommitError, Direction, IfMatch, KeyRange, Operation, Rejection, ScanColumn, Written,
};

use crate::store_contract::harness::{Scan, Store, batch, int, key, name, property, stale_etag, table, text};

pub(super) async fn random_operations_agree_with_a_sorted_map(store: &Store) {
    let config = Config::default();
    // `PROPTEST_RNG_SEED` gives one.
    let seed = match config.rng_seed {
        RngSeed::Fixed(seed) => seed,
        RngSeed::Random => RandomState::new().hash_one(0),
    };
    let rng_seed = RngSeed::Fixed(seed);
    let mut runner = TestRunner::new(Config { cases: 48, failure_persistence: None, rng_seed, ..config });
    let tables = std::cell::Cell::new(0);
    let handle = tokio::runtime::Handle::current();
    let run = tokio::task::block_in_place(|| {
        runner.run(&prop::collection::vec(step(), 1..40), |steps| {
            tables.set(tables.get() + 1);
            handle.block_on(replay(store, &table(&format!("Case{}", tables.get())), steps));
            Ok(())
        })
    });
    run.unwrap_or_else(|failure| panic!("PROPTEST_RNG_SEED={seed}: {failure}"));
}

#[derive(Debug, Clone)]
enum Step {
    /// Operations on distinct rows of one partition.
    Commit {
        partition: &'static str,
        changes: BTreeMap<&'static str, Change>,
    },
    Scan {
        ranges: Vec<KeyRange>,
        direction: Direction,
        limit: Option<usize>,
        batch_rows: usize,
    },
}

#[derive(Debug, Clone)]
struct Change {
    kind: Kind,
    version: Version,
    properties: BTreeMap<&'static str, EdmValue>,
}

#[derive(Debug, Clone, Copy)]
enum Kind {
    Insert,
    Merge,
    Replace,
    InsertOrMerge,
    InsertOrReplace,
    Delete,
}

#[derive(Debug, Clone, Copy)]
enum Version {
    Any,
    Current,
    Stale,
}

const TEXTS: [&str; 8] = ["", "a", "a ", "ab", "b", "é", "\u{ff5e}", "\u{1f600}"];

fn step() -> impl Strategy<Value = Step> {
    let value = prop_oneof![any::<i32>().prop_map(int), "[a-c]{0,3}".prop_map(|s: String| text(&s))];
    let properties = prop::collection::btree_map(prop::sample::select(&["x", "y", "z"][..]), value, 0..3);
    let kind = prop::sample::select(
        &[
            Kind::Insert,
            Kind::Insert,
            Kind::Merge,
            Kind::Replace,
            Kind::InsertOrMerge,
            Kind::InsertOrReplace,
            Kind::Delete,
        ][..],
    );
    let version = prop::sample::select(&[Version::Any, Version::Current, Version::Current, Version::Stale][..]);
    let change =
        (kind, version, properties).prop_map(|(kind, version, properties)| Change { kind, version, properties });
    let text = || prop::sample::select(&TEXTS[..]);
    let commit = (text(), prop::collection::btree_map(text(), change, 1..4))
        .prop_map(|(partition, changes)| Step::Commit { partition, changes });
    let direction = prop::sample::select(&[Direction::Forward, Direction::Reverse][..]);
    let scan = (ranges(), direction, prop::option::of(0..6_usize), 1..5_usize)
        .prop_map(|(ranges, direction, limit, batch_rows)| Step::Scan { ranges, direction, limit, batch_rows });
    prop_oneof![3 => commit, 2 => scan]
}

fn ranges() -> impl Strategy<Value = Vec<KeyRange>> {
    spans().prop_flat_map(|partitions| {
        let ranges: Vec<_> = partitions
            .into_iter()
            .map(|partitions| {
                spans().prop_map(move |rows| KeyRange { partitions: partitions.clone(), rows: rows.into() })
            })
            .collect();
        ranges
    })
}

/// Ascending and disjoint: every other interval between sorted cuts.
fn spans() -> impl Strategy<Value = Vec<Span>> {
    let cut = (0..5, prop::sample::select(&TEXTS[..])).prop_map(|(kind, text)| match kind {
        0 => Cut::Min,
        1 => Cut::Max,
        2 => Cut::Before(text.into()),
        3 => Cut::After(text.into()),
        _ => Cut::AfterPrefix(text.into()),
    });
    let random = prop::collection::vec(cut, 2..6).prop_map(|mut cuts| {
        cuts.sort();
        cuts.chunks_exact(2).map(|pair| Span { from: pair[0].clone(), to: pair[1].clone() }).collect()
    });
    prop_oneof![2 => random, 1 => Just(vec![Span::ALL])]
}

/// What the store under test must hold: properties by name, and the version it reported.
type Model = BTreeMap<EntityKey, Held>;
type Held = (BTreeMap<String, EdmValue>, ETag);

async fn replay(store: &Store, table: &TableName, steps: Vec<Step>) {
    store.create_table(table).await.unwrap();
    let mut model = Model::new();
    for step in steps {
        match step {
            Step::Commit { partition, changes } => commit(store, table, &mut model, partition, changes).await,
            Step::Scan { ranges, direction, limit, batch_rows } => {
                let scan = Scan::of(table).ranges(ranges.clone()).direction(direction).batch_rows(batch_rows);
                let scan = limit.into_iter().fold(scan, Scan::limit);
                let mut expected: Vec<_> =
                    model.iter().filter(|(key, _)| ranges.iter().any(|r| holds(r, key))).collect();
                if direction == Direction::Reverse {
                    expected.reverse();
                }
                expected.truncate(limit.unwrap_or(usize::MAX));
                compare(store, scan, &expected).await;
            }
        }
    }
    compare(store, Scan::of(table), &model.iter().collect::<Vec<_>>()).await;
}

async fn commit(
    store: &Store,
    table: &TableName,
    model: &mut Model,
    partition: &str,
    changes: BTreeMap<&'static str, Change>,
) {
    let changes: Vec<(EntityKey, Change)> =
        changes.into_iter().map(|(row, change)| (key(partition, row), change)).collect();
    let operations = changes.iter().map(|(key, change)| operation(key, change, model)).collect();
    let rejected = changes.iter().enumerate().find_map(|(i, (key, change))| Some((i, reject(model, key, change)?)));
    match (store.commit(batch(table, operations)).await, rejected) {
        (Ok(written), None) => {
            for ((key, change), written) in changes.into_iter().zip(written) {
                apply(model, key, change, written);
            }
        }
        (Err(CommitError::Rejected { index, reason, .. }), Some(expected)) => assert_eq!((index, reason), expected),
        (result, expected) => panic!("{result:?} where {expected:?} was expected"),
    }
}

fn operation(key: &EntityKey, change: &Change, model: &Model) -> Operation {
    let properties: Properties = change.properties.iter().map(|(text, v)| (name(text), v.clone())).collect();
    let entity = Entity::new(key.clone(), properties);
    let if_match = match (change.version, model.get(key)) {
        (Version::Any, _) => IfMatch::Any,
        (Version::Current, Some((_, etag))) => IfMatch::ETag(etag.clone()),
        (Version::Current, None) | (Version::Stale, _) => IfMatch::ETag(stale_etag()),
    };
    match change.kind {
        Kind::Insert => Operation::Insert(entity),
        Kind::Merge => Operation::Merge(entity, if_match),
        Kind::Replace => Operation::Replace(entity, if_match),
        Kind::InsertOrMerge => Operation::InsertOrMerge(entity),
        Kind::InsertOrReplace => Operation::InsertOrReplace(entity),
        Kind::Delete => Operation::Delete(key.clone(), if_match),
    }
}

fn reject(model: &Model, key: &EntityKey, change: &Change) -> Option<Rejection> {
    let there = model.contains_key(key);
    match (change.kind, change.version) {
        (Kind::Insert, _) => there.then_some(Rejection::EntityExists),
        (Kind::InsertOrMerge | Kind::InsertOrReplace, _) => None,
        (Kind::Merge | Kind::Replace | Kind::Delete, _) if !there => Some(Rejection::EntityMissing),
        (Kind::Merge | Kind::Replace | Kind::Delete, Version::Stale) => Some(Rejection::ETagMismatch),
        (Kind::Merge | Kind::Replace | Kind::Delete, Version::Any | Version::Current) => None,
    }
}

fn apply(model: &mut Model, key: EntityKey, change: Change, written: Written) {
    let new: BTreeMap<String, EdmValue> = change.properties.into_iter().map(|(text, v)| (text.to_owned(), v)).collect();
    match (change.kind, written) {
        (Kind::Delete, Written::Deleted) => {
            model.remove(&key);
        }
        (Kind::Merge | Kind::InsertOrMerge, Written::Entity { etag, .. }) => {
            let entry = model.entry(key).or_insert_with(|| (BTreeMap::new(), etag.clone()));
            entry.0.extend(new);
            entry.1 = etag;
        }
        (Kind::Insert | Kind::Replace | Kind::InsertOrReplace, Written::Entity { etag, .. }) => {
            model.insert(key, (new, etag));
        }
        (kind, written) => panic!("{kind:?} left {written:?}"),
    }
}

async fn compare(store: &Store, scan: Scan, expected: &[(&EntityKey, &Held)]) {
    let mut columns = vec![ScanColumn::PartitionKey, ScanColumn::RowKey, ScanColumn::ETag];
    for property_name in ["x", "y", "z"] {
        columns.extend([property(property_name, ColumnType::Text), ScanColumn::EdmTypeOf(name(property_name))]);
    }
    let rows = scan.columns(columns).run(store).await.rows();
    let expected: Vec<_> = expected.iter().map(|(key, (properties, etag))| row(key, properties, etag)).collect();
    assert_eq!(rows, expected);
}

fn row(key: &EntityKey, properties: &BTreeMap<String, EdmValue>, etag: &ETag) -> Vec<Option<EdmValue>> {
    let mut row = [key.partition.as_str(), key.row.as_str(), &etag.text()].map(|cell| Some(text(cell))).to_vec();
    for property_name in ["x", "y", "z"] {
        let value = properties.get(property_name);
        row.push(value.map(|value| text(&value.as_ref().to_string())));
        row.push(value.map(|value| text(value.edm_type().name())));
    }
    row
}

fn holds(range: &KeyRange, key: &EntityKey) -> bool {
    range.partitions.contains(key.partition.as_str()) && range.rows.iter().any(|span| span.contains(key.row.as_str()))
}
