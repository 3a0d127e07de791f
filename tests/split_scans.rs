//! A scan that several threads share gives the rows that one thread reads.
//!
//! The same statements run over one store, by one thread and by two: whole tables and ranges of keys, in both orders,
//! under joins whose keys narrow the scan while it runs, and with a transaction's own writes laid over it.

use std::sync::Arc;

use crate::support::lines::lines;
use tablegate::backends::embedded::{EmbeddedOptions, EmbeddedStore, Fsync, SegmentOptions};
use tablegate::sql::outcome::Outcome;
use tablegate::sql::session::{Position, Session, SessionOptions};
use tablegate::sql::{Engine, EngineConfig};
use tablegate::store::model::SystemClock;

/// Rows of the table; fewer than 50,000 are read by one thread.
const ROWS: u32 = 52_000;

async fn session(store: &Arc<EmbeddedStore>, query_threads: usize) -> Session {
    let config = EngineConfig { query_threads, ..EngineConfig::default() };
    let engine = Engine::open(Arc::clone(store) as _, Arc::new(SystemClock), config).await.expect("the store opens");
    Session::new(engine, SessionOptions::default()).expect("no settings were given")
}

/// The rows of a statement as text.
async fn run(session: &mut Session, sql: &str) -> Vec<String> {
    let statement = session.parse(sql).unwrap().pop().expect("there is a statement");
    let prepared = session.prepare(statement, &[]).await.unwrap();
    let outcome = session.execute(&prepared, Vec::new(), Position::Last).await.unwrap();
    let Outcome::Rows(rows) = outcome else { return Vec::new() };
    lines(session, rows).await.unwrap()
}

/// Statements whose rows come in an order of their own.
const ORDERED: &[&str] = &[
    "SELECT \"PartitionKey\", \"RowKey\", n FROM t ORDER BY \"PartitionKey\", \"RowKey\"",
    "SELECT \"PartitionKey\", \"RowKey\", n FROM t ORDER BY \"PartitionKey\" DESC, \"RowKey\" DESC",
    "SELECT \"RowKey\", n + 1 FROM t WHERE \"PartitionKey\" = 'p3' ORDER BY \"RowKey\"",
    "SELECT \"PartitionKey\", \"RowKey\" FROM t WHERE n % 3 = 0 ORDER BY \"PartitionKey\", \"RowKey\" OFFSET 900 LIMIT 50",
    "SELECT \"RowKey\", n FROM t ORDER BY n DESC LIMIT 20",
    "SELECT \"RowKey\", n FROM t WHERE n BETWEEN 20000 AND 20100 ORDER BY n",
];

/// Statements whose rows come in any order.
const UNORDERED: &[&str] = &[
    "SELECT count(*) FROM t",
    "SELECT count(*), sum(n), min(n), max(n) FROM t WHERE n > 7",
    "SELECT \"PartitionKey\", count(*), sum(n) FROM t GROUP BY \"PartitionKey\"",
    "SELECT n % 11, count(*) FROM t WHERE \"PartitionKey\" >= 'p2' AND \"PartitionKey\" < 'p5' GROUP BY 1",
    "SELECT n FROM t WHERE \"PartitionKey\" > 'p4' AND n % 1000 < 3",
    "SELECT count(DISTINCT n % 100) FROM t",
    "SELECT a.n, b.n FROM few a JOIN t b ON a.\"PartitionKey\" = b.\"PartitionKey\" AND a.\"RowKey\" = b.\"RowKey\"",
    "SELECT a.\"PartitionKey\", count(*) FROM few a JOIN t b ON a.\"PartitionKey\" = b.\"PartitionKey\" GROUP BY 1",
    "SELECT count(*) FROM t a JOIN t b ON a.n = b.n + 1 WHERE b.n < 500",
];

async fn compare(one: &mut Session, two: &mut Session) {
    for sql in ORDERED {
        assert!(run(one, sql).await == run(two, sql).await, "{sql}");
    }
    for sql in UNORDERED {
        let (mut expected, mut found) = (run(one, sql).await, run(two, sql).await);
        expected.sort();
        found.sort();
        assert!(expected == found, "{sql}: {} rows, {} rows", expected.len(), found.len());
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_split_scan_of_columns_gives_the_rows_of_one_that_is_not() {
    compare_over(SegmentOptions { segment_rows: 20_000, batch_rows: 2048, ..SegmentOptions::eager() }).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_split_scan_of_rows_gives_the_rows_of_one_that_is_not() {
    compare_over(SegmentOptions::off()).await;
}

async fn compare_over(segments: SegmentOptions) {
    let folder = tempfile::tempdir().unwrap();
    let options = EmbeddedOptions { fsync: Fsync::Never, reserve_bytes: 0, segments, ..EmbeddedOptions::default() };
    let store = Arc::new(EmbeddedStore::open(folder.path(), Arc::new(SystemClock), options).unwrap());
    let mut one = session(&store, 1).await;
    run(&mut one, "CREATE TABLE t (\"PartitionKey\" text, \"RowKey\" text, n int)").await;
    run(&mut one, "CREATE TABLE few (\"PartitionKey\" text, \"RowKey\" text, n int)").await;
    let rows = format!("SELECT 'p' || i % 7, lpad(i::text, 6, '0'), i FROM generate_series(1, {ROWS}) AS s(i)");
    run(&mut one, &format!("INSERT INTO t {rows}")).await;
    run(&mut one, "INSERT INTO few SELECT * FROM t WHERE n % 9000 = 1").await;
    let built = Arc::clone(&store);
    tokio::task::spawn_blocking(move || built.build_segments()).await.unwrap();
    let mut two = session(&store, 2).await;
    let plan = |lines: Vec<String>| lines.join("\n");
    assert!(!plan(run(&mut one, "EXPLAIN SELECT sum(n) FROM t").await).contains("Parts"));
    assert!(plan(run(&mut two, "EXPLAIN SELECT sum(n) FROM t").await).contains("Parts: 2"));
    for unsplit in [
        "SELECT sum(n) FROM few",
        "SELECT n FROM t LIMIT 10",
        "SELECT n FROM t WHERE \"PartitionKey\" = 'p1' AND \"RowKey\" = 'x'",
    ] {
        assert!(!plan(run(&mut two, &format!("EXPLAIN {unsplit}")).await).contains("Parts"), "{unsplit}");
    }
    compare(&mut one, &mut two).await;
    // Rows that are of no use to the one may be what the other looks for.
    for session in [&mut one, &mut two] {
        let extremes = run(session, "SELECT (max(n), max(-n), min(n) FILTER (WHERE n > 50000))::text FROM t").await;
        assert_eq!(extremes, [format!("|({ROWS},-1,50001)")]);
    }
    // Written since.
    run(&mut one, "UPDATE t SET n = -n WHERE \"PartitionKey\" = 'p2' AND n % 50 = 0").await;
    run(&mut one, "DELETE FROM t WHERE \"PartitionKey\" = 'p5' AND n % 70 = 0").await;
    compare(&mut one, &mut two).await;
    // Not committed.
    let mut sums = Vec::new();
    for session in [&mut one, &mut two] {
        run(session, "BEGIN").await;
        run(session, "UPDATE t SET n = 0 WHERE \"PartitionKey\" = 'p3' AND n < 300").await;
        run(session, "INSERT INTO t VALUES ('p3', '0', 1), ('p3', '9', 2)").await;
        sums.push(run(session, "SELECT sum(n), count(*) FROM t WHERE \"PartitionKey\" > 'p2'").await);
        run(session, "ROLLBACK").await;
    }
    assert_eq!(sums[0], sums[1]);
}
