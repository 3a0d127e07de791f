//! What the server heeds while it runs: signals, and that its log cannot be written.

use std::io::{BufRead, BufReader};
use std::process::Stdio;
use std::time::Instant;

use tokio_postgres::{Client, Config, Error, NoTls};

use crate::support::PATIENCE;
use crate::support::server::{Server, add_user_with, program};

async fn connect(port: u16, user: &str) -> Result<Client, Error> {
    let mut config = Config::new();
    config.host("127.0.0.1").port(port).user(user).password("secret").dbname("tablegate");
    let (client, connection) = config.connect(NoTls).await?;
    tokio::spawn(connection);
    Ok(client)
}

/// Waits until the log has these words.
fn wait_for(server: &Server, words: &str) {
    let began = Instant::now();
    while !server.log().contains(words) {
        assert!(began.elapsed() < PATIENCE, "the log does not say {words}: {}", server.log());
        std::thread::yield_now();
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_log_that_nobody_reads_ends_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let mut server = program()
        .args(["--listen", "127.0.0.1:0", "--memory", "--no-sample", "--log", "trace"])
        .current_dir(folder.path())
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut greeting = String::new();
    BufReader::new(server.stdout.take().unwrap()).read_line(&mut greeting).unwrap();
    let port = greeting.split_once("127.0.0.1:").unwrap().1.split(',').next().unwrap().parse().unwrap();
    // From here on each line is refused by the system.
    drop(server.stderr.take());
    for _ in 0..2 {
        let client = connect(port, "ann").await.unwrap();
        assert_eq!(client.query_one("SELECT 1", &[]).await.unwrap().get::<_, i32>(0), 1);
        client.batch_execute("SELECT 1 / 0").await.unwrap_err();
    }
    let pid = server.id().to_string();
    assert!(std::process::Command::new("kill").args(["-TERM", &pid]).status().unwrap().success());
    assert!(server.wait().unwrap().success());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn sighup_ends_nothing() {
    let server = Server::start(&[]);
    let client = connect(server.port, "ann").await.unwrap();
    server.signal("HUP");
    wait_for(&server, "SIGHUP");
    assert_eq!(client.query_one("SELECT 1", &[]).await.unwrap().get::<_, i32>(0), 1);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_second_signal_ends_what_runs() {
    let mut server = Server::start(&[]);
    let client = connect(server.port, "ann").await.unwrap();
    let watch = connect(server.port, "ann").await.unwrap();
    let sleeping = tokio::spawn(async move { client.batch_execute("SELECT pg_sleep(3600)").await });
    let began = Instant::now();
    loop {
        let running = "SELECT count(*) FROM pg_stat_activity WHERE query LIKE 'SELECT pg_sleep%' AND state = 'active'";
        if watch.query_one(running, &[]).await.unwrap().get::<_, i64>(0) == 1 {
            break;
        }
        assert!(began.elapsed() < PATIENCE);
    }
    server.signal("TERM");
    wait_for(&server, "SIGTERM: no new clients");
    server.signal("TERM");
    let error = sleeping.await.unwrap().unwrap_err();
    assert_eq!(error.code().unwrap().code(), "57P01");
    assert!(server.ended());
    assert!(server.log().contains("running statements are ended"), "{}", server.log());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_admin_gets_in_when_all_places_are_taken() {
    let folder = tempfile::tempdir().unwrap();
    add_user_with(folder.path(), "ann", "secret", &["--admin"]);
    let server = Server::start_in(folder, &["--max-connections", "2"]);
    let ann = connect(server.port, "ann").await.unwrap();
    ann.batch_execute("CREATE USER bob PASSWORD 'secret'").await.unwrap();
    drop(ann);
    let _first = connect(server.port, "bob").await.unwrap();
    let began = Instant::now();
    // The place of the admin that left may not be free yet.
    let _second = loop {
        match connect(server.port, "bob").await {
            Ok(client) => break client,
            Err(error) => assert_eq!(error.code().unwrap().code(), "53300"),
        }
        assert!(began.elapsed() < PATIENCE);
    };
    let refused = connect(server.port, "bob").await.err().unwrap();
    assert_eq!(refused.code().unwrap().code(), "53300");
    let ann = connect(server.port, "ann").await.unwrap();
    let ended = "SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity WHERE usename = 'bob'";
    assert_eq!(ann.query_one(ended, &[]).await.unwrap().get::<_, i64>(0), 2);
}
