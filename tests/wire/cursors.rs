//! Cursors and prepared statements of SQL, beside those of the protocol.

use crate::wire::harness::{Server, bind, column, describe, error_code, execute, large_result, parse, sync, tags};

#[tokio::test]
async fn a_cursor_takes_parameters() {
    let server = Server::start().await;
    let mut client = server.client().await;
    client.query("BEGIN").await;
    let sql = "DECLARE c CURSOR FOR SELECT x FROM generate_series(1, 5) AS g(x) WHERE x > $1::int ORDER BY x";
    let messages = client
        .ask(&[parse("", sql, &[]), bind("", "", &[Some("2")]), describe(b'P', ""), execute("", 0), sync()])
        .await;
    assert_eq!(tags(&messages), "12nCZ");
    let messages = client
        .ask(&[parse("", "FETCH 2 FROM c", &[]), describe(b'S', ""), bind("", "", &[]), execute("", 0), sync()])
        .await;
    assert_eq!(tags(&messages), "1tT2DDCZ");
    assert_eq!(column(&messages), ["3", "4"]);
    assert_eq!(column(&client.query("FETCH ALL FROM c").await), ["5"]);
    client.query("COMMIT").await;
    assert_eq!(error_code(&client.query("FETCH c").await), "34000");
    server.stop().await;
}

#[tokio::test]
async fn the_rows_of_a_binary_cursor_are_binary_in_the_simple_protocol_too() {
    let server = Server::start().await;
    let mut client = server.client().await;
    let messages = client.query("BEGIN; DECLARE c BINARY CURSOR FOR SELECT 258::int; FETCH c").await;
    let row = messages.iter().find(|message| message.tag == 'D').unwrap();
    assert_eq!(row.cells(), [Some(vec![0, 0, 1, 2])]);
    server.stop().await;
}

#[tokio::test]
async fn a_cursor_reads_no_more_than_it_is_asked_for() {
    let server = Server::start().await;
    let mut client = server.client().await;
    client.query("BEGIN").await;
    client.query(&format!("DECLARE c NO SCROLL CURSOR FOR {}", large_result())).await;
    assert_eq!(column(&client.query("FETCH 3 FROM c").await).len(), 3);
    client.query("CLOSE c").await;
    assert_eq!(column(&client.query("SELECT 1").await), ["1"]);
    server.stop().await;
}

#[tokio::test]
async fn sql_and_the_protocol_share_the_names_of_statements() {
    let server = Server::start().await;
    let mut client = server.client().await;
    client.ask(&[parse("p", "SELECT $1::int + 1", &[]), sync()]).await;
    assert_eq!(column(&client.query("EXECUTE p(41)").await), ["42"]);
    client.query("PREPARE s (text) AS SELECT upper($1)").await;
    let messages = client.ask(&[describe(b'S', "s"), bind("", "s", &[Some("x")]), execute("", 0), sync()]).await;
    assert_eq!((tags(&messages).as_str(), column(&messages)), ("tT2DCZ", vec!["X".to_owned()]));
    client.query("DEALLOCATE p").await;
    assert_eq!(error_code(&client.ask(&[bind("", "p", &[Some("1")]), sync()]).await), "26000");
    client.query("DISCARD ALL").await;
    assert_eq!(error_code(&client.query("EXECUTE s('x')").await), "26000");
    server.stop().await;
}

#[tokio::test]
async fn a_cursor_outlives_the_statements_that_it_was_sent_with() {
    let server = Server::start().await;
    let mut client = server.client().await;
    client.query("DECLARE c CURSOR WITH HOLD FOR SELECT generate_series(1, 3); FETCH 1 FROM c").await;
    assert_eq!(column(&client.query("FETCH 1 FROM c").await), ["2"]);
    let declare = parse("", "DECLARE d CURSOR WITH HOLD FOR SELECT generate_series(1, 3)", &[]);
    let fetch = parse("", "FETCH 1 FROM d", &[]);
    let run = || [bind("", "", &[]), execute("", 0)].concat();
    client.ask(&[declare, run(), fetch, run(), sync()]).await;
    assert_eq!(column(&client.query("FETCH ALL FROM d").await), ["2", "3"]);
    // What it cannot read to its end is told, and it is gone.
    let refused =
        client.query("DECLARE e CURSOR WITH HOLD FOR SELECT 1 / (2 - g) FROM generate_series(1, 3) g; SELECT 1").await;
    assert_eq!(error_code(&refused), "22012");
    assert_eq!(error_code(&client.query("FETCH 1 FROM e").await), "34000");
    server.stop().await;
}
