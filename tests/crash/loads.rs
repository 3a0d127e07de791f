//! A table that a block makes and fills, or that COPY fills, whose process was killed: it is there with all of its rows, or not
//! at all; of a COPY all rows or none.

use std::path::Path;

use tablegate::backends::embedded::Fsync;
use tablegate::sql::session::{Position, Session};
use tablegate::store::table::TableStore;

use crate::crash::next_random;
use crate::crash::sessions::{engine, run_and_kill, say, session, values};
use crate::crash::writers::open;
use crate::support::child;

const ROUNDS: usize = 12;
/// Rows of a table: those of its three statements.
const ROWS: [i64; 3] = [2500, 3, 900];
/// Rows of a COPY: more than the session hands over at once.
const COPIED: i64 = 20_000;
const SEED: u64 = 0x3c6e_f372_fe94_f82b;
/// The process that loads finds its folder here.
const FOLDER: &str = "TABLEGATE_CRASH_LOAD";

fn block(number: i64) -> String {
    let [many, few, more] = ROWS;
    let (first, last) = (many + 1, many + few);
    format!(
        "BEGIN; CREATE TABLE load_{number} (id bigint PRIMARY KEY, load bigint); \
         INSERT INTO load_{number} SELECT n, {number} FROM generate_series(1, {many}) n; \
         INSERT INTO load_{number} SELECT n, {number} FROM generate_series({first}, {last}) n ON CONFLICT DO NOTHING; \
         INSERT INTO load_{number} SELECT {last} + n, {number} FROM generate_series(1, {more}) n; COMMIT"
    )
}

/// The process that is killed.
pub(crate) fn loads() {
    let folder = std::env::var(FOLDER).expect("it is told");
    child::run(async {
        let engine = engine(Path::new(&folder)).await;
        let mut session = session(&engine);
        let last = "SELECT coalesce(max(substr(relname, 6)::bigint), 0) FROM pg_class WHERE relname ~ '^load_[0-9]+$'";
        let first = values(&mut session, last).await[0] + 1;
        for number in first.. {
            values(&mut session, &block(number)).await;
            say("load", &[number]);
        }
    });
}

pub(crate) async fn a_kill_leaves_all_of_a_loaded_table_or_nothing() {
    let folder = tempfile::tempdir().unwrap();
    // It begins with one, so that there is always something to look at.
    values(&mut session(&engine(folder.path()).await), &block(1)).await;
    let mut random = SEED;
    let mut acknowledged = 1;
    for round in 0..ROUNDS {
        random = next_random(random);
        let said = run_and_kill("crash::loads::loads", FOLDER, folder.path(), random % 4, random);
        let told = said.last().and_then(|line| line.strip_prefix("load ")?.parse().ok());
        acknowledged = told.unwrap_or(acknowledged);
        let engine = engine(folder.path()).await;
        let mut session = session(&engine);
        let names = "SELECT substr(relname, 6)::bigint FROM pg_class WHERE relname ~ '^load_[0-9]+$' ORDER BY 1";
        let tables = values(&mut session, names).await;
        let last = tables.last().copied().unwrap_or_default();
        assert!(tables.iter().copied().eq(1..=last), "round {round}: {tables:?}");
        assert!(last >= acknowledged, "round {round}: load {acknowledged} was acknowledged: {tables:?}");
        for number in &tables {
            let sum = format!("SELECT count(*) FROM load_{number} WHERE load = {number}");
            assert_eq!(values(&mut session, &sum).await, [ROWS.iter().sum::<i64>()], "round {round}, load {number}");
        }
        drop(session);
        engine.flush().await;
        drop(engine);
        let left = stored_tables(folder.path()).await;
        assert_eq!(left, tables.len(), "round {round}: nothing is left of a load that was not committed");
    }
    assert!(acknowledged > 5, "only {acknowledged} loads were made");
}

/// The process that is killed while it copies.
pub(crate) fn copies() {
    let folder = std::env::var(FOLDER).expect("it is told");
    child::run(async {
        let engine = engine(Path::new(&folder)).await;
        let mut session = session(&engine);
        let first = values(&mut session, "SELECT coalesce(max(copy), 0) FROM copied").await[0] + 1;
        for number in first.. {
            copy(&mut session, "copied", number).await;
            say("copy", &[number]);
        }
    });
}

/// Every row is a partition of its own.
async fn copy(session: &mut Session, table: &str, number: i64) {
    let statement = session.parse(&format!("COPY {table} FROM STDIN")).unwrap().pop().unwrap();
    let prepared = session.prepare(statement, &[]).await.unwrap();
    session.execute(&prepared, Vec::new(), Position::Last).await.unwrap();
    for first in (0..COPIED).step_by(500) {
        let lines: String = (first..first + 500).map(|n| format!("{}\t{number}\n", number * COPIED + n)).collect();
        session.copy_data(lines.as_bytes()).await.unwrap();
    }
    session.copy_done(Position::Last).await.unwrap();
}

pub(crate) async fn a_kill_leaves_all_of_a_copy_or_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let table = "CREATE TABLE copied (id bigint PRIMARY KEY, copy bigint)";
    values(&mut session(&engine(folder.path()).await), table).await;
    let mut random = SEED;
    let mut acknowledged = 0;
    for round in 0..ROUNDS {
        random = next_random(random);
        let said = run_and_kill("crash::loads::copies", FOLDER, folder.path(), random % 4, random);
        let told = said.last().and_then(|line| line.strip_prefix("copy ")?.parse().ok());
        acknowledged = told.unwrap_or(acknowledged);
        let engine = engine(folder.path()).await;
        let counts = "SELECT count(*) FROM copied GROUP BY copy";
        let counts = values(&mut session(&engine), counts).await;
        assert!(counts.iter().all(|count| *count == COPIED), "round {round}: {counts:?}");
        let copies = i64::try_from(counts.len()).unwrap();
        assert!(copies >= acknowledged, "round {round}: copy {acknowledged} was acknowledged, of {copies}");
        engine.flush().await;
    }
    assert!(acknowledged > 5, "only {acknowledged} copies were made");
}

/// The process that is killed while it copies into tables that are empty: rows are written ahead.
pub(crate) fn fills() {
    let folder = std::env::var(FOLDER).expect("it is told");
    child::run(async {
        let engine = engine(Path::new(&folder)).await;
        let mut session = session(&engine);
        let first = i64::try_from(values(&mut session, FILLED).await.len()).expect("they are few") + 1;
        for number in first.. {
            values(&mut session, &format!("CREATE TABLE fill_{number} (id bigint PRIMARY KEY, copy bigint)")).await;
            copy(&mut session, &format!("fill_{number}"), number).await;
            say("fill", &[number]);
        }
    });
}

const FILLED: &str = "SELECT substr(relname, 6)::bigint FROM pg_class WHERE relname ~ '^fill_[0-9]+$' ORDER BY 1";

pub(crate) async fn a_kill_leaves_all_of_a_copy_into_an_empty_table_or_nothing() {
    let folder = tempfile::tempdir().unwrap();
    drop(engine(folder.path()).await);
    let mut random = SEED;
    let mut acknowledged = 0;
    for round in 0..ROUNDS {
        random = next_random(random);
        let said = run_and_kill("crash::loads::fills", FOLDER, folder.path(), random % 4, random);
        let told = said.last().and_then(|line| line.strip_prefix("fill ")?.parse().ok());
        acknowledged = told.unwrap_or(acknowledged);
        let engine = engine(folder.path()).await;
        let mut session = session(&engine);
        for number in values(&mut session, FILLED).await {
            let count = values(&mut session, &format!("SELECT count(*) FROM fill_{number}")).await[0];
            assert!(
                count == COPIED || (count == 0 && number > acknowledged),
                "round {round}: {count} rows in {number}"
            );
            if count == 0 {
                // It takes rows as any other table.
                copy(&mut session, &format!("fill_{number}"), number).await;
            }
        }
        drop(session);
        engine.flush().await;
    }
    assert!(acknowledged > 5, "only {acknowledged} tables were filled");
}

/// How many stored tables there are of loads.
async fn stored_tables(folder: &Path) -> usize {
    let store = open(folder, Fsync::Always).unwrap();
    let tables = store.reader().list_tables().await.unwrap();
    tables.iter().filter(|table| table.as_str().to_lowercase().starts_with("load")).count()
}
