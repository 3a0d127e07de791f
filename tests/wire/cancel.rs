//! Stopping statements: cancel requests, timeouts, clients that leave or do not read.

use std::time::Duration;

use crate::wire::harness::{
    PATIENCE, Server, bind, column, endless_count, error, error_code, execute, flush, large_result, many_rows, parse,
    pid_of, query, status, sync,
};

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_cancel_request_stops_the_running_statement() {
    let server = Server::start().await;
    let mut client = server.client().await;
    client.send(&[query(&endless_count())]).await;
    let (pid, secret) = (client.pid, client.secret);
    server.until_active(pid).await;
    server.cancel(pid, secret.wrapping_add(1)).await;
    server.cancel(pid.wrapping_add(1), secret).await;
    server.cancel(pid, secret).await;
    let messages = client.until_ready().await;
    assert_eq!((error_code(&messages).as_str(), status(&messages)), ("57014", 'I'));
    assert_eq!(error(&messages).field('M').unwrap(), "canceling statement due to user request");
    // A request that comes when nothing runs does not hit what comes next.
    server.cancel(pid, secret).await;
    assert_eq!(column(&client.query("SELECT 1").await), ["1"]);
    server.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_statement_that_only_computes_can_be_stopped() {
    let server = Server::start().await;
    let mut client = server.client().await;
    client.query("SET statement_timeout = '200ms'").await;
    let condition = "c0 + c1 + c2 + c3 <> c4 + c5 + c6 + c7 + 1";
    let messages = client.query(&format!("SELECT count(*) FROM {} WHERE {condition}", many_rows(12))).await;
    assert_eq!(error_code(&messages), "57014");
    server.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_statement_has_its_time_and_no_more() {
    let server = Server::start().await;
    let mut client = server.client().await;
    client.query("SET statement_timeout = '100ms'").await;
    let messages = client.query(&endless_count()).await;
    assert_eq!(error_code(&messages), "57014");
    assert_eq!(error(&messages).field('M').unwrap(), "canceling statement due to statement timeout");
    let messages = client.ask(&[parse("", &endless_count(), &[]), bind("", "", &[]), execute("", 0), sync()]).await;
    assert_eq!(error_code(&messages), "57014");
    // Each statement has it anew, and time between statements does not count.
    let mut patient = server.client().await;
    patient.query("SET statement_timeout = '3s'").await;
    tokio::time::sleep(Duration::from_millis(3200)).await;
    assert_eq!(column(&patient.query("SELECT 1").await), ["1"]);
    server.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_cancelled_statement_fails_its_block() {
    let server = Server::start().await;
    let mut client = server.client().await;
    client.query("BEGIN").await;
    client.query("SET LOCAL statement_timeout = '50ms'").await;
    assert_eq!(status(&client.query(&endless_count()).await), 'E');
    assert_eq!(status(&client.query("ROLLBACK").await), 'I');
    server.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn rows_nobody_reads_can_be_cancelled() {
    let server = Server::start().await;
    let mut client = server.client().await;
    client.send(&[query(&large_result())]).await;
    while client.read().await.tag != 'D' {}
    // Long enough to fill every buffer between the two.
    tokio::time::sleep(Duration::from_millis(500)).await;
    server.cancel(client.pid, client.secret).await;
    let mut rows = 0_u64;
    let error = loop {
        let message = client.read().await;
        match message.tag {
            'T' => {}
            'D' => rows += 1,
            _ => break message,
        }
    };
    assert!(rows < 10_000, "{rows}");
    assert_eq!(error.code(), "57014");
    assert_eq!(client.read().await.tag, 'Z');
    assert_eq!(column(&client.query("SELECT 1").await), ["1"]);
    server.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_suspended_portal_is_not_running() {
    let server = Server::start().await;
    let mut client = server.client().await;
    client.send(&[parse("", &large_result(), &[]), bind("", "", &[])]).await;
    client.send(&[execute("", 1), flush()]).await;
    for expected in ['1', '2', 'D', 's'] {
        assert_eq!(client.read().await.tag, expected);
    }
    server.cancel(client.pid, client.secret).await;
    client.send(&[execute("", 1), flush()]).await;
    assert_eq!(client.read().await.tag, 'D');
    server.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_statement_stops_when_its_client_leaves() {
    let config = tablegate::pg::PgConfig { drain_timeout: PATIENCE * 2, ..Default::default() };
    let server = Server::start_with(config, std::sync::Arc::new(tablegate::store::model::SystemClock)).await;
    let mut client = server.client().await;
    client.send(&[query(&endless_count())]).await;
    server.until_active(client.pid).await;
    drop(client);
    // A statement that went on would keep the server from stopping.
    server.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn drivers_cancel_too() {
    let server = Server::start().await;
    let client = server.driver().await;
    let (token, pid) = (client.cancel_token(), pid_of(&client).await);
    let running = tokio::spawn(async move { client.simple_query(&endless_count()).await.map(|_| ()) });
    server.until_active(pid).await;
    token.cancel_query(tokio_postgres::NoTls).await.unwrap();
    let error = running.await.unwrap().unwrap_err();
    assert_eq!(error.code().unwrap().code(), "57014");
    server.stop().await;
}

/// It commits window after window, until it waits for a row that somebody else has: the next one is not begun.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_change_of_many_rows_hears_a_cancel_request() {
    const ROWS: i64 = 50_000;
    let server = Server::start().await;
    let driver = server.driver().await;
    driver.batch_execute("CREATE TABLE many (id int PRIMARY KEY, n int)").await.unwrap();
    let load = format!("INSERT INTO many SELECT i, 0 FROM generate_series(1, {ROWS}) i");
    driver.batch_execute(&load).await.unwrap();
    let mut holder = server.driver().await;
    let block = holder.transaction().await.unwrap();
    block.query("SELECT FROM many WHERE id = $1 FOR UPDATE", &[&(i32::try_from(ROWS).unwrap() - 9)]).await.unwrap();
    let updated = "SELECT count(*) FROM many WHERE n = 1";
    let deleted = "SELECT 50000 - count(*) FROM many";
    for (statement, done) in [("UPDATE many SET n = 1", updated), ("DELETE FROM many", deleted)] {
        let mut client = server.client().await;
        client.send(&[query(statement)]).await;
        server.until_waiting(client.pid).await;
        server.cancel(client.pid, client.secret).await;
        let messages = tokio::time::timeout(PATIENCE, client.until_ready()).await.expect("it ends");
        assert_eq!(error_code(&messages), "57014");
        let rows: i64 = driver.query_one(done, &[]).await.unwrap().get(0);
        assert!((1..ROWS).contains(&rows), "{statement}: {rows} rows are done");
        // It says of how many it knows.
        let detail = error(&messages).field('D').expect("it says what is written");
        let (_, known) =
            detail.split_once("at least ").and_then(|(_, rest)| rest.split_once(" of them with ")).unwrap();
        let known: i64 = known.split(' ').next().unwrap().parse().unwrap();
        assert!((1..=rows).contains(&known), "{statement}: {rows} rows are done: {detail}");
    }
    block.rollback().await.unwrap();
    let left = driver.execute("DELETE FROM many", &[]).await.unwrap();
    assert!(left >= 10, "nobody has them locked any more, and {left} were left");
    server.stop().await;
}
