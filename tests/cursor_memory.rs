//! What cursors over a large table take of the memory of queries: a plan and a moment of the store, not the rows of the table.
//!
//! The table is kept as columns, so its rows come as slices of a mapped file that is larger than what queries may hold.

use std::sync::Arc;

use crate::support::lines::lines;
use crate::support::until_idle;
use tablegate::backends::embedded::{EmbeddedOptions, EmbeddedStore, Fsync, SegmentOptions};
use tablegate::sql::outcome::Outcome;
use tablegate::sql::session::{Position, Session, SessionOptions};
use tablegate::sql::{Engine, EngineConfig};
use tablegate::store::model::SystemClock;
use tablegate::types::error::{ErrorKind, SqlResult};

const ROWS: usize = 60_000;
/// What queries may hold. The table has some 17 MB: each column of a batch that reserved its file would be too much.
const MEMORY: usize = 32 << 20;

/// A session over the table, and the folder of its store.
async fn session() -> (Session, tempfile::TempDir) {
    let (session, _, folder) = session_of_engine().await;
    (session, folder)
}

async fn session_of_engine() -> (Session, Arc<Engine>, tempfile::TempDir) {
    let folder = tempfile::tempdir().unwrap();
    let segments = SegmentOptions { segment_rows: 1 << 20, batch_rows: 1 << 14, ..SegmentOptions::eager() };
    let options = EmbeddedOptions { fsync: Fsync::Never, reserve_bytes: 0, segments, ..EmbeddedOptions::default() };
    let store = Arc::new(EmbeddedStore::open(folder.path(), Arc::new(SystemClock), options).unwrap());
    let config = EngineConfig { query_memory: MEMORY, query_threads: 2, ..EngineConfig::default() };
    let engine = Engine::open(Arc::clone(&store) as _, Arc::new(SystemClock), config).await.unwrap();
    let mut session = Session::new(Arc::clone(&engine), SessionOptions::default()).unwrap();
    run(
        &mut session,
        "CREATE TABLE flights (part int, id int, n bigint, f float8, a text, b text, c text, PRIMARY KEY (part, id))",
    )
    .await;
    let rows = format!(
        "SELECT i / 5000, i, i * 10, i / 2.0, repeat('a', 80) || i, repeat('b', 80) || i % 7, CASE WHEN i % 3 > 0 THEN 'c' || i END \
         FROM generate_series(1, {ROWS}) AS s(i)"
    );
    run(&mut session, &format!("INSERT INTO flights {rows}")).await;
    tokio::task::spawn_blocking(move || store.build_segments()).await.unwrap();
    (session, engine, folder)
}

async fn try_run(session: &mut Session, sql: &str) -> SqlResult<Vec<String>> {
    let statement = session.parse(sql)?.pop().expect("there is a statement");
    let prepared = session.prepare(statement, &[]).await?;
    let outcome = session.execute(&prepared, Vec::new(), Position::Last).await?;
    let Outcome::Rows(rows) = outcome else { return Ok(Vec::new()) };
    lines(session, rows).await
}

/// The rows of a statement as text.
async fn run(session: &mut Session, sql: &str) -> Vec<String> {
    try_run(session, sql).await.unwrap_or_else(|error| panic!("{sql}: {error:?}"))
}

/// How many rows a cursor gives, so many at a time.
async fn count(session: &mut Session, cursor: &str, at_a_time: usize) -> usize {
    let mut count = 0;
    loop {
        let rows = run(session, &format!("FETCH {at_a_time} FROM {cursor}")).await.len();
        count += rows;
        if rows < at_a_time {
            return count;
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_cursor_that_goes_forward_holds_no_rows() {
    let (mut session, _folder) = session().await;
    run(&mut session, "BEGIN").await;
    for (limit, expected) in [(" LIMIT 20000", 20_000), ("", ROWS), (" WHERE n % 20 = 0", ROWS / 2)] {
        for declare in ["CURSOR", "NO SCROLL CURSOR"] {
            run(&mut session, &format!("DECLARE c {declare} FOR SELECT * FROM flights{limit}")).await;
            assert_eq!(run(&mut session, "FETCH 1 FROM c").await.len(), 1);
            assert_eq!(count(&mut session, "c", 4_999).await, expected - 1, "{declare}{limit}");
            run(&mut session, "CLOSE c").await;
        }
    }
    // Many at once are no more.
    for n in 0..20 {
        run(&mut session, &format!("DECLARE c{n} NO SCROLL CURSOR FOR SELECT a, b FROM flights WHERE id > {n}")).await;
        assert_eq!(run(&mut session, &format!("FETCH 10 FROM c{n}")).await.len(), 10);
    }
    run(&mut session, "COMMIT").await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_cursor_that_keeps_rows_has_them_in_a_file_where_they_are_many() {
    let (mut session, _folder) = session().await;
    run(&mut session, "BEGIN").await;
    run(&mut session, "DECLARE s SCROLL CURSOR FOR SELECT id, a, b, c FROM flights ORDER BY part, id").await;
    run(&mut session, "DECLARE h NO SCROLL CURSOR WITH HOLD FOR SELECT id, a, b FROM flights ORDER BY part, id").await;
    assert_eq!(count(&mut session, "s", 10_000).await, ROWS);
    assert!(run(&mut session, "FETCH ABSOLUTE 40000 FROM s").await[0].starts_with("|40000|"));
    assert_eq!(run(&mut session, "FETCH BACKWARD ALL FROM s").await.len(), 39_999);
    assert_eq!(run(&mut session, "FETCH FORWARD 3 FROM s").await.len(), 3);
    assert_eq!(run(&mut session, "FETCH 100 FROM h").await.len(), 100);
    run(&mut session, "DELETE FROM flights WHERE part = 11 AND id = 59999").await;
    run(&mut session, "COMMIT").await;
    assert_eq!(count(&mut session, "h", 7_000).await, ROWS - 100, "it shows what its DECLARE saw");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_operators_reserve_is_what_their_rows_take() {
    let (mut session, _folder) = session().await;
    // Each batch of the scan is a slice of the file; the rows of these two columns have less than a megabyte.
    let crossed = "SELECT count(*) FROM (SELECT id, n FROM flights WHERE id > 100) f CROSS JOIN (VALUES (1), (2)) v(x)";
    assert_eq!(run(&mut session, crossed).await, [format!("|{}", 2 * (ROWS - 100))]);
    let sorted = "SELECT id FROM flights ORDER BY n DESC, id";
    assert_eq!(run(&mut session, sorted).await[0], format!("|{ROWS}"));
    let inside = "WITH w AS MATERIALIZED (SELECT id, n FROM flights), d AS (DELETE FROM flights WHERE part = 0 AND id = 1 RETURNING id) \
                  SELECT count(*) FROM w a JOIN w b USING (id), d";
    assert_eq!(run(&mut session, inside).await, [format!("|{ROWS}")]);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_functions_make_has_room_in_the_memory_or_is_not_made() {
    let (mut session, engine, _folder) = session_of_engine().await;
    let repeated = |times: u32| format!("SELECT count(*) FROM flights WHERE repeat(a, {times}) <> b");
    assert_eq!(run(&mut session, &repeated(10)).await, [format!("|{ROWS}")]);
    // The next statement finds all of the memory again.
    for sql in [
        &repeated(1000),
        "SELECT max(lpad(a, 100000000)) FROM flights",
        "SELECT length(replace(repeat('x', 1000000), 'x', repeat('y', 10000)))",
        "SELECT length(regexp_replace(repeat('x', 1000000), 'x', repeat('y', 10000), 'g'))",
        "SELECT length(to_char(now(), repeat('Day', 1000000)))",
        "SELECT count(*) FROM regexp_matches(repeat('a', 10000000), 'a', 'g')",
        "SELECT cardinality(array_fill(1, ARRAY[100000000]))",
        "SELECT jsonb_array_length(('[' || repeat('1,', 1000000) || '1]')::jsonb)",
        "SELECT cardinality(('{' || repeat('1,', 5000000) || '1}')::int[])",
    ] {
        let refused = try_run(&mut session, sql).await.unwrap_err();
        assert_eq!((refused.kind, refused.hint.is_some()), (ErrorKind::OutOfMemory, true), "{sql}: {refused:?}");
        until_idle(|| engine.tasks() > 0).await;
    }
    for (sql, answer) in [
        ("SELECT count(*) FROM regexp_split_to_table(repeat('a,', 500000), ',')", "|500001"),
        ("SELECT length(reverse(translate(repeat('ab', 1000000), 'a', 'é')))", "|2000000"),
        ("SELECT length(to_char(timestamp '2024-02-29', repeat('Day', 100000)))", "|900000"),
    ] {
        assert_eq!(run(&mut session, sql).await, [answer], "{sql}");
    }
    let refused = try_run(&mut session, "SELECT repeat(a, 20000000) FROM flights WHERE part = 0").await.unwrap_err();
    assert_eq!(refused.kind, ErrorKind::LimitExceeded, "{refused:?}");
    until_idle(|| engine.tasks() > 0).await;
    assert_eq!(run(&mut session, &repeated(10)).await, [format!("|{ROWS}")]);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn percentiles_of_many_groups_take_little_more_than_their_values() {
    let (mut session, _folder) = session().await;
    let values = "SELECT percentile_cont(0.5) WITHIN GROUP (ORDER BY f) v FROM flights GROUP BY id % 10000";
    assert_eq!(run(&mut session, &format!("SELECT count(v) FROM ({values}) g")).await, ["|10000"]);
}
