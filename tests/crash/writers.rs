//! The process that writes and is killed, and what must be in its store afterwards.

use std::collections::HashMap;
use std::os::unix::process::ExitStatusExt as _;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use arrow::array::{AsArray, StringArray};
use arrow::datatypes::Int64Type;
use futures::TryStreamExt;
use tablegate::backends::embedded::{EmbeddedOptions, EmbeddedStore, Fsync, SegmentOptions};
use tablegate::store::model::{EdmValue, Entity, EntityKey, EntityKeys, PropertyName, SystemClock, TableName};
use tablegate::store::table::{
    Batch, ColumnType, Direction, EdmColumn, KeyRange, NewEntities, Operation, ScanColumn, ScanColumns, ScanRequest,
    ScanStats, SegmentState, StoreError, TableStore,
};

use crate::crash::fills::{check_tables, fill_tables};
use crate::crash::{make_folder, next_random};
use crate::support::child::{self, Child};

const WRITERS: i64 = 8;
/// Rows that each writer writes again and again, all in one batch.
const REWRITTEN: i64 = 10;
/// Where the process that writes finds its folder.
const FOLDER: &str = "TABLEGATE_CRASH_FOLDER";
const ROUND: &str = "TABLEGATE_CRASH_ROUND";
/// What the store shall be doing to its segments when that process ends itself.
const MOMENT: &str = "TABLEGATE_CRASH_MOMENT";
/// How often it is seen doing that before: at most so many times.
const SEEN_BEFORE: u64 = 50;
/// Of a process that ended itself.
const SIGABRT: i32 = 6;
const ROUNDS_OF_FOLDER: u64 = 10;
/// Set where that process shall not sync what it writes.
pub(crate) const NO_SYNC: &str = "TABLEGATE_CRASH_NO_SYNC";
/// Set where that process shall keep rows as columns too.
pub(crate) const COLUMNAR: &str = "TABLEGATE_CRASH_COLUMNAR";

pub(crate) fn open(folder: &Path, fsync: Fsync) -> Result<EmbeddedStore, StoreError> {
    let mut options = EmbeddedOptions { fsync, ..EmbeddedOptions::default() };
    if fsync == Fsync::Always {
        // So little memory that it is full, and written into files, many times in each round; the engine syncs then.
        options.memtable_bytes = 64 * 1024;
    }
    EmbeddedStore::open(folder, Arc::new(SystemClock), options)
}

/// The same with the rows as columns too, made anew all the time.
pub(crate) fn open_columnar(folder: &Path, fsync: Fsync) -> Result<EmbeddedStore, StoreError> {
    let interval = Duration::from_millis(2);
    let segments = SegmentOptions { interval, segment_rows: 2000, ..SegmentOptions::eager() };
    let options = EmbeddedOptions { fsync, memtable_bytes: 64 * 1024, segments, ..EmbeddedOptions::default() };
    EmbeddedStore::open(folder, Arc::new(SystemClock), options)
}

pub(crate) fn table() -> TableName {
    TableName::parse("Crash").unwrap()
}

/// One batch of a writer, counted from 0.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) struct Mark {
    round: i64,
    writer: i64,
    batch: i64,
}

impl Mark {
    /// Every third batch writes the writer's own rows anew, the others insert into a partition of their own.
    fn rewrites(self) -> bool {
        self.batch % 3 == 2
    }

    pub(crate) fn partition(self) -> String {
        if self.rewrites() {
            // In front of all others, so that these come behind the last segment.
            format!("+rewritten-{}", self.writer)
        } else {
            // Each behind those before: there is always something that has no segment yet.
            format!("{}-{:06}-{}", self.round, self.batch, self.writer)
        }
    }

    fn rows(self) -> i64 {
        if self.rewrites() { REWRITTEN } else { 1 + (self.batch * 7 + self.writer) % 20 }
    }

    /// Rises with every batch of a writer.
    pub(crate) fn stamp(self) -> i64 {
        self.round * 1_000_000 + self.batch
    }

    fn to_batch(self) -> Batch {
        let name = |text: &str| PropertyName::parse(text).unwrap();
        let mut builder = Batch::builder(table());
        for row in 0..self.rows() {
            let padding = self.padding(row);
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

    fn padding(self, row: i64) -> usize {
        usize::try_from((self.batch * 31 + row * 17) % 400).unwrap()
    }

    fn parse(line: &str) -> Option<Self> {
        let mut numbers = line.split(' ').map(|text| text.parse().ok());
        Some(Self { round: numbers.next()??, writer: numbers.next()??, batch: numbers.next()?? })
    }
}

/// Batches that insert, as columns: each is an entity group transaction.
fn as_columns(marks: &[Mark]) -> NewEntities {
    let name = |text: &str| PropertyName::parse(text).unwrap();
    let rows: Vec<(Mark, i64)> = marks.iter().flat_map(|mark| (0..mark.rows()).map(|row| (*mark, row))).collect();
    let mut keys = EntityKeys::default();
    for (mark, row) in &rows {
        keys.push(&mark.partition(), &format!("{row:03}")).unwrap();
    }
    let numbers = |number: &dyn Fn(Mark) -> i64| rows.iter().map(|(mark, _)| number(*mark)).collect::<Vec<_>>().into();
    let mut columns = vec![
        (name("stamp"), EdmColumn::Int64(numbers(&|mark| mark.stamp()))),
        (name("rows"), EdmColumn::Int64(numbers(&|mark| mark.rows()))),
        (name("padding"), {
            let paddings = rows.iter().map(|(mark, row)| "x".repeat(mark.padding(*row)));
            EdmColumn::String(StringArray::from_iter_values(paddings))
        }),
    ];
    for p in 0..5 {
        let ones = rows.iter().map(|(mark, _)| (mark.batch % 5 == p).then_some(1));
        columns.push((name(&format!("p{p}")), EdmColumn::Int32(ones.collect())));
    }
    NewEntities::new(&table(), keys, columns).unwrap()
}

/// Writes some batches: those that rewrite one by one, the others together, in a window or all or nothing.
async fn write_columns(store: &EmbeddedStore, marks: impl Iterator<Item = Mark>, all_or_nothing: bool) {
    let (rewriting, inserting): (Vec<Mark>, Vec<Mark>) = marks.partition(|mark| mark.rewrites());
    match (inserting.split_at(inserting.len() / 2), all_or_nothing) {
        ((some, more), true) => {
            store.write_group(vec![as_columns(some).into(), as_columns(more).into()].into()).await.unwrap()
        }
        (_, false) => {
            let refused = store.insert_window(as_columns(&inserting)).await;
            assert!(refused.is_empty(), "{refused:?}");
        }
    }
    for mark in rewriting {
        store.commit(mark.to_batch()).await.unwrap();
    }
}

/// The process that is killed.
pub(crate) fn writers() {
    let told = |name| std::env::var(name).expect("it is told");
    let (folder, round) = (told(FOLDER), told(ROUND));
    let fsync = if std::env::var_os(NO_SYNC).is_some() { Fsync::Never } else { Fsync::Always };
    let round: i64 = round.parse().unwrap();
    child::run(async {
        let open = if std::env::var_os(COLUMNAR).is_some() { open_columnar } else { open };
        let store = Arc::new(open(Path::new(&folder), fsync).unwrap());
        if let Ok(moment) = std::env::var(MOMENT) {
            let store = Arc::clone(&store);
            let before = next_random(round.unsigned_abs() + 1) % SEEN_BEFORE;
            std::thread::spawn(move || end_at(&store, &moment, before));
        }
        let mut tasks = tokio::task::JoinSet::new();
        let filled = Arc::clone(&store);
        tasks.spawn(async move { fill_tables(&filled, round).await });
        for writer in 0..WRITERS {
            let store = Arc::clone(&store);
            // Half of them hand over one batch after the other, the others windows: in most of these their rewritten rows
            // occur several times, unless what they insert goes as columns.
            tasks.spawn(async move {
                let mut next = 0;
                loop {
                    let many = if writer % 2 == 0 { 1 } else { 1 + (next * 7 + writer) % 25 };
                    let marks = (next..next + many).map(|batch| Mark { round, writer, batch });
                    if many == 1 {
                        for mark in marks.clone() {
                            store.commit(mark.to_batch()).await.unwrap();
                        }
                    } else if writer % 4 == 3 {
                        write_columns(&store, marks.clone(), next % 2 == 0).await;
                    } else {
                        let outcome = store.commit_window(marks.clone().map(Mark::to_batch).collect()).await;
                        assert!(outcome.iter().all(Result::is_ok), "{outcome:?}");
                    }
                    child::say(marks.map(|mark| format!("{round} {writer} {}", mark.batch)));
                    next += many;
                }
            });
        }
        tasks.join_all().await;
    });
}

/// Ends the process, as a kill does, once the store was seen at this moment so many times.
fn end_at(store: &EmbeddedStore, moment: &str, mut before: u64) {
    loop {
        if store.segments(&table()).iter().any(|segment| segment.state.name() == moment) {
            if before == 0 {
                std::process::abort();
            }
            before -= 1;
        }
        std::thread::yield_now();
    }
}

/// When the writers are killed.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Kill {
    /// So long after so many answers.
    After(usize, Duration),
    /// So long after their process was started: they may not have opened the store yet.
    Early(Duration),
    /// While this is done to a segment.
    At(SegmentState),
}

impl Kill {
    /// Sometimes early.
    pub(crate) fn at_random(round: u64, random: u64) -> Self {
        match round % 5 {
            4 => Kill::Early(Duration::from_micros(random % 60_000)),
            _ => Kill::after_some(random, 300),
        }
    }

    /// At most so many answers, and a little later.
    pub(crate) fn after_some(random: u64, most: u64) -> Self {
        let answers = usize::try_from(1 + random % most).unwrap();
        Kill::After(answers, Duration::from_micros((random >> 32) % 20_000))
    }
}

/// One round: writers worked in the folder and were killed, and nobody opened it since.
pub(crate) struct Round<'a> {
    pub number: u64,
    pub folder: &'a Path,
    pub random: u64,
    /// All that was acknowledged in this folder.
    pub expected: &'a Expected,
    /// When they were killed. `None` when they never came to the moment that was asked for.
    pub killed: Option<Kill>,
    pub is_last_of_folder: bool,
}

/// Rounds of writers that are killed, several in each folder; `check` looks at each folder after each round.
pub(crate) async fn run_rounds(
    rounds: u64,
    seed: u64,
    environment: &[(&str, &Path)],
    kill: impl Fn(u64, u64) -> Kill,
    mut check: impl AsyncFnMut(Round<'_>),
) {
    let mut random = seed;
    for first in (0..rounds).step_by(usize::try_from(ROUNDS_OF_FOLDER).unwrap()) {
        let folder = tempfile::tempdir().unwrap();
        let folder = folder.path();
        make_folder(folder, Fsync::Always).await;
        let mut expected = Expected::default();
        let end = (first + ROUNDS_OF_FOLDER).min(rounds);
        for number in first..end {
            random = next_random(random);
            let kill = kill(number, random);
            let (marks, was_killed) = run_and_kill(folder, number, kill, environment);
            expected.add(marks);
            let (killed, is_last_of_folder) = (was_killed.then_some(kill), number + 1 == end);
            check(Round { number, folder, random, expected: &expected, killed, is_last_of_folder }).await;
        }
    }
}

/// Lets the writers work until they are killed. What they said was acknowledged, and whether they were killed when they
/// were to be.
///
/// `environment` is added to that of the process that writes.
pub(crate) fn run_and_kill(folder: &Path, round: u64, kill: Kill, environment: &[(&str, &Path)]) -> (Vec<Mark>, bool) {
    let moment = match kill {
        Kill::At(state) => Some((MOMENT, state.name())),
        Kill::After(..) | Kill::Early(_) => None,
    };
    let mut command = child::command("crash::writers::writers");
    command.env(FOLDER, folder).env(ROUND, round.to_string()).envs(environment.iter().copied()).envs(moment);
    let mut child = Child::start(command);
    match kill {
        Kill::Early(after) => std::thread::sleep(after),
        Kill::After(answers, after) => {
            child.hear(answers);
            std::thread::sleep(after);
        }
        // Until it ends itself.
        Kill::At(_) => child.await_end(),
    }
    let (said, status) = child.kill();
    let marks = said.iter().map(|line| Mark::parse(line).expect("it says what it wrote")).collect();
    (marks, moment.is_none() || status.signal() == Some(SIGABRT))
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
pub(crate) struct Expected(HashMap<String, i64>);

impl Expected {
    pub(crate) fn add(&mut self, marks: Vec<Mark>) {
        for mark in marks {
            let latest = self.0.entry(mark.partition()).or_insert(mark.stamp());
            *latest = mark.stamp().max(*latest);
        }
    }

    pub(crate) fn partitions(&self) -> usize {
        self.0.len()
    }

    /// Every batch in the store is whole, and counted; those of these that are not there.
    pub(crate) async fn lost(&self, store: &EmbeddedStore) -> Vec<String> {
        check_tables(store).await;
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
