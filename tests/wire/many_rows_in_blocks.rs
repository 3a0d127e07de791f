//! Blocks that write many rows at a time and few, in any order, with savepoints: what they read, and what is there afterwards,
//! is what a map that is written alike has.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::hash::{BuildHasher, RandomState};

use proptest::test_runner::{Config, RngSeed};
use tokio_postgres::Client;
use tokio_postgres::error::SqlState;

use crate::support::rng::Rng;
use crate::wire::harness::Server;

type Rows = BTreeMap<i32, (i32, Option<String>)>;

const TABLES: [&str; 2] = ["some_rows", "other_rows"];
/// Ranges of keys begin below this.
const KEYS: usize = 1_200;
const BLOCKS: usize = 25;
const STATEMENTS: usize = 9;

/// Both tables as they are to be.
type Model = [Rows; 2];

#[derive(Debug)]
enum Step {
    Insert,
    DoNothing,
    Add,
    SetNull,
    Raise,
    Rewrite,
    Delete,
    Empty,
}

/// The keys from one to another, of which each so manieth is meant.
#[derive(Debug, Clone, Copy)]
struct Keys {
    from: i32,
    to: i32,
    every: usize,
}

impl Keys {
    fn random(rng: &mut Rng) -> Self {
        let many = rng.percent(75);
        let from = i32::try_from(rng.below(KEYS)).unwrap();
        let length = i32::try_from(rng.below(if many { 500 } else { 3 })).unwrap();
        Self { from, to: from + length, every: rng.pick(&[1, 1, 1, 2, 7]) }
    }

    fn all(self) -> impl Iterator<Item = i32> {
        (self.from..=self.to).step_by(self.every)
    }

    fn series(self) -> String {
        format!("generate_series({}, {}, {}) k", self.from, self.to, self.every)
    }

    fn condition(self) -> String {
        format!("k BETWEEN {} AND {} AND (k - {}) % {} = 0", self.from, self.to, self.from, self.every)
    }
}

impl Step {
    fn random(rng: &mut Rng) -> Self {
        match rng.below(11) {
            0..=2 => Step::Insert,
            3 => Step::DoNothing,
            4 => Step::Add,
            5 => Step::SetNull,
            6..=7 => Step::Raise,
            8 => Step::Rewrite,
            9 => Step::Delete,
            _ => Step::Empty,
        }
    }

    fn sql(&self, table: &str, keys: Keys) -> String {
        let inserted = match keys.every {
            // As mappers send them.
            2 => {
                let rows: Vec<String> = keys.all().map(|k| format!("({k}, {}, 's{k}')", k * 2)).collect();
                format!("INSERT INTO {table} VALUES {}", rows.join(", "))
            }
            _ => format!("INSERT INTO {table} SELECT k, k * 2, 's' || k FROM {}", keys.series()),
        };
        let condition = keys.condition();
        match self {
            Step::Insert => inserted,
            Step::DoNothing => format!("{inserted} ON CONFLICT DO NOTHING"),
            Step::Add => {
                format!("{inserted} ON CONFLICT (k) DO UPDATE SET n = {table}.n + excluded.n, t = excluded.t || '+'")
            }
            Step::SetNull => {
                format!("{inserted} ON CONFLICT (k) DO UPDATE SET t = CASE WHEN {table}.k % 3 = 0 THEN 'third' END")
            }
            Step::Raise => format!("UPDATE {table} SET n = n + 1 WHERE {condition}"),
            Step::Rewrite => {
                format!("UPDATE {table} SET t = CASE WHEN k % 4 > 0 THEN 'r' || n END, n = -n WHERE {condition}")
            }
            Step::Delete => format!("DELETE FROM {table} WHERE {condition}"),
            Step::Empty => format!("DELETE FROM {table}"),
        }
    }

    /// How many rows the statement changes; `None` where it fails.
    fn apply(&self, rows: &mut Rows, keys: Keys) -> Option<u64> {
        if matches!(self, Step::Empty) {
            let removed = std::mem::take(rows);
            return Some(removed.len() as u64);
        }
        let inserted = |k: i32| (k * 2, Some(format!("s{k}")));
        let mut changed = 0;
        if matches!(self, Step::Insert) && keys.all().any(|k| rows.contains_key(&k)) {
            return None;
        }
        for k in keys.all() {
            let there = rows.get(&k).cloned();
            let after = match (self, there) {
                (Step::Insert | Step::DoNothing | Step::Add | Step::SetNull, None) => Some(inserted(k)),
                (Step::Insert | Step::DoNothing, Some(_)) | (Step::Raise | Step::Rewrite | Step::Delete, None) => {
                    continue;
                }
                (Step::Add, Some((n, _))) => Some((n + 2 * k, Some(format!("s{k}+")))),
                (Step::SetNull, Some((n, _))) => Some((n, (k % 3 == 0).then(|| "third".to_owned()))),
                (Step::Raise, Some((n, t))) => Some((n + 1, t)),
                (Step::Rewrite, Some((n, _))) => Some((-n, (k % 4 > 0).then(|| format!("r{n}")))),
                (Step::Delete | Step::Empty, _) => None,
            };
            changed += 1;
            match after {
                Some(after) => rows.insert(k, after),
                None => rows.remove(&k),
            };
        }
        Some(changed)
    }
}

async fn check(client: &Client, model: &Model, log: &str) {
    for (table, rows) in TABLES.iter().zip(model) {
        let found = client.query(&format!("SELECT k, n, t FROM {table} ORDER BY k"), &[]).await.unwrap();
        let found: Rows = found.iter().map(|row| (row.get(0), (row.get(1), row.get(2)))).collect();
        let differs = rows.iter().find(|(k, row)| found.get(k) != Some(row)).map(|(k, row)| (k, row, found.get(k)));
        assert_eq!((differs, found.len()), (None, rows.len()), "{table}: {log}");
        // By their keys rows are read another way.
        let Some((k, (n, _))) = rows.iter().nth(rows.len() / 2) else { continue };
        let one = client.query_one(&format!("SELECT n FROM {table} WHERE k = {k}"), &[]).await.unwrap();
        assert_eq!(one.get::<_, i32>(0), *n, "{table} {k}: {log}");
    }
}

async fn run(client: &Client, rng: &mut Rng, model: &mut Model, in_block: bool) {
    let mut log = String::new();
    let mut savepoints: Vec<Model> = Vec::new();
    let before = model.clone();
    if in_block {
        client.batch_execute("BEGIN").await.unwrap();
    }
    for _ in 0..STATEMENTS {
        let (place, keys, step) = (rng.below(2), Keys::random(rng), Step::random(rng));
        if in_block && rng.below(5) == 0 {
            client.batch_execute(&format!("SAVEPOINT s{}", savepoints.len())).await.unwrap();
            savepoints.push(model.clone());
            log.push_str("SAVEPOINT; ");
        }
        // Outside of a block a part of it might be there already.
        if !in_block && matches!(step, Step::Insert) && keys.all().any(|k| model[place].contains_key(&k)) {
            continue;
        }
        let sql = step.sql(TABLES[place], keys);
        write!(log, "{sql}; ").unwrap();
        let done = client.execute(&sql, &[]).await;
        match (step.apply(&mut model[place], keys), done) {
            (Some(changed), Ok(told)) => assert_eq!(changed, told, "{log}"),
            (None, Err(error)) => {
                assert_eq!(error.code(), Some(&SqlState::UNIQUE_VIOLATION), "{log}");
                match savepoints.pop() {
                    Some(back) => {
                        client.batch_execute(&format!("ROLLBACK TO s{}", savepoints.len())).await.unwrap();
                        log.push_str("back; ");
                        *model = back;
                    }
                    None => {
                        client.batch_execute("ROLLBACK; BEGIN").await.unwrap();
                        log.push_str("begun anew; ");
                        *model = before.clone();
                    }
                }
            }
            (expected, done) => panic!("{expected:?}, but {done:?}: {log}"),
        }
        if rng.below(3) == 0 {
            check(client, model, &log).await;
        }
        if rng.below(8) == 0
            && let Some(back) = savepoints.pop()
        {
            client.batch_execute(&format!("ROLLBACK TO s{}", savepoints.len())).await.unwrap();
            log.push_str("taken back; ");
            *model = back;
        }
    }
    if in_block {
        let commits = rng.percent(75);
        client.batch_execute(if commits { "COMMIT" } else { "ROLLBACK" }).await.unwrap();
        if !commits {
            *model = before;
        }
    }
    check(client, model, &log).await;
}

#[expect(clippy::print_stdout, reason = "the seed of a run that fails")]
async fn hold(server: Server) {
    // That of all property tests of a run: `PROPTEST_RNG_SEED` gives it.
    let seed = match Config::default().rng_seed {
        RngSeed::Fixed(seed) => seed,
        RngSeed::Random => RandomState::new().hash_one(0),
    };
    println!("PROPTEST_RNG_SEED={seed}");
    let (client, mut rng) = (server.driver().await, Rng::of_case(seed, 0));
    client.batch_execute("SET egt.mode = observe").await.unwrap();
    for table in TABLES {
        let table = format!("CREATE TABLE {table} (k int PRIMARY KEY, n int NOT NULL, t text)");
        client.batch_execute(&table).await.unwrap();
    }
    let mut model = Model::default();
    for block in 0..BLOCKS {
        run(&client, &mut rng, &mut model, block % 4 > 0).await;
    }
    server.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn they_read_and_leave_what_a_map_has_in_memory() {
    hold(Server::start().await).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn they_read_and_leave_what_a_map_has_on_disk() {
    let folder = tempfile::tempdir().unwrap();
    hold(Server::start_in(folder.path()).await).await;
}

/// A block removes the rows that it sees, be they all of a table: it does not matter whether the table can be emptied at once.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn rows_that_come_meanwhile_stay() {
    let folder = tempfile::tempdir().unwrap();
    let server = Server::start_in(folder.path()).await;
    let (client, other) = (server.driver().await, server.driver().await);
    client.batch_execute("SET egt.mode = observe; CREATE TABLE t (k int PRIMARY KEY, n int)").await.unwrap();
    let fill = "INSERT INTO t SELECT k, 0 FROM generate_series(1, 500) k ON CONFLICT DO NOTHING";
    let kept = async |client: &Client| -> Vec<i32> {
        let rows = client.query("SELECT k FROM t ORDER BY k", &[]).await.unwrap();
        rows.iter().map(|row| row.get(0)).collect()
    };
    for (meanwhile, again, expected) in [
        (None, None, vec![]),
        (Some("INSERT INTO t VALUES (1000, 1)"), None, vec![1000]),
        (Some("INSERT INTO t VALUES (2000, 1)"), Some("INSERT INTO t VALUES (7, 1), (3000, 1)"), vec![7, 2000, 3000]),
        (None, Some("INSERT INTO t SELECT k, 1 FROM generate_series(501, 700) k"), (501..=700).collect()),
        (None, Some("INSERT INTO t SELECT k, 1 FROM generate_series(400, 600) k"), (400..=600).collect()),
    ] {
        client.batch_execute("TRUNCATE t").await.unwrap();
        client.batch_execute(fill).await.unwrap();
        client.batch_execute("BEGIN; DELETE FROM t").await.unwrap();
        if let Some(meanwhile) = meanwhile {
            other.batch_execute(meanwhile).await.unwrap();
        }
        if let Some(again) = again {
            client.batch_execute(again).await.unwrap();
        }
        assert_eq!(kept(&client).await, expected, "{meanwhile:?} {again:?}");
        client.batch_execute("COMMIT").await.unwrap();
        assert_eq!(kept(&other).await, expected, "{meanwhile:?} {again:?}");
        let counted = other.query_one("SELECT count(*) FROM t", &[]).await.unwrap();
        assert_eq!(usize::try_from(counted.get::<_, i64>(0)), Ok(expected.len()));
    }
    // Who waits for one of the rows finds it gone.
    client.batch_execute(fill).await.unwrap();
    client.batch_execute("BEGIN; DELETE FROM t").await.unwrap();
    let waiting = tokio::spawn(async move { other.execute("UPDATE t SET n = 5 WHERE k = 450", &[]).await });
    tokio::time::sleep(std::time::Duration::from_millis(100)).await;
    client.batch_execute("INSERT INTO t SELECT k, 1 FROM generate_series(1, 300) k; COMMIT").await.unwrap();
    assert_eq!(waiting.await.unwrap().unwrap(), 0);
    assert_eq!(kept(&client).await, (1..=300).collect::<Vec<_>>());
}

/// What loaders do that replace a table: all its rows are removed, and rows of the same keys come in the same block.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn rows_that_come_again_are_others() {
    let folder = tempfile::tempdir().unwrap();
    let server = Server::start_in(folder.path()).await;
    let (client, other) = (server.driver().await, server.driver().await);
    client.batch_execute("SET egt.mode = observe; CREATE TABLE t (k int PRIMARY KEY, n int, gone int)").await.unwrap();
    client.batch_execute("INSERT INTO t SELECT k, 0, 7 FROM generate_series(1, 500) k").await.unwrap();
    let sums = async |client: &Client| -> (i64, i64, Option<i64>, i64) {
        let row = client.query_one("SELECT count(*), sum(n), sum(gone), sum(k) FROM t", &[]).await.unwrap();
        (row.get(0), row.get(1), row.get(2), row.get(3))
    };
    let refill = "DELETE FROM t; INSERT INTO t (k, n) SELECT k, 1 FROM generate_series(1, 400) k; \
        INSERT INTO t (k, n) SELECT k, 2 FROM generate_series(901, 1100) k";
    let filled = (600, 800, None, 80_200 + 200_100);
    // Somebody waits for a row that comes again: it is another one.
    client.batch_execute(&format!("BEGIN; {refill}")).await.unwrap();
    assert_eq!((sums(&client).await, sums(&other).await.2), (filled, Some(3_500)));
    let waiting =
        tokio::spawn(async move { (other.execute("UPDATE t SET n = 5 WHERE k = 200", &[]).await.unwrap(), other) });
    tokio::time::sleep(std::time::Duration::from_millis(100)).await;
    client.batch_execute("COMMIT").await.unwrap();
    let (changed, other) = waiting.await.unwrap();
    assert_eq!((changed, sums(&other).await), (0, filled));
    // A key comes once.
    for twice in ["generate_series(300, 450) k", "generate_series(1000, 1200) k", "(VALUES (1100)) v(k)"] {
        client.batch_execute(&format!("BEGIN; {refill}")).await.unwrap();
        let refused = client.batch_execute(&format!("INSERT INTO t SELECT k, 3 FROM {twice}")).await.unwrap_err();
        assert_eq!(refused.code(), Some(&SqlState::UNIQUE_VIOLATION), "{twice}: {refused:?}");
        client.batch_execute("ROLLBACK").await.unwrap();
    }
    // Rows are written once more, and a part is taken back.
    let more = "SAVEPOINT s; INSERT INTO t (k, n) SELECT k, 3 FROM generate_series(2001, 2200) k; DELETE FROM t WHERE k < 300; \
        ROLLBACK TO s; INSERT INTO t (k, n) SELECT k, 4 FROM generate_series(401, 500) k; \
        UPDATE t SET n = n + 1 WHERE k BETWEEN 300 AND 1000; DELETE FROM t WHERE k > 1050";
    client.batch_execute(&format!("BEGIN; {refill}; {more}")).await.unwrap();
    let expected = (650, 400 + 400 + 300 + 301, None, 125_250 + 146_325);
    assert_eq!(sums(&client).await, expected);
    client.batch_execute("COMMIT").await.unwrap();
    assert_eq!(sums(&other).await, expected);
    // Nothing is left of a table that is emptied once more.
    client.batch_execute(&format!("BEGIN; {refill}; INSERT INTO t VALUES (-1, 1); TRUNCATE t; COMMIT")).await.unwrap();
    assert_eq!(client.query_one("SELECT count(*) FROM t", &[]).await.unwrap().get::<_, i64>(0), 0);
    client.batch_execute("INSERT INTO t SELECT k, 0, 7 FROM generate_series(1, 500) k").await.unwrap();
    // Somebody else writes before all is committed: the rows that were seen are replaced one by one.
    client.batch_execute(&format!("BEGIN; {refill}")).await.unwrap();
    other.batch_execute("INSERT INTO t VALUES (5000, 9, 9)").await.unwrap();
    client.batch_execute("COMMIT").await.unwrap();
    assert_eq!(sums(&other).await, (601, 809, Some(9), 285_300));
}
