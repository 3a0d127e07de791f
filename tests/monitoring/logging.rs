//! The log: what a machine reads of it, what is slow, and what is never in it.

use serde_json::Value;

use crate::monitoring::{connect, connect_as};
use crate::support::server::{Server, add_user};

/// What is only in values, never in a log.
const SECRETS: [&str; 4] = ["hunter2", "4711.5", "correct horse", "swordfish"];

/// The lines of a log in JSON.
fn lines(server: &Server) -> Vec<Value> {
    let log = server.log();
    log.lines().map(|line| serde_json::from_str(line).unwrap_or_else(|error| panic!("{error}: {line}"))).collect()
}

fn slow(server: &Server) -> Vec<Value> {
    lines(server).into_iter().filter(|line| line["message"] == "slow statement").collect()
}

#[tokio::test]
async fn each_line_is_an_object_with_its_fields() {
    let server = Server::start(&["--log-format", "json"]);
    let client = connect(&server).await.unwrap();
    client.simple_query("SELECT 1").await.unwrap();
    let lines = lines(&server);
    for line in &lines {
        assert!(line["timestamp"].is_string() && line["level"].is_string() && line["target"].is_string(), "{line}");
    }
    let connected = lines.iter().find(|line| line["message"] == "connected").expect("the client is told of");
    assert_eq!((&connected["level"], &connected["encryption"]), (&Value::from("INFO"), &Value::from("none")));
    assert!(connected["user"].as_str().is_some_and(|user| user.contains('u')), "{connected}");
    assert!(connected["peer"].as_str().is_some_and(|peer| peer.starts_with("127.0.0.1:")), "{connected}");
    assert_eq!(slow(&server), Vec::<Value>::new(), "by default no statement is slow");
}

#[tokio::test]
async fn a_slow_statement_is_logged_with_what_it_cost() {
    let server = Server::start(&["--log-format", "json", "--log-slow", "0"]);
    let client = connect(&server).await.unwrap();
    client.batch_execute("CREATE TABLE t (id int PRIMARY KEY, word text)").await.unwrap();
    client.batch_execute("INSERT INTO t VALUES (1, 'hunter2'), (2, 'x')").await.unwrap();
    let found = client.query("SELECT id FROM t WHERE word = $1 AND id < 4711.5", &[&"hunter2"]).await.unwrap();
    assert_eq!(found.len(), 1);
    client.simple_query("SELECT 1 / (id - 1) FROM t WHERE word = 'hunter2'").await.unwrap_err();
    let slow = slow(&server);
    let of = |start: &str| {
        let found = slow.iter().find(|line| line["statement"].as_str().is_some_and(|text| text.starts_with(start)));
        found.unwrap_or_else(|| panic!("{start} is not in {slow:#?}"))
    };
    let select = of("SELECT id FROM t");
    assert_eq!(select["statement"], "SELECT id FROM t WHERE word = $1 AND id < $2");
    assert_eq!((&select["rows"], &select["scanned"], &select["egts"]), (&1.into(), &2.into(), &0.into()));
    assert_eq!((&select["failed"], &select["user"]), (&false.into(), &"u".into()));
    assert!(select["millis"].as_f64().is_some_and(|millis| millis > 0.0) && select["process"].as_i64() > Some(0));
    let insert = of("INSERT INTO t");
    assert_eq!((&insert["rows"], &insert["egts"]), (&2.into(), &2.into()));
    assert_eq!(insert["statement"], "INSERT INTO t VALUES ($1, $2), ($3, $4)");
    assert_eq!(of("SELECT $1 / (id - $2)")["failed"], true);
    let log = server.log();
    assert!(!SECRETS.iter().any(|secret| log.contains(secret)), "{log}");
}

#[tokio::test]
async fn only_what_takes_so_long_is_slow() {
    let server = Server::start(&["--log-format", "json", "--log-slow", "300ms"]);
    connect(&server).await.unwrap().simple_query("SELECT pg_sleep(0.4)").await.unwrap();
    let texts: Vec<Value> = slow(&server).into_iter().map(|mut line| line["statement"].take()).collect();
    assert_eq!(texts.last(), Some(&Value::from("SELECT pg_sleep($1)")));
    let server = Server::start(&["--log-format", "json", "--log-slow", "3600s"]);
    let client = connect(&server).await.unwrap();
    client.simple_query("SELECT pg_sleep(0.4)").await.unwrap();
    assert!(slow(&server).is_empty());
    // A session decides for itself.
    client.batch_execute("SET log_min_duration_statement = 0").await.unwrap();
    client.simple_query("SHOW server_version").await.unwrap();
    let texts: Vec<Value> = slow(&server).into_iter().map(|mut line| line["statement"].take()).collect();
    assert_eq!(texts.last(), Some(&Value::from("SHOW server_version")));
}

#[tokio::test]
async fn passwords_are_never_logged() {
    let folder = tempfile::tempdir().unwrap();
    add_user(folder.path(), "ann", "correct horse");
    let server = Server::start_in(folder, &["--log-format", "json", "--log-slow", "0"]);
    let wrong = connect_as(&server, "ann", "swordfish").await.map(drop).unwrap_err();
    assert_eq!(wrong.code().unwrap().code(), "28P01");
    let client = connect_as(&server, "ann", "correct horse").await.unwrap();
    for statement in [
        "CREATE ROLE bob LOGIN PASSWORD 'hunter2'",
        "ALTER ROLE ann PASSWORD 'hunter2'",
        "ALTER ROLE nobody PASSWORD 'hunter2'",
        "CREATE ROLE bob PASSWORD 'hunter2",
    ] {
        // Whether the user may does not matter here.
        let _ = client.simple_query(statement).await;
    }
    let log = server.log();
    assert!(log.contains("password authentication failed"), "{log}");
    assert!(!SECRETS.iter().any(|secret| log.contains(secret)), "{log}");
}

#[tokio::test]
async fn however_much_is_logged_no_value_is_in_it() {
    let server = Server::start(&["--log-format", "json", "--log", "trace"]);
    let client = connect(&server).await.unwrap();
    client.batch_execute("CREATE TABLE t (id int PRIMARY KEY, word text CHECK (word <> 'swordfish'))").await.unwrap();
    client.batch_execute("INSERT INTO t VALUES (1, 'hunter2'), (2, 'x')").await.unwrap();
    assert_eq!(client.query("SELECT id FROM t WHERE word = $1", &[&"hunter2"]).await.unwrap().len(), 1);
    client
        .batch_execute("SELECT count(*) FROM t a JOIN t b ON a.word = b.word WHERE a.word <> 'correct horse'")
        .await
        .unwrap();
    client.batch_execute("UPDATE t SET word = 'correct horse' WHERE word = 'hunter2'").await.unwrap();
    client.batch_execute("INSERT INTO t VALUES (3, 'swordfish')").await.unwrap_err();
    client.batch_execute("SELECT 'hunter2'::int").await.unwrap_err();
    client.batch_execute("SELECT 'hunter2").await.unwrap_err();
    let log = server.log();
    assert!(log.contains("connected"), "{log}");
    let shown: Vec<&str> = log.lines().filter(|line| SECRETS.iter().any(|secret| line.contains(secret))).collect();
    assert!(shown.is_empty(), "{shown:#?}");
}
