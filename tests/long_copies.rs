//! COPY into an empty table of the store on disk, of more rows than memory may keep: all of them or none.

use std::sync::Arc;

use futures::StreamExt;
use tablegate::backends::embedded::{EmbeddedOptions, EmbeddedStore};
use tablegate::sql::outcome::{CommandTag, Outcome};
use tablegate::sql::session::{Position, Session, SessionOptions};
use tablegate::sql::{Engine, EngineConfig};
use tablegate::store::model::SystemClock;
use tablegate::types::error::{ErrorKind, SqlError};
use tempfile::TempDir;

type SqlResult<T> = Result<T, Box<SqlError>>;

/// A quarter of it is for rows that are held back.
const QUERY_MEMORY: usize = 16 << 20;
const ROWS: usize = 60_000;

struct Loads {
    engine: Arc<Engine>,
    session: Session,
    _folder: TempDir,
}

impl Loads {
    async fn new() -> Self {
        let (folder, clock) = (tempfile::tempdir().unwrap(), Arc::new(SystemClock));
        let options = EmbeddedOptions { memtable_bytes: 1 << 20, ..EmbeddedOptions::default() };
        let store = Arc::new(EmbeddedStore::open(folder.path(), clock.clone(), options).unwrap());
        let config = EngineConfig { query_memory: QUERY_MEMORY, query_threads: 2, ..EngineConfig::default() };
        let engine = Engine::open(store, clock, config).await.unwrap();
        let session = Session::new(engine.clone(), SessionOptions::default()).unwrap();
        let mut loads = Self { engine, session, _folder: folder };
        loads.execute("CREATE TABLE loaded (id int PRIMARY KEY, n int, note text)").await.unwrap();
        loads
    }

    async fn execute(&mut self, sql: &str) -> SqlResult<Outcome> {
        execute(&mut self.session, sql).await
    }

    async fn feed(&mut self, lines: &str) -> SqlResult<()> {
        for piece in lines.as_bytes().chunks(60_000) {
            self.session.copy_data(piece).await?;
        }
        Ok(())
    }

    async fn copy(&mut self, lines: &str) -> SqlResult<CommandTag> {
        let copied = async {
            self.execute("COPY loaded FROM STDIN").await?;
            self.feed(lines).await?;
            self.session.copy_done(Position::Last).await
        };
        let copied = copied.await;
        if copied.is_err() {
            self.session.fail();
        }
        copied
    }
}

async fn execute(session: &mut Session, sql: &str) -> SqlResult<Outcome> {
    let statement = session.parse(sql)?.pop().unwrap();
    let prepared = session.prepare(statement, &[]).await?;
    session.execute(&prepared, Vec::new(), Position::Last).await
}

/// How many rows a session sees in the table that is loaded.
async fn count(session: &mut Session) -> usize {
    let Outcome::Rows(mut rows) = execute(session, "SELECT id FROM loaded").await.unwrap() else { panic!("no rows") };
    let mut count = 0;
    while let Some(batch) = rows.stream.next().await {
        count += batch.unwrap().num_rows();
    }
    count
}

/// In the order of their keys, or in none.
fn place(row: usize, in_order: bool) -> usize {
    if in_order { row } else { row * 7919 % ROWS }
}

fn lines(in_order: bool) -> String {
    let note = "x".repeat(100);
    (0..ROWS).map(|row| format!("{}\t{row}\t{note}\n", place(row, in_order))).collect()
}

#[tokio::test]
async fn a_copy_that_fails_leaves_nothing_however_long_it_is() {
    let mut loads = Loads::new().await;
    for in_order in [true, false] {
        let all = lines(in_order);
        let again = format!("{}\t0\tagain\n", place(7, in_order));
        for (last, kind) in
            [("-1\tnone\tx\n", ErrorKind::InvalidTextRepresentation), (&*again, ErrorKind::UniqueViolation)]
        {
            let error = loads.copy(&(all.clone() + last)).await.unwrap_err();
            assert_eq!(error.kind, kind, "{error:?}");
            let place = error.context.as_deref().unwrap_or_default();
            assert!(place.starts_with(&format!("COPY loaded, line {}", ROWS + 1)), "{place}");
            assert!(!error.detail.unwrap_or_default().contains("committed"));
            assert_eq!(count(&mut loads.session).await, 0);
        }
        assert_eq!(loads.copy(&all).await.unwrap(), CommandTag::Counted("COPY", ROWS as u64));
        assert_eq!(count(&mut loads.session).await, ROWS);
        loads.execute("TRUNCATE loaded").await.unwrap();
    }
}

#[tokio::test]
async fn what_others_write_meanwhile_stays() {
    let mut loads = Loads::new().await;
    let mut other = Session::new(loads.engine.clone(), SessionOptions::default()).unwrap();
    for in_order in [true, false] {
        let all = lines(in_order);
        loads.execute("COPY loaded FROM STDIN").await.unwrap();
        loads.feed(&all).await.unwrap();
        execute(&mut other, "INSERT INTO loaded VALUES (-1, 0, 'other')").await.unwrap();
        assert_eq!(count(&mut other).await, 1, "nothing of it is seen yet");
        let tag = loads.session.copy_done(Position::Last).await.unwrap();
        assert_eq!(tag, CommandTag::Counted("COPY", ROWS as u64));
        assert_eq!(count(&mut loads.session).await, ROWS + 1);
        loads.execute("TRUNCATE loaded").await.unwrap();
    }
    // One with a key of the load, which is told, with what was committed before.
    loads.execute("COPY loaded FROM STDIN").await.unwrap();
    loads.feed(&lines(true)).await.unwrap();
    execute(&mut other, &format!("INSERT INTO loaded VALUES ({}, 0, 'other')", ROWS - 1)).await.unwrap();
    let error = loads.session.copy_done(Position::Last).await.unwrap_err();
    loads.session.fail();
    assert_eq!(error.kind, ErrorKind::UniqueViolation, "{error:?}");
    let rows = count(&mut loads.session).await - 1;
    let detail = error.detail.unwrap_or_default();
    assert!(rows > 0 && detail.contains(&format!("with {rows} rows were committed before it failed")), "{detail}");
}

#[tokio::test]
async fn one_that_is_cancelled_says_how_to_go_on() {
    let mut loads = Loads::new().await;
    loads.execute("INSERT INTO loaded VALUES (-1, 0, 'there')").await.unwrap();
    loads.execute("COPY loaded FROM STDIN").await.unwrap();
    loads.feed(&lines(true)).await.unwrap();
    let told = loads.session.with_written(SqlError::new(ErrorKind::QueryCanceled, "canceled"));
    loads.session.copy_abort().await;
    loads.session.fail();
    assert!(told.detail.is_some_and(|detail| detail.contains("were committed before it was stopped")));
    assert!(told.hint.is_some_and(|hint| hint.contains("ON CONFLICT DO NOTHING")));
    assert!(count(&mut loads.session).await > 1);
}
