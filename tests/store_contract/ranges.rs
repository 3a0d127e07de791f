//! Ranges of keys: exactly the entities inside come out, in both directions, under any limit and batch size.

use std::sync::Arc;

use tablegate::store::model::{Cut, EntityKey, Span};
use tablegate::store::table::{Direction, KeyRange};

use crate::store_contract::harness::{Scan, Store, entity, insert_all, key, table};

const PARTITIONS: [&str; 8] = ["", "a", "a ", "ab", "abc", "b", "é", "\u{10ffff}"];
const ROWS: [&str; 11] =
    ["", "1", "10", "100", "2", "20", "a", "a\u{ff5e}", "a\u{1f600}", "a\u{10ffff}", "a\u{10ffff}\u{10ffff}"];

pub(super) async fn points(store: &Store) {
    check(store, [vec![point("a", "10")], vec![point("", "")], vec![point("a", "missing")], vec![point("x", "1")]])
        .await;
}

pub(super) async fn row_spans_of_one_partition(store: &Store) {
    let spans = [
        Span { from: before("10"), to: before("2") },
        Span { from: after("10"), to: after("2") },
        Span { from: Cut::Min, to: before("") },
        Span { from: Cut::Min, to: after("") },
        Span { from: after(""), to: Cut::Max },
        Span { from: before("11"), to: after("19") },
        Span { from: after("a"), to: before("a\u{1f600}") },
    ];
    check(store, spans.map(|span| vec![rows_of("ab", [span])])).await;
    let several = [Span::point(""), Span { from: after("1"), to: before("100") }, Span::prefix("2")];
    check(store, [vec![rows_of("a", several)]]).await;
}

pub(super) async fn prefixes(store: &Store) {
    let partitions = ["", "a", "ab", "é", "x"].map(|prefix| vec![all_rows(Span::prefix(prefix))]);
    check(store, partitions).await;
    let rows = ["", "1", "10", "a", "x"].map(|prefix| vec![rows_of("a", [Span::prefix(prefix)])]);
    check(store, rows).await;
    let behind = ["", "1", "10", "a"].map(|prefix| {
        vec![rows_of(
            "a",
            [Span { from: Cut::Min, to: before(prefix) }, Span { from: after_prefix(prefix), to: Cut::Max }],
        )]
    });
    check(store, behind).await;
}

pub(super) async fn prefixes_that_end_in_the_greatest_characters(store: &Store) {
    for prefix in ["a\u{10ffff}", "a\u{10ffff}\u{10ffff}", "\u{10ffff}", "a\u{ff5e}", "a\u{d7ff}"] {
        let behind = Span { from: after_prefix(prefix), to: Cut::Max };
        let up_to = Span { from: Cut::Min, to: after_prefix(prefix) };
        let spans = [Span::prefix(prefix), behind, up_to];
        check(store, spans.clone().map(|span| vec![rows_of("a", [span])])).await;
        check(store, spans.map(|span| vec![all_rows(span)])).await;
    }
}

pub(super) async fn partition_ranges_with_all_rows(store: &Store) {
    let spans = [
        Span::ALL,
        Span::point("a"),
        Span { from: before("a"), to: before("b") },
        Span { from: after("a"), to: after("b") },
        Span { from: after_prefix("a"), to: Cut::Max },
        Span { from: after("a"), to: after_prefix("ab") },
        Span { from: Cut::Min, to: after("") },
    ];
    check(store, spans.map(|span| vec![all_rows(span)])).await;
}

pub(super) async fn partition_ranges_with_row_spans(store: &Store) {
    let row_sets: [Vec<Span>; 4] = [
        vec![Span::point("10")],
        vec![Span::point(""), Span::point("2"), Span::prefix("a\u{1f600}")],
        vec![Span { from: after("100"), to: after_prefix("2") }],
        vec![Span::point("missing")],
    ];
    let partition_spans = [Span::ALL, Span::prefix("a"), Span { from: after("a"), to: before("é") }];
    for rows in row_sets {
        let range = |partitions: &Span| KeyRange { partitions: partitions.clone(), rows: rows.clone().into() };
        check(store, partition_spans.each_ref().map(|span| vec![range(span)])).await;
    }
}

pub(super) async fn lists_of_ranges(store: &Store) {
    let lists = [
        vec![point("", "1"), point("a", "1"), point("a ", "x"), point("b", "2")],
        vec![rows_of("a", [Span::prefix("1")]), all_rows(Span { from: before("ab"), to: before("b") }), point("é", "")],
        vec![all_rows(Span::point("x")), all_rows(Span { from: after("x"), to: Cut::Max })],
        vec![
            rows_of("", [Span::point("1"), Span::point("2")]),
            rows_of("a", [Span { from: before("2"), to: Cut::Max }]),
            KeyRange { partitions: Span { from: after("a"), to: after("b") }, rows: Arc::new([Span::prefix("10")]) },
        ],
    ];
    check(store, lists).await;
}

pub(super) async fn ranges_without_room(store: &Store) {
    let empty = [
        Span { from: after("a"), to: before("a") },
        Span { from: before("b"), to: before("a") },
        Span { from: before("a"), to: before("a") },
        Span { from: after_prefix("a"), to: before("ab") },
        // Room between the cuts, but for no string.
        Span { from: after("a"), to: before("a\u{0}") },
        Span { from: after_prefix("a"), to: before("b") },
        Span { from: Cut::Max, to: Cut::Max },
        Span { from: after_prefix(""), to: Cut::Max },
        Span { from: Cut::Min, to: Cut::Min },
    ];
    check(store, empty.clone().map(|span| vec![rows_of("a", [span])])).await;
    check(store, empty.map(|span| vec![all_rows(span)])).await;
    check(store, [vec![KeyRange { partitions: Span::ALL, rows: Arc::new([]) }]]).await;
}

fn before(text: &str) -> Cut {
    Cut::Before(text.into())
}

fn after(text: &str) -> Cut {
    Cut::After(text.into())
}

fn after_prefix(text: &str) -> Cut {
    Cut::AfterPrefix(text.into())
}

fn point(partition: &str, row: &str) -> KeyRange {
    rows_of(partition, [Span::point(row)])
}

fn rows_of<const N: usize>(partition: &str, rows: [Span; N]) -> KeyRange {
    KeyRange { partitions: Span::point(partition), rows: Arc::new(rows) }
}

fn all_rows(partitions: Span) -> KeyRange {
    KeyRange { partitions, rows: Arc::new([Span::ALL]) }
}

/// Runs each list of ranges against every partition times every row.
async fn check<const N: usize>(store: &Store, lists: [Vec<KeyRange>; N]) {
    let orders = table("Orders");
    if store.create_table(&orders).await.is_ok() {
        for partition in PARTITIONS {
            insert_all(store, &orders, ROWS.map(|row| entity(partition, row, []))).await;
        }
    }
    for ranges in lists {
        let mut expected: Vec<EntityKey> =
            all_keys().filter(|key| ranges.iter().any(|range| holds(range, key))).collect();
        for direction in [Direction::Forward, Direction::Reverse] {
            let scan = Scan::of(&orders).ranges(ranges.clone()).direction(direction);
            for batch_rows in [1, 3, 1000] {
                let scanned = scan.clone().batch_rows(batch_rows).run(store).await;
                assert_eq!(scanned.keys(), expected, "{ranges:?} {direction:?} by {batch_rows}");
            }
            for limit in [0, 1, 2, expected.len(), expected.len() + 1] {
                let limited = scan.clone().limit(limit).batch_rows(2).run(store).await;
                let at_most = &expected[..limit.min(expected.len())];
                assert_eq!(limited.keys(), at_most, "{ranges:?} {direction:?} limit {limit}");
            }
            expected.reverse();
        }
    }
}

fn all_keys() -> impl Iterator<Item = EntityKey> {
    PARTITIONS.into_iter().flat_map(|partition| ROWS.into_iter().map(move |row| key(partition, row)))
}

fn holds(range: &KeyRange, key: &EntityKey) -> bool {
    range.partitions.contains(key.partition.as_str()) && range.rows.iter().any(|span| span.contains(key.row.as_str()))
}
