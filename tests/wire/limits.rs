//! What is counted and timed: sessions of a user, time to log in, time of silence.

use std::time::Duration;

use tablegate::pg::{Method, PgConfig};

use crate::wire::harness::{Client, Message, VERSION_3_0, column, error, error_code, query, startup, tags};
use crate::wire::logins::{Door, serve};

/// The FATAL that ends the connection.
async fn last_words(client: &mut Client) -> Message {
    let error = client.read().await;
    assert_eq!(error.field('S').as_deref(), Some("FATAL"));
    assert!(client.is_closed().await);
    error
}

#[tokio::test]
async fn one_user_does_not_take_all_places() {
    let server = serve(PgConfig { max_connections_per_user: Some(1), ..PgConfig::default() }).await;
    let first = server.client().await;
    let mut second = server.socket().await;
    second.write(&startup(VERSION_3_0, &[("user", "u")])).await;
    let error = last_words(&mut second).await;
    assert_eq!(
        (error.code().as_str(), error.field('M').unwrap().as_str()),
        ("53300", "too many connections for role \"u\"")
    );
    let mut other = server.socket().await;
    other.start(&[("user", "v")]).await;
    drop(first);
    // Its place is free when the server has seen it leave.
    loop {
        let mut again = server.socket().await;
        again.write(&startup(VERSION_3_0, &[("user", "u")])).await;
        if again.read().await.tag == 'R' {
            break;
        }
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    server.stop().await;
}

#[tokio::test]
async fn a_password_is_not_waited_for_for_ever() {
    let door = Door::with_users();
    let config = PgConfig { startup_timeout: Duration::from_millis(500), ..door.config(Method::Scram) };
    let server = serve(config).await;
    let mut client = server.socket().await;
    client.write(&startup(VERSION_3_0, &[("user", "ann")])).await;
    // It is asked for, unless the machine is so busy that the time is over before.
    while client.try_read().await.is_some_and(|asked| asked.tag == 'R') {}
    assert!(client.is_closed().await);
    server.stop().await;
}

#[tokio::test]
async fn a_silent_client_is_sent_away() {
    let server = serve(PgConfig::default()).await;
    let mut idle = server.client().await;
    idle.query("SET idle_session_timeout = '50ms'").await;
    let error = last_words(&mut idle).await;
    assert_eq!(error.code(), "57P05");
    assert_eq!(error.field('M').unwrap(), "terminating connection due to idle-session timeout");
    server.stop().await;
}

#[tokio::test]
async fn waiting_for_a_lock_is_not_silence() {
    let server = serve(PgConfig::default()).await;
    let mut other = server.client().await;
    other.query("CREATE TABLE t (p text, r text, n int, PRIMARY KEY (p, r)); INSERT INTO t VALUES ('a', 'b', 1)").await;
    other.query("BEGIN; UPDATE t SET n = 2").await;
    let mut client = server.client().await;
    let update = "SET idle_session_timeout = '100ms'; UPDATE t SET n = n + 10; SET idle_session_timeout = 0";
    client.send(&[query(update)]).await;
    server.until_waiting(client.pid).await;
    tokio::time::sleep(Duration::from_millis(500)).await;
    other.query("COMMIT").await;
    assert_eq!(tags(&client.until_ready().await), "CCCZ");
    assert_eq!(column(&client.query("SELECT n FROM t").await), ["12"]);
    server.stop().await;
}

#[tokio::test]
async fn a_silent_client_does_not_keep_its_locks() {
    let server = serve(PgConfig::default()).await;
    let mut other = server.client().await;
    other.query("CREATE TABLE t (p text, r text, n int, PRIMARY KEY (p, r)); INSERT INTO t VALUES ('a', 'b', 1)").await;
    let mut idle = server.client().await;
    // Outside a block it may be silent.
    idle.query("SET idle_in_transaction_session_timeout = '100ms'").await;
    tokio::time::sleep(Duration::from_millis(150)).await;
    idle.query("BEGIN; UPDATE t SET n = 2").await;
    assert_eq!(tags(&other.query("UPDATE t SET n = n + 10").await), "CZ", "it waits until the other is gone");
    assert_eq!(column(&other.query("SELECT n FROM t").await), ["11"]);
    let error = last_words(&mut idle).await;
    assert_eq!(error.code(), "25P03");
    assert_eq!(error.field('M').unwrap(), "terminating connection due to idle-in-transaction timeout");
    let mut failed = server.client().await;
    failed.query("SET idle_in_transaction_session_timeout = '50ms'").await;
    failed.query("BEGIN; SELECT nothing").await;
    assert_eq!(last_words(&mut failed).await.code(), "25P03");
    server.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_text_of_many_pieces_is_refused_before_it_is_read() {
    let server = serve(PgConfig::default()).await;
    let mut client = server.client().await;
    let many = 2 << 20;
    for text in [";".repeat(2 * many), " ".repeat(3 * many), format!("SELECT 1 IN ({}1)", "1,".repeat(many))] {
        let messages = client.query(&text).await;
        assert_eq!(error_code(&messages), "53200");
        let hint = error(&messages).field('H').unwrap();
        assert!(hint.contains("COPY") && hint.contains("--query-memory"), "{hint}");
    }
    // Nothing of it is left, and a long text is not many pieces.
    let long = format!("SELECT length('{}')", "x".repeat(many));
    assert_eq!(column(&client.query(&long).await), [many.to_string()]);
    server.stop().await;
}

#[tokio::test]
async fn messages_that_do_not_end_share_what_there_is() {
    const MIB: usize = 1 << 20;
    let config = PgConfig { message_memory: 8 * MIB, ..PgConfig::default() };
    let counters = config.counters.clone();
    let server = serve(config).await;
    // A message that promises more than there comes of it, and it is read before the next one.
    let send_half = async |client: &mut Client, bytes: usize| {
        let mut half = [&b"Q"[..], &(32_i32 << 20).to_be_bytes()].concat();
        half.resize(bytes, b' ');
        let before = counters.bytes_received.get();
        client.write(&half).await;
        while counters.bytes_received.get() < before + half.len() as u64 {
            tokio::task::yield_now().await;
        }
    };
    let (mut first, mut second) = (server.client().await, server.client().await);
    send_half(&mut first, 5 * MIB).await;
    send_half(&mut second, 3 * MIB).await;
    second.write(b" ").await;
    assert_eq!(last_words(&mut second).await.code(), "53200");
    let mut other = server.client().await;
    assert_eq!(column(&other.query("SELECT 1").await), ["1"]);
    drop(first);
    server.stop().await;
}
