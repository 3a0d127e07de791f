//! COPY through a session, on the store in memory: what goes in comes out, and transactions bind it.

use std::sync::Arc;

use bytes::BytesMut;
use futures::StreamExt;
use tablegate::backends::memory::MemoryStore;
use tablegate::sql::outcome::{CommandTag, CopyContent, Outcome};
use tablegate::sql::session::{Position, Session, SessionOptions, TransactionStatus};
use tablegate::sql::{EgtMode, Engine, EngineConfig};
use tablegate::store::model::SystemClock;
use tablegate::types::error::Notice;
use tablegate::types::error::{ErrorKind, SqlError};
use tablegate::types::output::TextColumn;

use crate::support::cpu;

type SqlResult<T> = Result<T, Box<SqlError>>;

async fn session() -> Session {
    session_with(EngineConfig::default()).await
}

async fn session_with(config: EngineConfig) -> Session {
    let clock = Arc::new(SystemClock);
    let engine = Engine::open(Arc::new(MemoryStore::new(clock.clone())), clock, config).await.unwrap();
    Session::new(engine, SessionOptions::default()).unwrap()
}

async fn execute(session: &mut Session, sql: &str) -> SqlResult<Outcome> {
    let statement = session.parse(sql)?.pop().unwrap();
    let prepared = session.prepare(statement, &[]).await?;
    session.execute(&prepared, Vec::new(), Position::Last).await
}

/// Runs a statement; its rows as text with `|` between the columns.
async fn query(session: &mut Session, sql: &str) -> Vec<String> {
    match execute(session, sql).await.unwrap() {
        Outcome::Rows(mut rows) => {
            let style = session.output_style();
            let mut lines = Vec::new();
            while let Some(batch) = rows.stream.next().await {
                let batch = batch.unwrap();
                let columns: Vec<_> = (0..batch.num_columns())
                    .map(|i| TextColumn::new(batch.column(i), &rows.columns[i].sql_type, &style))
                    .collect();
                for row in 0..batch.num_rows() {
                    let cells: Vec<String> = columns
                        .iter()
                        .map(|column| {
                            let mut text = BytesMut::new();
                            if !column.is_null(row) {
                                column.write(row, &mut text);
                            }
                            String::from_utf8(text.to_vec()).unwrap()
                        })
                        .collect();
                    lines.push(cells.join("|"));
                }
            }
            lines
        }
        Outcome::Done(_) => Vec::new(),
        Outcome::CopyIn(_) | Outcome::CopyOut(_) => panic!("{sql} is a COPY"),
    }
}

/// COPY FROM STDIN with the input in these pieces. An error ends it as the wire does.
async fn copy_in(session: &mut Session, sql: &str, pieces: &[&str]) -> SqlResult<CommandTag> {
    let result = async {
        let Outcome::CopyIn(_) = execute(session, sql).await? else { panic!("{sql} is not COPY FROM STDIN") };
        for piece in pieces {
            session.copy_data(piece.as_bytes()).await?;
        }
        session.copy_done(Position::Last).await
    }
    .await;
    if result.is_err() {
        session.fail();
    }
    result
}

async fn copy_out(session: &mut Session, sql: &str) -> (String, u64) {
    let Outcome::CopyOut(out) = execute(session, sql).await.unwrap() else { panic!("{sql} is not COPY TO STDOUT") };
    let CopyContent::Lines(mut chunks) = out.content else { panic!("{sql} is in binary format") };
    let (mut text, mut rows) = (String::new(), 0);
    while let Some(chunk) = chunks.next().await {
        let chunk = chunk.unwrap();
        text.push_str(std::str::from_utf8(&chunk.data).unwrap());
        rows += chunk.rows;
    }
    (text, rows)
}

fn messages(notices: Vec<Notice>) -> Vec<String> {
    notices.into_iter().map(|n| n.message).collect()
}

const ITEMS: &str = "CREATE TABLE items (\"PartitionKey\" text, \"RowKey\" text, n int, price numeric(8,2), at timestamptz, \
                     note varchar(10), tags text[])";

#[tokio::test]
async fn what_goes_in_comes_out() {
    let mut session = session().await;
    query(&mut session, ITEMS).await;
    let text = "a\t1\t1\t2.50\t2014-08-22 00:50:32.5+00\tx\\ty\t{a,\"b c\",NULL}\n\
                a\t2\t\\N\t\\N\t\\N\t\\N\t\\N\n\
                b\t1\t-7\t-0.05\t1601-01-01 00:00:00+00\té\\\\\t{}\n";
    let tag = copy_in(&mut session, "COPY items FROM STDIN", &[&text[..7], &text[7..40], &text[40..], "\\.\n"]).await;
    assert_eq!(tag.unwrap(), CommandTag::Counted("COPY", 3));
    let (out, rows) = copy_out(&mut session, "COPY items TO STDOUT").await;
    assert_eq!((out.as_str(), rows), (text, 3));

    let csv = "PartitionKey,RowKey,n,price,at,note,tags\n\
               a,1,1,2.50,2014-08-22 00:50:32.5+00,x\ty,\"{a,\"\"b c\"\",NULL}\"\n\
               a,2,,,,,\n\
               b,1,-7,-0.05,1601-01-01 00:00:00+00,é\\,{}\n";
    let (out, _) = copy_out(&mut session, "COPY items TO STDOUT (FORMAT csv, HEADER)").await;
    assert_eq!(out, csv);
    query(&mut session, "DELETE FROM items").await;
    let tag = copy_in(&mut session, "COPY items FROM STDIN (FORMAT csv, HEADER match)", &[csv]).await;
    assert_eq!(tag.unwrap(), CommandTag::Counted("COPY", 3));
    assert_eq!(copy_out(&mut session, "COPY items TO STDOUT").await.0, text);
}

#[tokio::test]
async fn columns_and_queries_can_be_chosen() {
    let mut session = session().await;
    query(&mut session, ITEMS).await;
    let sql = "COPY items (n, \"RowKey\", \"PartitionKey\") FROM STDIN CSV";
    copy_in(&mut session, sql, &["5,r,p\n6,s,p"]).await.unwrap();
    let (out, rows) = copy_out(&mut session, "COPY (SELECT n, \"RowKey\" FROM items WHERE n > 5) TO STDOUT CSV").await;
    assert_eq!((out.as_str(), rows), ("6,s\n", 1));
    assert_eq!(copy_out(&mut session, "COPY items (\"RowKey\", n) TO STDOUT").await.0, "r\t5\ns\t6\n");
}

#[tokio::test]
async fn a_long_copy_is_several_transactions_and_says_so() {
    let mut session = session().await;
    query(&mut session, "CREATE TABLE items (\"PartitionKey\" text, \"RowKey\" text, n int)").await;
    session.take_notices();
    let lines: String = (0..25_000).map(|i| format!("p{}\tr{i:05}\t{i}\n", i % 3)).collect();
    let pieces: Vec<&str> = lines.as_bytes().chunks(1000).map(|c| std::str::from_utf8(c).unwrap()).collect();
    let tag = copy_in(&mut session, "COPY items FROM STDIN", &pieces).await.unwrap();
    assert_eq!(tag, CommandTag::Counted("COPY", 25_000));
    let notices = messages(session.take_notices());
    assert!(notices[0].starts_with("the statement ran as 25"), "{notices:?}");
    assert_eq!(query(&mut session, "SELECT count(*), sum(n) FROM items").await, ["25000|312487500"]);
}

#[tokio::test]
async fn a_copy_that_fails_leaves_nothing() {
    let mut session = session().await;
    query(&mut session, "CREATE TABLE items (\"PartitionKey\" text, \"RowKey\" text, n int)").await;
    query(&mut session, "INSERT INTO items VALUES ('p', 'r15000', 0)").await;
    let line = |i: usize| format!("p\tr{i:05}\t{i}\n");
    let rows = || (0..20_000).filter(|i| *i != 15_000).map(line).collect::<String>();
    let bad = [
        (rows() + "p\tz\tnone\n", ErrorKind::InvalidTextRepresentation, 20_000),
        (rows() + &line(7), ErrorKind::UniqueViolation, 20_000),
        (rows() + &line(15_000), ErrorKind::UniqueViolation, 20_000),
    ];
    for (input, kind, wrong) in bad {
        let pieces: Vec<&str> = input.as_bytes().chunks(60_000).map(|c| std::str::from_utf8(c).unwrap()).collect();
        let error = copy_in(&mut session, "COPY items FROM STDIN", &pieces).await.unwrap_err();
        assert_eq!((error.kind, error.hint.as_deref()), (kind, None), "{error:?}");
        let place = error.context.as_deref().unwrap_or_default();
        assert!(place.starts_with(&format!("COPY items, line {wrong}")), "{place}");
        assert!(!error.detail.unwrap_or_default().contains("committed"));
        assert_eq!(query(&mut session, "SELECT count(*) FROM items").await, ["1"]);
    }
    copy_in(&mut session, "COPY items FROM STDIN", &[&rows()]).await.unwrap();
    assert_eq!(query(&mut session, "SELECT count(*) FROM items").await, ["20000"]);
}

#[tokio::test]
async fn the_error_of_a_long_copy_says_where_it_is_what_is_committed_and_how_to_go_on() {
    // A quarter of it is held back.
    let mut session = session_with(EngineConfig { query_memory: 32 << 20, ..EngineConfig::default() }).await;
    query(&mut session, "CREATE TABLE items (\"PartitionKey\" text, \"RowKey\" text, n int, note text)").await;
    let note = "x".repeat(30_000);
    let line = |i: usize| format!("p{}\tr{i:05}\t{i}\t{note}\n", i / 100);
    let mut lines: Vec<String> = (0..500).map(line).collect();
    lines.push("p\tz\tnone\tx\n".to_owned());
    let pieces: Vec<&str> = lines.iter().map(String::as_str).collect();
    let error = copy_in(&mut session, "COPY items FROM STDIN", &pieces).await.unwrap_err();
    assert_eq!(error.message, "invalid input syntax for type integer: \"none\"");
    assert_eq!(error.context.as_deref(), Some("COPY items, line 501, column n: \"none\""));
    let count = query(&mut session, "SELECT count(*) FROM items").await.remove(0);
    let rows: usize = count.parse().unwrap();
    assert!((250..500).contains(&rows), "{rows}");
    let detail = error.detail.unwrap();
    assert!(detail.contains(&format!("of them with {rows} rows were committed before it failed")), "{detail}");
    assert!(error.hint.unwrap().contains("ON CONFLICT DO NOTHING"));
    assert!(session.copy_data(b"x").await.is_err());
}

#[tokio::test]
async fn a_key_that_cannot_be_stored_is_told_with_its_line() {
    let mut session = session().await;
    query(&mut session, "CREATE TABLE keyed (k text, j text, n int, PRIMARY KEY (k, j))").await;
    let long = "b".repeat(1_100);
    for (line, message) in [
        ("b/\tc\t2\n".to_owned(), "PartitionKey \"b/\" holds '/'"),
        (format!("{long}\tc\t2\n"), "is 1100 characters long"),
    ] {
        let error = copy_in(&mut session, "COPY keyed FROM STDIN", &["a\tb\t1\n", &line]).await.unwrap_err();
        assert_eq!(error.kind, ErrorKind::InvalidParameterValue);
        assert!(error.message.contains(message), "{}", error.message);
        let context = error.context.unwrap();
        assert!(context.starts_with("COPY keyed, line 2: \"b"), "{context}");
        assert!(error.hint.is_some());
    }
    assert_eq!(query(&mut session, "SELECT count(*) FROM keyed").await, ["0"]);
}

#[tokio::test]
async fn inside_a_block_the_blocks_rules_hold() {
    let mut session = session().await;
    query(&mut session, "CREATE TABLE items (\"PartitionKey\" text, \"RowKey\" text, n int)").await;
    query(&mut session, "BEGIN").await;
    copy_in(&mut session, "COPY items FROM STDIN CSV", &["p,a,1\np,b,2\n"]).await.unwrap();
    assert_eq!(query(&mut session, "SELECT count(*) FROM items").await, ["2"]);
    query(&mut session, "ROLLBACK").await;
    assert_eq!(query(&mut session, "SELECT count(*) FROM items").await, ["0"]);

    query(&mut session, "BEGIN").await;
    let error = copy_in(&mut session, "COPY items FROM STDIN CSV", &["p,a,1\nq,b,2\n"]).await.unwrap_err();
    assert_eq!(error.kind, ErrorKind::FeatureNotSupported);
    assert_eq!(error.context.as_deref(), Some("COPY items, line 2"));
    assert_eq!(session.transaction_status(), TransactionStatus::Failed);
    query(&mut session, "ROLLBACK").await;

    query(&mut session, "BEGIN").await;
    copy_in(&mut session, "COPY items FROM STDIN CSV", &["p,a,1\n"]).await.unwrap();
    query(&mut session, "COMMIT").await;
    let error = copy_in(&mut session, "COPY items FROM STDIN CSV", &["p,a,1\n"]).await.unwrap_err();
    assert_eq!(error.kind, ErrorKind::UniqueViolation);
}

#[tokio::test]
async fn what_cannot_be_copied_is_refused_at_once() {
    let mut session = session().await;
    query(&mut session, "CREATE TABLE items (\"PartitionKey\" text, \"RowKey\" text, n int NOT NULL)").await;
    for (sql, kind) in [
        ("COPY nothing FROM STDIN", ErrorKind::UndefinedTable),
        ("COPY items (x) FROM STDIN", ErrorKind::UndefinedColumn),
        ("COPY items (n, n) FROM STDIN", ErrorKind::DuplicateColumn),
        ("COPY items FROM STDIN (FORMAT csv, FORCE_NULL (x))", ErrorKind::UndefinedColumn),
    ] {
        assert_eq!(execute(&mut session, sql).await.map(|_| ()).unwrap_err().kind, kind, "{sql}");
    }
    let error = copy_in(&mut session, "COPY items FROM STDIN", &["p\tr\t1\np\ts\t\\N\n"]).await.unwrap_err();
    assert_eq!(error.kind, ErrorKind::NotNullViolation);
    assert_eq!(error.context.as_deref(), Some("COPY items, line 2: \"p\ts\t\\N\""));
    query(&mut session, "SET default_transaction_read_only = on").await;
    let error = execute(&mut session, "COPY items FROM STDIN").await.map(|_| ()).unwrap_err();
    assert_eq!(error.kind, ErrorKind::ReadOnlyTransaction);
}

#[tokio::test]
async fn a_block_of_observe_mode_takes_a_hundred_thousand_rows() {
    // Most of it does not fit this and goes to the disk.
    let config = EngineConfig { egt_mode: EgtMode::Observe, transaction_memory: 1 << 20, ..EngineConfig::default() };
    let mut session = session_with(config).await;
    query(&mut session, "CREATE TABLE big (id int PRIMARY KEY, word text)").await;
    query(&mut session, "BEGIN").await;
    let lines: Vec<String> = (0..100_000).map(|i| format!("{i}\tword {i}\n")).collect();
    let pieces: Vec<String> = lines.chunks(1_000).map(|lines| lines.concat()).collect();
    let pieces: Vec<&str> = pieces.iter().map(String::as_str).collect();
    let tag = copy_in(&mut session, "COPY big FROM STDIN", &pieces).await.unwrap();
    assert_eq!(tag.to_string(), "COPY 100000");
    let sum = "SELECT count(*), sum(id), max(word) FROM big WHERE word = 'word ' || id";
    assert_eq!(query(&mut session, sum).await, ["100000|4999950000|word 99999"]);
    query(&mut session, "COMMIT").await;
    assert_eq!(query(&mut session, sum).await, ["100000|4999950000|word 99999"]);
    let violations = "SELECT rule, entities, partition_count FROM egt_violations ORDER BY rule";
    let expected =
        ["4 MiB or more|100000|100000", "more than 100 entities|100000|100000", "second partition|100000|100000"];
    assert_eq!(query(&mut session, violations).await, expected);
}

#[tokio::test]
async fn many_statements_in_a_block_do_not_copy_what_it_holds() {
    let config = EngineConfig { egt_mode: EgtMode::Observe, ..EngineConfig::default() };
    let mut session = session_with(config).await;
    query(&mut session, "CREATE TABLE t (\"PartitionKey\" text, \"RowKey\" text, n int)").await;
    let time_of = async |session: &mut Session, rows: usize| {
        query(session, "BEGIN").await;
        let fill = format!("INSERT INTO t SELECT 'p', i::text, i FROM generate_series(1, {rows}) AS s(i)");
        query(session, &fill).await;
        let before = cpu::of_this_thread();
        for i in 1..=100 {
            query(session, &format!("SAVEPOINT s{i}")).await;
            query(session, &format!("UPDATE t SET n = -1 WHERE \"PartitionKey\" = 'p' AND \"RowKey\" = '{i}'")).await;
        }
        let time = cpu::of_this_thread() - before;
        query(session, "ROLLBACK").await;
        time
    };
    let (few, many) = (time_of(&mut session, 200).await, time_of(&mut session, 20_000).await);
    // Copied, they would be a hundred times as many.
    assert!(many < 20 * few, "100 statements take {few:?} of the processor over 200 rows, {many:?} over 20,000");
}
