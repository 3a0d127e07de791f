//! A table whose process was killed in the middle of an ALTER TABLE: its rows are all there, under the old definition or
//! the new one, and nothing is left of the other.

use std::path::Path;

use crate::crash::next_random;
use crate::crash::sessions::{engine, run_and_kill, say, session, values};
use crate::support::child;

const ROUNDS: usize = 10;
const ROWS: i64 = 500;
const SEED: u64 = 0x6a09_e667_f3bc_c909;
/// The process that alters finds its folder here.
const FOLDER: &str = "TABLEGATE_CRASH_ALTERATION";
/// The version that the rows have, which is that of the definition.
const VERSION: &str = "SELECT DISTINCT version FROM things";

/// The process that is killed.
pub(crate) fn alterations() {
    let folder = std::env::var(FOLDER).expect("it is told");
    child::run(async {
        let engine = engine(Path::new(&folder)).await;
        let mut session = session(&engine);
        let mut version = values(&mut session, VERSION).await[0];
        loop {
            version += 1;
            let key = if version % 2 == 0 { "id" } else { "other" };
            let alter = format!(
                "ALTER TABLE things DROP COLUMN version, ADD COLUMN version bigint DEFAULT {version}, DROP CONSTRAINT \
                 things_pkey, ADD CONSTRAINT things_pkey PRIMARY KEY ({key})"
            );
            values(&mut session, &alter).await;
            say("version", &[version]);
        }
    });
}

pub(crate) async fn a_kill_leaves_the_old_table_or_the_new_one() {
    let folder = tempfile::tempdir().unwrap();
    {
        let engine = engine(folder.path()).await;
        let mut session = session(&engine);
        let create = "CREATE TABLE things (id bigint NOT NULL, other bigint NOT NULL, version bigint DEFAULT 0, \
                      CONSTRAINT things_pkey PRIMARY KEY (id))";
        values(&mut session, create).await;
        let insert =
            format!("INSERT INTO things (id, other) SELECT i, 1000 - i FROM generate_series(1, {ROWS}) AS s(i)");
        values(&mut session, &insert).await;
    }
    let mut random = SEED;
    let mut last = 0;
    for round in 0..ROUNDS {
        random = next_random(random);
        let said = run_and_kill("crash::alterations::alterations", FOLDER, folder.path(), 1 + random % 6, random);
        let told = said.last().and_then(|line| line.strip_prefix("version ")?.parse().ok());
        last = told.unwrap_or(last);
        let engine = engine(folder.path()).await;
        let mut session = session(&engine);
        let versions = values(&mut session, VERSION).await;
        let [version] = versions.as_slice() else { panic!("round {round}: rows have versions {versions:?}") };
        assert!(*version >= last, "round {round}: version {last} was acknowledged, the rows have {version}");
        last = *version;
        let sum = format!("SELECT count(*) FROM things WHERE id + other = 1000 AND id BETWEEN 1 AND {ROWS}");
        assert_eq!(values(&mut session, &sum).await, [ROWS], "round {round}");
    }
    assert!(last > 5, "only {last} alterations were made");
}
