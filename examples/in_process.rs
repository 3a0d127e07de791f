//! The SQL engine inside your own program, without a server: a store in memory, a session, rows as Arrow batches.
//!
//! `cargo run --example in_process`

use std::error::Error;
use std::io::Write;
use std::sync::Arc;

use arrow::util::display::{ArrayFormatter, FormatOptions};
use futures::StreamExt;
use tablegate::backends::memory::MemoryStore;
use tablegate::sql::outcome::Outcome;
use tablegate::sql::session::{Position, Session, SessionOptions};
use tablegate::sql::{Engine, EngineConfig};
use tablegate::store::model::SystemClock;

const SCRIPT: &str = r#"
    CREATE TABLE rooms ("PartitionKey" text, "RowKey" text, seats int) WITH (open = true);
    INSERT INTO rooms ("PartitionKey", "RowKey", seats) VALUES ('north', '101', 4), ('north', '102', 12), ('south', '001', 30);
    SELECT "PartitionKey" AS house, count(*) AS rooms, sum(seats) AS seats FROM rooms GROUP BY 1 ORDER BY 1;
"#;

#[tokio::main]
pub(crate) async fn main() -> Result<(), Box<dyn Error>> {
    let clock = Arc::new(SystemClock);
    let store = Arc::new(MemoryStore::new(clock.clone()));
    let engine = Engine::open(store, clock, EngineConfig::default()).await?;
    let mut session = Session::new(engine, SessionOptions::default())?;
    for statement in session.parse(SCRIPT)? {
        let prepared = session.prepare(statement, &[]).await?;
        match session.execute(&prepared, Vec::new(), Position::Last).await? {
            Outcome::Rows(rows) => print(rows).await?,
            Outcome::Done(tag) => writeln!(std::io::stdout(), "{tag}")?,
            Outcome::CopyIn(_) | Outcome::CopyOut(_) => unreachable!("the script has no COPY"),
        }
    }
    Ok(())
}

async fn print(mut rows: tablegate::sql::outcome::Rows) -> Result<(), Box<dyn Error>> {
    let mut out = std::io::stdout().lock();
    let names: Vec<&str> = rows.columns.iter().map(|column| column.name.as_str()).collect();
    writeln!(out, "{}", names.join("\t"))?;
    let mut count = 0;
    while let Some(batch) = rows.stream.next().await {
        let batch = batch?;
        let options = FormatOptions::default().with_null("NULL");
        let columns = batch.columns().iter().map(|array| ArrayFormatter::try_new(array, &options));
        let columns = columns.collect::<Result<Vec<_>, _>>()?;
        for row in 0..batch.num_rows() {
            let cells: Vec<String> = columns.iter().map(|column| column.value(row).to_string()).collect();
            writeln!(out, "{}", cells.join("\t"))?;
        }
        count += batch.num_rows();
    }
    writeln!(out, "{}", rows.tag.complete(u64::try_from(count)?))?;
    Ok(())
}
