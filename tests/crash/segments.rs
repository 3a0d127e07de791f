//! Kills while rows are also kept as columns: during building, installing, trimming and making anew. Files are also damaged
//! while nobody runs. Whatever happened, columns show what the rows hold, and no file is left that nobody names.

use std::path::{Path, PathBuf};
use std::time::Duration;

use tablegate::backend::embedded::Fsync;
use tablegate::table::TableStore;

use crate::writers::{COLUMNAR, Expected, open_columnar, run_and_kill};
use crate::{SEED, make_folder, next_random};

/// How many rounds; 200 for a longer look.
const ROUNDS: &str = "TABLEGATE_CRASH_ROUNDS";
const ROUNDS_OF_FOLDER: u64 = 10;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn columns_are_those_of_the_rows_after_a_kill() {
    let rounds = std::env::var(ROUNDS).ok().and_then(|text| text.parse().ok()).unwrap_or(20);
    let (mut random, mut found, mut damaged) = (SEED ^ 0x5eed, 0, 0);
    for first_round in (0..rounds).step_by(usize::try_from(ROUNDS_OF_FOLDER).unwrap()) {
        let folder = tempfile::tempdir().unwrap();
        make_folder(folder.path(), Fsync::Always).await;
        let mut expected = Expected::default();
        for round in first_round..first_round + ROUNDS_OF_FOLDER {
            random = next_random(random);
            let early = round % 5 == 4;
            let after = Duration::from_micros(random % if early { 60_000 } else { 400_000 });
            expected.add(run_and_kill(folder.path(), round, after, early, &[(COLUMNAR, Path::new("1"))]));
            if round % 3 == 2 {
                damaged += u32::from(damage(folder.path(), random));
            }
            let store = open_columnar(folder.path(), Fsync::Always);
            let store = store.unwrap_or_else(|error| panic!("round {round}: {error}"));
            assert_eq!(expected.lost(&store).await, [] as [String; 0], "round {round}");
            found += store.figures().segments.unwrap();
            // Made anew, where they are not as they should be.
            store.build_segments();
            assert_eq!(expected.lost(&store).await, [] as [String; 0], "round {round}, anew");
            let counted = store.figures().segments.unwrap();
            store.close().unwrap();
            assert_eq!(files(folder.path()).len() as u64, counted, "round {round}");
        }
    }
    assert!(found > rounds && damaged > 0, "{found} segments in {rounds} rounds, {damaged} damaged");
}

/// Changes a byte of one file, or cuts it short.
fn damage(folder: &Path, random: u64) -> bool {
    let Some(file) = files(folder).pop() else { return false };
    let mut bytes = std::fs::read(&file).unwrap();
    let at = usize::try_from(random >> 8).unwrap() % bytes.len().max(1);
    match bytes.get_mut(at) {
        Some(byte) if random.is_multiple_of(2) => *byte ^= 0x41,
        _ => bytes.truncate(at),
    }
    std::fs::write(&file, bytes).unwrap();
    true
}

fn files(folder: &Path) -> Vec<PathBuf> {
    let Ok(entries) = std::fs::read_dir(folder.join("segments")) else { return Vec::new() };
    let mut files: Vec<_> = entries.map(|entry| entry.unwrap().path()).collect();
    files.sort();
    files
}
