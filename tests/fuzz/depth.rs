//! Whatever of a statement or of a value is written within itself or behind itself, and how often: there is an answer in time
//! that is a result or an error of the statement's, and the session goes on.
//!
//! `DEPTH_SECONDS` says for how long (20), `DEPTH_BYTES` how long a text may be (64 KB; 1 MB when there is more time),
//! `FUZZ_SEED` in which order. Each form is sent short, as deep as it can be planned, and as long as the text may be.

use std::error::Error as _;
use std::time::{Duration, Instant};

use bytes::{BufMut, Bytes, BytesMut};
use futures::SinkExt;
use tokio::task::JoinSet;
use tokio_postgres::error::SqlState;
use tokio_postgres::types::{Format, IsNull, ToSql, Type, to_sql_checked};
use tokio_postgres::{Client, Config, Error, NoTls};

use super::productions::{PATTERNS, Production, STATEMENTS, VALUES};
use crate::support::PATIENCE;
use crate::support::rng::Rng;
use crate::support::server::Server;
use crate::support::settings::{setting, todays_seed};

/// How often a form is written: below the bound of what can be nested, at the bound of what can follow, and beyond both.
const TIMES: [usize; 6] = [7, 40, 60, 400, 990, 3_000];
/// Texts are longer when the test has more time than this.
const SHORT: u64 = 60;
const CLIENTS: usize = 2;
/// Statements that take longer are ended, as a client may ask.
const STATEMENT_TIMEOUT: Duration = Duration::from_millis(500);

/// How a text reaches the server.
#[derive(Debug, Clone, Copy)]
enum Way {
    Statement,
    Literal(&'static str),
    TextParameter(&'static str),
    BinaryParameter(&'static str),
    Copy(&'static str),
    Pattern(&'static str),
}

#[derive(Debug, Clone)]
struct Case {
    way: Way,
    production: Production,
    times: usize,
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn nothing_is_too_deep_for_an_answer() {
    let seed = setting("FUZZ_SEED", todays_seed());
    let seconds: u64 = setting("DEPTH_SECONDS", 20);
    let bytes: usize = setting("DEPTH_BYTES", if seconds > SHORT { 1 << 20 } else { 64 << 10 });
    println!("FUZZ_SEED={seed} DEPTH_SECONDS={seconds} DEPTH_BYTES={bytes}");
    let mut server = Server::start(&[]);
    prepare(&connect(server.port).await).await;

    let mut cases = cases(bytes);
    let mut rng = Rng::of_case(seed, 0);
    for last in (1..cases.len()).rev() {
        cases.swap(last, rng.below(last + 1));
    }
    let (all, deadline) = (cases.len(), Instant::now() + Duration::from_secs(seconds));
    let mut clients = JoinSet::new();
    for part in cases.chunks(all.div_ceil(CLIENTS)) {
        let (part, port) = (part.to_vec(), server.port);
        clients.spawn(async move { run(port, part, deadline).await });
    }
    let (mut run, mut wrong) = (0, Vec::new());
    for (sent, found) in clients.join_all().await {
        run += sent;
        wrong.extend(found);
    }
    println!("{run} of {all} texts");
    assert!(wrong.is_empty(), "FUZZ_SEED={seed}:\n{}", wrong.join("\n"));
    assert!(server.is_running(), "FUZZ_SEED={seed}: the server ended\n{}", server.log());
    assert!(!server.log().contains("panicked at"), "FUZZ_SEED={seed}: {}", server.log());
}

fn cases(bytes: usize) -> Vec<Case> {
    let mut cases = Vec::new();
    let mut add = |way: Way, production: &Production| {
        let longest = production.times_in(bytes);
        let times = TIMES.into_iter().filter(|times| *times < longest).chain([longest]);
        cases.extend(times.map(|times| Case { way, production: *production, times }));
    };
    for production in STATEMENTS {
        add(Way::Statement, production);
    }
    for (sql_type, production) in VALUES {
        add(Way::Literal(sql_type), production);
        add(Way::TextParameter(sql_type), production);
        if matches!(*sql_type, "json" | "jsonb") {
            add(Way::BinaryParameter(sql_type), production);
            add(Way::Copy(sql_type), production);
        }
    }
    for (statement, production) in PATTERNS {
        add(Way::Pattern(statement), production);
    }
    cases
}

async fn connect(port: u16) -> Client {
    let (client, connection) =
        Config::new().host("127.0.0.1").port(port).user("deep").connect(NoTls).await.expect("the server listens");
    tokio::spawn(connection);
    client
}

async fn prepare(client: &Client) {
    let tables = "CREATE TABLE t (id int PRIMARY KEY, a int, b text, j jsonb); CREATE VIEW v AS SELECT id, a FROM t;
                  CREATE TABLE of_json (\"PartitionKey\" text, \"RowKey\" text, v json);
                  CREATE TABLE of_jsonb (\"PartitionKey\" text, \"RowKey\" text, v jsonb)";
    client.batch_execute(tables).await.expect("the tables are made");
}

/// Sends the cases one after the other until the time is over; gives how many were sent, and which were told of a defect.
async fn run(port: u16, cases: Vec<Case>, deadline: Instant) -> (usize, Vec<String>) {
    let client = connect(port).await;
    let timeout = format!("SET statement_timeout = {}", STATEMENT_TIMEOUT.as_millis());
    client.batch_execute(&timeout).await.expect("it is a setting");
    let (mut sent, mut wrong) = (0, Vec::new());
    for case in cases.iter().take_while(|_| Instant::now() < deadline) {
        let Case { way, production, times } = case;
        let what = format!("{} {times} times, {way:?}", production.name);
        let answer = tokio::time::timeout(PATIENCE, send(&client, *way, &production.text(*times))).await;
        let answer = answer.unwrap_or_else(|_| panic!("{what}: no answer"));
        if let Err(error) = answer {
            let told = error.as_db_error().unwrap_or_else(|| panic!("{what}: {error} {:?}", error.source()));
            if told.code().code() == "XX000" {
                wrong.push(format!("{what}: {}", told.message()));
            }
        }
        answers(&client, "ROLLBACK", &what).await;
        answers(&client, "SELECT 1", &what).await;
        sent += 1;
    }
    (sent, wrong)
}

/// The session goes on. On a machine that is busy enough, even this may have its time and end with it.
async fn answers(client: &Client, statement: &str, what: &str) {
    if let Err(error) = client.simple_query(statement).await {
        assert_eq!(error.code(), Some(&SqlState::QUERY_CANCELED), "{what}: and then {error}");
    }
}

async fn send(client: &Client, way: Way, text: &str) -> Result<(), Error> {
    let literal = || format!("'{}'", text.replace('\'', "''"));
    match way {
        Way::Statement => client.simple_query(text).await.map(drop),
        Way::Literal(sql_type) => {
            client.simple_query(&format!("SELECT length({}::{sql_type}::text)", literal())).await.map(drop)
        }
        Way::Pattern(statement) => client.simple_query(&statement.replace('?', &literal())).await.map(drop),
        Way::TextParameter(sql_type) | Way::BinaryParameter(sql_type) => {
            let binary = matches!(way, Way::BinaryParameter(_));
            let value = Raw { text: text.to_owned(), binary, has_version: binary && sql_type == "jsonb" };
            client.query(&format!("SELECT length($1::{sql_type}::text)"), &[&value]).await.map(drop)
        }
        Way::Copy(sql_type) => {
            let sink = client.copy_in(&format!("COPY of_{sql_type} FROM STDIN")).await?;
            let mut sink = std::pin::pin!(sink);
            let line = format!("p\tr\t{}\n", text.replace('\\', "\\\\"));
            sink.send(Bytes::from(line)).await?;
            sink.finish().await.map(drop)
        }
    }
}

/// A value as bytes that are sent as they are.
#[derive(Debug)]
struct Raw {
    text: String,
    binary: bool,
    /// The byte that jsonb has in front in its binary form.
    has_version: bool,
}

impl ToSql for Raw {
    fn to_sql(&self, _type: &Type, out: &mut BytesMut) -> Result<IsNull, Box<dyn std::error::Error + Sync + Send>> {
        if self.has_version {
            out.put_u8(1);
        }
        out.put_slice(self.text.as_bytes());
        Ok(IsNull::No)
    }

    fn accepts(_type: &Type) -> bool {
        true
    }

    fn encode_format(&self, _type: &Type) -> Format {
        if self.binary { Format::Binary } else { Format::Text }
    }

    to_sql_checked!();
}
