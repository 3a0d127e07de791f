//! Sessions in a process that is killed, and what they said before.

use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::time::Duration;

use arrow::array::AsArray;
use arrow::datatypes::Int64Type;
use futures::TryStreamExt;
use tablegate::backends::embedded::Fsync;
use tablegate::sql::outcome::Outcome;
use tablegate::sql::session::{Position, Session, SessionOptions};
use tablegate::sql::{Engine, EngineConfig};
use tablegate::store::model::SystemClock;

use crate::writers::open;

pub async fn engine(folder: &Path) -> Arc<Engine> {
    let store = Arc::new(open(folder, Fsync::Always).unwrap());
    Engine::open(store, Arc::new(SystemClock), EngineConfig::default()).await.unwrap()
}

pub fn session(engine: &Arc<Engine>) -> Session {
    Session::new(Arc::clone(engine), SessionOptions::default()).unwrap()
}

/// The first column of the last statement's rows.
pub async fn values(session: &mut Session, sql: &str) -> Vec<i64> {
    let mut values = Vec::new();
    for statement in session.parse(sql).unwrap() {
        let prepared = session.prepare(statement, &[]).await.unwrap();
        if let Outcome::Rows(rows) = session.execute(&prepared, Vec::new(), Position::Last).await.unwrap() {
            let batches: Vec<_> = rows.stream.try_collect().await.unwrap();
            values = batches.iter().flat_map(|b| b.column(0).as_primitive::<Int64Type>().values().to_vec()).collect();
        }
    }
    values
}

/// Runs the sessions of the process that is killed.
pub fn block_on(sessions: impl Future<Output = ()>) {
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .thread_stack_size(8 << 20)
        .enable_all()
        .build()
        .unwrap();
    runtime.block_on(sessions);
}

/// Says what was acknowledged: [`run_and_kill`] hears it.
pub fn say(what: &str, values: &[i64]) {
    let mut out = std::io::stdout().lock();
    for value in values {
        writeln!(out, "acknowledged {what} {value}").unwrap();
    }
    out.flush().unwrap();
}

/// Runs a test as a process of its own, which finds the folder in a variable, and kills it a while after it first said
/// something: what it said.
pub fn run_and_kill(test: &str, variable: &str, folder: &Path, after: Duration) -> Vec<String> {
    let mut child = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", test, "--nocapture", "--test-threads=1"])
        .env(variable, folder)
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let lines = BufReader::new(child.stdout.take().unwrap()).lines();
    let (said, heard) = std::sync::mpsc::channel();
    let reading = std::thread::spawn(move || {
        for line in lines.map_while(Result::ok) {
            // The test harness's own words stand before the first one.
            if let Some((_, told)) = line.split_once("acknowledged ") {
                said.send(told.to_owned()).unwrap();
            }
        }
    });
    let first = heard.recv_timeout(Duration::from_secs(30)).unwrap();
    std::thread::sleep(after);
    child.kill().unwrap();
    child.wait().unwrap();
    reading.join().unwrap();
    let mut all: Vec<String> = std::iter::once(first).chain(heard).collect();
    // It may be cut off.
    all.pop();
    all
}
