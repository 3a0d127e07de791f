//! What sessions show of themselves, and how others stop them.

use crate::wire::harness::{Server, column, endless_count, error_code, parse, query, status, sync, tags};

const STATES: &str = "SELECT usename || ': ' || state || ': ' || query FROM pg_stat_activity \
                      WHERE pid <> pg_backend_pid() ORDER BY pid";

#[tokio::test]
async fn sessions_are_seen_with_what_they_do() {
    let server = Server::start().await;
    let (mut seen, mut seeing) = (server.client().await, server.client().await);
    seen.query("SET application_name = 'worker'").await;
    seen.query("SELECT 1").await;
    assert_eq!(column(&seeing.query(STATES).await), ["u: idle: SELECT 1"]);
    seen.query("BEGIN").await;
    assert_eq!(column(&seeing.query(STATES).await), ["u: idle in transaction: BEGIN"]);
    assert_eq!(status(&seen.query("SELECT 1 / 0").await), 'E');
    assert_eq!(column(&seeing.query(STATES).await), ["u: idle in transaction (aborted): SELECT 1 / 0"]);
    seen.query("ROLLBACK").await;
    seen.ask(&[parse("s", "SELECT 2", &[]), sync()]).await;
    let facts = "SELECT application_name || ' ' || (client_port > 0) || ' ' || (backend_start <= query_start) || ' ' \
                 || (xact_start IS NULL) || ' ' || backend_type FROM pg_stat_activity WHERE query = 'SELECT 2'";
    assert_eq!(column(&seeing.query(facts).await), ["worker true true true client backend"]);
    let own = "SELECT state FROM pg_stat_activity WHERE pid = pg_backend_pid() AND xact_start = query_start";
    assert_eq!(column(&seeing.query(own).await), ["active"]);
    let prepared = "SELECT name || ': ' || statement || ' ' || from_sql FROM pg_prepared_statements ORDER BY 1";
    seen.query("PREPARE p (int) AS SELECT $1").await;
    let names = column(&seen.query(prepared).await);
    assert_eq!(names, ["p: PREPARE p (int) AS SELECT $1 true", "s: SELECT 2 false"]);
    drop(seen);
    while !column(&seeing.query(STATES).await).is_empty() {
        tokio::task::yield_now().await;
    }
    server.stop().await;
}

#[tokio::test]
async fn a_statement_of_another_session_is_canceled() {
    let server = Server::start().await;
    let (mut busy, mut other) = (server.client().await, server.client().await);
    let pid = column(&busy.query("SELECT pg_backend_pid()").await).remove(0);
    busy.write(&query(&endless_count())).await;
    let state = format!("SELECT state FROM pg_stat_activity WHERE pid = {pid}");
    while column(&other.query(&state).await) != ["active"] {
        tokio::task::yield_now().await;
    }
    assert_eq!(column(&other.query(&format!("SELECT pg_cancel_backend({pid})")).await), ["t"]);
    assert_eq!(error_code(&busy.until_ready().await), "57014");
    assert_eq!(column(&busy.query("SELECT 1").await), ["1"]);
    let messages = other.query("SELECT pg_cancel_backend(123456)").await;
    assert_eq!((tags(&messages).as_str(), column(&messages)), ("TDNCZ", vec!["f".to_owned()]));
    server.stop().await;
}

#[tokio::test]
async fn a_connection_is_ended_by_another_session() {
    let server = Server::start().await;
    let (mut victim, mut other) = (server.client().await, server.client().await);
    let pid = column(&victim.query("SELECT pg_backend_pid()").await).remove(0);
    assert_eq!(column(&other.query(&format!("SELECT pg_terminate_backend({pid})")).await), ["t"]);
    let last = victim.read().await;
    assert_eq!((last.field('S').unwrap().as_str(), last.code().as_str()), ("FATAL", "57P01"));
    assert!(victim.is_closed().await);
    assert_eq!(column(&other.query("SELECT 1").await), ["1"]);
    server.stop().await;
}
