//! The extended protocol: statements, parameters, errors, pipelines.

use crate::wire::harness::{
    Server, bind, bind_as, close, column, describe, error, error_code, execute, flush, parse, query, status, sync, tags,
};

#[tokio::test]
async fn a_statement_is_parsed_bound_described_and_executed() {
    let server = Server::start().await;
    let mut client = server.client().await;
    let messages = client
        .ask(&[
            parse("", "SELECT $1::int + 1 AS n, $2::text", &[]),
            describe(b'S', ""),
            bind("", "", &[Some("41"), None]),
            describe(b'P', ""),
            execute("", 0),
            sync(),
        ])
        .await;
    assert_eq!(tags(&messages), "1tT2TDCZ");
    assert_eq!(messages[1].body, [0, 2, 0, 0, 0, 23, 0, 0, 0, 25]);
    assert_eq!(messages[5].texts(), ["42", "NULL"]);
    assert_eq!(messages[6].text(), "SELECT 1");
    server.stop().await;
}

#[tokio::test]
async fn a_named_statement_serves_until_it_is_closed() {
    let server = Server::start().await;
    let mut client = server.client().await;
    client.ask(&[parse("s", "SELECT $1::int * 2", &[]), sync()]).await;
    for value in ["1", "2"] {
        let messages = client.ask(&[bind("", "s", &[Some(value)]), execute("", 0), sync()]).await;
        assert_eq!(tags(&messages), "2DCZ");
    }
    let twice = client.ask(&[parse("s", "SELECT 1", &[]), sync()]).await;
    assert_eq!((tags(&twice).as_str(), error_code(&twice).as_str()), ("EZ", "42P05"));
    // A simple query takes the unnamed statement with it, not this one.
    client.query("SELECT 1").await;
    let messages = client.ask(&[close(b'S', "s"), close(b'S', "never was"), sync()]).await;
    assert_eq!(tags(&messages), "33Z");
    let gone = client.ask(&[bind("", "s", &[Some("1")]), sync()]).await;
    assert_eq!(error_code(&gone), "26000");
    server.stop().await;
}

#[tokio::test]
async fn discard_all_forgets_statements() {
    let server = Server::start().await;
    let mut client = server.client().await;
    client.ask(&[parse("s", "SELECT 1", &[]), sync()]).await;
    client.query("DISCARD ALL").await;
    assert_eq!(tags(&client.ask(&[parse("s", "SELECT 2", &[]), sync()]).await), "1Z");
    server.stop().await;
}

#[tokio::test]
async fn what_is_not_there_is_named() {
    let server = Server::start().await;
    let mut client = server.client().await;
    for (sent, code) in [
        (bind("", "nope", &[]), "26000"),
        (describe(b'S', "nope"), "26000"),
        (describe(b'P', "nope"), "34000"),
        (execute("nope", 0), "34000"),
        (describe(b'X', "nope"), "08P01"),
        (parse("", "SELECT 1; SELECT 2", &[]), "42601"),
        (parse("", "SELECT $1", &[600]), "0A000"),
    ] {
        let messages = client.ask(&[sent, sync()]).await;
        assert_eq!((tags(&messages).as_str(), error_code(&messages).as_str()), ("EZ", code));
        assert_eq!(status(&messages), 'I');
    }
    client.query("SELECT 1").await;
    let messages = client.ask(&[bind("", "", &[]), sync()]).await;
    assert_eq!(error_code(&messages), "26000");
    server.stop().await;
}

#[tokio::test]
async fn numbers_of_parameters_and_formats_are_checked() {
    let server = Server::start().await;
    let mut client = server.client().await;
    client.ask(&[parse("s", "SELECT $1::int, $2::int", &[]), sync()]).await;
    let one: Option<&[u8]> = Some(b"1");
    for (sent, code) in [
        (bind("", "s", &[]), "08P01"),
        (bind("", "s", &[Some("1")]), "08P01"),
        (bind("", "s", &[Some("1"); 3]), "08P01"),
        (bind_as("", "s", &[0, 0, 0], &[one, one], &[]), "08P01"),
        (bind_as("", "s", &[], &[one, one], &[0, 0, 0]), "08P01"),
        (bind_as("", "s", &[2], &[one, one], &[]), "22023"),
        (bind_as("", "s", &[], &[one, one], &[7]), "22023"),
        (bind_as("", "s", &[1], &[one, one], &[]), "08P01"),
        (bind_as("", "s", &[], &[Some(b"\xff"), one], &[]), "22021"),
        (bind("", "s", &[Some("x"), Some("1")]), "22P02"),
    ] {
        let messages = client.ask(&[sent, sync()]).await;
        assert_eq!((tags(&messages).as_str(), error_code(&messages).as_str()), ("EZ", code));
    }
    let four = 4_i32.to_be_bytes();
    let mixed = bind_as("", "s", &[0, 1], &[one, Some(&four)], &[1, 0]);
    let messages = client.ask(&[mixed, execute("", 0), sync()]).await;
    assert_eq!(messages[1].cells(), [Some(1_i32.to_be_bytes().to_vec()), Some(b"4".to_vec())]);
    server.stop().await;
}

#[tokio::test]
async fn after_an_error_everything_up_to_sync_is_skipped() {
    let server = Server::start().await;
    let mut client = server.client().await;
    let messages = client
        .ask(&[
            parse("", "SELECT 1/0", &[]),
            bind("", "", &[]),
            execute("", 0),
            parse("later", "SELECT 1", &[]),
            query("SELECT 2"),
            execute("nope", 0),
            sync(),
        ])
        .await;
    let tags = tags(&messages);
    assert!(tags.ends_with("EZ") && tags.matches('E').count() == 1, "{tags}");
    assert_eq!(error_code(&messages), "22012");
    let messages = client.ask(&[bind("", "later", &[]), sync()]).await;
    assert_eq!(error_code(&messages), "26000");
    assert_eq!(column(&client.query("SELECT 3").await), ["3"]);
    server.stop().await;
}

#[tokio::test]
async fn an_error_inside_a_block_leaves_it_failed() {
    let server = Server::start().await;
    let mut client = server.client().await;
    client.query("BEGIN").await;
    let messages = client.ask(&[parse("", "SELECT no_such", &[]), sync()]).await;
    assert_eq!((error_code(&messages).as_str(), status(&messages)), ("42703", 'E'));
    let messages = client.ask(&[parse("", "SELECT 1", &[]), sync()]).await;
    assert_eq!((error_code(&messages).as_str(), status(&messages)), ("25P02", 'E'));
    let messages = client.ask(&[parse("", "ROLLBACK", &[]), bind("", "", &[]), execute("", 0), sync()]).await;
    assert_eq!((tags(&messages).as_str(), status(&messages)), ("12CZ", 'I'));
    server.stop().await;
}

#[tokio::test]
async fn statements_without_rows_say_so() {
    let server = Server::start().await;
    let mut client = server.client().await;
    client.query("CREATE TABLE t (p text, r text, v int, PRIMARY KEY (p, r))").await;
    let messages = client
        .ask(&[
            parse("", "INSERT INTO t VALUES ($1, $2, $3)", &[]),
            describe(b'S', ""),
            bind("", "", &[Some("a"), Some("b"), Some("7")]),
            describe(b'P', ""),
            execute("", 0),
            sync(),
        ])
        .await;
    assert_eq!(tags(&messages).replace('N', ""), "1tn2nCZ");
    assert_eq!(messages[1].body, [0, 3, 0, 0, 0, 25, 0, 0, 0, 25, 0, 0, 0, 23]);
    assert_eq!(messages.iter().find(|message| message.tag == 'C').unwrap().text(), "INSERT 0 1");
    let messages = client
        .ask(&[
            parse("", "UPDATE t SET v = 8 WHERE p = 'a' AND r = 'b' RETURNING v", &[]),
            describe(b'S', ""),
            bind("", "", &[]),
            execute("", 0),
            sync(),
        ])
        .await;
    assert_eq!(tags(&messages).replace('N', ""), "1tT2DCZ");
    assert_eq!(column(&messages), ["8"]);
    let messages = client
        .ask(&[parse("", " -- nothing", &[]), describe(b'S', ""), bind("", "", &[]), execute("", 0), sync()])
        .await;
    assert_eq!(tags(&messages), "1tn2IZ");
    server.stop().await;
}

#[tokio::test]
async fn a_table_is_made_of_a_query_with_parameters() {
    let server = Server::start().await;
    let mut client = server.client().await;
    for (name, sql) in [
        ("made", "CREATE TABLE made AS SELECT g, $1::text AS word FROM generate_series(1, $2) g"),
        ("chosen", "SELECT g, word INTO chosen FROM made WHERE word = $1 AND g <= $2"),
    ] {
        let messages = client.ask(&[parse("", sql, &[]), describe(b'S', ""), sync()]).await;
        assert_eq!(tags(&messages), "1tnZ");
        assert_eq!(messages[1].body, [0, 2, 0, 0, 0, 25, 0, 0, 0, 23]);
        client.ask(&[parse("", sql, &[]), bind("", "", &[Some("a"), Some("3")]), execute("", 0), sync()]).await;
        let rows = client.query(&format!("SELECT count(*), max(word) FROM {name}")).await;
        assert_eq!(rows[1].texts(), ["3", "a"], "{name}");
    }
    // What cannot have any says so when it runs.
    let sql = "CREATE VIEW v AS SELECT * FROM made WHERE g > $1";
    let messages = client.ask(&[parse("", sql, &[23]), bind("", "", &[Some("1")]), execute("", 0), sync()]).await;
    assert_eq!((tags(&messages).as_str(), error_code(&messages).as_str()), ("12EZ", "42P02"));
    server.stop().await;
}

/// Drivers call a text a `bpchar` (1042) where their language does: it has no length of its own.
#[tokio::test]
async fn spaces_at_the_end_of_a_parameter_count_for_nothing_beside_a_char() {
    let server = Server::start().await;
    let mut client = server.client().await;
    client.query("CREATE TABLE codes (k char(5) PRIMARY KEY, v char(3)); INSERT INTO codes VALUES ('ab', 'x')").await;
    for declared in [0, 1042] {
        for (sql, found) in [
            ("SELECT v FROM codes WHERE k = $1", true),
            ("SELECT k FROM codes WHERE k BETWEEN $1 AND $1", true),
            ("SELECT v FROM codes WHERE k IS NOT DISTINCT FROM $1", true),
            ("SELECT v FROM codes WHERE k <> $1", false),
            ("SELECT v FROM codes WHERE k IN ($1, 'zz')", true),
            ("UPDATE codes SET v = v WHERE k = $1 RETURNING v", true),
            ("SELECT v FROM codes WHERE k = $1::text", false),
        ] {
            let messages = client
                .ask(&[parse("", sql, &[declared]), bind("", "", &[Some("ab   ")]), execute("", 0), sync()])
                .await;
            assert_eq!(tags(&messages), if found { "12DCZ" } else { "12CZ" }, "{sql} with {declared}: {messages:?}");
        }
    }
    server.stop().await;
}

#[tokio::test]
async fn declared_types_are_kept() {
    let server = Server::start().await;
    let mut client = server.client().await;
    let messages = client.ask(&[parse("", "SELECT $1", &[20]), describe(b'S', ""), sync()]).await;
    assert_eq!(tags(&messages), "1tTZ");
    assert_eq!(messages[1].body, [0, 1, 0, 0, 0, 20]);
    server.stop().await;
}

#[tokio::test]
async fn a_pipeline_is_one_transaction_up_to_its_sync() {
    let server = Server::start().await;
    let mut client = server.client().await;
    client.query("CREATE TABLE t (p text, r text, v int, PRIMARY KEY (p, r))").await;
    client.ask(&[parse("i", "INSERT INTO t VALUES ('a', $1, 1)", &[]), sync()]).await;
    let insert = |row: &str| [bind("", "i", &[Some(row)]), execute("", 0)].concat();
    let mut other = server.client().await;
    // An error in the third undoes the first two.
    let messages = client.ask(&[insert("1"), insert("2"), parse("", "SELECT no_such", &[]), insert("3"), sync()]).await;
    assert_eq!(error_code(&messages), "42703");
    assert_eq!(column(&other.query("SELECT count(*) FROM t").await), ["0"]);
    // Without a Sync nothing is committed, with it everything is.
    client.send(&[insert("1"), insert("2"), flush()]).await;
    let mut answers = Vec::new();
    while answers.iter().filter(|tag| **tag == 'C').count() < 2 {
        answers.push(client.read().await.tag);
    }
    assert_eq!(column(&other.query("SELECT count(*) FROM t").await), ["0"]);
    assert_eq!(status(&client.ask(&[sync()]).await), 'I');
    assert_eq!(column(&other.query("SELECT count(*) FROM t").await), ["2"]);
    // Two series sent at once are two transactions.
    client.send(&[insert("3"), sync(), insert("3"), sync(), insert("4"), sync()]).await;
    assert!(tags(&client.until_ready().await).contains('C'));
    assert_eq!(error_code(&client.until_ready().await), "23505");
    assert!(tags(&client.until_ready().await).contains('C'));
    assert_eq!(column(&other.query("SELECT count(*) FROM t").await), ["4"]);
    server.stop().await;
}

#[tokio::test]
async fn flush_sends_what_there_is_without_a_sync() {
    let server = Server::start().await;
    let mut client = server.client().await;
    client.send(&[parse("", "SELECT 1", &[]), flush()]).await;
    assert_eq!(client.read().await.tag, '1');
    client.send(&[bind("", "", &[]), execute("", 0), flush()]).await;
    for expected in ['2', 'D', 'C'] {
        assert_eq!(client.read().await.tag, expected);
    }
    assert_eq!(tags(&client.ask(&[sync()]).await), "Z");
    server.stop().await;
}

#[tokio::test]
async fn an_error_is_sent_without_a_sync() {
    let server = Server::start().await;
    let mut client = server.client().await;
    client.send(&[parse("", "SELECT no_such", &[]), flush()]).await;
    assert_eq!(client.read().await.code(), "42703");
    assert_eq!(tags(&client.ask(&[sync()]).await), "Z");
    server.stop().await;
}

#[tokio::test]
async fn a_function_call_is_refused_and_the_session_goes_on() {
    let server = Server::start().await;
    let mut client = server.client().await;
    let messages = client.ask(&[crate::wire::harness::message(b'F', &[0; 10])]).await;
    assert_eq!((tags(&messages).as_str(), error(&messages).code().as_str()), ("EZ", "0A000"));
    assert_eq!(column(&client.query("SELECT 1").await), ["1"]);
    server.stop().await;
}

/// JDBC's CallableStatement has a parameter for the result, of type void.
#[tokio::test]
async fn parameters_of_type_void_are_no_arguments() {
    const VOID: u32 = 2278;
    const VARCHAR: u32 = 1043;
    let server = Server::start().await;
    let mut client = server.client().await;
    let call = parse("", "SELECT * FROM upper($1, $2) AS result", &[VOID, VARCHAR]);
    let messages = client.ask(&[call, bind("", "", &[None, Some("abc")]), execute("", 0), sync()]).await;
    assert_eq!(column(&messages), ["ABC"]);
    let messages = client.ask(&[parse("", "SELECT upper($1, $2)", &[0, VARCHAR]), sync()]).await;
    assert_eq!(error_code(&messages), "42883");
    server.stop().await;
}
