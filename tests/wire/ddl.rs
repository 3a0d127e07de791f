//! DDL of two sessions: what one has staged the other does not see, and neither breaks the other.

use tokio_postgres::error::SqlState;

use crate::wire::harness::{PATIENCE, Server, bind, column, error_code, execute, parse, status, sync, tags};

/// The tables a client sees in the system catalogue, without those of the system.
async fn tables(client: &tokio_postgres::Client) -> Vec<String> {
    let query = "SELECT tablename FROM pg_tables WHERE schemaname = 'public' ORDER BY 1";
    client.query(query, &[]).await.unwrap().iter().map(|row| row.get(0)).collect()
}

async fn count(client: &tokio_postgres::Client, table: &str) -> Result<i64, SqlState> {
    let rows = client.query(&format!("SELECT count(*) FROM {table}"), &[]).await;
    rows.map(|rows| rows[0].get(0)).map_err(|error| error.code().unwrap().clone())
}

fn code<T>(result: Result<T, tokio_postgres::Error>) -> SqlState {
    match result {
        Ok(_) => panic!("it must fail"),
        Err(error) => error.code().unwrap().clone(),
    }
}

#[tokio::test]
async fn others_see_changes_with_their_commit() {
    let server = Server::start().await;
    let (one, other) = (server.driver().await, server.driver().await);
    one.batch_execute("CREATE TABLE old (a int PRIMARY KEY); INSERT INTO old VALUES (1), (2)").await.unwrap();
    one.batch_execute("BEGIN; CREATE TABLE new (a int PRIMARY KEY); INSERT INTO new VALUES (1)").await.unwrap();
    one.batch_execute("DROP TABLE old").await.unwrap();
    assert_eq!(tables(&one).await, ["new"]);
    // Neither the new table nor the stored table that is made for it already.
    assert_eq!(tables(&other).await, ["old"]);
    assert_eq!(count(&other, "new").await, Err(SqlState::UNDEFINED_TABLE));
    // Whoever wants to read what is being dropped waits, as in PostgreSQL.
    other.batch_execute("SET lock_timeout = '50ms'").await.unwrap();
    assert_eq!(count(&other, "old").await, Err(SqlState::LOCK_NOT_AVAILABLE));
    one.batch_execute("COMMIT").await.unwrap();
    assert_eq!(tables(&other).await, ["new"]);
    assert_eq!((count(&other, "new").await, count(&other, "old").await), (Ok(1), Err(SqlState::UNDEFINED_TABLE)));
    server.stop().await;
}

#[tokio::test]
async fn a_client_that_leaves_leaves_nothing() {
    let server = Server::start().await;
    let (one, other) = (server.driver().await, server.driver().await);
    one.batch_execute("CREATE TABLE kept (a int PRIMARY KEY)").await.unwrap();
    one.batch_execute("BEGIN; DROP TABLE kept; CREATE TABLE fleeting (a int PRIMARY KEY)").await.unwrap();
    drop(one);
    // What it held is free again: the name can be taken.
    let taken = other.batch_execute("CREATE TABLE fleeting (b int PRIMARY KEY)");
    tokio::time::timeout(PATIENCE, taken).await.unwrap().unwrap();
    assert_eq!(tables(&other).await, ["fleeting", "kept"]);
    server.stop().await;
}

#[tokio::test]
async fn the_second_of_two_changes_waits_for_the_first() {
    let server = Server::start().await;
    let (one, other) = (server.driver().await, server.driver().await);
    one.batch_execute("BEGIN; CREATE TABLE t (a int PRIMARY KEY)").await.unwrap();
    let created = tokio::spawn(async move {
        let created = other.batch_execute("CREATE TABLE t (b int PRIMARY KEY)").await;
        (created, other)
    });
    one.batch_execute("COMMIT").await.unwrap();
    let (created, other) = created.await.unwrap();
    assert_eq!(code(created), SqlState::DUPLICATE_TABLE);
    one.batch_execute("BEGIN; DROP TABLE t").await.unwrap();
    let created = tokio::spawn(async move {
        let created = other.batch_execute("CREATE TABLE t (b int PRIMARY KEY)").await;
        (created, other)
    });
    one.batch_execute("COMMIT").await.unwrap();
    let (created, other) = created.await.unwrap();
    created.unwrap();
    assert_eq!(code(other.query("SELECT a FROM t", &[]).await), SqlState::UNDEFINED_COLUMN);
    server.stop().await;
}

#[tokio::test]
async fn a_table_stays_while_a_block_that_uses_it_is_open() {
    let server = Server::start().await;
    let (one, other) = (server.driver().await, server.driver().await);
    other.batch_execute("SET lock_timeout = '50ms'").await.unwrap();
    for change in ["DROP TABLE t", "TRUNCATE t", "DROP TABLE t; CREATE TABLE t (a int PRIMARY KEY, b int)"] {
        for usage in ["INSERT INTO t VALUES (1)", "SELECT * FROM t"] {
            one.batch_execute("DROP TABLE IF EXISTS t; CREATE TABLE t (a int PRIMARY KEY)").await.unwrap();
            one.batch_execute(&format!("BEGIN; {usage}")).await.unwrap();
            assert_eq!(code(other.batch_execute(change).await), SqlState::LOCK_NOT_AVAILABLE, "{change}");
            one.batch_execute("COMMIT").await.unwrap();
            other.batch_execute(change).await.unwrap();
            assert!(matches!(count(&one, "t").await, Ok(0) | Err(SqlState::UNDEFINED_TABLE)), "{change}");
        }
    }
    server.stop().await;
}

#[tokio::test]
async fn no_row_is_lost_while_a_table_is_written_anew() {
    let server = Server::start().await;
    let (one, other) = (server.driver().await, server.driver().await);
    one.batch_execute("CREATE TABLE moved (a int PRIMARY KEY); INSERT INTO moved VALUES (1)").await.unwrap();
    one.batch_execute("BEGIN; ALTER TABLE moved ADD COLUMN b int DEFAULT 5").await.unwrap();
    let waiting = tokio::spawn(async move {
        let written = other.batch_execute("INSERT INTO moved VALUES (2)").await;
        (written, other)
    });
    one.batch_execute("COMMIT").await.unwrap();
    let (written, other) = tokio::time::timeout(PATIENCE, waiting).await.unwrap().unwrap();
    // It waited, and then it was done or refused: never acknowledged and lost.
    match written {
        Ok(()) => assert_eq!(count(&one, "moved").await, Ok(2)),
        Err(error) => {
            assert_eq!(error.code(), Some(&SqlState::T_R_SERIALIZATION_FAILURE));
            assert_eq!(count(&one, "moved").await, Ok(1));
        }
    }
    // Undone, the table is open again.
    one.batch_execute("BEGIN; ALTER TABLE moved ALTER b TYPE bigint; ALTER TABLE moved ADD c int DEFAULT 1")
        .await
        .unwrap();
    one.batch_execute("ROLLBACK").await.unwrap();
    tokio::time::timeout(PATIENCE, other.batch_execute("INSERT INTO moved VALUES (3, 3)")).await.unwrap().unwrap();
    server.stop().await;
}

#[tokio::test]
async fn a_prepared_statement_follows_its_table_or_says_that_it_cannot() {
    let server = Server::start().await;
    let mut client = server.client().await;
    let mut other = server.client().await;
    client.query("CREATE TABLE t (a int PRIMARY KEY, b int)").await;
    let select = [parse("q", "SELECT b FROM t", &[]), parse("i", "INSERT INTO t VALUES (1, 5)", &[]), sync()];
    assert!(!tags(&client.ask(&select).await).contains('E'));
    let run = |name: &str| [bind("", name, &[]), execute("", 0), sync()];
    // Emptied: the same shape elsewhere.
    client.query("INSERT INTO t VALUES (2, 2)").await;
    other.query("TRUNCATE t").await;
    assert!(!tags(&client.ask(&run("i")).await).contains('E'));
    assert_eq!(column(&client.ask(&run("q")).await), ["5"]);
    // Another type under the same name.
    other.query("DROP TABLE t; CREATE TABLE t (a int PRIMARY KEY, b text)").await;
    assert_eq!(error_code(&client.ask(&run("q")).await), "0A000");
    // In a block its own changes count.
    client.query("BEGIN").await;
    client.query("DROP TABLE t").await;
    assert_eq!(error_code(&client.ask(&run("q")).await), "42P01");
    assert_eq!(status(&client.query("ROLLBACK").await), 'I');
    server.stop().await;
}

#[tokio::test]
async fn a_sequence_is_altered_while_others_draw_from_it() {
    let server = Server::start().await;
    let (one, other) = (server.driver().await, server.driver().await);
    one.batch_execute("CREATE SEQUENCE numbers; SELECT nextval('numbers')").await.unwrap();
    one.batch_execute("BEGIN; ALTER SEQUENCE numbers INCREMENT 10").await.unwrap();
    let next = "SELECT nextval('numbers')";
    let of = async |client: &tokio_postgres::Client| client.query_one(next, &[]).await.unwrap().get::<_, i64>(0);
    assert_eq!(of(&other).await, 2);
    one.batch_execute("COMMIT").await.unwrap();
    assert!(of(&one).await >= 12);
    // Both have drawn: they would have given out the same values.
    one.batch_execute("BEGIN; ALTER SEQUENCE numbers INCREMENT 5; SELECT nextval('numbers')").await.unwrap();
    of(&other).await;
    assert_eq!(code(one.batch_execute("COMMIT").await), SqlState::T_R_SERIALIZATION_FAILURE);
    server.stop().await;
}
