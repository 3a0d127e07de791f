//! Statements that change or delete many rows, whose process was killed: what was acknowledged is there, each entity group
//! transaction whole, and no row is lost.

use std::path::Path;
use std::time::Duration;

use crate::crash::next_random;
use crate::crash::sessions::{engine, run_and_kill_within, say, session, values};
use crate::support::child;

const ROUNDS: usize = 12;
/// Partitions, of two rows each: more than go to the store at once.
const PARTITIONS: i64 = 8_000;
/// Rows that are handed over together are at least so many, but for the last.
const TOGETHER: i64 = 4_096;
const SEED: u64 = 0x2545_f491_4f6c_dd1d;
/// The process that changes rows finds its folder here.
const FOLDER: &str = "TABLEGATE_CRASH_CHANGES";

/// The rows of even partitions, or those of odd ones.
fn rows(remainder: i64, number: i64) -> String {
    let last = 2 * PARTITIONS - 1;
    format!(
        "INSERT INTO changed SELECT n / 2, n % 2, {number} FROM generate_series(0, {last}) n WHERE n / 2 % 2 = {remainder}"
    )
}

/// The process that is killed: it goes on with the statement behind the last one.
pub(crate) fn changes() {
    let folder = std::env::var(FOLDER).expect("it is told");
    child::run(async {
        let engine = engine(Path::new(&folder)).await;
        let mut session = session(&engine);
        let first = values(&mut session, "SELECT max(number) FROM changed").await[0] + 1;
        values(&mut session, "DELETE FROM changed WHERE part % 2 = 0").await;
        values(&mut session, &rows(0, first - 1)).await;
        for number in first.. {
            values(&mut session, &format!("UPDATE changed SET number = {number}")).await;
            say("update", &[number]);
            values(&mut session, "DELETE FROM changed WHERE part % 2 = 0").await;
            say("delete", &[number]);
            values(&mut session, &rows(0, number)).await;
            say("insert", &[number]);
        }
    });
}

pub(crate) async fn a_kill_leaves_changed_rows_whole() {
    let folder = tempfile::tempdir().unwrap();
    {
        let engine = engine(folder.path()).await;
        let mut session = session(&engine);
        let table = "CREATE TABLE changed (part bigint, line bigint, number bigint, PRIMARY KEY (part, line))";
        values(&mut session, table).await;
        values(&mut session, &rows(1, 0)).await;
        values(&mut session, &rows(0, 0)).await;
        drop(session);
        engine.flush().await;
    }
    // The numbers of rows that were there before the process began: it goes on behind the greatest.
    let (mut random, mut acknowledged, mut before) = (SEED, 0, (0, 0));
    for round in 0..ROUNDS {
        random = next_random(random);
        // Long enough for some of a statement's rows to be written, and not for all of them.
        let later = Duration::from_millis((random >> 32) % 500);
        let said = run_and_kill_within("crash::changes::changes", FOLDER, folder.path(), random % 5, later);
        let told = said.last().and_then(|line| line.split_once(' '));
        acknowledged = told.map_or(acknowledged, |(_, number)| number.parse().unwrap());
        let engine = engine(folder.path()).await;
        let mut session = session(&engine);
        let odd = "SELECT count(*) FROM changed WHERE part % 2 = 1";
        assert_eq!(values(&mut session, odd).await, [PARTITIONS], "round {round}: nothing deletes these");
        let numbers = values(&mut session, "SELECT DISTINCT number FROM changed WHERE part % 2 = 1 ORDER BY 1").await;
        let last = told.map_or("nothing", |(what, _)| what);
        let (from, to) = match last {
            // The first update may be done in part, or all of it.
            "nothing" => (before.0, before.1 + 1),
            "insert" => (acknowledged, acknowledged + 1),
            _ => (acknowledged, acknowledged),
        };
        assert!(
            numbers.iter().all(|number| (from..=to).contains(number)),
            "round {round}: after {last} {acknowledged} there are {numbers:?}, before there were {before:?}"
        );
        before = (numbers[0], numbers[numbers.len() - 1]);
        let even = values(&mut session, "SELECT count(*) FROM changed WHERE part % 2 = 0").await[0];
        if last == "insert" {
            assert_eq!(even, PARTITIONS, "round {round}");
        }
        // A partition is an entity group transaction, unless rows that go together end within it.
        let torn = "SELECT count(*) FROM (SELECT part FROM changed GROUP BY part \
                    HAVING count(*) <> 2 OR min(number) <> max(number)) AS torn";
        let torn = values(&mut session, torn).await[0];
        assert!(torn <= 2 * PARTITIONS / TOGETHER + 1, "round {round}: {torn} partitions are torn");
        drop(session);
        engine.flush().await;
    }
    assert!(acknowledged > 2, "only {acknowledged} updates were made");
}
