//! Kills while rows are also kept as columns, at every moment of what is done to a segment: it is built, built anew in the
//! place of another, installed, and what it holds of the delta is removed. Files are also damaged while nobody runs.
//! Whatever happened, columns show what the rows hold, and no file is left that nobody names.

#![allow(clippy::print_stdout, reason = "figures for whoever asks for them")]

use std::path::{Path, PathBuf};

use tablegate::backends::embedded::Fsync;
use tablegate::store::table::{SegmentState, TableStore};

use crate::crash::SEED;
use crate::crash::writers::{COLUMNAR, Kill, open_columnar, run_rounds};

/// How many rounds; 200 for a longer look.
const ROUNDS: &str = "TABLEGATE_CRASH_ROUNDS";
const MOMENTS: [SegmentState; 4] =
    [SegmentState::Building, SegmentState::Renewing, SegmentState::Installing, SegmentState::Trimming];

/// How often something was done, and how often it was found.
#[derive(Debug, Default)]
struct Count {
    done: u64,
    found: u64,
}

pub(crate) async fn columns_are_those_of_the_rows_after_a_kill() {
    let rounds = std::env::var(ROUNDS).ok().and_then(|text| text.parse().ok()).unwrap_or(20);
    let environment = [(COLUMNAR, Path::new("1"))];
    let (mut moments, mut at_random, mut segments) = ([0; MOMENTS.len()], 0, 0);
    let (mut cut_short, mut changed) = (Count::default(), Count::default());
    run_rounds(rounds, SEED ^ 0x5eed, &environment, kill, async |round| {
        let number = round.number;
        match round.killed {
            Some(Kill::At(moment)) => moments[MOMENTS.iter().position(|known| *known == moment).unwrap()] += 1,
            Some(Kill::After(..) | Kill::Early(_)) => at_random += 1,
            None => panic!("round {number}: the moment never came"),
        }
        let damaged = if number % 3 == 2 { damage(round.folder, round.random) } else { None };
        let store = open_columnar(round.folder, Fsync::Always);
        let store = store.unwrap_or_else(|error| panic!("round {number}: {error}"));
        assert_eq!(round.expected.lost(&store).await, [] as [String; 0], "round {number}");
        segments += store.figures().segments.unwrap();
        // Made anew, where they are not as they should be.
        store.build_segments();
        assert_eq!(round.expected.lost(&store).await, [] as [String; 0], "round {number}, anew");
        let counted = store.figures().segments.unwrap();
        store.close().unwrap();
        assert_eq!(files(round.folder).len() as u64, counted, "round {number}");
        if let Some((file, is_cut_short)) = damaged {
            let count = if is_cut_short { &mut cut_short } else { &mut changed };
            count.done += 1;
            count.found += u64::from(!file.exists());
        }
    })
    .await;
    println!(
        "{rounds} rounds: killed {at_random} times at random, while {MOMENTS:?} {moments:?} times; {segments} segments \
         were found; files cut short {cut_short:?}, with a byte changed {changed:?}"
    );
    assert!(moments.iter().all(|hits| *hits > 0), "moments that were hit: {moments:?}");
    assert!(segments > 0, "none was found in {rounds} rounds");
    // A byte that nothing is read from, of a column that is not read or between them, is found by nobody.
    assert!(cut_short.done > 0 && cut_short.found == cut_short.done, "{cut_short:?}");
    assert!(changed.done > 0, "{changed:?}");
}

/// Three of five rounds end at a moment, each in turn.
fn kill(round: u64, random: u64) -> Kill {
    match round % 5 {
        at @ 0..3 => Kill::At(MOMENTS[usize::try_from(round / 5 * 3 + at).unwrap() % MOMENTS.len()]),
        _ => Kill::at_random(round, random),
    }
}

/// Changes a byte of one file, or cuts it short: which file, and whether it is short.
fn damage(folder: &Path, random: u64) -> Option<(PathBuf, bool)> {
    let file = files(folder).pop()?;
    let mut bytes = std::fs::read(&file).unwrap();
    let at = usize::try_from(random >> 8).unwrap() % bytes.len().max(1);
    let is_cut_short = !random.is_multiple_of(2);
    match bytes.get_mut(at) {
        Some(byte) if !is_cut_short => *byte ^= 0x41,
        _ => bytes.truncate(at),
    }
    std::fs::write(&file, bytes).unwrap();
    Some((file, is_cut_short))
}

fn files(folder: &Path) -> Vec<PathBuf> {
    let Ok(entries) = std::fs::read_dir(folder.join("segments")) else { return Vec::new() };
    let mut files: Vec<_> = entries.map(|entry| entry.unwrap().path()).collect();
    files.sort();
    files
}
