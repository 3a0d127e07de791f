//! What a block has written is what its statements read, in whatever ways its rows were written, and what is there when it commits.
//!
//! Random statements run in a block, and on a map beside it. Rows come many at a time and one by one, in order and out of it, over rows that were
//! committed before and under keys that were free again; savepoints are gone back to.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::sync::Arc;

use tablegate::backends::embedded::{EmbeddedOptions, EmbeddedStore, Fsync};
use tablegate::sql::session::{Session, SessionOptions};
use tablegate::sql::{EgtMode, Engine, EngineConfig};
use tablegate::store::model::SystemClock;
use tablegate::store::table::TableStore;

use crate::support::lines::lines_of_last;
use crate::support::rng::Rng;
use crate::support::settings::{setting, todays_seed};

const KEYS: usize = 3_000;
const STATEMENTS: usize = 25;
const BLOCKS: usize = 6;

/// By key: a number, and a text where there is one.
type Rows = BTreeMap<usize, (usize, Option<String>)>;

struct Case {
    seed: u64,
    rng: Rng,
    session: Session,
    rows: Rows,
    committed: Rows,
    savepoint: Option<Rows>,
    /// What the block has run so far.
    ran: Vec<String>,
}

impl Case {
    async fn run(&mut self, sql: &str) -> Vec<String> {
        self.ran.push(sql.chars().take(200).collect());
        match lines_of_last(&mut self.session, sql).await {
            Ok(lines) => lines,
            Err(error) => panic!("{error:?}\n{}", self.ran.join(";\n")),
        }
    }

    fn below(&mut self, end: usize) -> usize {
        self.rng.below(end)
    }

    /// Two keys, the lower one first.
    fn span(&mut self) -> (usize, usize) {
        let (one, other) = (self.below(KEYS), self.below(KEYS));
        (one.min(other), one.max(other))
    }

    async fn change(&mut self) {
        let number = self.below(1_000);
        match self.below(10) {
            0..4 => self.insert_many(number).await,
            4 => {
                let key = self.below(KEYS);
                if self.rows.insert(key, (number, None)).is_none() {
                    self.run(&format!("INSERT INTO t VALUES ({key}, {number})")).await;
                } else {
                    self.run(&format!("UPDATE t SET n = {number}, s = NULL WHERE id = {key}")).await;
                }
            }
            5 => {
                let (from, to) = self.span();
                self.run(&format!("UPDATE t SET n = n + {number} WHERE id BETWEEN {from} AND {to}")).await;
                self.rows.range_mut(from..=to).for_each(|(_, row)| row.0 += number);
            }
            6 => {
                let (from, to) = self.span();
                let text = format!("text {number}");
                self.run(&format!("UPDATE t SET s = '{text}' WHERE id BETWEEN {from} AND {to} AND s IS NULL")).await;
                let without = self.rows.range_mut(from..=to).filter(|(_, row)| row.1.is_none());
                without.for_each(|(_, row)| row.1 = Some(text.clone()));
            }
            7 => {
                let (from, to) = self.span();
                self.run(&format!("DELETE FROM t WHERE id BETWEEN {from} AND {to} AND id % 3 < 2")).await;
                self.rows.retain(|key, _| *key < from || *key > to || key % 3 == 2);
            }
            8 if number < 200 => {
                let (from, to) = self.span();
                let rows = format!("SELECT g, {number}, NULL FROM generate_series({from}, {to}) AS g");
                self.run(&format!("INSERT INTO t {rows} ON CONFLICT (id) DO UPDATE SET n = t.n + excluded.n")).await;
                (from..=to).for_each(|key| self.rows.entry(key).or_insert((0, None)).0 += number);
            }
            8 if number < 400 => {
                self.run("DELETE FROM t").await;
                self.rows.clear();
            }
            8 => {
                self.run("SAVEPOINT s").await;
                self.savepoint = Some(self.rows.clone());
            }
            _ => {
                if let Some(rows) = self.savepoint.clone() {
                    self.run("ROLLBACK TO s").await;
                    self.rows = rows;
                }
            }
        }
    }

    /// Adds rows that are not there: what is inserted at once as columns, where they are some hundreds.
    async fn insert_many(&mut self, number: usize) {
        let (from, to) = self.span();
        let backwards = number.is_multiple_of(3);
        let mut keys: Vec<usize> = (from..=to).filter(|key| !self.rows.contains_key(key)).collect();
        if backwards {
            keys.reverse();
        } else if number % 3 == 1 {
            keys.sort_by_key(|key| key * 7919 % 3_001);
        }
        if keys.is_empty() {
            return;
        }
        let mut sql = "INSERT INTO t SELECT * FROM (VALUES ".to_owned();
        for (place, key) in keys.iter().enumerate() {
            let text = (key % 2 == 0).then(|| format!("of {key}"));
            let shown = text.as_ref().map_or("NULL".to_owned(), |text| format!("'{text}'"));
            let _ = write!(sql, "{}({key}, {number}, {shown})", if place == 0 { "" } else { ", " });
            self.rows.insert(*key, (number, text));
        }
        self.run(&format!("{sql}) AS rows")).await;
    }

    async fn check(&mut self) {
        let line = |(key, (number, text)): (&usize, &(usize, Option<String>))| {
            format!("|{key}|{number}|{}", text.as_deref().unwrap_or_default())
        };
        let (from, to) = self.span();
        let expected: Vec<_> = self.rows.range(from..=to).map(line).collect();
        let shown = self.run(&format!("SELECT id, n, s FROM t WHERE id BETWEEN {from} AND {to} ORDER BY id")).await;
        assert!(shown == expected, "{}", self.ran.join(";\n"));
        let expected: Vec<_> = self.rows.range(..to).rev().take(20).map(line).collect();
        let shown = self.run(&format!("SELECT * FROM t WHERE id < {to} ORDER BY id DESC LIMIT 20")).await;
        assert_eq!(shown, expected, "{}", self.ran.join(";\n"));
        let expected: Vec<_> = self.rows.get(&from).map(|row| line((&from, row))).into_iter().collect();
        assert_eq!(self.run(&format!("SELECT * FROM t WHERE id = {from}")).await, expected, "{}", self.ran.join(";\n"));
        let keys: Vec<usize> = (0..100).map(|n| (from + n * 37) % KEYS).collect();
        let expected = keys.iter().filter(|key| self.rows.contains_key(key)).count();
        let listed = keys.iter().map(usize::to_string).collect::<Vec<_>>().join(", ");
        let shown = self.run(&format!("SELECT count(*) FROM t WHERE id IN ({listed})")).await;
        assert_eq!(shown, [format!("|{expected}")], "{}", self.ran.join(";\n"));
        let sum: usize = self.rows.values().map(|row| row.0).sum();
        let texts = self.rows.values().filter(|row| row.1.is_some()).count();
        let shown = self.run("SELECT count(*), coalesce(sum(n), 0), count(s) FROM t").await;
        assert_eq!(shown, [format!("|{}|{sum}|{texts}", self.rows.len())], "{}", self.ran.join(";\n"));
    }

    async fn block(&mut self) {
        self.ran = vec![format!("-- BLOCK_ROWS_SEED={}", self.seed)];
        self.savepoint = None;
        self.run("BEGIN").await;
        for _ in 0..STATEMENTS {
            self.change().await;
            self.check().await;
        }
        if self.below(3) == 0 {
            self.run("ROLLBACK").await;
            self.rows = self.committed.clone();
        } else {
            self.run("COMMIT").await;
            self.committed = self.rows.clone();
        }
        self.check().await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_block_reads_what_it_has_written() {
    let seed = setting("BLOCK_ROWS_SEED", todays_seed());
    let folder = tempfile::tempdir().unwrap();
    let options = EmbeddedOptions { fsync: Fsync::Never, ..EmbeddedOptions::default() };
    let store: Arc<dyn TableStore> =
        Arc::new(EmbeddedStore::open(folder.path(), Arc::new(SystemClock), options).unwrap());
    let config = EngineConfig { egt_mode: EgtMode::Observe, query_threads: 2, ..EngineConfig::default() };
    let engine = Engine::open(store, Arc::new(SystemClock), config).await.unwrap();
    let session = Session::new(engine, SessionOptions::default()).unwrap();
    let rng = Rng::of_case(seed, 0);
    let (rows, committed) = (Rows::new(), Rows::new());
    let mut case = Case { seed, rng, session, rows, committed, savepoint: None, ran: Vec::new() };
    case.run("CREATE TABLE t (id int PRIMARY KEY, n bigint, s text)").await;
    for _ in 0..BLOCKS {
        case.block().await;
    }
}
