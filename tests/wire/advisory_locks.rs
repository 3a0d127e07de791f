//! Advisory locks between connections.

use crate::wire::harness::{Client, Server, column, error, error_code, query, tags};

async fn truth(client: &mut Client, sql: &str) -> bool {
    column(&client.query(sql).await) == ["t"]
}

#[tokio::test]
async fn a_lock_is_waited_for_until_it_is_given_back() {
    let server = Server::start().await;
    let (mut one, mut other) = (server.client().await, server.client().await);
    assert_eq!(column(&one.query("SELECT pg_advisory_lock(42)").await), [""]);
    assert!(!truth(&mut other, "SELECT pg_try_advisory_lock(42)").await);
    assert!(truth(&mut other, "SELECT pg_try_advisory_lock(0, 42)").await);
    other.write(&query("SELECT pg_advisory_lock(42)")).await;
    let waits = "SELECT wait_event FROM pg_stat_activity WHERE wait_event_type = 'Lock'";
    while column(&one.query(waits).await) != ["advisory"] {
        tokio::task::yield_now().await;
    }
    let locks = "SELECT classid, objid, objsubid, mode, granted FROM pg_locks WHERE locktype = 'advisory' ORDER BY objsubid, granted DESC";
    let rows: Vec<String> =
        one.query(locks).await.iter().filter(|m| m.tag == 'D').map(|m| m.texts().join(" ")).collect();
    assert_eq!(rows, ["0 42 1 ExclusiveLock t", "0 42 1 ExclusiveLock f", "0 42 2 ExclusiveLock t"]);
    let blocked =
        "SELECT pg_blocking_pids(pid) = ARRAY[pg_backend_pid()] FROM pg_stat_activity WHERE wait_event = 'advisory'";
    assert!(truth(&mut one, blocked).await);
    assert!(truth(&mut one, "SELECT pg_advisory_unlock(42)").await);
    assert_eq!(tags(&other.until_ready().await), "TDCZ");
    let messages = one.query("SELECT pg_advisory_unlock(42)").await;
    assert_eq!((tags(&messages).as_str(), column(&messages)), ("TDNCZ", vec!["f".to_owned()]));
    drop(other);
    // A session gives back what it held when it ends.
    while !truth(&mut one, "SELECT pg_try_advisory_lock(42)").await {
        tokio::task::yield_now().await;
    }
    server.stop().await;
}

#[tokio::test]
async fn locks_of_a_transaction_end_with_it() {
    let server = Server::start().await;
    let (mut one, mut other) = (server.client().await, server.client().await);
    one.query("BEGIN").await;
    one.query("SELECT pg_advisory_xact_lock(1), pg_advisory_xact_lock_shared(2)").await;
    one.query("SAVEPOINT s").await;
    one.query("SELECT pg_advisory_xact_lock(3)").await;
    one.query("ROLLBACK TO s").await;
    let tries = "SELECT pg_try_advisory_lock(1)::text || pg_try_advisory_lock_shared(2) || pg_try_advisory_lock(2) || pg_try_advisory_lock(3)";
    assert_eq!(column(&other.query(tries).await), ["falsetruefalsetrue"]);
    one.query("COMMIT").await;
    assert_eq!(column(&other.query(tries).await), ["truetruetruetrue"]);
    other.query("DISCARD ALL").await;
    assert_eq!(column(&one.query(tries).await), ["truetruetruetrue"]);
    server.stop().await;
}

#[tokio::test]
async fn a_wait_has_its_time_and_a_circle_is_found() {
    let server = Server::start().await;
    let (mut one, mut other) = (server.client().await, server.client().await);
    one.query("CREATE TABLE t (\"PartitionKey\" text, \"RowKey\" text, n int); INSERT INTO t VALUES ('p', '1', 0)")
        .await;
    one.query("SELECT pg_advisory_lock(1)").await;
    other.query("SET lock_timeout = '20ms'").await;
    assert_eq!(error_code(&other.query("SELECT pg_advisory_lock(1)").await), "55P03");
    other.query("RESET lock_timeout").await;
    // One waits for the row, the other for the number.
    other.query("BEGIN").await;
    other.query("UPDATE t SET n = 1").await;
    one.write(&query("UPDATE t SET n = 2")).await;
    let waits = "SELECT wait_event FROM pg_stat_activity WHERE wait_event_type = 'Lock'";
    while column(&other.query(waits).await) != ["tuple"] {
        tokio::task::yield_now().await;
    }
    let messages = other.query("SELECT pg_advisory_xact_lock(1)").await;
    assert_eq!(error(&messages).code(), "40P01");
    other.query("ROLLBACK").await;
    assert_eq!(tags(&one.until_ready().await), "CZ");
    server.stop().await;
}
