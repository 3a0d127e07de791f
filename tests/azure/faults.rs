//! Requests that fail, and what is told about them.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Duration;

use arrow::array::AsArray;
use futures::TryStreamExt;
use tablegate::backends::azure::AzureOptions;
use tablegate::store::model::{EdmType, EdmValue, Entity, EntityKey, PropertyName, TableName};
use tablegate::store::table::{
    Batch, ColumnType, CommitError, Direction, IfMatch, KeyRange, Operation, Rejection, ScanColumn, ScanColumns,
    ScanRequest, ScanStats, SightingSource, StoreError, TableStore, Written,
};
use tokio::task::JoinSet;
use tokio::time::timeout;

use super::service;
use crate::azure::proxy::{Fault, Mercy, Plan, Proxy};

const TABLE: &str = "Orders";
/// Every moment at which a connection may be reset.
const RESETS: [Fault; 4] = [Fault::ResetInBody, Fault::ResetBefore, Fault::ResetAfter, Fault::ResetInAnswer];

fn table() -> TableName {
    TableName::parse(TABLE).unwrap()
}

fn entity(partition: &str, row: &str, n: i32) -> Entity {
    let properties = [(PropertyName::parse("n").unwrap(), EdmValue::Int32(n))].into_iter().collect();
    Entity::new(EntityKey::parse(partition, row).unwrap(), properties)
}

fn single(operation: Operation) -> Batch {
    Batch::single(table(), operation).unwrap()
}

/// A store that reaches the emulator directly, and one of the same account behind a proxy with this plan.
async fn stores(
    plan: impl Fn(usize) -> Fault + Send + Sync + 'static,
) -> (Arc<dyn TableStore>, Arc<dyn TableStore>, Proxy) {
    stores_by_request(move |number, _| plan(number)).await
}

async fn stores_by_request(
    plan: impl Fn(usize, &str) -> Fault + Send + Sync + 'static,
) -> (Arc<dyn TableStore>, Arc<dyn TableStore>, Proxy) {
    let account = service::new_account();
    let direct = Arc::new(account.store());
    direct.create_table(&table()).await.unwrap();
    let plan: Plan = Arc::new(plan);
    let proxy = Proxy::start(account.address, plan).await;
    let behind = Arc::new(account.store_at(proxy.address));
    (direct, behind, proxy)
}

/// The given faults, one for each request, then none.
fn in_turn<const N: usize>(faults: [Fault; N]) -> impl Fn(usize) -> Fault + Send + Sync + 'static {
    move |number| faults.get(number).copied().unwrap_or(Fault::None)
}

async fn insert(store: &dyn TableStore, row: &str) -> Result<Vec<Written>, CommitError> {
    store.commit(single(Operation::Insert(entity("p", row, 1)))).await
}

/// Keys and numbers, in batches as large as a page.
fn request() -> ScanRequest {
    let property = ScanColumn::Property { name: PropertyName::parse("n").unwrap(), column_type: ColumnType::Int32 };
    ScanRequest {
        table: table(),
        ranges: Arc::new([KeyRange::all()]),
        columns: Arc::new(ScanColumns::new(vec![ScanColumn::RowKey, property])),
        predicate: None,
        direction: Direction::Forward,
        limit: None,
        batch_rows: 1000,
        stats: Arc::new(ScanStats::default()),
    }
}

/// A batch of so many new rows, of which each takes a few KiB: it is longer than what a connection takes at once.
fn inserts(partition: &str, count: i32) -> Batch {
    let mut batch = Batch::builder(table());
    for n in 0..count {
        let mut entity = entity(partition, &format!("{partition}-{n:04}"), n);
        entity.properties.add(PropertyName::parse("padding").unwrap(), EdmValue::string("x".repeat(8_000)));
        batch.push(Operation::Insert(entity)).map_err(|(_, error)| error).unwrap();
    }
    batch.build().unwrap()
}

/// So many rows in one partition.
async fn fill(store: &dyn TableStore, count: i32) -> Vec<(String, i32)> {
    let rows: Vec<_> = (0..count).map(|i| (format!("{i:04}"), i)).collect();
    for chunk in rows.chunks(100) {
        let mut batch = Batch::builder(table());
        for (row, n) in chunk {
            batch.push(Operation::Insert(entity("p", row, *n))).map_err(|(_, error)| error).unwrap();
        }
        store.commit(batch.build().unwrap()).await.unwrap();
    }
    rows
}

async fn rows(store: &dyn TableStore) -> Vec<(String, i32)> {
    let batches: Vec<_> = store.reader().scan(request()).unwrap().try_collect().await.unwrap();
    let mut rows = Vec::new();
    for batch in batches {
        let numbers = batch.column(1).as_primitive::<arrow::datatypes::Int32Type>();
        let keys = batch.column(0).as_string::<i32>();
        rows.extend(keys.iter().zip(numbers).map(|(key, n)| (key.unwrap().to_owned(), n.unwrap())));
    }
    rows
}

#[tokio::test]
async fn a_write_is_repeated_after_what_was_not_carried_out() {
    for fault in [Fault::Busy, Fault::FailedBefore, Fault::ResetBefore] {
        let (direct, behind, proxy) = stores(in_turn([fault])).await;
        insert(&*behind, "1").await.unwrap();
        assert_eq!(rows(&*direct).await, [("1".to_owned(), 1)], "{fault:?}");
        assert!(proxy.requests() >= 2);
    }
}

/// Its client was told that it is cancelled, and may have sent it anew.
#[tokio::test]
async fn a_write_that_nobody_waits_for_is_not_tried_again() {
    let away = Arc::new(AtomicBool::new(true));
    let is_away = Arc::clone(&away);
    let fault = move |_| if is_away.load(Ordering::Relaxed) { Fault::Busy } else { Fault::None };
    let (direct, behind, proxy) = stores(fault).await;
    let mut cancelled = Box::pin(insert(&*behind, "cancelled"));
    while proxy.requests() == 0 {
        assert!(timeout(Duration::from_millis(1), &mut cancelled).await.is_err());
    }
    drop(cancelled);
    away.store(false, Ordering::Relaxed);
    for row in 0..50 {
        insert(&*behind, &format!("{row:02}")).await.unwrap();
    }
    assert_eq!(rows(&*direct).await.len(), 50);
}

#[tokio::test]
async fn an_insert_whose_answer_is_lost_is_known_by_what_it_wrote() {
    for fault in [Fault::FailedAfter, Fault::ResetAfter] {
        let (direct, behind, _) = stores(in_turn([fault])).await;
        insert(&*behind, "1").await.unwrap();
        assert_eq!(rows(&*direct).await, [("1".to_owned(), 1)], "{fault:?}");
        // A second one is refused still.
        let second = behind.commit(single(Operation::Insert(entity("p", "1", 2)))).await;
        assert!(matches!(second, Err(CommitError::Rejected { reason: Rejection::EntityExists, .. })));
    }
}

#[tokio::test]
async fn a_batch_of_inserts_goes_on_whenever_its_connection_is_reset() {
    for fault in RESETS {
        for (times, reads_too) in [(1, false), (3, false), (3, true), (12, true)] {
            let hits = AtomicUsize::new(0);
            let (direct, behind, _proxy) = stores_by_request(move |_, request| {
                let is_meant = reads_too || request.contains("$batch HTTP");
                if is_meant && hits.fetch_add(1, Ordering::SeqCst) < times { fault } else { Fault::None }
            })
            .await;
            let told = behind.commit(inserts("p", 100)).await;
            assert_eq!(told.map(|written| written.len()).unwrap(), 100, "{fault:?} {times} times");
            assert_eq!(rows(&*direct).await.len(), 100, "{fault:?} {times} times");
            let second = direct.commit(inserts("p", 100)).await;
            assert!(matches!(second, Err(CommitError::Rejected { reason: Rejection::EntityExists, .. })), "{second:?}");
        }
    }
}

#[tokio::test]
async fn connections_that_are_reset_while_nobody_uses_them_cost_no_write() {
    const ROUNDS: i32 = 5;
    const AT_ONCE: i32 = 8;
    let (direct, behind, proxy) = stores(|_| Fault::None).await;
    for round in 0..ROUNDS {
        let mut commits = JoinSet::new();
        for number in 0..AT_ONCE {
            let (store, batch) = (Arc::clone(&behind), inserts(&format!("{round}-{number}"), 5));
            commits.spawn(async move { store.commit(batch).await });
        }
        for told in commits.join_all().await {
            told.unwrap();
        }
        proxy.reset_connections();
    }
    assert_eq!(rows(&*direct).await.len(), usize::try_from(ROUNDS * AT_ONCE * 5).unwrap());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn of_many_batches_that_are_reset_together_none_is_lost_or_doubled() {
    const BATCHES: i32 = 60;
    let (direct, behind, _proxy) = stores(|number| match number {
        0..200 => RESETS[number % RESETS.len()],
        _ => Fault::None,
    })
    .await;
    let mut commits = JoinSet::new();
    for number in 0..BATCHES {
        let (store, batch) = (Arc::clone(&behind), inserts(&format!("p{number:02}"), 20));
        commits.spawn(async move { store.commit(batch).await });
    }
    for told in commits.join_all().await {
        told.unwrap();
    }
    assert_eq!(rows(&*direct).await.len(), usize::try_from(BATCHES * 20).unwrap());
}

/// Batches of many partitions, and several of each: answers get lost, and one of them meets a row of somebody else's.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_window_that_is_reset_comes_to_what_it_would_otherwise() {
    const PARTITIONS: usize = 20;
    let (direct, behind, _proxy) = stores(|number| match number {
        0..100 => RESETS[number % RESETS.len()],
        _ => Fault::None,
    })
    .await;
    direct.commit(single(Operation::Insert(entity("p07", "p07-0003", 7)))).await.unwrap();
    let first = (0..PARTITIONS).map(|number| inserts(&format!("p{number:02}"), 5));
    let row = |number: usize| entity(&format!("p{number:02}"), &format!("p{number:02}-0004"), -1);
    let second = (0..PARTITIONS).map(|number| single(Operation::InsertOrReplace(row(number))));
    let outcome = behind.commit_window(first.chain(second).collect()).await;
    for (index, told) in outcome.iter().enumerate() {
        let is_refused = matches!(told, Err(CommitError::Rejected { index: 3, reason: Rejection::EntityExists, .. }));
        assert!(if index == 7 { is_refused } else { told.is_ok() }, "{index}: {told:?}");
    }
    let found = rows(&*direct).await;
    // Of the refused one nothing is there, of what follows it in its partition all.
    assert_eq!(found.len(), 5 * (PARTITIONS - 1) + 2);
    assert_eq!(found.iter().filter(|(_, n)| *n == -1).count(), PARTITIONS, "the later one came later");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn how_much_the_other_side_bears_is_found_out() {
    const BEARS: usize = 6;
    const BATCHES: usize = 150;
    let (direct, behind, proxy) = stores(|_| Fault::None).await;
    proxy.bear(BEARS);
    let mut refused = Vec::new();
    for round in 0..2 {
        let before = proxy.refused();
        let mut commits = JoinSet::new();
        for number in 0..BATCHES {
            let (store, batch) = (Arc::clone(&behind), inserts(&format!("{round}-{number}"), 2));
            commits.spawn(async move { store.commit(batch).await });
        }
        for told in commits.join_all().await {
            told.unwrap();
        }
        refused.push(proxy.refused() - before);
    }
    assert_eq!(rows(&*direct).await.len(), 2 * 2 * BATCHES);
    assert!(refused[0] > 0 && refused[1] < BATCHES / 2, "connections that were reset: {refused:?}");
}

/// Nothing of a batch is there, and one of its keys is somebody else's: then it was not applied.
#[tokio::test]
async fn a_row_that_was_there_before_is_told_also_after_a_reset() {
    for fault in [Fault::ResetInBody, Fault::ResetBefore] {
        let (direct, behind, _proxy) = stores(in_turn([fault])).await;
        direct.commit(single(Operation::Insert(entity("p", "p-0005", 7)))).await.unwrap();
        let told = behind.commit(inserts("p", 10)).await;
        let is_told = matches!(told, Err(CommitError::Rejected { index: 5, reason: Rejection::EntityExists, .. }));
        assert!(is_told, "{fault:?}: {told:?}");
        assert_eq!(rows(&*direct).await, [("p-0005".to_owned(), 7)]);
    }
}

#[tokio::test]
async fn a_conditional_change_whose_answer_is_lost_is_in_doubt() {
    for fault in [Fault::FailedAfter, Fault::ResetAfter] {
        let (direct, behind, _) = stores(in_turn([fault])).await;
        let Written::Entity { etag, .. } = insert(&*direct, "1").await.unwrap().remove(0) else { panic!() };
        let merge = Operation::Merge(entity("p", "1", 2), IfMatch::ETag(etag));
        let told = behind.commit(single(merge)).await;
        assert!(matches!(told, Err(CommitError::Store(StoreError::OutcomeUnknown(_)))), "{told:?}");
    }
}

#[tokio::test]
async fn a_conditional_change_that_was_not_carried_out_is_repeated() {
    for fault in [Fault::FailedBefore, Fault::ResetBefore] {
        let (direct, behind, _) = stores(in_turn([fault])).await;
        let Written::Entity { etag, .. } = insert(&*direct, "1").await.unwrap().remove(0) else { panic!() };
        behind.commit(single(Operation::Merge(entity("p", "1", 2), IfMatch::ETag(etag)))).await.unwrap();
        assert_eq!(rows(&*direct).await, [("1".to_owned(), 2)], "{fault:?}");
    }
}

#[tokio::test]
async fn throttling_without_end_is_told_as_such() {
    let (_, behind, proxy) = stores(|_| Fault::Busy).await;
    let told = insert(&*behind, "1").await;
    assert!(matches!(told, Err(CommitError::Store(StoreError::Throttled(_)))), "{told:?}");
    assert_eq!(proxy.requests(), 6);
}

#[tokio::test]
async fn lost_answers_lower_the_number_of_requests_under_way() {
    const LOST: usize = 5;
    let (_direct, behind, proxy) = stores(|number| if number < LOST { Fault::ResetAfter } else { Fault::Slow }).await;
    proxy.let_go(1);
    let key = EntityKey::parse("p", "1").unwrap();
    assert_eq!(behind.reader().get(&table(), &key).await.unwrap(), None);
    let before = proxy.requests();
    let mut reads = JoinSet::new();
    for partition in 0..20 {
        let store = Arc::clone(&behind);
        let key = EntityKey::parse(&partition.to_string(), "1").unwrap();
        reads.spawn(async move { store.reader().get(&table(), &key).await });
    }
    let expected = AzureOptions::default().requests_per_account >> LOST;
    while proxy.requests() - before < expected {
        tokio::task::yield_now().await;
    }
    // Any further one would be on its way now.
    for _ in 0..2_000 {
        tokio::task::yield_now().await;
    }
    assert_eq!(proxy.requests() - before, expected, "halved by each that was lost");
    proxy.let_go(20);
    for read in reads.join_all().await {
        assert_eq!(read.unwrap(), None);
    }
}

#[tokio::test]
async fn reads_go_on_over_failures_and_empty_pages() {
    let (direct, behind, proxy) = stores(|number| match number {
        0 => Fault::Busy,
        1 => Fault::Truncated,
        2 => Fault::ResetAfter,
        3 => Fault::EmptyPage(service::PAGE_AT_SPACE),
        5 => Fault::Truncated,
        _ => Fault::None,
    })
    .await;
    let expected = fill(&*direct, 2500).await;
    assert_eq!(rows(&*behind).await, expected);
    let figures = behind.figures().requests.unwrap();
    assert_eq!((figures.throttled, figures.failed), (1, 3), "what failed is counted");
    assert_eq!(figures.answered, proxy.requests() as u64 - 4);
    assert!(figures.received > 100_000 && figures.limit < AzureOptions::default().requests_per_account as u64);
}

/// Reads through the same proxy: what was to be asked for before them has been asked for.
async fn settle(store: &dyn TableStore) {
    for _ in 0..5 {
        store.reader().get(&table(), &EntityKey::parse("p", "0000").unwrap()).await.unwrap();
    }
}

#[tokio::test]
async fn read_ahead_of_slow_pages_is_bounded_and_ends_with_its_reader() {
    let pages = Arc::new(AtomicUsize::new(0));
    let counter = Arc::clone(&pages);
    let (direct, behind, proxy) = stores_by_request(move |_, request| {
        if !request.contains("/Orders()") {
            return Fault::None;
        }
        counter.fetch_add(1, Ordering::SeqCst);
        Fault::Slow
    })
    .await;
    let asked = |expected: usize| {
        let (behind, pages) = (&behind, &pages);
        async move {
            while pages.load(Ordering::SeqCst) < expected {
                tokio::task::yield_now().await;
            }
            settle(&**behind).await;
            pages.load(Ordering::SeqCst)
        }
    };
    fill(&*direct, 5000).await;
    let mut batches = behind.reader().scan(request()).unwrap();
    assert_eq!(asked(0).await, 0, "nobody has asked yet");
    proxy.let_go(2);
    assert_eq!(batches.try_next().await.unwrap().unwrap().num_rows(), 1000);
    assert_eq!(asked(2).await, 2, "one page ahead, however long nobody reads");
    assert_eq!(batches.try_next().await.unwrap().unwrap().num_rows(), 1000);
    assert_eq!(asked(3).await, 3);
    drop(batches);
    proxy.let_go(10);
    assert_eq!(asked(3).await, 3, "nothing is asked for once the reader is gone");
}

#[tokio::test]
async fn a_limit_stops_asking() {
    let (direct, behind, proxy) = stores(|_| Fault::None).await;
    fill(&*direct, 2500).await;
    for (limit, requests) in [(10, 1), (1000, 1), (1500, 2)] {
        let before = proxy.requests();
        let limited = ScanRequest { limit: Some(limit), ..request() };
        let batches: Vec<_> = behind.reader().scan(limited).unwrap().try_collect().await.unwrap();
        assert_eq!(batches.iter().map(|batch| batch.num_rows()).sum::<usize>(), limit);
        assert_eq!(proxy.requests() - before, requests, "LIMIT {limit}");
    }
}

#[tokio::test]
async fn a_change_under_a_version_that_never_was_is_refused() {
    let (direct, behind, _) = stores(in_turn([Fault::WrongETag])).await;
    insert(&*direct, "1").await.unwrap();
    let key = EntityKey::parse("p", "1").unwrap();
    let read = behind.reader().get(&table(), &key).await.unwrap().unwrap();
    let merge = Operation::Merge(entity("p", "1", 2), IfMatch::ETag(read.etag));
    let told = behind.commit(single(merge)).await;
    assert!(matches!(told, Err(CommitError::Rejected { reason: Rejection::ETagMismatch, .. })), "{told:?}");
    assert_eq!(rows(&*direct).await, [("1".to_owned(), 1)]);
}

#[tokio::test]
async fn a_type_that_a_late_page_brings_is_told_and_known_from_then_on() {
    let (direct, behind, _) = stores_by_request(|_, request| match request.contains("NextPartitionKey") {
        true => Fault::NewType,
        false => Fault::None,
    })
    .await;
    fill(&*direct, 2500).await;
    let reader = behind.reader();
    let types = || async { reader.observed_schema(&table()).await.unwrap().get("n").unwrap().types };
    let sampled = types().await;
    let told = reader.scan(request()).unwrap().try_collect::<Vec<_>>().await;
    assert!(matches!(told, Err(StoreError::Unfit(_))), "{told:?}");
    assert_ne!(types().await, sampled);
    let seen = reader.sightings(&table());
    let source = |edm_type| seen.of("n", edm_type).map(|seen| seen.source);
    assert_eq!(source(EdmType::Int32), Some(SightingSource::Sample));
    assert_eq!(source(EdmType::String), Some(SightingSource::Scan));
}

#[tokio::test]
async fn a_name_that_is_being_deleted_is_taken() {
    let (_, behind, _) = stores(in_turn([Fault::BeingDeleted])).await;
    let other = TableName::parse("Other").unwrap();
    assert!(matches!(behind.create_table(&other).await, Err(StoreError::TableExists(_))));
    behind.create_table(&other).await.unwrap();
}

/// Every seventh request goes wrong somehow. What is told to be written is there once, what is told not to be is not.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn of_ten_thousand_writes_none_is_lost_or_doubled() {
    const FAULTS: [Fault; 8] = [
        Fault::Busy,
        Fault::FailedBefore,
        Fault::FailedAfter,
        Fault::ResetInBody,
        Fault::ResetBefore,
        Fault::ResetAfter,
        Fault::ResetInAnswer,
        Fault::Truncated,
    ];
    const WRITERS: i32 = 10;
    const BATCHES: i32 = 20;
    let mercy = Mercy::default();
    let (direct, behind, _) = stores_by_request(move |number, request| match number % 7 {
        6 => mercy.bound(request, FAULTS[number / 7 % FAULTS.len()]),
        _ => Fault::None,
    })
    .await;
    let mut writers = JoinSet::new();
    for writer in 0..WRITERS {
        let behind = Arc::clone(&behind);
        writers.spawn(async move {
            let (mut written, mut in_doubt) = (Vec::new(), Vec::new());
            for number in 0..BATCHES {
                let mut batch = Batch::builder(table());
                let keys: Vec<String> = (0..50).map(|i| format!("{writer:02}-{number:02}-{i:02}")).collect();
                for key in &keys {
                    let insert = Operation::Insert(entity(&writer.to_string(), key, 0));
                    batch.push(insert).map_err(|(_, error)| error).unwrap();
                }
                match behind.commit(batch.build().unwrap()).await {
                    Ok(_) => written.extend(keys),
                    Err(CommitError::Store(StoreError::OutcomeUnknown(_))) => in_doubt.extend(keys),
                    Err(error) => panic!("{error}"),
                }
            }
            (written, in_doubt)
        });
    }
    let (mut written, mut in_doubt) = (Vec::new(), Vec::new());
    for (w, d) in writers.join_all().await {
        written.extend(w);
        in_doubt.extend(d);
    }
    let stored = rows(&*direct).await;
    let keys: std::collections::BTreeSet<&str> = stored.iter().map(|(key, _)| key.as_str()).collect();
    assert_eq!(keys.len(), stored.len(), "no key twice");
    assert_eq!(written.len() + in_doubt.len(), 10_000);
    assert!(written.iter().all(|key| keys.contains(key.as_str())), "what is told to be written is there");
    let told = written.len() + in_doubt.iter().filter(|key| keys.contains(key.as_str())).count();
    assert_eq!(told, stored.len(), "what is there was told");
    assert!(in_doubt.is_empty(), "an insert is known by what it wrote");
}
