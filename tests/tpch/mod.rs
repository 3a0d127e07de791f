//! TPC-H at a small scale: the eight tables over the wire with COPY, and the answers of all 22 queries.
//!
//! A PostgreSQL 15 is loaded with the same rows, and its answers are the expected ones: those recorded in
//! `sql/tpch/answers`. `TPCH_RECORD=1` records them anew.

#[path = "../../examples/tpch/data.rs"]
pub(crate) mod data;

mod answers;
mod server;

use std::fs;
use std::path::PathBuf;

use bytes::Bytes;
use futures::{SinkExt, stream};
use tablegate::sql::limits::STATEMENT_STACK;
use tokio_postgres::{Client, NoTls, SimpleQueryMessage};

use crate::support::postgres::{self, Postgres};
use answers::{Row, difference, from_text, to_text};
use server::Server;

const SCALE: f64 = 0.01;

#[test]
fn every_query_gives_postgresqls_answer() {
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .thread_stack_size(STATEMENT_STACK)
        .enable_all()
        .build()
        .expect("a runtime starts");
    let failures = runtime.block_on(run());
    assert!(failures.is_empty(), "{} answers are not PostgreSQL's:\n{}", failures.len(), failures.join("\n"));
}

async fn run() -> Vec<String> {
    let mut failures = Vec::new();
    let reference = Postgres::start();
    let client = connect(reference.address.port(), postgres::USER, "postgres").await;
    load(&client).await;
    for number in 1..=22 {
        let answer = to_text(&answer(&client, number).await.expect("PostgreSQL answers"));
        if std::env::var_os("TPCH_RECORD").is_some() {
            fs::write(answer_file(number), answer).expect("the file can be written");
        } else if answer != recorded(number) {
            failures.push(format!("query {number}: the recorded answer is not PostgreSQL's"));
        }
    }
    let server = Server::start().await;
    let client = connect(server.address.port(), "tpch", "tablegate").await;
    load(&client).await;
    for number in 1..=22 {
        let problem = match answer(&client, number).await {
            Ok(rows) => difference(&from_text(&recorded(number)), &rows),
            Err(error) => Some(error.as_db_error().map_or(error.to_string(), |told| format!("{told:?}"))),
        };
        failures.extend(problem.map(|problem| format!("query {number}: {problem}")));
    }
    drop(client);
    server.stop().await;
    failures
}

async fn connect(port: u16, user: &str, database: &str) -> Client {
    let config = format!("host=127.0.0.1 port={port} user={user} dbname={database} sslmode=disable");
    let (client, connection) = tokio_postgres::connect(&config, NoTls).await.expect("the server lets us in");
    tokio::spawn(connection);
    client
}

async fn load(client: &Client) {
    let schema = fs::read_to_string(folder().join("schema.sql")).expect("the file is there");
    client.batch_execute(&schema).await.expect("the tables are created");
    for table in data::TABLES {
        let copy = format!("COPY {table} FROM STDIN WITH (DELIMITER '|')");
        let mut sink = Box::pin(client.copy_in(&copy).await.expect("COPY begins"));
        let lines: Vec<String> = data::lines(table, SCALE).collect();
        let mut pieces = stream::iter(lines.chunks(1000).map(|lines| Ok(Bytes::from(lines.concat()))));
        sink.send_all(&mut pieces).await.expect("the server takes the lines");
        let rows = sink.as_mut().finish().await.expect("the rows fit their table");
        assert_eq!(rows, u64::try_from(lines.len()).expect("they were counted"), "{table}");
    }
    client.batch_execute("ANALYZE").await.expect("ANALYZE works");
}

async fn answer(client: &Client, number: usize) -> Result<Vec<Row>, tokio_postgres::Error> {
    let file = folder().join(format!("queries/q{number:02}.sql"));
    let text = fs::read_to_string(file).expect("the file is there").replace(":scale", &SCALE.to_string());
    let cells = |message: SimpleQueryMessage| match message {
        SimpleQueryMessage::Row(row) => Some((0..row.len()).map(|i| row.get(i).map(str::to_owned)).collect()),
        _ => None,
    };
    Ok(client.simple_query(&text).await?.into_iter().filter_map(cells).collect())
}

fn folder() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("sql/tpch")
}

fn answer_file(number: usize) -> PathBuf {
    folder().join(format!("answers/q{number:02}.txt"))
}

fn recorded(number: usize) -> String {
    fs::read_to_string(answer_file(number)).unwrap_or_default()
}
