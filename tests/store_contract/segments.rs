//! Rows that are kept as columns too, while others write, read and make segments anew.

#![allow(clippy::print_stdout, reason = "figures for whoever asks for them")]

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use tablegate::backends::embedded::{EmbeddedOptions, EmbeddedStore, Fsync, SegmentOptions};
use tablegate::store::model::{EdmValue, SystemClock, TableName};
use tablegate::store::table::{ColumnType, Direction, IfMatch, Operation, ScanColumn};
use tokio::task::JoinSet;

use crate::store_contract::harness::{Scan, Store, batch, entity, insert_all, int, key, new_table, property};

/// How many seconds it takes; 60 for a longer look.
const SECONDS: &str = "TABLEGATE_SEGMENT_SECONDS";
const PARTITIONS: u32 = 8;
const ROWS: u32 = 300;
/// What the rows of a partition hold together, whatever is moved between them.
const SUM: i64 = EACH * ROWS as i64;
const EACH: i64 = 1000;

/// Values are moved from row to row, and rows are deleted and inserted elsewhere, in one batch each: every scan finds all
/// of every partition's sum.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn every_scan_sees_one_moment_of_rows_and_segments() {
    let seconds = std::env::var(SECONDS).ok().and_then(|text| text.parse().ok()).unwrap_or(3);
    let folder = tempfile::tempdir().unwrap();
    let segments = SegmentOptions {
        // As often as it can.
        interval: Duration::from_millis(1),
        dirty_percent: 1,
        ..SegmentOptions::eager()
    };
    let options = EmbeddedOptions { fsync: Fsync::Never, segments, ..EmbeddedOptions::default() };
    let store: Store = Arc::new(EmbeddedStore::open(folder.path(), Arc::new(SystemClock), options).unwrap());
    let orders = new_table(&store).await;
    for partition in 0..PARTITIONS {
        let row = |row: u32| entity(&partition.to_string(), &format!("{row:04}"), [("n", EdmValue::Int64(EACH))]);
        insert_all(&store, &orders, (0..ROWS).map(row)).await;
    }
    let stop = Arc::new(AtomicBool::new(false));
    let mut tasks = JoinSet::new();
    for partition in 0..PARTITIONS {
        tasks.spawn(move_values(Arc::clone(&store), orders.clone(), partition, Arc::clone(&stop)));
    }
    let (end, mut scans) = (Instant::now() + Duration::from_secs(seconds), 0);
    let built = || store.figures().segments_built.unwrap();
    // A busy machine takes longer for as much.
    while Instant::now() < end || scans <= 5 || built() <= 10 {
        let reader = store.reader();
        let columns = [ScanColumn::PartitionKey, ScanColumn::RowKey, property("n", ColumnType::Int64)];
        let scan = Scan::of(&orders).columns(columns).batch_rows(if scans % 2 == 0 { 1000 } else { 37 });
        let forwards = scan.clone().try_run(&reader).await.unwrap().rows();
        let mut sums = std::collections::BTreeMap::<String, i64>::new();
        for row in &forwards {
            let [Some(EdmValue::String(partition)), _, Some(EdmValue::Int64(n))] = &row[..] else { panic!("{row:?}") };
            *sums.entry(partition.to_string()).or_default() += n;
        }
        assert!(sums.values().all(|sum| *sum == SUM), "{sums:?}");
        assert_eq!(sums.len(), PARTITIONS as usize);
        // Backwards the rows themselves are read.
        let mut backwards = scan.direction(Direction::Reverse).try_run(&reader).await.unwrap().rows();
        backwards.reverse();
        assert!(forwards == backwards, "segments and rows are of different moments");
        scans += 1;
    }
    stop.store(true, Ordering::Relaxed);
    tasks.join_all().await;
    println!("{scans} scans among writes, {} segments made in {seconds} s and more", built());
}

async fn move_values(store: Store, table: TableName, partition: u32, stop: Arc<AtomicBool>) {
    let name = partition.to_string();
    let mut held = vec![EACH; ROWS as usize];
    let mut there = vec![true; ROWS as usize];
    let mut random = 88_172_645_463_325_252_u64 + u64::from(partition);
    while !stop.load(Ordering::Relaxed) {
        random ^= random << 13;
        random ^= random >> 7;
        random ^= random << 17;
        let (from, to) = ((random >> 8) as usize % held.len(), (random >> 32) as usize % held.len());
        if from == to {
            continue;
        }
        let at = |row: usize| format!("{row:04}");
        let amount = if random.is_multiple_of(4) { held[from] } else { held[from] / 3 };
        held[from] -= amount;
        held[to] += amount;
        let upsert = |row: usize, n: i64| {
            Operation::InsertOrReplace(entity(&name, &at(row), [("n", EdmValue::Int64(n)), ("m", int(1))]))
        };
        let is_emptied = random.is_multiple_of(4) && there[from];
        let source = if is_emptied {
            there[from] = false;
            Operation::Delete(key(&name, &at(from)), IfMatch::Any)
        } else {
            there[from] = true;
            upsert(from, held[from])
        };
        there[to] = true;
        store.commit(batch(&table, vec![source, upsert(to, held[to])])).await.unwrap();
    }
}
