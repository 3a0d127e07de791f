//! Values of a sequence after its process was killed: none is ever given out twice. Gaps are fine.

use std::collections::HashSet;
use std::path::Path;

use crate::crash::next_random;
use crate::crash::sessions::{engine, run_and_kill, say, session, values};
use crate::support::child;

const ROUNDS: usize = 12;
const SESSIONS: usize = 3;
const SEED: u64 = 0x2545_f491_4f6c_dd1d;
/// The process that counts finds its folder here.
const FOLDER: &str = "TABLEGATE_CRASH_SEQUENCE";
const SCHEMA: &str = "CREATE SEQUENCE numbers; CREATE TABLE rows (id bigserial PRIMARY KEY, n int)";

/// The process that is killed.
pub(crate) fn counters() {
    let folder = std::env::var(FOLDER).expect("it is told");
    child::run(async {
        let engine = engine(Path::new(&folder)).await;
        let mut tasks = tokio::task::JoinSet::new();
        for _ in 0..SESSIONS {
            let mut session = session(&engine);
            tasks.spawn(async move {
                loop {
                    let numbers = values(&mut session, "SELECT nextval('numbers') FROM generate_series(1, 10)").await;
                    say("number", &numbers);
                    let ids = values(&mut session, "INSERT INTO rows (n) VALUES (1), (2), (3) RETURNING id").await;
                    say("row", &ids);
                }
            });
        }
        tasks.join_all().await;
    });
}

pub(crate) async fn no_value_is_given_out_twice_across_kills() {
    let folder = tempfile::tempdir().unwrap();
    {
        let engine = engine(folder.path()).await;
        let mut session = session(&engine);
        values(&mut session, SCHEMA).await;
        assert_eq!(values(&mut session, "SELECT nextval('numbers')").await, [1]);
        // Closed in good order, it gives back what it had reserved.
        engine.flush().await;
    }
    let mut random = SEED;
    let mut seen = HashSet::from(["number 1".to_owned()]);
    for round in 0..ROUNDS {
        random = next_random(random);
        for line in run_and_kill("crash::sequences::counters", FOLDER, folder.path(), 1 + random % 150, random) {
            assert!(seen.insert(line.clone()), "round {round}: {line} was given out twice");
        }
    }
    assert!(seen.contains("number 2"), "the value that was given back is given out");
    assert!(seen.len() > 500, "only {} values were given out", seen.len());
    // And the rows are there, with the ids they were told.
    let engine = engine(folder.path()).await;
    let stored: HashSet<i64> = values(&mut session(&engine), "SELECT id FROM rows").await.into_iter().collect();
    let told = seen.iter().filter_map(|line| line.strip_prefix("row ")?.parse::<i64>().ok());
    assert_eq!(told.filter(|id| !stored.contains(id)).count(), 0, "rows are lost");
}
