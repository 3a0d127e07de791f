//! The process that writes and is killed, and what must be in its store afterwards.

use std::collections::HashMap;
use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::time::Duration;

use arrow::array::AsArray;
use arrow::datatypes::Int64Type;
use futures::TryStreamExt;
use tablegate::backend::embedded::{EmbeddedOptions, EmbeddedStore, Fsync, SegmentOptions};
use tablegate::model::{EdmValue, Entity, EntityKey, PropertyName, SystemClock, TableName};
use tablegate::table::{
    Batch, ColumnType, Direction, KeyRange, Operation, ScanColumn, ScanColumns, ScanRequest, ScanStats, StoreError,
    TableStore,
};

const WRITERS: i64 = 8;
/// Rows that each writer writes again and again, all in one batch.
const REWRITTEN: i64 = 10;
/// Where the process that writes finds its folder; it is that process when this is set.
const FOLDER: &str = "TABLEGATE_CRASH_FOLDER";
const ROUND: &str = "TABLEGATE_CRASH_ROUND";
/// Set where that process shall not sync what it writes.
pub const NO_SYNC: &str = "TABLEGATE_CRASH_NO_SYNC";
/// Set where that process shall keep rows as columns too.
pub const COLUMNAR: &str = "TABLEGATE_CRASH_COLUMNAR";

pub fn open(folder: &Path, fsync: Fsync) -> Result<EmbeddedStore, StoreError> {
    let mut options = EmbeddedOptions { fsync, ..EmbeddedOptions::default() };
    if fsync == Fsync::Always {
        // So little memory that it is full, and written into files, many times in each round; the engine syncs then.
        options.memtable_bytes = 64 * 1024;
    }
    EmbeddedStore::open(folder, Arc::new(SystemClock), options)
}

/// The same with the rows as columns too, made anew all the time.
pub fn open_columnar(folder: &Path, fsync: Fsync) -> Result<EmbeddedStore, StoreError> {
    let interval = Duration::from_millis(2);
    let segments = SegmentOptions { interval, segment_rows: 2000, ..SegmentOptions::eager() };
    let options = EmbeddedOptions { fsync, memtable_bytes: 64 * 1024, segments, ..EmbeddedOptions::default() };
    EmbeddedStore::open(folder, Arc::new(SystemClock), options)
}

pub fn table() -> TableName {
    TableName::parse("Crash").unwrap()
}

/// One batch of a writer, counted from 0.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Mark {
    round: i64,
    writer: i64,
    batch: i64,
}

impl Mark {
    /// Every third batch writes the writer's own rows anew, the others insert into a partition of their own.
    fn rewrites(self) -> bool {
        self.batch % 3 == 2
    }

    pub fn partition(self) -> String {
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
    pub fn stamp(self) -> i64 {
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
    let fsync = if std::env::var_os(NO_SYNC).is_some() { Fsync::Never } else { Fsync::Always };
    let round = round.parse().unwrap();
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap();
    runtime.block_on(async {
        let open = if std::env::var_os(COLUMNAR).is_some() { open_columnar } else { open };
        let store = Arc::new(open(Path::new(&folder), fsync).unwrap());
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
///
/// `environment` is added to that of the process that writes.
pub fn run_and_kill(
    folder: &Path,
    round: u64,
    after: Duration,
    early: bool,
    environment: &[(&str, &Path)],
) -> Vec<Mark> {
    let mut child = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "writers::writers", "--nocapture", "--test-threads=1"])
        .env(FOLDER, folder)
        .env(ROUND, round.to_string())
        .envs(environment.iter().copied())
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

/// For each partition: what each of its rows says, which is its stamp and how many rows belong together. Both ways give
/// the same: forwards what is kept as columns is read as such, backwards rows are read.
async fn contents(store: &EmbeddedStore) -> HashMap<String, Vec<(i64, i64)>> {
    let forwards = contents_in(store, Direction::Forward).await;
    let mut backwards = contents_in(store, Direction::Reverse).await;
    backwards.values_mut().for_each(|rows| rows.reverse());
    assert!(forwards == backwards, "columns and rows are not the same");
    forwards
}

async fn contents_in(store: &EmbeddedStore, direction: Direction) -> HashMap<String, Vec<(i64, i64)>> {
    let property =
        |text: &str| ScanColumn::Property { name: PropertyName::parse(text).unwrap(), column_type: ColumnType::Int64 };
    let request = ScanRequest {
        table: table(),
        ranges: Arc::new([KeyRange::all()]),
        columns: Arc::new(ScanColumns::new(vec![ScanColumn::PartitionKey, property("stamp"), property("rows")])),
        predicate: None,
        direction,
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

/// The latest acknowledged stamp of each partition.
#[derive(Default)]
pub struct Expected(HashMap<String, i64>);

impl Expected {
    pub fn add(&mut self, marks: Vec<Mark>) {
        for mark in marks {
            let latest = self.0.entry(mark.partition()).or_insert(mark.stamp());
            *latest = mark.stamp().max(*latest);
        }
    }

    pub fn partitions(&self) -> usize {
        self.0.len()
    }

    /// Every batch in the store is whole, and counted; those of these that are not there.
    pub async fn lost(&self, store: &EmbeddedStore) -> Vec<String> {
        let found = contents(store).await;
        for (partition, rows) in &found {
            let (stamp, count) = rows[0];
            assert!(rows.iter().all(|row| *row == (stamp, count)), "{partition} holds parts of batches: {rows:?}");
            assert_eq!(i64::try_from(rows.len()).unwrap(), count, "{partition} holds a part of a batch");
        }
        let rows: usize = found.values().map(Vec::len).sum();
        let counted = store.reader().estimate(&table()).unwrap().expect("it was counted from the start");
        assert_eq!(counted.entities, rows as u64, "the count is lost or of another moment");
        let stored = |partition: &String| found.get(partition).map(|rows| rows[0].0);
        let lost = self.0.iter().filter(|(partition, stamp)| stored(partition) < Some(**stamp));
        lost.map(|(partition, stamp)| format!("{partition} was acknowledged with {stamp}")).collect()
    }
}
