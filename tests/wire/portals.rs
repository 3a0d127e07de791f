//! Portals: rows in portions, and how long portals live.

use crate::wire::harness::{
    Server, bind, close, column, describe, error_code, execute, flush, large_result, parse, sync, tags,
};

#[tokio::test]
async fn rows_come_in_the_portions_asked_for() {
    let server = Server::start().await;
    let mut client = server.client().await;
    let sql = "SELECT x FROM (VALUES (1),(2),(3),(4),(5)) v(x) ORDER BY x";
    let messages = client
        .ask(&[
            parse("", sql, &[]),
            bind("p", "", &[]),
            execute("p", 2),
            execute("p", 2),
            execute("p", 2),
            execute("p", 2),
            sync(),
        ])
        .await;
    assert_eq!(tags(&messages), "12DDsDDsDCCZ");
    assert_eq!(column(&messages), ["1", "2", "3", "4", "5"]);
    let completions: Vec<String> = messages.iter().filter(|m| m.tag == 'C').map(|m| m.text()).collect();
    assert_eq!(completions, ["SELECT 1", "SELECT 0"]);
    server.stop().await;
}

#[tokio::test]
async fn portals_interleave_inside_a_transaction() {
    let server = Server::start().await;
    let mut client = server.client().await;
    client.query("BEGIN").await;
    client
        .ask(&[
            parse("s", "SELECT x + $1::int FROM (VALUES (1),(2),(3)) v(x) ORDER BY 1", &[]),
            bind("a", "s", &[Some("0")]),
            bind("b", "s", &[Some("10")]),
            sync(),
        ])
        .await;
    let mut got = Vec::new();
    for portal in ["a", "b", "b", "a"] {
        got.extend(column(&client.ask(&[execute(portal, 1), sync()]).await));
    }
    assert_eq!(got, ["1", "11", "12", "2"]);
    let twice = client.ask(&[bind("a", "s", &[Some("0")]), sync()]).await;
    assert_eq!(error_code(&twice), "42P03");
    client.query("ROLLBACK").await;
    assert_eq!(error_code(&client.ask(&[execute("b", 1), sync()]).await), "34000");
    server.stop().await;
}

#[tokio::test]
async fn a_portal_ends_with_its_transaction_or_its_close() {
    let server = Server::start().await;
    let mut client = server.client().await;
    client.ask(&[parse("s", "SELECT 1", &[]), bind("p", "s", &[]), sync()]).await;
    assert_eq!(error_code(&client.ask(&[execute("p", 0), sync()]).await), "34000");
    let messages = client.ask(&[bind("p", "s", &[]), close(b'P', "p"), execute("p", 0), sync()]).await;
    assert_eq!((tags(&messages).as_str(), error_code(&messages).as_str()), ("23EZ", "34000"));
    server.stop().await;
}

#[tokio::test]
async fn a_command_runs_once() {
    let server = Server::start().await;
    let mut client = server.client().await;
    let messages = client
        .ask(&[parse("", "SET application_name = 'x'", &[]), bind("", "", &[]), execute("", 0), execute("", 0), sync()])
        .await;
    assert_eq!(error_code(&messages), "55000");
    server.stop().await;
}

#[tokio::test]
async fn rows_that_are_not_asked_for_are_not_sent() {
    let server = Server::start().await;
    let mut client = server.client().await;
    client.send(&[parse("", &large_result(), &[]), bind("", "", &[]), execute("", 3), flush()]).await;
    for expected in ['1', '2', 'D', 'D', 'D', 's'] {
        assert_eq!(client.read().await.tag, expected);
    }
    // The rest of it is dropped with the portal.
    client.ask(&[sync()]).await;
    assert_eq!(column(&client.query("SELECT 1").await), ["1"]);
    server.stop().await;
}

#[tokio::test]
async fn a_portal_with_a_name_is_a_cursor_to_statements() {
    let server = Server::start().await;
    let mut client = server.client().await;
    client.query("BEGIN").await;
    let sql = "SELECT x FROM (VALUES (1),(2),(3),(4)) v(x) ORDER BY x";
    client.ask(&[parse("", sql, &[]), bind("p", "", &[]), sync()]).await;
    client.query("MOVE FORWARD 1 FROM p").await;
    assert_eq!(column(&client.ask(&[execute("p", 2), sync()]).await), ["2", "3"]);
    assert_eq!(column(&client.query("FETCH ALL FROM p").await), ["4"]);
    client.query("CLOSE p").await;
    assert_eq!(error_code(&client.ask(&[execute("p", 0), sync()]).await), "34000");
    server.stop().await;
}

#[tokio::test]
async fn a_cursor_is_a_portal_to_the_protocol() {
    let server = Server::start().await;
    let mut client = server.client().await;
    client.query("BEGIN").await;
    client.query("DECLARE c CURSOR FOR SELECT x FROM (VALUES (1),(2),(3)) v(x) ORDER BY x").await;
    assert_eq!(tags(&client.ask(&[describe(b'P', "c"), sync()]).await), "TZ");
    let messages = client.ask(&[execute("c", 2), execute("c", 2), sync()]).await;
    assert_eq!((tags(&messages).as_str(), column(&messages)), ("DDsDCZ", vec!["1".into(), "2".into(), "3".into()]));
    client.ask(&[close(b'P', "c"), sync()]).await;
    assert_eq!(error_code(&client.query("FETCH 1 FROM c").await), "34000");
    server.stop().await;
}
