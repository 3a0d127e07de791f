//! Bytes that are not the protocol cost their sender its statement or its connection, and nobody else anything.

use crate::wire::harness::{Server, VERSION_3_0, column, error_code, message, query, startup, status, sync, tags};

#[tokio::test]
async fn a_stream_that_cannot_be_followed_ends_with_an_error() {
    let server = Server::start().await;
    let mut witness = server.client().await;
    for bytes in [
        &[b'?', 0, 0, 0, 4][..],
        b"p\0\0\0\x05x",
        b"Q\0\0\0\x03",
        b"Q\xff\xff\xff\xff",
        b"Q\x7f\xff\xff\xff",
        b"S\0\x10\0\0",
        b"GET / HTTP/1.1\r\n",
        &[0; 32],
    ] {
        let mut client = server.client().await;
        client.write(bytes).await;
        let error = client.read().await;
        assert_eq!((error.field('S').unwrap().as_str(), error.code().as_str()), ("FATAL", "08P01"), "{bytes:?}");
        assert!(client.is_closed().await);
        assert_eq!(column(&witness.query("SELECT 1").await), ["1"]);
    }
    server.stop().await;
}

#[tokio::test]
async fn a_broken_body_costs_only_its_message() {
    let server = Server::start().await;
    let mut client = server.client().await;
    let messages = client.ask(&[message(b'Q', b"SELECT 1")]).await;
    assert_eq!((tags(&messages).as_str(), error_code(&messages).as_str()), ("EZ", "08P01"));
    for (tag, body) in [
        (b'P', &b"\0SELECT 1\0\0\x05"[..]),
        (b'P', b"no end"),
        (b'B', b"\0\0\xff\xff"),
        (b'B', b"\0\0\0\0\0\x01\x7f\xff\xff\xff"),
        (b'B', b"\0\0\0\0\0\x01\xff\xff\xff\xf0\0\0"),
        (b'E', b"\0"),
        (b'D', b""),
        (b'C', b"S"),
    ] {
        let messages = client.ask(&[message(tag, body), sync()]).await;
        assert_eq!((tags(&messages).as_str(), error_code(&messages).as_str()), ("EZ", "08P01"), "{body:?}");
        assert_eq!(status(&messages), 'I');
    }
    assert_eq!(column(&client.query("SELECT 1").await), ["1"]);
    server.stop().await;
}

#[tokio::test]
async fn half_a_message_holds_up_nobody() {
    let server = Server::start().await;
    let mut half = server.client().await;
    let sent = query("SELECT 1");
    half.write(&sent[..sent.len() / 2]).await;
    let mut other = server.client().await;
    assert_eq!(column(&other.query("SELECT 2").await), ["2"]);
    half.write(&sent[sent.len() / 2..]).await;
    assert_eq!(column(&half.until_ready().await), ["1"]);
    // A large message is promised and never comes.
    half.write(b"Q\x03\xff\xff\xff").await;
    assert_eq!(column(&other.query("SELECT 2").await), ["2"]);
    server.stop().await;
}

#[tokio::test]
async fn messages_may_come_byte_by_byte() {
    let server = Server::start().await;
    let mut client = server.socket().await;
    for byte in startup(VERSION_3_0, &[("user", "u")]) {
        client.write(&[byte]).await;
        tokio::task::yield_now().await;
    }
    client.until_ready().await;
    for byte in [query("SELECT 1"), query("SELECT 2")].concat() {
        client.write(&[byte]).await;
        tokio::task::yield_now().await;
    }
    assert_eq!(column(&client.until_ready().await), ["1"]);
    assert_eq!(column(&client.until_ready().await), ["2"]);
    server.stop().await;
}

#[tokio::test]
async fn copy_data_without_a_copy_is_dropped() {
    let server = Server::start().await;
    let mut client = server.client().await;
    let data = vec![b'x'; 300_000];
    client.send(&[message(b'd', &data), message(b'c', b""), message(b'f', b"no\0"), message(b'd', b"")]).await;
    assert_eq!(tags(&client.query("SELECT 1").await), "TDCZ");
    server.stop().await;
}

#[tokio::test]
async fn a_long_statement_is_taken() {
    let server = Server::start().await;
    let mut client = server.client().await;
    let text = "x".repeat(1 << 20);
    let messages = client.query(&format!("SELECT '{text}'")).await;
    assert_eq!(column(&messages)[0].len(), text.len());
    server.stop().await;
}

#[tokio::test]
async fn terminate_closes_the_connection() {
    let server = Server::start().await;
    let mut client = server.client().await;
    client.send(&[message(b'X', b"")]).await;
    assert!(client.is_closed().await);
    server.stop().await;
}
