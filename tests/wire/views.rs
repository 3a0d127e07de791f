//! Views between sessions, prepared statements and restarts.

use crate::wire::harness::{Server, bind, column, error_code, execute, parse, sync, tags};

#[tokio::test]
async fn views_are_there_after_a_restart() {
    let folder = tempfile::tempdir().unwrap();
    let server = Server::start_in(folder.path()).await;
    let mut client = server.client().await;
    client.query("CREATE TABLE t (a int PRIMARY KEY, b text)").await;
    client.query("INSERT INTO t VALUES (1, 'x'), (2, 'y')").await;
    client.query("CREATE VIEW v (n, m) AS SELECT a, b FROM t WHERE a > 1; CREATE VIEW w AS SELECT m FROM v").await;
    let oid = column(&client.query("SELECT 'v'::regclass::oid").await);
    server.stop().await;
    let server = Server::start_in(folder.path()).await;
    let mut client = server.client().await;
    assert_eq!(column(&client.query("SELECT m FROM w").await), ["y"]);
    assert_eq!(column(&client.query("SELECT 'v'::regclass::oid").await), oid);
    assert_eq!(error_code(&client.query("DROP TABLE t").await), "2BP01");
    // What is made now has an OID of its own.
    client.query("CREATE TABLE after (a int PRIMARY KEY)").await;
    let query = "SELECT count(*) = count(DISTINCT oid) FROM pg_class";
    assert_eq!(column(&client.query(query).await), ["t"]);
    server.stop().await;
}

#[tokio::test]
async fn a_prepared_query_follows_its_view() {
    let server = Server::start().await;
    let (mut client, mut other) = (server.client().await, server.client().await);
    client.query("CREATE TABLE t (a int PRIMARY KEY, b int)").await;
    client.query("INSERT INTO t VALUES (1, 10)").await;
    client.query("CREATE VIEW v AS SELECT a FROM t").await;
    client.ask(&[parse("s", "SELECT a FROM v", &[]), sync()]).await;
    let run = [bind("", "s", &[]), execute("", 0), sync()];
    assert_eq!(column(&client.ask(&run).await), ["1"]);
    other.query("CREATE OR REPLACE VIEW v AS SELECT b AS a FROM t").await;
    assert_eq!(column(&client.ask(&run).await), ["10"]);
    other.query("DROP VIEW v").await;
    assert_eq!(error_code(&client.ask(&run).await), "42P01");
    other.query("CREATE VIEW v AS SELECT b::text AS a FROM t").await;
    assert_eq!(error_code(&client.ask(&run).await), "0A000");
    server.stop().await;
}

#[tokio::test]
async fn a_prepared_change_follows_the_views_it_reads() {
    let server = Server::start().await;
    let (mut client, mut other) = (server.client().await, server.client().await);
    client.query("CREATE TABLE t (a int PRIMARY KEY, b int)").await;
    client.query("CREATE TABLE log (n int, id int GENERATED ALWAYS AS IDENTITY PRIMARY KEY)").await;
    client.query("INSERT INTO t VALUES (1, 10)").await;
    client.query("CREATE VIEW v AS SELECT a FROM t").await;
    for (name, sql) in [
        ("insert", "INSERT INTO log (n) SELECT a FROM v RETURNING n"),
        ("update", "UPDATE log SET n = (SELECT max(a) FROM v) + 100 RETURNING n"),
        ("delete", "DELETE FROM log USING v WHERE n = a + 100 RETURNING n"),
        ("with", "WITH i AS (INSERT INTO log (n) SELECT a FROM v RETURNING n) SELECT n FROM i"),
    ] {
        client.ask(&[parse(name, sql, &[]), sync()]).await;
    }
    let run = |name| [bind("", name, &[]), execute("", 0), sync()];
    for expected in [["1", "101", "101", "1"], ["10", "110", "110", "10"]] {
        for (name, expected) in ["insert", "update", "delete", "with"].into_iter().zip(expected) {
            assert_eq!(column(&client.ask(&run(name)).await), [expected], "{name}");
        }
        client.query("DELETE FROM log").await;
        other.query("CREATE OR REPLACE VIEW v AS SELECT b AS a FROM t").await;
    }
    other.query("DROP VIEW v").await;
    assert_eq!(error_code(&client.ask(&run("insert")).await), "42P01");
    server.stop().await;
}

#[tokio::test]
async fn a_view_needs_its_tables_until_it_is_made() {
    let server = Server::start().await;
    let (mut client, mut other) = (server.client().await, server.client().await);
    client.query("CREATE TABLE t (a int PRIMARY KEY)").await;
    assert_eq!(tags(&client.query("BEGIN; CREATE VIEW v AS SELECT a FROM t").await), "CCZ");
    other.query("SET lock_timeout = '50ms'").await;
    assert_eq!(error_code(&other.query("DROP TABLE t").await), "55P03");
    client.query("COMMIT").await;
    assert_eq!(error_code(&other.query("DROP TABLE t").await), "2BP01");
    server.stop().await;
}
