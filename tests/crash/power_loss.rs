//! The same without power: what was written and not synced before the kill is thrown away.
//!
//! A library that is preloaded into the writers (`power_loss.c`) keeps an image of each file as it was last synced; after
//! the kill the images take the place of the files. A store that does not sync fails this, which is checked too.

use std::fs;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;
use std::time::Duration;

use tablegate::backends::embedded::Fsync;
use tablegate::store::table::TableStore;

use crate::crash::writers::{COLUMNAR, Expected, Kill, NO_SYNC, open, open_columnar, run_and_kill};
use crate::crash::{SEED, make_folder, next_random};

const ROUNDS: u64 = 15;

/// A disk whose power can fail: the folder of the store, and the images of its files.
struct Disk {
    folder: tempfile::TempDir,
    images: tempfile::TempDir,
}

impl Disk {
    async fn new(fsync: Fsync) -> Self {
        let disk = Self { folder: tempfile::tempdir().unwrap(), images: tempfile::tempdir().unwrap() };
        make_folder(disk.folder.path(), fsync).await;
        disk
    }

    /// What is there now is on the disk.
    fn sync(&self) {
        for image in fs::read_dir(self.images.path()).unwrap() {
            fs::remove_file(image.unwrap().path()).unwrap();
        }
        for file in files_of(self.folder.path()) {
            fs::copy(&file, self.image_of(&file)).unwrap();
        }
    }

    /// Only what was synced is on the disk.
    fn lose_power(&self) {
        for file in files_of(self.folder.path()) {
            let synced = fs::read(self.image_of(&file)).unwrap_or_default();
            fs::write(&file, synced).unwrap();
        }
    }

    fn image_of(&self, file: &Path) -> PathBuf {
        self.images.path().join(fs::metadata(file).unwrap().ino().to_string())
    }

    fn run_and_lose_power(&self, round: u64, kill: Kill, environment: &[(&str, &Path)]) -> Expected {
        self.sync();
        let watched = [
            ("LD_PRELOAD", library()),
            ("POWER_LOSS_FOLDER", self.folder.path()),
            ("POWER_LOSS_IMAGES", self.images.path()),
        ];
        let environment: Vec<_> = watched.iter().chain(environment).copied().collect();
        let mut acknowledged = Expected::default();
        acknowledged.add(run_and_kill(self.folder.path(), round, kill, &environment).0);
        self.lose_power();
        acknowledged
    }
}

/// The library to preload, compiled by the C compiler that Rust links with. The tests of this process share one: while it is
/// written anew, a writer that starts goes without it.
fn library() -> &'static Path {
    static LIBRARY: OnceLock<PathBuf> = OnceLock::new();
    LIBRARY.get_or_init(|| {
        let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/crash/power_loss.c");
        let target = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("power_loss-{}.so", std::process::id()));
        let compiled =
            Command::new("cc").args(["-O1", "-shared", "-fPIC", "-o"]).arg(&target).arg(source).status().unwrap();
        assert!(compiled.success(), "the library for losing power does not compile");
        target
    })
}

fn files_of(folder: &Path) -> Vec<PathBuf> {
    let mut files = Vec::new();
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() { files.extend(files_of(&path)) } else { files.push(path) }
    }
    files
}

pub(crate) async fn acknowledged_batches_survive_a_loss_of_power_whole() {
    let disk = Disk::new(Fsync::Always).await;
    let mut random = SEED;
    let mut written = 0;
    for round in 0..ROUNDS {
        random = next_random(random);
        let acknowledged = disk.run_and_lose_power(round, Kill::after_some(random, 60), &[]);
        written += acknowledged.partitions();
        let store = open(disk.folder.path(), Fsync::Always).unwrap_or_else(|error| panic!("round {round}: {error}"));
        assert_eq!(acknowledged.lost(&store).await, [] as [String; 0], "round {round}");
        store.close().unwrap();
    }
    assert!(written > 100, "only {written} partitions were written");
}

/// Files that hold rows as columns are complete on the disk before they count, or they are found out.
pub(crate) async fn columns_are_those_of_the_rows_after_a_loss_of_power() {
    let disk = Disk::new(Fsync::Always).await;
    let (mut random, mut counted) = (SEED, 0);
    // On a slow machine the first ones may all come too early.
    for round in 0..20 * ROUNDS {
        if round >= ROUNDS && counted > 0 {
            break;
        }
        random = next_random(random);
        let kill = Kill::after_some(random, 150);
        let acknowledged = disk.run_and_lose_power(round, kill, &[(COLUMNAR, Path::new("1"))]);
        let store = open_columnar(disk.folder.path(), Fsync::Always);
        let store = store.unwrap_or_else(|error| panic!("round {round}: {error}"));
        counted += store.figures().segments.unwrap();
        assert_eq!(acknowledged.lost(&store).await, [] as [String; 0], "round {round}");
        store.close().unwrap();
    }
    assert!(counted > 0, "none was ever complete");
}

pub(crate) async fn a_store_that_does_not_sync_is_found_out() {
    let disk = Disk::new(Fsync::Never).await;
    let kill = Kill::After(200, Duration::ZERO);
    let acknowledged = disk.run_and_lose_power(0, kill, &[(NO_SYNC, Path::new("1"))]);
    // What the other tests check fails: acknowledged rows are lost, or files that the engine synced hold rows of batches
    // whose other parts are lost, and reading those is an error.
    let checked = tokio::spawn(async move {
        let store = open(disk.folder.path(), Fsync::Always).unwrap();
        assert_eq!(acknowledged.lost(&store).await, [] as [String; 0]);
    });
    assert!(checked.await.is_err_and(|failed| failed.is_panic()), "nothing was lost");
}
