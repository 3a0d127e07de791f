//! Observe mode after its process was killed: every acknowledged transaction is there and whole, every other one is
//! whole or absent, and `egt_violations` names each rule that one that is there broke.
//!
//! The transactions write to two tables and three partitions, hundreds of rows, or move a row: what only a group of
//! batches can hold together. As in `crash` the test starts itself anew as the process that writes, and kills it at
//! random moments; a folder stays for a few rounds.

use std::collections::{BTreeMap, BTreeSet};
use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::time::Duration;

use arrow::array::AsArray;
use arrow::datatypes::Int64Type;
use futures::StreamExt;
use tablegate::backends::embedded::{EmbeddedOptions, EmbeddedStore, Fsync};
use tablegate::sql::outcome::Outcome;
use tablegate::sql::session::{Position, Session, SessionOptions};
use tablegate::sql::{EgtMode, Engine, EngineConfig};
use tablegate::store::model::SystemClock;

const ROUNDS: u64 = 24;
/// Rounds that share a folder; so few that no violation is dropped as too old.
const ROUNDS_OF_FOLDER: u64 = 3;
const WRITERS: i64 = 4;
/// Rows of a transaction that is larger than 100 entities.
const MANY: i64 = 120;
/// Where the process that writes finds its folder; it is that process when this is set.
const FOLDER: &str = "TABLEGATE_CRASH_OBSERVE_FOLDER";
const ROUND: &str = "TABLEGATE_CRASH_OBSERVE_ROUND";

async fn open(folder: &Path) -> Arc<Engine> {
    // So little memory that it is full, and written into files, many times; and collected writes go to the disk too.
    let options = EmbeddedOptions { fsync: Fsync::Always, memtable_bytes: 64 * 1024, ..EmbeddedOptions::default() };
    let store = EmbeddedStore::open(folder, Arc::new(SystemClock), options).unwrap();
    let config = EngineConfig {
        egt_mode: EgtMode::Observe,
        transaction_memory: 4 * 1024,
        spill_folder: folder.to_owned(),
        ..EngineConfig::default()
    };
    Engine::open(Arc::new(store), Arc::new(SystemClock), config).await.unwrap()
}

fn session(engine: &Arc<Engine>) -> Session {
    Session::new(engine.clone(), SessionOptions { user: "crash".to_owned(), ..SessionOptions::default() }).unwrap()
}

/// Runs statements; gives the rows of the last one, each as a text and a number.
async fn run(session: &mut Session, sql: &str) -> Vec<(String, i64)> {
    let mut found = Vec::new();
    for statement in session.parse(sql).unwrap() {
        let prepared = session.prepare(statement, &[]).await.unwrap();
        let outcome = session.execute(&prepared, Vec::new(), Position::Last).await;
        if let Outcome::Rows(mut rows) = outcome.unwrap_or_else(|error| panic!("{sql}: {error} {:?}", error.detail)) {
            while let Some(batch) = rows.stream.next().await {
                let batch = batch.unwrap();
                let (texts, numbers) =
                    (batch.column(0).as_string::<i32>(), batch.column(1).as_primitive::<Int64Type>());
                found.extend((0..batch.num_rows()).map(|row| (texts.value(row).to_owned(), numbers.value(row))));
            }
        }
    }
    found
}

/// One transaction of a writer, counted from 0.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Mark {
    round: i64,
    writer: i64,
    number: i64,
}

impl Mark {
    fn name(self) -> String {
        format!("{} {} {}", self.round, self.writer, self.number)
    }

    fn parse(name: &str) -> Option<Self> {
        let mut numbers = name.split(' ').map(|text| text.parse().ok());
        Some(Self { round: numbers.next()??, writer: numbers.next()??, number: numbers.next()?? })
    }

    fn statements(self) -> Vec<String> {
        let (name, writer) = (self.name(), self.writer);
        let log = |partition: &str| format!("INSERT INTO log VALUES ('{partition}', '{name}', '{name}')");
        match self.number % 3 {
            0 => vec![
                format!(
                    "INSERT INTO entries VALUES ('a{writer}', '{name}', '{name}'), ('b{writer}', '{name}', '{name}')"
                ),
                log(&format!("c{writer}")),
            ],
            1 => vec![
                format!(
                    "INSERT INTO entries SELECT 'a{writer}', '{name} ' || i, '{name}' FROM generate_series(1, {MANY}) AS s(i)"
                ),
                log(&format!("a{writer}")),
            ],
            _ => vec![
                // There and back again, with every second of them.
                format!(
                    "UPDATE tokens SET place = CASE place WHEN 'here' THEN 'there' ELSE 'here' END WHERE writer = {writer}"
                ),
                format!("INSERT INTO entries VALUES ('a{writer}', '{name}', '{name}')"),
                log(&format!("a{writer}")),
            ],
        }
    }

    /// Rows with its mark in both tables.
    fn rows(self) -> i64 {
        match self.number % 3 {
            0 => 3,
            1 => MANY + 1,
            _ => 2,
        }
    }

    fn rules(self) -> BTreeSet<&'static str> {
        BTreeSet::from_iter(match self.number % 3 {
            0 => vec!["second partition", "second table"],
            1 => vec!["more than 100 entities", "second table"],
            _ => vec!["row moved to another partition", "second partition", "second table"],
        })
    }
}

/// The process that is killed; as a test of its own it does nothing.
#[test]
fn writers() {
    let (Ok(folder), Ok(round)) = (std::env::var(FOLDER), std::env::var(ROUND)) else { return };
    let round = round.parse().unwrap();
    runtime().block_on(async {
        let engine = open(Path::new(&folder)).await;
        let mut tasks = tokio::task::JoinSet::new();
        for writer in 0..WRITERS {
            let mut session = session(&engine);
            tasks.spawn(async move {
                for number in 0.. {
                    let mark = Mark { round, writer, number };
                    run(&mut session, &format!("SET application_name = '{}'; BEGIN", mark.name())).await;
                    for statement in mark.statements() {
                        run(&mut session, &statement).await;
                    }
                    run(&mut session, "COMMIT").await;
                    let mut out = std::io::stdout().lock();
                    writeln!(out, "acknowledged {}", mark.name()).unwrap();
                    out.flush().unwrap();
                }
            });
        }
        tasks.join_all().await;
    });
}

/// Plans are walked by recursion, deeper than 2 MiB of stack allows in a debug build.
fn runtime() -> tokio::runtime::Runtime {
    let mut builder = tokio::runtime::Builder::new_multi_thread();
    builder.worker_threads(2).thread_stack_size(8 << 20).enable_all().build().unwrap()
}

/// Lets the writers work for a while, counted from their first answer; then kills them. What was acknowledged.
fn run_and_kill(folder: &Path, round: u64, after: Duration) -> BTreeSet<Mark> {
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
            if let Some(mark) = line.strip_prefix("acknowledged ").and_then(Mark::parse) {
                acknowledged.send(mark).unwrap();
            }
        }
    });
    let first = answers.recv_timeout(Duration::from_secs(60)).expect("the writers begin");
    std::thread::sleep(after);
    child.kill().unwrap();
    child.wait().unwrap();
    reading.join().unwrap();
    std::iter::once(first).chain(answers.try_iter()).collect()
}

async fn check(folder: &Path, round: u64, acknowledged: &BTreeSet<Mark>) -> usize {
    let engine = open(folder).await;
    let mut session = session(&engine);
    let mut present: BTreeMap<Mark, i64> = BTreeMap::new();
    for (name, rows) in run(
        &mut session,
        "SELECT mark, count(*) FROM (SELECT mark FROM entries UNION ALL SELECT mark FROM log) AS marks GROUP BY mark",
    )
    .await
    {
        present.insert(Mark::parse(&name).unwrap(), rows);
    }
    for (mark, rows) in &present {
        assert_eq!(*rows, mark.rows(), "round {round}: {mark:?} is there in part");
    }
    for mark in acknowledged {
        assert!(present.contains_key(mark), "round {round}: {mark:?} was acknowledged and is gone");
    }
    let tokens = run(&mut session, "SELECT min(place), count(*) FROM tokens GROUP BY writer").await;
    assert_eq!(tokens.len(), usize::try_from(WRITERS).unwrap());
    assert!(tokens.iter().all(|(_, count)| *count == 1), "round {round}: a row that moves is there once: {tokens:?}");
    let mut broken: BTreeMap<Mark, BTreeSet<String>> = BTreeMap::new();
    let violations = "SELECT application_name || '/' || rule, entities FROM egt_violations WHERE outcome = 'committed' AND user_name = 'crash'";
    for (violation, _) in run(&mut session, violations).await {
        let (name, rule) = violation.split_once('/').unwrap();
        assert!(broken.entry(Mark::parse(name).unwrap()).or_default().insert(rule.to_owned()), "{violation} twice");
    }
    let expected: BTreeMap<Mark, BTreeSet<String>> =
        present.keys().map(|mark| (*mark, mark.rules().into_iter().map(str::to_owned).collect())).collect();
    assert_eq!(broken, expected, "round {round}: what is there and what is recorded differ");
    present.len()
}

#[test]
fn transactions_and_their_violations_survive_together() {
    let runtime = runtime();
    let mut random = 0x9e37_79b9_7f4a_7c15_u64;
    let mut written = 0;
    for first_round in (0..ROUNDS).step_by(usize::try_from(ROUNDS_OF_FOLDER).unwrap()) {
        let folder = tempfile::tempdir().unwrap();
        runtime.block_on(async {
            let engine = open(folder.path()).await;
            let mut session = session(&engine);
            run(&mut session, "CREATE TABLE entries (\"PartitionKey\" text, \"RowKey\" text, mark text)").await;
            run(&mut session, "CREATE TABLE log (\"PartitionKey\" text, \"RowKey\" text, mark text)").await;
            run(&mut session, "CREATE TABLE tokens (place text, writer int, PRIMARY KEY (place, writer))").await;
            for writer in 0..WRITERS {
                run(&mut session, &format!("INSERT INTO tokens VALUES ('here', {writer})")).await;
            }
            engine.flush().await;
        });
        let mut acknowledged = BTreeSet::new();
        for round in first_round..first_round + ROUNDS_OF_FOLDER {
            // xorshift: the same moments in every run, as far as the machine plays along.
            random ^= random << 13;
            random ^= random >> 7;
            random ^= random << 17;
            let after = Duration::from_micros(random % 400_000);
            acknowledged.extend(run_and_kill(folder.path(), round, after));
            let present = runtime.block_on(check(folder.path(), round, &acknowledged));
            if round + 1 == first_round + ROUNDS_OF_FOLDER {
                written += present;
            }
        }
    }
    assert!(written > 100, "only {written} transactions were written");
}
