//! Where an error is: the character that psql and editors point at.

use crate::wire::harness::{Server, bind, describe, error, execute, parse, sync};

/// Statements, and what PostgreSQL 15 gives as their errors' positions.
const PLACES: [(&str, &str, &str); 16] = [
    ("SELECT n, nothing FROM t", "42703", "11"),
    ("SELECT t.nothing FROM t", "42703", "8"),
    ("SELECT n FROM t WHERE 'é' = p AND nothing = 1", "42703", "35"),
    ("SELECT n\n  FROM t\n ORDER BY t.nothing", "42703", "29"),
    ("SELECT 1 FROM nowhere", "42P01", "15"),
    ("SELECT 1 FROM t JOIN nowhere USING (p)", "42P01", "22"),
    ("SELECT u.n FROM t", "42P01", "8"),
    ("SELECT n FROM t a, t b", "42702", "8"),
    ("SELECT 1; SELECT nothing", "42703", "18"),
    ("INSERT INTO nowhere VALUES (1)", "42P01", "13"),
    ("INSERT INTO t (p, nothing) VALUES (1, 2)", "42703", "19"),
    ("UPDATE t SET nothing = 1", "42703", "14"),
    ("UPDATE t SET n = nothing", "42703", "18"),
    ("DELETE FROM nowhere", "42P01", "13"),
    ("SELECT 1, fun(n) FROM t", "42883", "11"),
    ("SELECT p + true FROM t", "42883", "10"),
];

#[tokio::test]
async fn errors_name_their_place() {
    let server = Server::start().await;
    let mut client = server.client().await;
    client.query("CREATE TABLE t (p text, r text, n int, PRIMARY KEY (p, r))").await;
    for (sql, code, position) in PLACES {
        let answer = client.query(sql).await;
        let error = error(&answer);
        assert_eq!((error.code().as_str(), error.field('P').as_deref()), (code, Some(position)), "{sql}");
    }
    // The same of a prepared statement; what a statement meets when it runs has no place in its text.
    let answer = client.ask(&[parse("", "SELECT $1, nothing FROM t", &[]), sync()]).await;
    assert_eq!(error(&answer).field('P').as_deref(), Some("12"));
    let run =
        [parse("", "SELECT 1 / $1::int", &[]), bind("", "", &[Some("0")]), describe(b'P', ""), execute("", 0), sync()];
    assert_eq!(error(&client.ask(&run).await).field('P'), None);
    server.stop().await;
}
