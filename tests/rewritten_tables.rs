//! A table that is written anew keeps what it had: rows of many shapes, short and long, whatever becomes of their keys, and by
//! whatever way they go.

use std::sync::Arc;

use tablegate::backends::embedded::{EmbeddedOptions, EmbeddedStore, Fsync};
use tablegate::backends::memory::MemoryStore;
use tablegate::sql::session::{Session, SessionOptions};
use tablegate::sql::{EgtMode, Engine, EngineConfig};
use tablegate::store::model::SystemClock;
use tablegate::store::table::TableStore;
use tablegate::types::error::{ErrorKind, SqlResult};
use tempfile::TempDir;

use crate::support::lines::lines_of_last;

/// More than go through in one piece.
const ROWS: usize = 9_000;

/// Some values are missing, some texts take more than 64 KiB, and keys come in no order.
const COLUMNS: &str = "n::int AS a, (n * 7919 % 9001)::bigint AS b, 'k' || n % 9000 AS k, \
    CASE WHEN n % 3 > 0 THEN n / 7.0 END AS d, CASE WHEN n % 5 = 1 THEN 'text ' || n END AS t, \
    CASE WHEN n % 1000 = 7 THEN repeat('ü', 20000) END AS long, \
    CASE WHEN n % 1000 < 9 THEN repeat('ä', 20000) END AS longer, \
    CASE WHEN n % 2 = 0 THEN timestamptz '2024-01-01' + n * interval '1 minute' END AS at, \
    decode(md5(n::text), 'hex') AS bytes, n % 2 = 0 AS even, md5(n::text)::uuid AS id, n::float8 / 3 AS f, \
    CASE WHEN n % 7 = 0 THEN 9007199254740993 + n END AS big";

async fn session(store: Arc<dyn TableStore>) -> Session {
    let config = EngineConfig { egt_mode: EgtMode::Observe, query_threads: 2, ..EngineConfig::default() };
    let engine = Engine::open(store, Arc::new(SystemClock), config).await.unwrap();
    let mut session = Session::new(engine, SessionOptions::default()).unwrap();
    let made = format!("CREATE TABLE kept AS SELECT {COLUMNS} FROM generate_series(1, {ROWS}) AS s(n)");
    run(&mut session, &made).await.unwrap();
    session
}

async fn run(session: &mut Session, sql: &str) -> SqlResult<Vec<String>> {
    let ran = lines_of_last(session, sql).await;
    if ran.is_err() {
        session.fail();
    }
    ran
}

/// A copy of the rows without a key, in a table of its own.
async fn load(session: &mut Session) {
    run(session, "CREATE TABLE t (LIKE kept); INSERT INTO t TABLE kept").await.unwrap();
}

/// The table has the rows that it had, and no others.
async fn check(session: &mut Session, what: &str) {
    let differ = "SELECT (SELECT count(*) FROM t), (SELECT count(*) FROM (TABLE t EXCEPT ALL TABLE kept) AS d), \
        (SELECT count(*) FROM (TABLE kept EXCEPT ALL TABLE t) AS d)";
    assert_eq!(run(session, differ).await.unwrap(), [format!("|{ROWS}|0|0")], "{what}");
}

async fn keys_come_and_go(store: Arc<dyn TableStore>) {
    let mut session = session(store).await;
    load(&mut session).await;
    for key in ["a", "b", "k, b", "even, id"] {
        run(&mut session, &format!("ALTER TABLE t ADD CONSTRAINT t_key PRIMARY KEY ({key})")).await.unwrap();
        check(&mut session, key).await;
        let one = format!("SELECT count(*) FROM t WHERE ({key}) = (SELECT {key} FROM kept WHERE a = 77)");
        assert_eq!(run(&mut session, &one).await.unwrap(), ["|1"], "{one}");
        run(&mut session, "ALTER TABLE t DROP CONSTRAINT t_key").await.unwrap();
        check(&mut session, "without a key").await;
    }
    run(&mut session, "ALTER TABLE t ADD PRIMARY KEY (a); UPDATE t SET big = 5 WHERE a > 8000").await.unwrap();
    run(&mut session, "UPDATE kept SET big = 5 WHERE a > 8000; ALTER TABLE t DROP COLUMN f").await.unwrap();
    run(&mut session, "ALTER TABLE t DROP CONSTRAINT t_pkey; ALTER TABLE kept DROP COLUMN f").await.unwrap();
    run(&mut session, "ALTER TABLE t ADD PRIMARY KEY (b)").await.unwrap();
    check(&mut session, "a dropped column").await;
}

async fn keys_are_refused(store: Arc<dyn TableStore>) {
    let mut session = session(store).await;
    load(&mut session).await;
    let mut fails = async |sql: &str, kind, text: &str| {
        let error = run(&mut session, sql).await.unwrap_err();
        assert_eq!(error.kind, kind, "{sql}: {error:?}");
        assert!(format!("{error:?}").contains(text), "{sql}: {error:?}");
        check(&mut session, sql).await;
    };
    fails("ALTER TABLE t ADD PRIMARY KEY (t)", ErrorKind::NotNullViolation, "contains null values").await;
    fails("ALTER TABLE t ADD PRIMARY KEY (even)", ErrorKind::UniqueViolation, "is duplicated").await;
    run(&mut session, "UPDATE t SET b = 5 WHERE a = 9000; UPDATE kept SET b = 5 WHERE a = 9000").await.unwrap();
    let five = "(SELECT b FROM kept WHERE a = 10)";
    run(&mut session, &format!("UPDATE t SET b = {five} WHERE a = 9000")).await.unwrap();
    run(&mut session, &format!("UPDATE kept SET b = {five} WHERE a = 9000")).await.unwrap();
    let error = run(&mut session, "ALTER TABLE t ADD PRIMARY KEY (b)").await.unwrap_err();
    assert_eq!(error.kind, ErrorKind::UniqueViolation, "{error:?}");
    check(&mut session, "one key twice, far apart").await;
}

async fn blocks_take_keys_back(store: Arc<dyn TableStore>) {
    let mut session = session(store).await;
    run(&mut session, "BEGIN").await.unwrap();
    load(&mut session).await;
    run(&mut session, "ALTER TABLE t ADD PRIMARY KEY (b)").await.unwrap();
    check(&mut session, "loaded in the same block").await;
    run(&mut session, "SAVEPOINT s; ALTER TABLE t DROP CONSTRAINT t_pkey").await.unwrap();
    run(&mut session, "ALTER TABLE t ADD PRIMARY KEY (id); DELETE FROM t WHERE a = 1; ROLLBACK TO s").await.unwrap();
    check(&mut session, "taken back").await;
    run(&mut session, "COMMIT").await.unwrap();
    check(&mut session, "committed").await;
    run(&mut session, "BEGIN; ALTER TABLE t DROP CONSTRAINT t_pkey; ROLLBACK").await.unwrap();
    check(&mut session, "rolled back").await;
    assert_eq!(run(&mut session, "SELECT a FROM t WHERE b = 7919").await.unwrap(), ["|1"]);
}

fn embedded() -> (TempDir, Arc<dyn TableStore>) {
    let folder = TempDir::new().unwrap();
    let options = EmbeddedOptions { fsync: Fsync::Never, ..EmbeddedOptions::default() };
    let store = EmbeddedStore::open(folder.path(), Arc::new(SystemClock), options).unwrap();
    (folder, Arc::new(store))
}

fn memory() -> Arc<dyn TableStore> {
    Arc::new(MemoryStore::new(Arc::new(SystemClock)))
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn rows_keep_their_values_when_keys_come_and_go() {
    let (_folder, store) = embedded();
    keys_come_and_go(store).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_key_that_rows_do_not_have_is_refused_and_nothing_changes() {
    let (_folder, store) = embedded();
    keys_are_refused(store).await;
    keys_are_refused(memory()).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_block_that_writes_tables_anew_is_taken_back_whole() {
    let (_folder, store) = embedded();
    blocks_take_keys_back(store).await;
    blocks_take_keys_back(memory()).await;
}
