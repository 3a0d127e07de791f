//! Greeting, refusing, negotiating.

use std::sync::Arc;
use std::time::Duration;

use tablegate::model::SystemClock;
use tablegate::pg::PgConfig;
use tokio::io::AsyncReadExt;

use crate::harness::{Server, VERSION_3_0, column, startup, status, tags};

#[tokio::test]
async fn a_client_is_greeted() {
    let server = Server::start().await;
    let messages = server.socket().await.start(&[("user", "alice"), ("application_name", "test")]).await;
    let parameters: Vec<String> = messages
        .iter()
        .filter(|message| message.tag == 'S')
        .map(|message| String::from_utf8_lossy(&message.body).replace('\0', "=").trim_end_matches('=').to_owned())
        .collect();
    for expected in
        ["client_encoding=UTF8", "session_authorization=alice", "application_name=test", "integer_datetimes=on"]
    {
        assert!(parameters.iter().any(|parameter| parameter == expected), "{expected} in {parameters:?}");
    }
    assert!(parameters.iter().any(|parameter| parameter.starts_with("server_version=15.")));
    let tags = tags(&messages);
    assert!(tags.starts_with('R') && tags.ends_with("KZ"), "{tags}");
    assert_eq!(messages[0].body, [0; 4]);
    assert_eq!(status(&messages), 'I');
    server.stop().await;
}

#[tokio::test]
async fn encryption_is_refused_and_the_client_may_go_on_without() {
    let server = Server::start().await;
    let mut client = server.socket().await;
    for code in [80_877_103_u32, 80_877_104] {
        client.write(&[8_u32.to_be_bytes(), code.to_be_bytes()].concat()).await;
        assert_eq!(client.stream.read_u8().await.unwrap(), b'N');
    }
    client.start(&[("user", "u")]).await;
    assert_eq!(column(&client.query("SELECT 1").await), ["1"]);
    server.stop().await;
}

#[tokio::test]
async fn settings_of_the_startup_packet_are_in_force() {
    let server = Server::start().await;
    let mut client = server.socket().await;
    client.start(&[("user", "u"), ("options", "-c statement_timeout=12s --extra_float_digits=2")]).await;
    assert_eq!(column(&client.query("SHOW statement_timeout").await), ["12s"]);
    assert_eq!(column(&client.query("SHOW extra_float_digits").await), ["2"]);
    server.stop().await;
}

async fn refusal(server: &Server, packet: Vec<u8>) -> (String, String) {
    let mut client = server.socket().await;
    client.write(&packet).await;
    let error = client.read().await;
    assert!(client.is_closed().await);
    (error.field('S').unwrap(), error.code())
}

#[tokio::test]
async fn a_startup_that_cannot_be_served_is_fatal() {
    let server = Server::start().await;
    let fatal = |code: &str| ("FATAL".to_owned(), code.to_owned());
    assert_eq!(refusal(&server, startup(VERSION_3_0, &[("database", "d")])).await, fatal("28000"));
    assert_eq!(refusal(&server, startup(VERSION_3_0, &[("user", "u"), ("no_such", "1")])).await, fatal("42704"));
    let encoding = [("user", "u"), ("client_encoding", "LATIN1")];
    assert_eq!(refusal(&server, startup(VERSION_3_0, &encoding)).await, fatal("0A000"));
    assert_eq!(refusal(&server, startup(2 << 16, &[("user", "u")])).await, fatal("0A000"));
    assert_eq!(refusal(&server, startup(VERSION_3_0, &[("user", "u"), ("replication", "1")])).await, fatal("0A000"));
    assert_eq!(refusal(&server, startup(VERSION_3_0, &[("user", "u"), ("options", "-z")])).await, fatal("42601"));
    server.client().await;
    server.stop().await;
}

#[tokio::test]
async fn a_newer_protocol_is_negotiated_down() {
    let server = Server::start().await;
    let mut client = server.socket().await;
    client.write(&startup(VERSION_3_0 + 2, &[("user", "u"), ("_pq_.feature", "on")])).await;
    let messages = client.until_ready().await;
    assert_eq!(messages[0].tag, 'v');
    assert_eq!(messages[0].body[..4], VERSION_3_0.to_be_bytes());
    assert_eq!(messages[0].body[8..], *b"_pq_.feature\0");
    server.stop().await;
}

#[tokio::test]
async fn a_length_that_cannot_be_is_refused_at_once() {
    let server = Server::start().await;
    for length in [0_u32, 3, 7, 10_001, 0x7fff_ffff, 0x8000_0000, 0xffff_ffff] {
        let mut client = server.socket().await;
        client.write(&length.to_be_bytes()).await;
        assert!(client.is_closed().await, "{length}");
    }
    // A TLS client that does not ask first.
    let mut client = server.socket().await;
    client.write(&[0x16, 3, 1, 2, 0, 1, 0, 1, 0xfc, 3, 3]).await;
    assert!(client.is_closed().await);
    server.stop().await;
}

#[tokio::test]
async fn one_client_too_many_is_told_so() {
    let config = PgConfig { max_connections: 2, ..PgConfig::default() };
    let server = Server::start_with(config, Arc::new(SystemClock)).await;
    let one = server.client().await;
    let _two = server.client().await;
    let refused = refusal(&server, startup(VERSION_3_0, &[("user", "u")])).await;
    assert_eq!(refused, ("FATAL".to_owned(), "53300".to_owned()));
    drop(one);
    // Its place is free when the server has seen it leave.
    loop {
        let mut client = server.socket().await;
        client.write(&startup(VERSION_3_0, &[("user", "u")])).await;
        if client.read().await.tag == 'R' {
            break;
        }
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    server.stop().await;
}

#[tokio::test]
async fn a_client_that_says_nothing_is_dropped() {
    let config = PgConfig { startup_timeout: Duration::from_millis(50), ..PgConfig::default() };
    let server = Server::start_with(config, Arc::new(SystemClock)).await;
    assert!(server.socket().await.is_closed().await);
    let mut half = server.socket().await;
    half.write(&startup(VERSION_3_0, &[("user", "u")])[..10]).await;
    assert!(half.is_closed().await);
    server.stop().await;
}
