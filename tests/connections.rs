//! Many clients at once: what an idle one costs, that busy ones all get on, and what one too many is told.
//!
//! Run with `--nocapture` for the figures.
#![allow(clippy::print_stdout, reason = "figures for whoever asks for them")]

use std::sync::Arc;
use std::time::{Duration, Instant};

use tokio::task::JoinSet;
use tokio_postgres::{Client, Config, Error, NoTls};

use crate::support::PATIENCE;
use crate::support::server::Server;

const IDLE: usize = 200;
const BUSY: usize = 50;
/// Statements of each busy client.
const STATEMENTS: i32 = 40;
/// What an idle client may cost the server. A fresh one of a debug build was measured at 60 to 90 KiB.
const IDLE_BYTES: u64 = 512 * 1024;

async fn connect(server: &Server) -> Result<Client, Error> {
    let (client, connection) = Config::new().host("127.0.0.1").port(server.port).user("crowd").connect(NoTls).await?;
    tokio::spawn(connection);
    Ok(client)
}

/// Clients that have asked once and then say nothing.
async fn idle_clients(server: &Server, count: usize) -> Vec<Client> {
    let mut clients = Vec::with_capacity(count);
    for _ in 0..count {
        let client = connect(server).await.expect("there is a place");
        client.simple_query("SELECT 1").await.expect("it is answered");
        clients.push(client);
    }
    clients
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn idle_clients_are_cheap_and_busy_ones_all_get_on() {
    let server = Server::start(&["--max-connections", "250"]);
    let first = connect(&server).await.expect("it listens");
    first
        .batch_execute("CREATE TABLE visits (client int, n int, PRIMARY KEY (client, n))")
        .await
        .expect("the table is made");
    let before = server.resident_bytes();
    let idle = idle_clients(&server, IDLE - 1).await;
    let each = server.resident_bytes().saturating_sub(before) / u64::try_from(idle.len()).expect("it is few");
    println!("memory of an idle connection: {} KiB ({IDLE} of them)", each / 1024);
    assert!(each < IDLE_BYTES, "an idle connection takes {each} bytes");

    let began = Instant::now();
    let mut busy = JoinSet::new();
    for number in 0..BUSY {
        let client = Arc::new(connect(&server).await.expect("there is a place"));
        busy.spawn(async move {
            let number = i32::try_from(number).expect("it is few");
            let insert = client.prepare("INSERT INTO visits VALUES ($1, $2)").await?;
            let read = client.prepare("SELECT n FROM visits WHERE client = $1 AND n = $2").await?;
            for n in 0..STATEMENTS {
                client.execute(&insert, &[&number, &n]).await?;
                let found: i32 = client.query_one(&read, &[&number, &n]).await?.get(0);
                assert_eq!(found, n);
            }
            Ok::<_, Error>(began.elapsed())
        });
    }
    let ended = tokio::time::timeout(PATIENCE, busy.join_all()).await.expect("no client starves");
    let mut ended: Vec<Duration> = ended.into_iter().map(|end| end.expect("every statement works")).collect();
    ended.sort();
    let (earliest, latest) = (ended[0], ended[ended.len() - 1]);
    println!("{BUSY} busy clients beside them, {STATEMENTS} writes and reads each: {earliest:?} to {latest:?}");
    for client in idle.iter().step_by(20) {
        client.simple_query("SELECT 1").await.expect("an idle client is still there");
    }
    let rows = first.query_one("SELECT count(*) FROM visits", &[]).await.expect("it is answered");
    assert_eq!(rows.get::<_, i64>(0), i64::from(STATEMENTS) * i64::try_from(BUSY).expect("it is few"));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn one_client_too_many_is_told_so() {
    let server = Server::start(&["--max-connections", "200"]);
    let mut clients = idle_clients(&server, 200).await;
    let refused = connect(&server).await.expect_err("there is no place");
    assert_eq!(refused.code().expect("the server says why").code(), "53300");
    // A place that becomes free is given away again.
    drop(clients.pop());
    let began = Instant::now();
    while let Err(refused) = connect(&server).await {
        assert_eq!(refused.code().expect("the server says why").code(), "53300");
        assert!(began.elapsed() < PATIENCE, "the place of a client that left is not given away");
        tokio::task::yield_now().await;
    }
    clients[0].simple_query("SELECT 1").await.expect("the others stay");
}
