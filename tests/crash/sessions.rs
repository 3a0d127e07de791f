//! Sessions in a process that is killed, and what they said before.

use std::path::Path;
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

use crate::crash::writers::open;
use crate::support::child::{self, Child};

pub(super) async fn engine(folder: &Path) -> Arc<Engine> {
    let store = Arc::new(open(folder, Fsync::Always).unwrap());
    Engine::open(store, Arc::new(SystemClock), EngineConfig::default()).await.unwrap()
}

pub(super) fn session(engine: &Arc<Engine>) -> Session {
    Session::new(Arc::clone(engine), SessionOptions::default()).unwrap()
}

/// The first column of the last statement's rows.
pub(super) async fn values(session: &mut Session, sql: &str) -> Vec<i64> {
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

/// Says what was acknowledged: [`run_and_kill`] hears it.
pub(super) fn say(what: &str, values: &[i64]) {
    child::say(values.iter().map(|value| format!("{what} {value}")));
}

/// Starts this program in a role, which finds the folder in a variable, and kills it when it has said so much, or a while
/// later: what it said.
pub(super) fn run_and_kill(role: &str, variable: &str, folder: &Path, lines: u64, random: u64) -> Vec<String> {
    run_and_kill_within(role, variable, folder, lines, Duration::from_micros((random >> 32) % 20_000))
}

/// The same, so much later.
pub(super) fn run_and_kill_within(
    role: &str,
    variable: &str,
    folder: &Path,
    lines: u64,
    later: Duration,
) -> Vec<String> {
    let mut command = child::command(role);
    command.env(variable, folder);
    let mut child = Child::start(command);
    child.hear(usize::try_from(lines).unwrap());
    std::thread::sleep(later);
    child.kill().0
}
