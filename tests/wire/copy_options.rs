//! What the options of COPY do, and what it says of input that is wrong.

use crate::wire::harness::{Client, Message, Server, column, error, message, query, tags};

fn copied(sql: &str, input: &[u8]) -> Vec<Vec<u8>> {
    vec![query(sql), message(b'd', input), message(b'c', b"")]
}

async fn copy_in(client: &mut Client, sql: &str, input: &[u8]) -> Vec<Message> {
    client.ask(&copied(sql, input)).await
}

async fn copy_out(client: &mut Client, sql: &str) -> Vec<u8> {
    let messages = client.query(sql).await;
    assert!(!messages.iter().any(|m| m.tag == 'E'), "{messages:?}");
    messages.iter().filter(|m| m.tag == 'd').flat_map(|m| m.body.clone()).collect()
}

/// The error of a COPY: its code, message and context.
async fn refused(client: &mut Client, sql: &str, input: &[u8]) -> (String, String, Option<String>) {
    // A COPY that is refused at once leaves the data to be dropped.
    let messages = copy_in(client, sql, input).await;
    let error = error(&messages);
    (error.code(), error.field('M').unwrap(), error.field('W'))
}

fn tag(messages: &[Message]) -> String {
    messages[messages.len() - 2].text()
}

async fn client_with(server: &Server, table: &str) -> Client {
    let mut client = server.client().await;
    client.query(table).await;
    client
}

#[tokio::test]
async fn a_condition_leaves_rows_out() {
    let server = Server::start().await;
    let mut client = client_with(
        &server,
        "CREATE TABLE t (a int PRIMARY KEY, b int DEFAULT 5 CHECK (b < 9), g int GENERATED ALWAYS AS (a * 2) STORED)",
    )
    .await;
    // Rows left out are not checked, and defaults can be asked.
    let messages =
        copy_in(&mut client, "COPY t (a, b) FROM STDIN WHERE b < 4 OR b IS NULL", b"1\t2\n2\t90\n3\t\\N\n").await;
    assert_eq!(tag(&messages), "COPY 2");
    let messages = copy_in(&mut client, "COPY t (a) FROM STDIN (FORMAT csv) WHERE b = 5 AND a > 11", b"11\n12\n").await;
    assert_eq!(tag(&messages), "COPY 1");
    assert_eq!(column(&client.query("SELECT a FROM t ORDER BY a").await), ["1", "3", "12"]);
    assert_eq!(column(&client.query("SELECT g FROM t ORDER BY a").await), ["2", "6", "24"]);
    for (condition, code, text) in [
        ("a", "42804", "argument of WHERE must be type boolean, not type integer"),
        ("zz > 1", "42703", "column \"zz\" does not exist"),
        ("g > 1", "42P10", "generated columns are not supported in COPY FROM WHERE conditions"),
        ("a > (SELECT 1)", "0A000", "cannot use subquery in COPY FROM WHERE condition"),
        ("sum(a) > 1", "42803", "aggregate functions are not allowed in COPY FROM WHERE conditions"),
        ("row_number() OVER () > 1", "42P20", "window functions are not allowed in COPY FROM WHERE conditions"),
        ("a > 1 extra", "42601", "syntax error at or near \"extra\""),
    ] {
        let (got, message, _) = refused(&mut client, &format!("COPY t (a) FROM STDIN WHERE {condition}"), b"").await;
        assert_eq!((got.as_str(), message.as_str()), (code, text));
    }
    // The line of a row that is wrong is the input's, whatever was left out.
    let (code, _, context) = refused(&mut client, "COPY t (a, b) FROM STDIN WHERE a > 20", b"1\t1\n21\t90\n").await;
    assert_eq!((code.as_str(), context.as_deref()), ("23514", Some("COPY t, line 2: \"21\t90\"")));
    server.stop().await;
}

#[tokio::test]
async fn wrong_rows_name_line_and_cause() {
    let server = Server::start().await;
    let mut client = client_with(&server, "CREATE TABLE u (a int PRIMARY KEY, b int CHECK (b > 0), c text)").await;
    client.query("INSERT INTO u VALUES (100, 1, 'x')").await;
    for (sql, input, code, context) in [
        ("COPY u (a, b) FROM STDIN", &b"1\t2\n3\t-1\n"[..], "23514", "COPY u, line 2: \"3\t-1\""),
        ("COPY u (a, b) FROM STDIN CSV", b"1,2\n,3\n", "23502", "COPY u, line 2: \",3\""),
        ("COPY u (a, b) FROM STDIN", b"1\t2\nx\t3\n", "22P02", "COPY u, line 2, column a: \"x\""),
        ("COPY u (a, b) FROM STDIN", b"1\t2\n3\n", "22P04", "COPY u, line 2: \"3\""),
        ("COPY u (a, b) FROM STDIN", b"1\t2\n3\t4\t5\n", "22P04", "COPY u, line 2: \"3\t4\t5\""),
        ("COPY u (a, c) FROM STDIN", b"1\ta\xc3(b\n", "22021", "COPY u, line 1"),
        ("COPY u (a, c) FROM STDIN", b"1\ta\0b\n", "22021", "COPY u, line 1"),
        ("COPY u (a, c) FROM STDIN", b"1\ta\\0b\n", "22021", "COPY u, line 1: \"1\ta\\0b\""),
        ("COPY u (a, c) FROM STDIN", b"1\tx\n2\ty\r\n", "22P04", "COPY u, line 2: \"2\ty\r\""),
        ("COPY u (a, c) FROM STDIN", b"1\tx\r\n2\ty\n", "22P04", "COPY u, line 2"),
        ("COPY u (a, c) FROM STDIN", b"99\tx\n100\ty\n", "23505", "COPY u, line 2"),
        ("COPY u (a, c) FROM STDIN (HEADER match)", b"a\tz\n", "22P04", "COPY u, line 1: \"a\tz\""),
    ] {
        let (got, message, place) = refused(&mut client, sql, input).await;
        assert_eq!((got.as_str(), place.as_deref()), (code, Some(context)), "{message}");
        client.query("DELETE FROM u WHERE a < 100").await;
    }
    // Lines that end with carriage returns alone.
    let messages = copy_in(&mut client, "COPY u (a, c) FROM STDIN", b"1\tx\r2\ty\r").await;
    assert_eq!(tag(&messages), "COPY 2");
    server.stop().await;
}

#[tokio::test]
async fn columns_and_options_are_checked_as_in_postgresql() {
    let server = Server::start().await;
    let mut client = client_with(
        &server,
        "CREATE TABLE t (a int PRIMARY KEY, \"B b\" text, g int GENERATED ALWAYS AS (a * 2) STORED)",
    )
    .await;
    client.query("CREATE SEQUENCE sq; INSERT INTO t VALUES (1, 'x'), (2, NULL)").await;
    assert_eq!(copy_out(&mut client, "COPY t TO STDOUT").await, b"1\tx\n2\t\\N\n");
    assert_eq!(copy_out(&mut client, "COPY t (\"B b\", a) TO STDOUT CSV HEADER").await, b"B b,a\nx,1\n,2\n");
    for (sql, code, text) in [
        ("COPY t (a, g) TO STDOUT", "42P10", "column \"g\" is a generated column"),
        ("COPY t (a, a) TO STDOUT", "42701", "column \"a\" specified more than once"),
        ("COPY t (zz) TO STDOUT", "42703", "column \"zz\" of relation \"t\" does not exist"),
        ("COPY t (zz) FROM STDIN", "42703", "column \"zz\" of relation \"t\" does not exist"),
        ("COPY t TO STDOUT (FORMAT csv, FORCE_QUOTE (g))", "42P10", "column \"g\" is a generated column"),
        ("COPY t (a) TO STDOUT CSV FORCE QUOTE \"B b\"", "42P10", "FORCE_QUOTE column \"B b\" not referenced by COPY"),
        ("COPY t FROM STDIN CSV FORCE NULL zz", "42703", "column \"zz\" of relation \"t\" does not exist"),
        ("COPY (SELECT 1 AS q) TO STDOUT CSV FORCE QUOTE zz", "42703", "column \"zz\" does not exist"),
        ("COPY sq TO STDOUT", "42809", "cannot copy from sequence \"sq\""),
        ("COPY sq FROM STDIN", "42809", "cannot copy to sequence \"sq\""),
        ("COPY nope TO STDOUT", "42P01", "relation \"nope\" does not exist"),
        ("COPY nope FROM STDIN", "42P01", "relation \"nope\" does not exist"),
        ("COPY t TO STDOUT WHERE a > 1", "42601", "WHERE clause not allowed with COPY TO"),
    ] {
        let messages = client.query(sql).await;
        let error = error(&messages);
        assert_eq!((error.code().as_str(), error.field('M').as_deref()), (code, Some(text)), "{sql}");
    }
    server.stop().await;
}

#[tokio::test]
async fn freeze_needs_a_table_of_the_same_transaction() {
    let server = Server::start().await;
    let mut client = client_with(&server, "CREATE TABLE t (p text, r text, PRIMARY KEY (p, r))").await;
    let (code, text, _) = refused(&mut client, "COPY t FROM STDIN (FREEZE)", b"").await;
    assert_eq!(code, "55000");
    assert!(text.starts_with("cannot perform COPY FREEZE because the table was not created or truncated"));
    let messages = copy_in(&mut client, "BEGIN; TRUNCATE t; COPY t FROM STDIN WITH (FREEZE ON)", b"a\t1\n").await;
    assert_eq!(tags(&messages), "CCGCZ");
    client.query("COMMIT").await;
    assert_eq!(copy_out(&mut client, "COPY t TO STDOUT (FREEZE)").await, b"a\t1\n");
    server.stop().await;
}

#[tokio::test]
async fn latin1_is_read_and_written() {
    let server = Server::start().await;
    let mut client = client_with(&server, "CREATE TABLE t (a int PRIMARY KEY, b text)").await;
    copy_in(&mut client, "COPY t FROM STDIN (ENCODING 'latin1')", b"1\tr\xe9sum\xe9\n").await;
    assert_eq!(column(&client.query("SELECT b FROM t").await), ["résumé"]);
    assert_eq!(copy_out(&mut client, "COPY t TO STDOUT (ENCODING 'iso-8859-1')").await, b"1\tr\xe9sum\xe9\n");
    let messages = client.query("COPY (SELECT '€') TO STDOUT (ENCODING latin1)").await;
    assert_eq!(error(&messages).code(), "22P05");
    server.stop().await;
}

#[tokio::test]
async fn a_large_table_goes_out_and_in_by_pieces() {
    let server = Server::start().await;
    let mut client = client_with(&server, "CREATE TABLE t (p int, r int, b text, PRIMARY KEY (p, r))").await;
    client.query("INSERT INTO t SELECT n / 1000, n, repeat('x', 20) FROM generate_series(0, 99999) AS s (n)").await;
    for options in ["", "CSV HEADER", "BINARY"] {
        let out = copy_out(&mut client, &format!("COPY t TO STDOUT {options}")).await;
        client.query("TRUNCATE t").await;
        let mut messages = vec![query(&format!("COPY t FROM STDIN {options}"))];
        messages.extend(out.chunks(10_007).map(|piece| message(b'd', piece)));
        messages.push(message(b'c', b""));
        let answer = client.ask(&messages).await;
        assert_eq!(answer[answer.len() - 2].text(), "COPY 100000");
        assert_eq!(column(&client.query("SELECT count(*) FROM t").await), ["100000"]);
    }
    server.stop().await;
}
