//! A store on disk after its process was killed: every acknowledged batch is there and whole, no batch is there in part.
//!
//! The test starts itself anew as the process that writes, reads from it what was acknowledged, and kills it at a
//! random moment. A folder stays for several rounds, so files are flushed and merged under the writers too.

use std::collections::HashMap;
use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::time::Duration;

use arrow::array::AsArray;
use arrow::datatypes::Int64Type;
use futures::TryStreamExt;
use tablegate::backend::embedded::{EmbeddedOptions, EmbeddedStore, Fsync};
use tablegate::model::{EdmValue, Entity, EntityKey, PropertyName, SystemClock, TableName};
use tablegate::table::{
    Batch, ColumnType, Direction, KeyRange, Operation, ScanColumn, ScanColumns, ScanRequest, ScanStats, StoreError,
    TableStore,
};

const ROUNDS: u64 = 50;
/// Rounds that share a folder.
const ROUNDS_OF_FOLDER: u64 = 10;
const WRITERS: i64 = 8;
/// Rows that each writer writes again and again, all in one batch.
const REWRITTEN: i64 = 10;
/// Where the process that writes finds its folder; it is that process when this is set.
const FOLDER: &str = "TABLEGATE_CRASH_FOLDER";
const ROUND: &str = "TABLEGATE_CRASH_ROUND";

fn open(folder: &Path) -> Result<EmbeddedStore, StoreError> {
    // So little memory that it is full, and written into files, many times in each round.
    let options = EmbeddedOptions { fsync: Fsync::Always, memtable_bytes: 64 * 1024, ..EmbeddedOptions::default() };
    EmbeddedStore::open(folder, Arc::new(SystemClock), options)
}

fn table() -> TableName {
    TableName::parse("Crash").unwrap()
}

/// One batch of a writer, counted from 0.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
struct Mark {
    round: i64,
    writer: i64,
    batch: i64,
}

impl Mark {
    /// Every third batch writes the writer's own rows anew, the others insert into a partition of their own.
    fn rewrites(self) -> bool {
        self.batch % 3 == 2
    }

    fn partition(self) -> String {
        if self.rewrites() {
            format!("rewritten-{}", self.writer)
        } else {
            format!("{}-{}-{}", self.round, self.writer, self.batch)
        }
    }

    fn rows(self) -> i64 {
        if self.rewrites() { REWRITTEN } else { 1 + (self.batch * 7 + self.writer) % 20 }
    }

    /// Rises with every batch of a writer.
    fn stamp(self) -> i64 {
        self.round * 1_000_000 + self.batch
    }

    fn to_batch(self) -> Batch {
        let name = |text: &str| PropertyName::parse(text).unwrap();
        let mut builder = Batch::builder(table());
        for row in 0..self.rows() {
            let padding = usize::try_from((self.batch * 31 + row * 17) % 400).unwrap();
            let properties = [
                (name("stamp"), EdmValue::Int64(self.stamp())),
                (name("rows"), EdmValue::Int64(self.rows())),
                (name("padding"), EdmValue::string("x".repeat(padding))),
                (name(&format!("p{}", self.batch % 5)), EdmValue::Int32(1)),
            ];
            let key = EntityKey::parse(&self.partition(), &format!("{row:03}")).unwrap();
            let entity = Entity::new(key, properties.into_iter().collect());
            let operation =
                if self.rewrites() { Operation::InsertOrReplace(entity) } else { Operation::Insert(entity) };
            builder.push(operation).map_err(|(_, error)| error).unwrap();
        }
        builder.build().unwrap()
    }

    fn parse(line: &str) -> Option<Self> {
        let mut numbers = line.strip_prefix("acknowledged ")?.split(' ').map(|text| text.parse().ok());
        Some(Self { round: numbers.next()??, writer: numbers.next()??, batch: numbers.next()?? })
    }
}

/// The process that is killed; as a test of its own it does nothing.
#[test]
fn writers() {
    let (Ok(folder), Ok(round)) = (std::env::var(FOLDER), std::env::var(ROUND)) else { return };
    let round = round.parse().unwrap();
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap();
    runtime.block_on(async {
        let store = Arc::new(open(Path::new(&folder)).unwrap());
        let mut tasks = tokio::task::JoinSet::new();
        for writer in 0..WRITERS {
            let store = Arc::clone(&store);
            tasks.spawn(async move {
                for batch in 0.. {
                    let mark = Mark { round, writer, batch };
                    store.commit(mark.to_batch()).await.unwrap();
                    let mut out = std::io::stdout().lock();
                    writeln!(out, "acknowledged {round} {writer} {batch}").unwrap();
                    out.flush().unwrap();
                }
            });
        }
        tasks.join_all().await;
    });
}

/// Lets the writers work for a while, counted from their first answer or, for `early` ones, from before they open the
/// store; then kills them. What they said was acknowledged.
fn run_and_kill(folder: &Path, round: u64, after: Duration, early: bool) -> Vec<Mark> {
    let mut child = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "writers", "--nocapture", "--test-threads=1"])
        .env(FOLDER, folder)
        .env(ROUND, round.to_string())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let lines = BufReader::new(child.stdout.take().unwrap()).lines();
    let (acknowledged, answers) = std::sync::mpsc::channel();
    let reading = std::thread::spawn(move || {
        for line in lines.map_while(Result::ok) {
            // The test harness's own words stand before the first one.
            let at = line.find("acknowledged ").unwrap_or_default();
            if let Some(mark) = Mark::parse(&line[at..]) {
                acknowledged.send(mark).unwrap();
            }
        }
    });
    let first = if early { None } else { answers.recv_timeout(Duration::from_secs(20)).ok() };
    std::thread::sleep(after);
    child.kill().unwrap();
    child.wait().unwrap();
    reading.join().unwrap();
    assert!(early || first.is_some(), "the writers come to an answer");
    first.into_iter().chain(answers).collect()
}

/// For each partition: what each of its rows says, which is its stamp and how many rows belong together.
async fn contents(store: &EmbeddedStore) -> HashMap<String, Vec<(i64, i64)>> {
    let property =
        |text: &str| ScanColumn::Property { name: PropertyName::parse(text).unwrap(), column_type: ColumnType::Int64 };
    let request = ScanRequest {
        table: table(),
        ranges: Arc::new([KeyRange::all()]),
        columns: Arc::new(ScanColumns::new(vec![ScanColumn::PartitionKey, property("stamp"), property("rows")])),
        direction: Direction::Forward,
        limit: None,
        batch_rows: 4096,
        stats: Arc::new(ScanStats::default()),
    };
    let mut found: HashMap<String, Vec<(i64, i64)>> = HashMap::new();
    let mut batches = store.reader().scan(request).unwrap();
    while let Some(batch) = batches.try_next().await.unwrap() {
        let partitions = batch.column(0).as_string::<i32>();
        let (stamps, rows) = (batch.column(1).as_primitive::<Int64Type>(), batch.column(2).as_primitive::<Int64Type>());
        for i in 0..batch.num_rows() {
            found.entry(partitions.value(i).to_owned()).or_default().push((stamps.value(i), rows.value(i)));
        }
    }
    found
}

/// `expected` holds the latest acknowledged stamp of each partition.
async fn check(store: &EmbeddedStore, expected: &HashMap<String, i64>) {
    let found = contents(store).await;
    for (partition, rows) in &found {
        let (stamp, count) = rows[0];
        assert!(rows.iter().all(|row| *row == (stamp, count)), "{partition} holds parts of batches: {rows:?}");
        assert_eq!(i64::try_from(rows.len()).unwrap(), count, "{partition} holds a part of a batch");
    }
    for (partition, stamp) in expected {
        let stored = found.get(partition).map(|rows| rows[0].0);
        assert!(stored >= Some(*stamp), "{partition} was acknowledged with {stamp}, stored is {stored:?}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn acknowledged_batches_survive_a_kill_whole() {
    let mut random = 0x9e37_79b9_7f4a_7c15_u64;
    let mut written = 0;
    for first_round in (0..ROUNDS).step_by(usize::try_from(ROUNDS_OF_FOLDER).unwrap()) {
        let folder = tempfile::tempdir().unwrap();
        let store = open(folder.path()).unwrap();
        store.create_table(&table()).await.unwrap();
        store.close().unwrap();
        let mut expected = HashMap::new();
        for round in first_round..first_round + ROUNDS_OF_FOLDER {
            // xorshift: the same moments in every run, as far as the machine plays along.
            random ^= random << 13;
            random ^= random >> 7;
            random ^= random << 17;
            let early = round % 5 == 4;
            let after = Duration::from_micros(random % if early { 60_000 } else { 400_000 });
            for mark in run_and_kill(folder.path(), round, after, early) {
                let latest = expected.entry(mark.partition()).or_insert(mark.stamp());
                *latest = mark.stamp().max(*latest);
            }
            let store = open(folder.path()).unwrap_or_else(|error| panic!("round {round}: {error}"));
            check(&store, &expected).await;
            store.close().unwrap();
        }
        written += expected.len();
        assert!(has_tables(folder.path()), "rows were moved into files");
    }
    assert!(written > 500, "only {written} partitions were written");
}

/// Whether the engine moved rows out of its journal.
fn has_tables(folder: &Path) -> bool {
    let keyspaces = std::fs::read_dir(folder.join("db/keyspaces")).unwrap();
    let mut tables = keyspaces.filter_map(|keyspace| std::fs::read_dir(keyspace.unwrap().path().join("tables")).ok());
    tables.any(|mut tables| tables.next().is_some())
}
