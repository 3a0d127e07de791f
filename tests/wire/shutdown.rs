//! The end of the server.

use std::sync::Arc;
use std::time::Duration;

use tablegate::pg::PgConfig;
use tablegate::store::model::SystemClock;
use tokio::net::TcpStream;

use crate::wire::harness::{Server, column, endless_count, error_code, large_result, many_rows, message, query};

#[tokio::test]
async fn idle_connections_are_told_and_closed() {
    let server = Server::start().await;
    let mut idle = server.client().await;
    let mut in_block = server.client().await;
    in_block.query("BEGIN").await;
    let mut silent = server.socket().await;
    let mut half = server.client().await;
    half.write(&message(b'Q', b"SELECT 1\0")[..7]).await;
    let address = server.address;
    server.stop().await;
    for client in [&mut idle, &mut in_block, &mut half] {
        let error = client.read().await;
        assert_eq!((error.field('S').unwrap().as_str(), error.code().as_str()), ("FATAL", "57P01"));
        assert!(client.is_closed().await);
    }
    let _ = silent.try_read().await;
    assert!(TcpStream::connect(address).await.is_err());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_running_statement_is_finished() {
    let server = Server::start().await;
    let mut client = server.client().await;
    client.send(&[query(&format!("SELECT count(*) FROM {} WHERE c0 + c1 <> c2 + 100", many_rows(6)))]).await;
    server.until(client.pid, "query LIKE 'SELECT count%'").await;
    server.shutdown.cancel();
    let first = client.read().await;
    if first.tag == 'E' {
        // The server was asked to stop before it had read the statement.
        assert_eq!(first.code(), "57P01");
    } else {
        assert_eq!(column(&client.until_ready().await), ["1000000"]);
        assert_eq!(client.read().await.code(), "57P01");
    }
    server.ended().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_statement_that_does_not_finish_is_stopped() {
    let config = PgConfig { drain_timeout: Duration::from_millis(100), ..PgConfig::default() };
    let server = Server::start_with(config, Arc::new(SystemClock)).await;
    let mut client = server.client().await;
    let mut deaf = server.client().await;
    client.send(&[query(&endless_count())]).await;
    deaf.send(&[query(&large_result())]).await;
    server.until_active(client.pid).await;
    server.until_active(deaf.pid).await;
    server.stop().await;
    let mut messages = Vec::new();
    while let Some(message) = client.try_read().await {
        messages.push(message);
    }
    assert_eq!(error_code(&messages), "57P01");
}

#[tokio::test]
async fn a_server_nobody_uses_stops_at_once() {
    let config = PgConfig { drain_timeout: Duration::from_secs(3600), ..PgConfig::default() };
    Server::start_with(config, Arc::new(SystemClock)).await.stop().await;
}
