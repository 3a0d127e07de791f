//! Statements that take long to plan, and those that are not planned at all: too deep, too large.

use std::sync::Arc;
use std::time::Duration;

use tablegate::pg::PgConfig;
use tablegate::store::model::SystemClock;

use crate::wire::harness::{
    Client, Message, Server, bind, bind_as, column, error, error_code, execute, message, parse, query, status, sync,
};

const JSONB: u32 = 3802;
/// Deeper than a thread's stack allows a function that calls itself.
const DEEP: usize = 50_000;

/// Joins whose columns have one name each: planning takes longer with each of them than with all before.
fn long_to_plan() -> String {
    let joins: String = (0..900).map(|n| format!(" NATURAL JOIN t AS t{n}")).collect();
    format!("SELECT count(*) FROM t{joins}")
}

/// Long to plan in the engine's optimizer.
fn long_to_optimize() -> String {
    format!("SELECT a{} FROM t", " || b".repeat(900))
}

async fn with_table(server: &Server) -> Client {
    let mut client = server.client().await;
    client.query("CREATE TABLE t (id int PRIMARY KEY, a text, b text, n int, j jsonb)").await;
    client
}

async fn is_served(client: &mut Client) {
    assert_eq!(column(&client.query("SELECT 1").await), ["1"]);
}

fn assert_too_complex(messages: &[Message], what: &str) {
    let error = error(messages);
    assert_eq!(error.code(), "54001", "{what}: {error:?}");
    assert!(error.field('H').is_some(), "{what}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn planning_has_the_time_of_its_statement() {
    let server = Server::start().await;
    let mut client = with_table(&server).await;
    // Each of them takes longer on any machine; it ends with the block, so that no statement that follows is in a hurry.
    let hurried = "BEGIN; SET LOCAL statement_timeout = '1ms'";
    for statement in [long_to_plan(), long_to_optimize(), format!("EXPLAIN {}", long_to_plan())] {
        let messages = client.query(&format!("{hurried}; {statement}")).await;
        assert_eq!(error_code(&messages), "57014");
        assert_eq!(error(&messages).field('M').unwrap(), "canceling statement due to statement timeout");
        client.query("ROLLBACK").await;
        is_served(&mut client).await;
    }
    client.query(hurried).await;
    let messages = client.ask(&[parse("", &long_to_plan(), &[]), sync()]).await;
    assert_eq!(error_code(&messages), "57014");
    client.query("ROLLBACK").await;
    is_served(&mut client).await;
    server.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn planning_can_be_cancelled() {
    let server = Server::start().await;
    let mut client = with_table(&server).await;
    client.send(&[query(&long_to_plan())]).await;
    server.until_active(client.pid).await;
    server.cancel(client.pid, client.secret).await;
    let messages = client.until_ready().await;
    assert_eq!((error_code(&messages).as_str(), status(&messages)), ("57014", 'I'));
    assert_eq!(error(&messages).field('M').unwrap(), "canceling statement due to user request");
    is_served(&mut client).await;
    server.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn planning_ends_with_the_server() {
    let config = PgConfig { drain_timeout: Duration::from_millis(100), ..PgConfig::default() };
    let server = Server::start_with(config, Arc::new(SystemClock)).await;
    let mut client = with_table(&server).await;
    client.send(&[query(&long_to_plan())]).await;
    server.until_active(client.pid).await;
    server.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_is_too_deep_is_refused_and_the_session_goes_on() {
    let server = Server::start().await;
    let mut client = with_table(&server).await;
    for (before, link, after) in [
        ("SELECT 1", "::int", ""),
        ("SELECT n", " + 1", " FROM t"),
        ("SELECT a", " || b", " FROM t"),
        ("SELECT n", " IS NULL", " FROM t"),
        ("SELECT j", " -> 'a'", " FROM t"),
        ("SELECT j", "['a']", " FROM t"),
        ("SELECT now()", " AT TIME ZONE 'UTC'", ""),
        ("SELECT 1", " UNION ALL SELECT 1", ""),
        ("SELECT FROM t", " NATURAL JOIN t AS u", ""),
        ("SELECT FROM t WHERE n = 1", " OR n = 2", ""),
        ("SELECT FROM t WHERE n = 1", " AND n = 2", ""),
        ("SELECT ", "NOT ", "true"),
        ("SELECT ", "(", "1"),
        ("SELECT ", "CASE WHEN ", "1"),
        ("SELECT ", "ARRAY[", "1"),
    ] {
        let messages = client.query(&format!("{before}{}{after}", link.repeat(DEEP))).await;
        assert_too_complex(&messages, link);
        is_served(&mut client).await;
    }
    let numbered = |part: &dyn Fn(usize) -> String| (1..5_000).map(part).collect::<String>();
    let listed = numbered(&|n| format!(", t AS t{n}"));
    assert_too_complex(&client.query(&format!("SELECT FROM t{listed}")).await, "list in FROM");
    let with = numbered(&|n| format!(", w{n} AS (SELECT * FROM w{})", n - 1));
    assert_too_complex(&client.query(&format!("WITH w0 AS (SELECT 1){with} SELECT * FROM w4999")).await, "WITH");
    // Each reads the one before it twice.
    let doubled: String = (1..40).map(|n| format!(", w{n} AS (SELECT x.* FROM w{0} AS x, w{0} AS y)", n - 1)).collect();
    assert_too_complex(&client.query(&format!("WITH w0 AS (SELECT 1){doubled} SELECT * FROM w39")).await, "doubled");
    is_served(&mut client).await;
    server.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn views_that_read_each_other_many_times_are_too_complex() {
    let server = Server::start().await;
    let mut client = with_table(&server).await;
    client.query("CREATE VIEW v0 AS SELECT id FROM t").await;
    for n in 1..14 {
        let view = format!("CREATE VIEW v{n} AS SELECT x.id FROM v{0} AS x, v{0} AS y", n - 1);
        let messages = client.query(&view).await;
        if messages.iter().any(|message| message.tag == 'E') {
            assert_too_complex(&messages, &view);
            break;
        }
    }
    is_served(&mut client).await;
    server.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_programs_write_is_planned() {
    let server = Server::start().await;
    let mut client = with_table(&server).await;
    client.query("INSERT INTO t (id, n, a) SELECT g, g, 'x' || g FROM generate_series(1, 1000) AS g").await;
    let numbered = |count: usize, part: &dyn Fn(usize) -> String| (2..=count).map(part).collect::<String>();
    for (statement, expected) in [
        (format!("SELECT count(*) FROM t WHERE n = 1{}", numbered(3_000, &|n| format!(" OR n = {n}"))), "1000"),
        (
            format!("SELECT count(*) FROM t WHERE n = 1{}", numbered(500, &|n| format!(" OR n = {n} AND a = 'x{n}'"))),
            "500",
        ),
        (format!("SELECT count(*) FROM t WHERE n <> 1{}", numbered(900, &|n| format!(" AND n <> {n}"))), "100"),
        (
            format!("SELECT count(*) FROM t WHERE (id, n) IN ((1, 1){})", numbered(500, &|n| format!(", ({n}, {n})"))),
            "500",
        ),
        (format!("SELECT count(*) FROM t WHERE n IN (1{})", numbered(100_000, &|n| format!(", {n}"))), "1000"),
        (format!("SELECT count(*) FROM (VALUES (1){}) AS v", numbered(20_000, &|n| format!(", ({n})"))), "20000"),
        (format!("SELECT count(*) FROM (SELECT 1{}) AS u", " UNION ALL SELECT 2".repeat(399)), "400"),
        (format!("SELECT length(a{}) FROM t WHERE id = 1", " || 'y'".repeat(300)), "302"),
        (
            format!(
                "SELECT CASE n {}ELSE 0 END FROM t WHERE id = 7",
                numbered(2_000, &|n| format!("WHEN {n} THEN {n} + 1 "))
            ),
            "8",
        ),
    ] {
        let messages = client.query(&statement).await;
        let found = messages.iter().find(|message| message.tag == 'E');
        assert!(found.is_none(), "{}: {found:?}", &statement[..60]);
        assert_eq!(column(&messages), [expected], "{}", &statement[..60]);
    }
    server.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn documents_are_as_deep_as_postgresql_takes_them_and_no_deeper() {
    let server = Server::start().await;
    let mut client = with_table(&server).await;
    let nested = |depth: usize| format!("{}1{}", "[{\"a\": ".repeat(depth / 2), "}]".repeat(depth / 2));
    let ways = |text: &str| {
        let binary = [b"\x01", text.as_bytes()].concat();
        let copied = format!("{}\t\\N\t\\N\t\\N\t{text}\n", text.len());
        [
            vec![query(&format!("SELECT length('{text}'::jsonb::text)"))],
            vec![query(&format!("SELECT length('{text}'::json::text)"))],
            vec![parse("", "SELECT length($1::text)", &[JSONB]), bind("", "", &[Some(text)]), execute("", 0), sync()],
            vec![
                parse("", "SELECT length($1::text)", &[JSONB]),
                bind_as("", "", &[1], &[Some(&binary)], &[]),
                execute("", 0),
                sync(),
            ],
            vec![query("COPY t FROM STDIN"), message(b'd', copied.as_bytes()), message(b'c', b"")],
        ]
    };
    for messages in ways(&nested(DEEP)) {
        assert_too_complex(&client.ask(&messages).await, "a document");
        is_served(&mut client).await;
    }
    let deep = nested(6_000);
    let copied = deep.len().to_string();
    for messages in ways(&deep) {
        let answer = client.ask(&messages).await;
        let found = answer.iter().find(|message| message.tag == 'E');
        assert!(found.is_none(), "{found:?}");
        assert!(column(&answer).iter().all(|length| *length == copied));
    }
    // Each function that goes through it goes all the way.
    for call in [
        "jsonb_strip_nulls(j) = j",
        "j @> j",
        "j <= j",
        "length(jsonb_pretty(j)) > 6000",
        "jsonb_array_length(j || j) = 2",
        "jsonb_set(j, '{0,a}', '1') = '[{\"a\": 1}]'",
    ] {
        let messages = client.query(&format!("SELECT {call} FROM t")).await;
        assert_eq!(column(&messages), ["t"], "{call}");
    }
    server.stop().await;
}
