//! The simple protocol.

use crate::wire::harness::{Server, column, error, error_code, message, status, tags};

#[tokio::test]
async fn the_status_byte_follows_the_transaction() {
    let server = Server::start().await;
    let mut client = server.client().await;
    assert_eq!(status(&client.query("SELECT 1").await), 'I');
    assert_eq!(status(&client.query("BEGIN").await), 'T');
    assert_eq!(status(&client.query("SELECT 1").await), 'T');
    let failed = client.query("SELECT no_such_column").await;
    assert_eq!((error_code(&failed).as_str(), status(&failed)), ("42703", 'E'));
    let refused = client.query("SELECT 1").await;
    assert_eq!((error_code(&refused).as_str(), status(&refused)), ("25P02", 'E'));
    assert_eq!(status(&client.query("ROLLBACK").await), 'I');
    let failed = client.query("BEGIN; SELECT no_such_column; COMMIT").await;
    assert_eq!((tags(&failed).as_str(), status(&failed)), ("CEZ", 'E'));
    let committed = client.query("COMMIT").await;
    assert_eq!((committed[0].text().as_str(), status(&committed)), ("ROLLBACK", 'I'));
    server.stop().await;
}

#[tokio::test]
async fn statements_of_one_text_run_one_after_the_other() {
    let server = Server::start().await;
    let mut client = server.client().await;
    let messages =
        client.query("SELECT 1 AS a; ; SELECT 'x', NULL; SET application_name = 'n'; SHOW application_name").await;
    assert_eq!(tags(&messages), "TDCTDCCSTDCZ");
    assert_eq!(messages[1].texts(), ["1"]);
    assert_eq!(messages[4].texts(), ["x", "NULL"]);
    assert_eq!(messages[2].text(), "SELECT 1");
    assert_eq!(messages[7].body, b"application_name\0n\0");
    assert_eq!(column(&messages), ["1", "x", "n"]);
    server.stop().await;
}

#[tokio::test]
async fn an_error_stops_the_rest_and_undoes_what_came_before() {
    let server = Server::start().await;
    let mut client = server.client().await;
    client.query("CREATE TABLE t (p text, r text, v int, PRIMARY KEY (p, r))").await;
    let messages =
        client.query("INSERT INTO t VALUES ('a', 'b', 1); SELECT 1/0; INSERT INTO t VALUES ('a', 'c', 1)").await;
    assert_eq!(error_code(&messages), "22012");
    assert!(tags(&messages).starts_with('C'), "{messages:?}");
    assert_eq!(messages.iter().filter(|message| message.tag == 'C').count(), 1);
    assert_eq!(column(&client.query("SELECT count(*) FROM t").await), ["0"]);
    let messages = client.query("INSERT INTO t VALUES ('a', 'b', 1); INSERT INTO t VALUES ('a', 'c', 2)").await;
    assert_eq!(tags(&messages).replace('N', ""), "CCZ");
    assert_eq!(column(&client.query("SELECT v FROM t ORDER BY r").await), ["1", "2"]);
    server.stop().await;
}

#[tokio::test]
async fn nothing_runs_when_the_text_does_not_parse() {
    let server = Server::start().await;
    let mut client = server.client().await;
    let messages = client.query("SELECT 1; SELEKT 2").await;
    assert_eq!(tags(&messages), "EZ");
    assert_eq!(error_code(&messages), "42601");
    assert_eq!(error(&messages).field('P').as_deref(), Some("11"));
    server.stop().await;
}

#[tokio::test]
async fn an_empty_text_has_its_own_answer() {
    let server = Server::start().await;
    let mut client = server.client().await;
    for text in ["", " ; ;", "-- nothing"] {
        assert_eq!(tags(&client.query(text).await), "IZ", "{text:?}");
    }
    server.stop().await;
}

#[tokio::test]
async fn text_that_is_not_utf8_is_refused() {
    let server = Server::start().await;
    let mut client = server.client().await;
    let messages = client.ask(&[message(b'Q', b"SELECT '\xff\xfe'\0")]).await;
    assert_eq!(error_code(&messages), "22021");
    assert_eq!(column(&client.query("SELECT 'é'").await), ["é"]);
    server.stop().await;
}

#[tokio::test]
async fn there_are_no_parameters() {
    let server = Server::start().await;
    let mut client = server.client().await;
    assert_eq!(error_code(&client.query("SELECT $1::int").await), "42P02");
    server.stop().await;
}

#[tokio::test]
async fn the_description_names_origins_types_sizes_and_modifiers() {
    let server = Server::start().await;
    let mut client = server.client().await;
    client.query("CREATE TABLE t (p text, r text, a int4, b varchar(5), c numeric(4,1), PRIMARY KEY (p, r))").await;
    let messages = client.query("SELECT a, b || '' AS d, b, c FROM t LIMIT 0").await;
    let table: u32 = column(&client.query("SELECT 't'::regclass::oid").await)[0].parse().unwrap();
    let table = table.to_be_bytes();
    let expected = [
        (b"a\0", table, [0, 3], [0, 0, 0, 23], [0, 4], [0xff; 4]),
        (b"d\0", [0; 4], [0, 0], [0, 0, 0, 25], [0xff, 0xff], [0xff; 4]),
        (b"b\0", table, [0, 4], [0, 0, 4, 19], [0xff, 0xff], [0, 0, 0, 9]),
        (b"c\0", table, [0, 5], [0, 0, 6, 164], [0xff, 0xff], [0, 4, 0, 5]),
    ];
    let mut body = vec![0, 4];
    for (name, table, attribute, oid, size, modifier) in expected {
        body.extend(name);
        body.extend(table);
        body.extend(attribute);
        body.extend(oid);
        body.extend(size);
        body.extend(modifier);
        body.extend([0, 0]);
    }
    assert_eq!(messages[0].body, body);
    server.stop().await;
}

#[tokio::test]
async fn notices_come_before_the_completion() {
    let server = Server::start().await;
    let mut client = server.client().await;
    let messages = client.query("DROP TABLE IF EXISTS no_such_table").await;
    assert_eq!(tags(&messages), "NCZ");
    assert_eq!((messages[0].field('S').unwrap().as_str(), messages[0].code().as_str()), ("NOTICE", "00000"));
    server.stop().await;
}

/// The SQLSTATEs of PostgreSQL 15.
#[tokio::test]
async fn notices_have_the_sqlstates_of_postgresql() {
    let server = Server::start().await;
    let mut client = server.client().await;
    client.query("CREATE TABLE t (p text PRIMARY KEY)").await;
    for (statement, code) in [
        ("CREATE TABLE IF NOT EXISTS t (p text PRIMARY KEY)", "42P07"),
        ("ALTER TABLE t ADD COLUMN IF NOT EXISTS p text", "42701"),
        ("DROP TABLE IF EXISTS nothing", "00000"),
        ("COMMIT", "25P01"),
        ("ROLLBACK", "25P01"),
        ("SET LOCAL timezone = 'UTC'", "25P01"),
        ("BEGIN; BEGIN", "25001"),
    ] {
        let messages = client.query(statement).await;
        let codes: Vec<String> = messages.iter().filter(|m| m.tag == 'N').map(|notice| notice.code()).collect();
        assert_eq!(codes, [code], "{statement}");
    }
    server.stop().await;
}
