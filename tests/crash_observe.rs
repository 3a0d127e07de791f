//! Observe mode after its process was killed: every acknowledged transaction is there and whole, every other one is
//! whole or absent, and `egt_violations` names each rule that one that is there broke.
//!
//! The transactions write to two tables and three partitions, hundreds of rows, or move a row: what only a group of
//! batches can hold together. As in `crash` the program starts itself as the process that writes, and kills it at
//! random moments; a folder stays for a few rounds.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
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

use crate::support::child::{self, Child};

const ROUNDS: u64 = 24;
/// Rounds that share a folder; so few that no violation is dropped as too old.
const ROUNDS_OF_FOLDER: u64 = 3;
const WRITERS: i64 = 4;
/// Rows of a transaction that is larger than 100 entities.
const MANY: i64 = 120;
/// Where the process that writes finds its folder.
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

/// The process that is killed.
pub(crate) fn writers() {
    let told = |name| std::env::var(name).expect("it is told");
    let (folder, round) = (told(FOLDER), told(ROUND).parse().unwrap());
    child::run(async {
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
                    child::say([mark.name()]);
                }
            });
        }
        tasks.join_all().await;
    });
}

/// Lets the writers work until they have come to some answers, and a little longer; then kills them. What was acknowledged.
fn run_and_kill(folder: &Path, round: u64, random: u64) -> BTreeSet<Mark> {
    let mut command = child::command("crash_observe::writers");
    command.env(FOLDER, folder).env(ROUND, round.to_string());
    let mut child = Child::start(command);
    child.hear(usize::try_from(1 + random % 30).unwrap());
    std::thread::sleep(Duration::from_micros((random >> 32) % 50_000));
    let (said, _) = child.kill();
    said.iter().map(|name| Mark::parse(name).expect("it says what it wrote")).collect()
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

pub(crate) async fn transactions_and_their_violations_survive_together() {
    let mut random = 0x9e37_79b9_7f4a_7c15_u64;
    let mut written = 0;
    for first_round in (0..ROUNDS).step_by(usize::try_from(ROUNDS_OF_FOLDER).unwrap()) {
        let folder = tempfile::tempdir().unwrap();
        {
            let engine = open(folder.path()).await;
            let mut session = session(&engine);
            run(&mut session, "CREATE TABLE entries (\"PartitionKey\" text, \"RowKey\" text, mark text)").await;
            run(&mut session, "CREATE TABLE log (\"PartitionKey\" text, \"RowKey\" text, mark text)").await;
            run(&mut session, "CREATE TABLE tokens (place text, writer int, PRIMARY KEY (place, writer))").await;
            for writer in 0..WRITERS {
                run(&mut session, &format!("INSERT INTO tokens VALUES ('here', {writer})")).await;
            }
            engine.flush().await;
        }
        let mut acknowledged = BTreeSet::new();
        for round in first_round..first_round + ROUNDS_OF_FOLDER {
            // xorshift: the same moments in every run, as far as the machine plays along.
            random ^= random << 13;
            random ^= random >> 7;
            random ^= random << 17;
            acknowledged.extend(run_and_kill(folder.path(), round, random));
            let present = check(folder.path(), round, &acknowledged).await;
            if round + 1 == first_round + ROUNDS_OF_FOLDER {
                written += present;
            }
        }
    }
    assert!(written > 100, "only {written} transactions were written");
}
