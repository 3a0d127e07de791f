//! Statements that write many entity group transactions at once, over a store whose commits take their time and overtake
//! each other: every row once, the first wrong one told, and nothing started that should not be.

use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, Weak};
use std::time::Duration;

use async_trait::async_trait;
use bytes::BytesMut;
use futures::StreamExt;
use tablegate::backends::memory::MemoryStore;
use tablegate::sql::outcome::{CommandTag, Outcome};
use tablegate::sql::session::{Position, Session, SessionOptions};
use tablegate::sql::{Engine, EngineConfig};
use tablegate::store::model::SystemClock;
use tablegate::store::table::{
    Batch, CommitError, GroupError, Parallelism, Promises, SnapshotScope, StoreError, StoreLayer, TableStore, Written,
};
use tablegate::types::error::{ErrorKind, SqlError};
use tablegate::types::output::TextColumn;
use tokio::sync::Semaphore;

use crate::support::{cpu, rng};

type SqlResult<T> = Result<T, Box<SqlError>>;

/// Commits that a statement may have under way.
const AT_ONCE: usize = 16;
const AT_ONCE_TO_PARTITION: usize = 3;

/// A store like an account of the service: others may write to it, and commits take turns at random.
struct Slow {
    me: Weak<Self>,
    store: MemoryStore,
    random: Mutex<rng::Rng>,
    /// Whether a commit waits for a permit.
    is_gated: AtomicBool,
    permits: Semaphore,
    /// After so many commits the next ones fail.
    fails_after: AtomicUsize,
    started: AtomicUsize,
    under_way: Mutex<HashMap<String, usize>>,
    most: AtomicUsize,
    most_to_partition: AtomicUsize,
}

impl Slow {
    fn new(seed: u64) -> Arc<Self> {
        Arc::new_cyclic(|me| Self {
            me: me.clone(),
            store: MemoryStore::new(Arc::new(SystemClock)),
            random: Mutex::new(rng::Rng::of_case(seed, 0)),
            is_gated: AtomicBool::new(false),
            permits: Semaphore::new(0),
            fails_after: AtomicUsize::new(usize::MAX),
            started: AtomicUsize::new(0),
            under_way: Mutex::default(),
            most: AtomicUsize::new(0),
            most_to_partition: AtomicUsize::new(0),
        })
    }

    fn gate(&self) {
        self.is_gated.store(true, Ordering::Relaxed);
    }

    fn open(&self) {
        self.is_gated.store(false, Ordering::Relaxed);
        self.permits.add_permits(1_000_000);
    }

    fn started(&self) -> usize {
        self.started.load(Ordering::Relaxed)
    }

    fn under_way(&self) -> usize {
        self.under_way.lock().unwrap().values().sum()
    }

    /// From now on counts begin anew.
    fn reset(&self) {
        for counter in [&self.started, &self.most, &self.most_to_partition] {
            counter.store(0, Ordering::Relaxed);
        }
    }

    fn enter(&self, partition: &str) -> usize {
        let mut under_way = self.under_way.lock().unwrap();
        let here = under_way.entry(partition.to_owned()).or_default();
        *here += 1;
        self.most_to_partition.fetch_max(*here, Ordering::Relaxed);
        self.most.fetch_max(under_way.values().sum(), Ordering::Relaxed);
        self.started.fetch_add(1, Ordering::Relaxed) + 1
    }

    fn leave(&self, partition: &str) {
        *self.under_way.lock().unwrap().get_mut(partition).unwrap() -= 1;
    }

    async fn carry_out(&self, batch: Batch) -> Result<Vec<Written>, CommitError> {
        let partition = batch.partition().as_str().to_owned();
        let number = self.enter(&partition);
        if self.is_gated.load(Ordering::Relaxed) {
            self.permits.acquire().await.unwrap().forget();
        }
        let turns = self.random.lock().unwrap().below(40);
        for _ in 0..turns {
            tokio::task::yield_now().await;
        }
        let committed = match number > self.fails_after.load(Ordering::Relaxed) {
            true => Err(StoreError::Unavailable("as planned".to_owned()).into()),
            false => self.store.commit(batch).await,
        };
        self.leave(&partition);
        committed
    }
}

#[async_trait]
impl StoreLayer for Slow {
    fn below(&self) -> &dyn TableStore {
        &self.store
    }

    fn promises(&self) -> Promises {
        Promises {
            atomic_groups: false,
            snapshot: SnapshotScope::Partition,
            sole_writer: false,
            ..self.store.promises()
        }
    }

    fn parallelism(&self) -> Parallelism {
        Parallelism { commits: AT_ONCE, commits_to_partition: AT_ONCE_TO_PARTITION, windows: false }
    }

    async fn commit(&self, batch: Batch) -> Result<Vec<Written>, CommitError> {
        let this = self.me.upgrade().unwrap();
        // What is handed over runs to its end, as in every store.
        tokio::spawn(async move { this.carry_out(batch).await }).await.unwrap()
    }

    async fn commit_group(&self, _: Vec<Batch>) -> Result<Vec<Vec<Written>>, GroupError> {
        Err(StoreError::Unsupported("groups").into())
    }
}

async fn engine(store: &Arc<Slow>) -> Arc<Engine> {
    Engine::open(store.clone(), Arc::new(SystemClock), EngineConfig::default()).await.unwrap()
}

fn session(engine: &Arc<Engine>) -> Session {
    Session::new(engine.clone(), SessionOptions::default()).unwrap()
}

async fn execute(session: &mut Session, sql: &str) -> SqlResult<Outcome> {
    let statement = session.parse(sql)?.pop().unwrap();
    let prepared = session.prepare(statement, &[]).await?;
    session.execute(&prepared, Vec::new(), Position::Last).await
}

/// Runs a statement; its rows as text with `|` between the columns.
async fn query(session: &mut Session, sql: &str) -> SqlResult<Vec<String>> {
    let Outcome::Rows(mut rows) = execute(session, sql).await? else { return Ok(Vec::new()) };
    let style = session.output_style();
    let mut lines = Vec::new();
    while let Some(batch) = rows.stream.next().await {
        let batch = batch?;
        let columns: Vec<_> = (0..batch.num_columns())
            .map(|i| TextColumn::new(batch.column(i), &rows.columns[i].sql_type, &style))
            .collect();
        for row in 0..batch.num_rows() {
            let mut text = BytesMut::new();
            for (i, column) in columns.iter().enumerate() {
                if i > 0 {
                    text.extend_from_slice(b"|");
                }
                column.write(row, &mut text);
            }
            lines.push(String::from_utf8(text.to_vec()).unwrap());
        }
    }
    Ok(lines)
}

async fn begin_copy(session: &mut Session, table: &str) {
    let Outcome::CopyIn(_) = execute(session, &format!("COPY {table} FROM STDIN")).await.unwrap() else { panic!() };
}

async fn copy(session: &mut Session, table: &str, input: &str) -> SqlResult<CommandTag> {
    begin_copy(session, table).await;
    for piece in input.as_bytes().chunks(60_000) {
        session.copy_data(piece).await?;
    }
    session.copy_done(Position::Last).await
}

const ITEMS: &str = "CREATE TABLE items (\"PartitionKey\" text, \"RowKey\" text, n int)";

/// Rows whose partitions take turns.
fn scattered(rows: usize, partitions: usize) -> String {
    (0..rows).map(|i| format!("p{:04}\tr{i:06}\t{i}\n", i * 7919 % partitions)).collect()
}

#[tokio::test]
async fn scattered_rows_are_written_once_in_large_transactions_many_at_a_time() {
    let store = Slow::new(1);
    let engine = engine(&store).await;
    let mut session = session(&engine);
    query(&mut session, ITEMS).await.unwrap();
    store.reset();
    let tag = copy(&mut session, "items", &scattered(25_000, 40)).await.unwrap();
    assert_eq!(tag, CommandTag::Counted("COPY", 25_000));
    let found = query(&mut session, "SELECT count(*), count(DISTINCT n), sum(n) FROM items").await.unwrap();
    assert_eq!(found, ["25000|25000|312487500"]);
    // 250 rows of each partition are in a full window, 125 in the last.
    assert_eq!(store.started(), 40 * (3 + 3 + 2));
    assert_eq!(store.most.load(Ordering::Relaxed), AT_ONCE);
    assert!(store.most_to_partition.load(Ordering::Relaxed) <= AT_ONCE_TO_PARTITION);
    let notices: Vec<String> = session.take_notices().into_iter().map(|notice| notice.message).collect();
    assert_eq!(notices, ["the statement ran as 320 entity group transactions, each atomic on its own"]);

    store.reset();
    query(&mut session, "CREATE TABLE others AS SELECT n, n % 3 AS kind FROM items").await.unwrap();
    assert_eq!(query(&mut session, "SELECT count(*), sum(n) FROM others").await.unwrap(), ["25000|312487500"]);
    assert!(store.most.load(Ordering::Relaxed) > 1, "the rows of a new table go many at a time too");
    store.reset();
    query(&mut session, "UPDATE items SET n = n + 1").await.unwrap();
    assert_eq!(query(&mut session, "SELECT sum(n) FROM items").await.unwrap(), ["312512500"]);
    assert_eq!(store.most.load(Ordering::Relaxed), AT_ONCE);
    query(&mut session, "DELETE FROM items WHERE n % 2 = 0").await.unwrap();
    assert_eq!(query(&mut session, "SELECT count(*) FROM items").await.unwrap(), ["12500"]);
}

#[tokio::test]
async fn of_several_wrong_rows_the_first_one_is_told_with_its_line() {
    for seed in 0..20 {
        let store = Slow::new(seed);
        let engine = engine(&store).await;
        let mut session = session(&engine);
        query(&mut session, ITEMS).await.unwrap();
        // Whichever commit comes back first, all three are under way then.
        query(&mut session, "INSERT INTO items VALUES ('b', '1', 0), ('m', '7', 0), ('p', '1', 0)").await.unwrap();
        let mut input = String::new();
        for (line, partition) in "zyxwpmlkjibcdefgh".chars().enumerate() {
            input.push_str(&format!("{partition}\t0\t{line}\n{partition}\t1\t1\n{partition}\t7\t1\n"));
        }
        let error = copy(&mut session, "items", &input).await.unwrap_err();
        session.fail();
        assert_eq!(error.kind, ErrorKind::UniqueViolation);
        // The fifth partition is "p", and its second row is there.
        assert_eq!(error.context.as_deref(), Some("COPY items, line 14"), "{error:?}");
        let stored = query(&mut session, "SELECT count(*) FROM items").await.unwrap()[0].parse::<usize>().unwrap() - 3;
        let told = format!("{} of them with {stored} rows were committed before it failed.", stored / 3);
        assert!(stored == 0 || error.detail.as_ref().unwrap().ends_with(&told), "{error:?} but {stored} rows");
    }
}

#[tokio::test]
async fn a_row_given_twice_is_told_by_its_second_line_however_far_behind() {
    for distance in [1, 500, 9_999, 10_000, 15_000, 25_000] {
        let store = Slow::new(distance as u64);
        let engine = engine(&store).await;
        let mut session = session(&engine);
        query(&mut session, ITEMS).await.unwrap();
        let mut lines: Vec<String> = (0..30_000).map(|i| format!("p{:02}\tr{i:06}\t{i}\n", i % 50)).collect();
        lines[distance + 100] = lines[100].clone();
        let error = copy(&mut session, "items", &lines.concat()).await.unwrap_err();
        session.fail();
        let context = format!("COPY items, line {}", distance + 101);
        assert_eq!((error.kind, error.context.as_deref()), (ErrorKind::UniqueViolation, Some(context.as_str())));
        let kept = query(&mut session, "SELECT n FROM items WHERE \"PartitionKey\" = 'p00' AND \"RowKey\" = 'r000100'");
        assert!(matches!(&kept.await.unwrap()[..], [] | [_]), "at most the first of the two");
    }
}

#[tokio::test]
async fn what_is_wrong_with_the_input_comes_behind_rows_that_were_before_it() {
    let store = Slow::new(3);
    let engine = engine(&store).await;
    let mut session = session(&engine);
    query(&mut session, ITEMS).await.unwrap();
    let mut input = scattered(17_000, 100);
    input.push_str("p\tr\tnone\n");
    let error = copy(&mut session, "items", &input).await.unwrap_err();
    session.fail();
    assert_eq!(error.context.as_deref(), Some("COPY items, line 17001, column n: \"none\""));
    let stored: usize = query(&mut session, "SELECT count(*) FROM items").await.unwrap()[0].parse().unwrap();
    assert!(stored > 0 && stored <= 10_000, "{stored}");
    assert!(error.detail.unwrap().contains(&format!("of them with {stored} rows were committed")));

    // A row that is there already was before it.
    query(&mut session, "TRUNCATE items").await.unwrap();
    query(&mut session, "INSERT INTO items VALUES ('p0000', 'r000000', 0)").await.unwrap();
    store.gate();
    begin_copy(&mut session, "items").await;
    session.copy_data(scattered(17_000, 100).as_bytes()).await.unwrap();
    store.open();
    let error = session.copy_data(b"p\tr\tnone\n").await.unwrap_err();
    session.fail();
    assert_eq!((error.kind, error.context.as_deref()), (ErrorKind::UniqueViolation, Some("COPY items, line 1")));
}

#[tokio::test]
async fn changes_of_one_row_stay_in_their_order() {
    for seed in 0..5 {
        let store = Slow::new(seed);
        let engine = engine(&store).await;
        let mut session = session(&engine);
        query(&mut session, "CREATE TABLE last (id int PRIMARY KEY, n int)").await.unwrap();
        let write = "INSERT OR REPLACE INTO last SELECT n % 10, n FROM generate_series(1, 1000) n";
        query(&mut session, write).await.unwrap();
        let kept = query(&mut session, "SELECT n FROM last ORDER BY n").await.unwrap();
        assert_eq!(kept, (991..=1000).map(|n| n.to_string()).collect::<Vec<_>>());
    }
}

#[tokio::test]
async fn after_a_failure_nothing_further_is_started_and_what_was_written_is_told() {
    let store = Slow::new(4);
    let engine = engine(&store).await;
    let mut session = session(&engine);
    query(&mut session, "CREATE TABLE numbers (id int PRIMARY KEY)").await.unwrap();
    store.reset();
    store.fails_after.store(200, Ordering::Relaxed);
    let write = "INSERT INTO numbers SELECT n FROM generate_series(1, 5000) n";
    let error = query(&mut session, write).await.unwrap_err();
    session.fail();
    assert_eq!(error.kind, ErrorKind::StoreFailure, "{error:?}");
    assert!((201..=200 + 2 * AT_ONCE).contains(&store.started()), "{}", store.started());
    assert_eq!(store.under_way(), 0, "those under way were waited for");
    let stored = &query(&mut session, "SELECT count(*) FROM numbers").await.unwrap()[0];
    let told = format!("{stored} of them with {stored} rows were committed before it failed.");
    assert!(error.detail.as_ref().unwrap().ends_with(&told), "{error:?} but {stored} rows");
}

/// Waits until something is so, and lets everything go on then that can, without a clock.
async fn until(is_so: impl Fn() -> bool) {
    while !is_so() {
        tokio::task::yield_now().await;
    }
    for _ in 0..2_000 {
        tokio::task::yield_now().await;
    }
}

#[tokio::test]
async fn a_statement_that_is_cancelled_starts_no_further_commit_and_shows_how_far_it_was() {
    let store = Slow::new(5);
    let engine = engine(&store).await;
    let (mut session, mut other) = (session(&engine), session(&engine));
    query(&mut session, "CREATE TABLE numbers (id int PRIMARY KEY)").await.unwrap();
    store.reset();
    store.gate();
    store.permits.add_permits(5);
    {
        let mut write = std::pin::pin!(query(&mut session, "INSERT INTO numbers SELECT generate_series(1, 5000)"));
        tokio::select! {
            biased;
            done = &mut write => panic!("{done:?}"),
            () = until(|| store.started() >= 5 + AT_ONCE) => {}
        }
        assert_eq!((store.started(), store.under_way()), (5 + AT_ONCE, AT_ONCE));
        let shown = "SELECT command, relid::regclass, rows_committed, egts_committed, egts_under_way \
                     FROM statement_progress";
        assert_eq!(query(&mut other, shown).await.unwrap(), ["INSERT|numbers|5|5|16"]);
    }
    store.open();
    until(|| store.under_way() == 0).await;
    assert_eq!((store.started(), store.under_way()), (5 + AT_ONCE, 0), "those under way, and no more");
    session.fail();
    assert!(query(&mut other, "SELECT * FROM statement_progress").await.unwrap().is_empty());
    assert_eq!(query(&mut other, "SELECT count(*) FROM numbers").await.unwrap(), ["21"]);
}

#[tokio::test]
async fn a_copy_waits_for_the_store_and_does_not_hold_what_is_still_to_come() {
    let store = Slow::new(6);
    let engine = engine(&store).await;
    let mut session = session(&engine);
    query(&mut session, ITEMS).await.unwrap();
    store.reset();
    store.gate();
    begin_copy(&mut session, "items").await;
    let input = scattered(100_000, 5_000);
    let mut taken = 0;
    {
        let feed = async {
            for piece in input.as_bytes().chunks(20_000) {
                session.copy_data(piece).await.unwrap();
                taken += piece.iter().filter(|byte| **byte == b'\n').count();
            }
        };
        tokio::select! {
            biased;
            () = feed => panic!("all of it was taken"),
            () = until(|| store.under_way() >= AT_ONCE) => {}
        }
    }
    // One window is on its way, the next is collected, and a batch of lines may be in the reader.
    assert!((10_000..40_000).contains(&taken), "{taken}");
    assert_eq!(store.under_way(), AT_ONCE);
    store.open();
    until(|| store.under_way() == 0).await;
    assert_eq!(store.started(), AT_ONCE, "the COPY was dropped");
}

/// Where nobody else writes to the store, rows are locked: each until it is written, however long the statement goes on.
#[tokio::test]
async fn rows_of_a_copy_are_free_once_they_are_written() {
    let clock = Arc::new(SystemClock);
    let store = Arc::new(MemoryStore::new(clock.clone()));
    // A quarter of it is held back.
    let config = EngineConfig { query_memory: 32 << 20, ..EngineConfig::default() };
    let engine = Engine::open(store, clock, config).await.unwrap();
    let (mut copying, mut other) = (session(&engine), session(&engine));
    query(&mut copying, &ITEMS.replace(", n int", ", n int, note text")).await.unwrap();
    begin_copy(&mut copying, "items").await;
    // More than is held back to be committed together.
    let note = "x".repeat(6_000);
    for line in scattered(3_000, 100).lines() {
        copying.copy_data(format!("{line}\t{note}\n").as_bytes()).await.unwrap();
    }
    query(&mut other, "SET lock_timeout = '300s'").await.unwrap();
    let count = "SELECT count(*) FROM items";
    while query(&mut other, count).await.unwrap() == ["0"] {
        tokio::task::yield_now().await;
    }
    query(&mut other, "UPDATE items SET n = -1 WHERE \"PartitionKey\" = 'p0000' AND n = 0").await.unwrap();
    assert_eq!(copying.copy_done(Position::Last).await.unwrap(), CommandTag::Counted("COPY", 3_000));
    assert_eq!(query(&mut other, "SELECT count(*), min(n) FROM items").await.unwrap(), ["3000|-1"]);
}

/// What a block has written is not gone through again for each of its rows, also where it is of several tables.
#[tokio::test]
async fn a_block_of_many_rows_in_several_tables_takes_about_as_long_as_in_one() {
    let store = Arc::new(MemoryStore::new(Arc::new(SystemClock)));
    let engine = Engine::open(store, Arc::new(SystemClock), EngineConfig::default()).await.unwrap();
    let mut session = session(&engine);
    for sql in ["SET egt.mode = observe", ITEMS, "CREATE TABLE others (\"PartitionKey\" text, \"RowKey\" text)"] {
        query(&mut session, sql).await.unwrap();
    }
    let (rows, mut taken) = (scattered(12_000, 40), Vec::new());
    for before in ["SELECT 1", "INSERT INTO others VALUES ('p', 'r')"] {
        query(&mut session, "BEGIN").await.unwrap();
        query(&mut session, before).await.unwrap();
        let before = cpu::of_this_thread();
        copy(&mut session, "items", &rows).await.unwrap();
        taken.push(cpu::of_this_thread() - before);
        query(&mut session, "ROLLBACK").await.unwrap();
    }
    // Gone through for each row, it would be thousands of times as much.
    assert!(taken[1] < taken[0] * 20, "{taken:?} of the processor");
}

#[tokio::test]
async fn rows_of_a_block_are_written_in_turns() {
    let engine =
        Engine::open(Arc::new(MemoryStore::new(Arc::new(SystemClock))), Arc::new(SystemClock), EngineConfig::default());
    let mut session = session(&engine.await.unwrap());
    let columns: Vec<String> = (0..30).map(|column| format!("c{column} int")).collect();
    execute(&mut session, &format!("CREATE TABLE wide (id int PRIMARY KEY, {})", columns.join(", "))).await.unwrap();
    execute(&mut session, "SET egt.mode = observe").await.unwrap();
    execute(&mut session, "BEGIN ISOLATION LEVEL REPEATABLE READ").await.unwrap();
    // One batch of rows, which come at once and are looked for and collected one by one.
    let values = ", n".repeat(30);
    let insert =
        format!("INSERT INTO wide SELECT n{values} FROM generate_series(1, 8000) AS s(n) ON CONFLICT DO NOTHING");
    let (mut whole, mut longest) = (Duration::ZERO, Duration::ZERO);
    {
        let mut statement = std::pin::pin!(execute(&mut session, &insert));
        let timed = std::future::poll_fn(|context| {
            let before = cpu::of_this_thread();
            let polled = statement.as_mut().poll(context);
            let turn = cpu::of_this_thread() - before;
            whole += turn;
            longest = longest.max(turn);
            polled
        });
        timed.await.unwrap();
    }
    // Without turns, all rows but for a few milliseconds' planning are one of them.
    assert!(longest * 2 < whole, "the longest turn took {longest:?} of {whole:?}");
    execute(&mut session, "ROLLBACK").await.unwrap();
}
