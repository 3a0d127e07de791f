//! A store on disk after its process was killed: every acknowledged batch is there and whole, no batch is there in part.
//!
//! The program of the tests starts itself as the process that writes, reads from it what was acknowledged, and kills it
//! at a random moment. A folder stays for several rounds, so files are flushed and merged under the writers too.

pub(crate) mod alterations;
pub(crate) mod changes;
mod fills;
pub(crate) mod loaders;
pub(crate) mod loads;
pub(crate) mod power_loss;
pub(crate) mod requests;
pub(crate) mod segments;
pub(crate) mod sequences;
mod sessions;
pub(crate) mod writers;

use std::path::Path;

use tablegate::backends::embedded::Fsync;
use tablegate::store::table::TableStore;

use crate::crash::writers::{Kill, open, run_rounds, table};

const ROUNDS: u64 = 50;
const SEED: u64 = 0x9e37_79b9_7f4a_7c15;

/// xorshift: the same moments in every run, as far as the machine plays along.
fn next_random(mut random: u64) -> u64 {
    random ^= random << 13;
    random ^= random >> 7;
    random ^ (random << 17)
}

async fn make_folder(folder: &Path, fsync: Fsync) {
    let store = open(folder, fsync).unwrap();
    store.create_table(&table()).await.unwrap();
    store.close().unwrap();
}

pub(crate) async fn acknowledged_batches_survive_a_kill_whole() {
    let mut written = 0;
    run_rounds(ROUNDS, SEED, &[], Kill::at_random, async |round| {
        let (number, expected) = (round.number, round.expected);
        let store = open(round.folder, Fsync::Always).unwrap_or_else(|error| panic!("round {number}: {error}"));
        assert_eq!(expected.lost(&store).await, [] as [String; 0], "round {number}");
        store.close().unwrap();
        if round.is_last_of_folder {
            written += expected.partitions();
            assert!(has_tables(round.folder), "rows were moved into files");
        }
    })
    .await;
    assert!(written > 500, "only {written} partitions were written");
}

/// Whether the engine moved rows out of its journal.
fn has_tables(folder: &Path) -> bool {
    let keyspaces = std::fs::read_dir(folder.join("db/keyspaces")).unwrap();
    let mut tables = keyspaces.filter_map(|keyspace| std::fs::read_dir(keyspace.unwrap().path().join("tables")).ok());
    tables.any(|mut tables| tables.next().is_some())
}
