//! The data folder besides the engine's files: who uses it, which format it has, and how much was acknowledged.
//!
//! ```text
//! LOCK            held while a process has the folder open
//! FORMAT          the version of everything in the folder
//! commit-number   the number of the last commit that was acknowledged
//! db/             the engine's files
//! segments/       rows as columns: made of what the engine has, and again when they are gone
//! ```
//!
//! After a crash the engine drops what it finds broken at the end of its journal, without a word: right for commits
//! that were never acknowledged, and silent loss for all others. `commit-number` tells the two apart.

use std::fs::{File, OpenOptions, TryLockError};
use std::io::{self, ErrorKind, Read as _, Write as _};
use std::os::unix::fs::FileExt as _;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use tablegate_store::table::StoreError;
use xxhash_rust::xxh64::xxh64;

use super::engine::io_error;

const FORMAT: &str = "FORMAT";
const FORMAT_PREFIX: &str = "tablegate embedded ";
/// Folders of the first format have the rows of all tables in the same files of the engine's, those of the second the rows of all
/// but the gateway's own; they stay as they are.
const FIRST_FORMAT: u32 = 1;
const OWN_APART: u32 = 2;
const LOADED_APART: u32 = 3;
const FORMAT_VERSION: u32 = LOADED_APART;
const LOCK: &str = "LOCK";
/// How often a folder that is in use is looked at.
const LOOKS: usize = 100;
const BETWEEN_LOOKS: Duration = Duration::from_millis(20);
const COMMIT_NUMBER: &str = "commit-number";
const ENGINE: &str = "db";
const SEGMENTS: &str = "segments";

/// A data folder that this process holds.
#[derive(Debug)]
pub(super) struct Folder {
    path: PathBuf,
    format: u32,
    number: File,
    acknowledged: AtomicU64,
    /// Freed when the folder is dropped.
    _lock: File,
}

impl Folder {
    /// Takes the folder, making it when it is not there.
    ///
    /// # Errors
    /// [`StoreError::Unavailable`] when another process has it or it has another format, [`StoreError::Damaged`] when
    /// a file of it is missing or not what was written.
    pub(super) fn open(path: &Path) -> Result<Self, StoreError> {
        std::fs::create_dir_all(path).map_err(|error| match error.kind() {
            // Of what is around it: there is nothing in it that could be damaged.
            ErrorKind::NotFound => StoreError::Unavailable(format!("{} cannot be made: {error}", path.display())),
            _ => io_error(path, &error),
        })?;
        let lock = lock(path)?;
        let format = format_of(path)?;
        let (number, acknowledged) = open_number(path, format.is_none())?;
        if format.is_none() {
            write_format(path)?;
        }
        let (path, format, acknowledged) =
            (path.to_owned(), format.unwrap_or(FORMAT_VERSION), AtomicU64::new(acknowledged));
        let folder = Self { path, format, number, acknowledged, _lock: lock };
        folder.check_engine()?;
        Ok(folder)
    }

    /// Whether the rows of the gateway's own tables are in files of their own.
    pub(super) fn keeps_own_apart(&self) -> bool {
        self.format >= OWN_APART
    }

    /// Whether the rows of tables that were loaded are in files of their own.
    pub(super) fn keeps_loaded_apart(&self) -> bool {
        self.format >= LOADED_APART
    }

    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    pub(super) fn engine(&self) -> PathBuf {
        self.path.join(ENGINE)
    }

    pub(super) fn segments(&self) -> PathBuf {
        self.path.join(SEGMENTS)
    }

    /// # Errors
    /// [`StoreError::Damaged`] when the engine's last commit is older than the last acknowledged one.
    pub(super) fn check_number(&self, found: u64) -> Result<(), StoreError> {
        let acknowledged = self.acknowledged.load(Ordering::Relaxed);
        if found >= acknowledged {
            return Ok(());
        }
        let detail = format!("commits up to number {acknowledged} were acknowledged, the data ends with {found}");
        Err(damaged(&self.engine(), detail))
    }

    /// Notes that commits up to this one are acknowledged. There is no sync: the note is for finding loss, and being
    /// behind after a power failure makes it find less, never too much.
    pub(super) fn write_number(&self, number: u64) -> io::Result<()> {
        self.acknowledged.store(number, Ordering::Relaxed);
        self.number.write_all_at(&number_bytes(number), 0)
    }

    /// # Errors
    /// [`StoreError::DiskFull`] when the disk has fewer free bytes than these.
    pub(super) fn check_room(&self, bytes: u64) -> Result<(), StoreError> {
        let place = rustix::fs::statvfs(&self.path).map_err(|e| io_error(&self.path, &e.into()))?;
        let free = place.f_bavail.saturating_mul(place.f_frsize);
        if free >= bytes {
            return Ok(());
        }
        let (free, bytes) = (free >> 20, bytes >> 20);
        Err(StoreError::DiskFull(format!(
            "{}: {free} MiB are free, {bytes} MiB are kept in reserve",
            self.path.display()
        )))
    }

    /// The engine cannot open what it did not finish making, so a start that was cut short is started anew.
    fn check_engine(&self) -> Result<(), StoreError> {
        let engine = self.engine();
        let is_made = engine.join("version").try_exists().map_err(|e| io_error(&engine, &e))?;
        if is_made {
            return Ok(());
        }
        if self.acknowledged.load(Ordering::Relaxed) > 0 {
            return Err(damaged(&engine.join("version"), "the file is missing".to_owned()));
        }
        match std::fs::remove_dir_all(&engine) {
            Err(e) if e.kind() != ErrorKind::NotFound => Err(io_error(&engine, &e)),
            _ => Ok(()),
        }
    }
}

fn damaged(path: &Path, detail: String) -> StoreError {
    StoreError::Damaged { place: path.display().to_string(), detail }
}

/// A store that was just dropped may hold its lock for a moment longer, until its last scan ended; so may a process that
/// has just been told to stop. Two seconds are enough for both, and not long for one who starts a second server by mistake.
fn lock(folder: &Path) -> Result<File, StoreError> {
    let path = folder.join(LOCK);
    let file = OpenOptions::new().create(true).truncate(false).write(true).open(&path);
    let file = file.map_err(|e| io_error(&path, &e))?;
    for _ in 0..LOOKS {
        match file.try_lock() {
            Ok(()) => return Ok(file),
            Err(TryLockError::WouldBlock) => std::thread::sleep(BETWEEN_LOOKS),
            Err(TryLockError::Error(e)) => return Err(io_error(&path, &e)),
        }
    }
    Err(StoreError::Unavailable(format!("the data folder {} is in use by another process", folder.display())))
}

/// The format of a folder, which this program knows; `None` when it has none yet.
fn format_of(folder: &Path) -> Result<Option<u32>, StoreError> {
    let path = folder.join(FORMAT);
    let text = match std::fs::read(&path) {
        Ok(bytes) => String::from_utf8(bytes).unwrap_or_default(),
        Err(e) if e.kind() == ErrorKind::NotFound => return Ok(None),
        Err(e) => return Err(io_error(&path, &e)),
    };
    let version = text.strip_prefix(FORMAT_PREFIX).and_then(|version| version.trim_end().parse::<u32>().ok());
    match version {
        Some(known @ FIRST_FORMAT..=FORMAT_VERSION) => Ok(Some(known)),
        Some(other) => Err(StoreError::Unavailable(format!(
            "the data folder {} has format {other}, this program reads and writes formats up to {FORMAT_VERSION}",
            folder.display()
        ))),
        None => Err(damaged(&path, "it does not name a format".to_owned())),
    }
}

/// The last file of a new folder: where it stands, all others do.
fn write_format(folder: &Path) -> Result<(), StoreError> {
    let (path, draft) = (folder.join(FORMAT), folder.join("FORMAT.new"));
    let write = || {
        let mut file = File::create(&draft)?;
        writeln!(file, "{FORMAT_PREFIX}{FORMAT_VERSION}")?;
        file.sync_all()?;
        std::fs::rename(&draft, &path)?;
        File::open(folder)?.sync_all()
    };
    write().map_err(|e| io_error(&path, &e))
}

fn open_number(folder: &Path, is_new: bool) -> Result<(File, u64), StoreError> {
    let path = folder.join(COMMIT_NUMBER);
    let file = OpenOptions::new().create(is_new).truncate(false).read(true).write(true).open(&path);
    let mut file = match file {
        Err(e) if e.kind() == ErrorKind::NotFound => return Err(damaged(&path, "the file is missing".to_owned())),
        other => other.map_err(|e| io_error(&path, &e))?,
    };
    let mut bytes = Vec::new();
    file.read_to_end(&mut bytes).map_err(|e| io_error(&path, &e))?;
    if is_new && bytes.is_empty() {
        file.write_all_at(&number_bytes(0), 0).and_then(|()| file.sync_all()).map_err(|e| io_error(&path, &e))?;
        return Ok((file, 0));
    }
    match parse_number(&bytes) {
        // Only the start of a new folder leaves a number and no format, and that number is 0.
        Some(number) if is_new && number > 0 => Err(damaged(&folder.join(FORMAT), "the file is missing".to_owned())),
        Some(number) => Ok((file, number)),
        None => Err(damaged(&path, "it does not hold a number and its checksum".to_owned())),
    }
}

fn number_bytes(number: u64) -> [u8; 16] {
    let mut bytes = [0; 16];
    let (value, checksum) = bytes.split_at_mut(8);
    value.copy_from_slice(&number.to_le_bytes());
    checksum.copy_from_slice(&xxh64(value, 0).to_le_bytes());
    bytes
}

fn parse_number(bytes: &[u8]) -> Option<u64> {
    let (value, _) = bytes.split_first_chunk::<8>()?;
    let number = u64::from_le_bytes(*value);
    (bytes == number_bytes(number)).then_some(number)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_folder_is_held_once() {
        let folder = tempfile::tempdir().unwrap();
        let held = Folder::open(folder.path()).unwrap();
        let error = Folder::open(folder.path()).unwrap_err();
        assert!(matches!(&error, StoreError::Unavailable(text) if text.contains(folder.path().to_str().unwrap())));
        drop(held);
        Folder::open(folder.path()).unwrap();
    }

    #[test]
    fn a_folder_that_cannot_be_made_is_not_damaged() {
        let error = Folder::open(Path::new("/proc/nothing/data")).unwrap_err();
        assert!(matches!(&error, StoreError::Unavailable(text) if text.contains("/proc/nothing/data")), "{error}");
    }

    #[test]
    fn another_format_is_refused() {
        let folder = tempfile::tempdir().unwrap();
        drop(Folder::open(folder.path()).unwrap());
        std::fs::write(folder.path().join(FORMAT), "tablegate embedded 4\n").unwrap();
        assert!(matches!(Folder::open(folder.path()), Err(StoreError::Unavailable(text)) if text.contains("format 4")));
        std::fs::write(folder.path().join(FORMAT), "garbage").unwrap();
        assert!(matches!(Folder::open(folder.path()), Err(StoreError::Damaged { .. })));
    }

    #[test]
    fn the_number_survives_and_is_checked() {
        let folder = tempfile::tempdir().unwrap();
        let held = Folder::open(folder.path()).unwrap();
        held.write_number(42).unwrap();
        std::fs::create_dir(held.engine()).unwrap();
        std::fs::write(held.engine().join("version"), "").unwrap();
        drop(held);
        let held = Folder::open(folder.path()).unwrap();
        assert!(held.check_number(42).is_ok());
        let error = held.check_number(41).unwrap_err().to_string();
        assert!(error.contains("42") && error.contains("41") && error.contains("db"), "{error}");
    }

    #[test]
    fn missing_and_garbled_files_are_named() {
        let folder = tempfile::tempdir().unwrap();
        let held = Folder::open(folder.path()).unwrap();
        held.write_number(1).unwrap();
        drop(held);
        let is_damaged = |name: &str| match Folder::open(folder.path()) {
            Err(StoreError::Damaged { place, .. }) => assert!(place.ends_with(name), "{place}"),
            other => panic!("{other:?}"),
        };
        is_damaged("version");
        std::fs::remove_file(folder.path().join(FORMAT)).unwrap();
        is_damaged(FORMAT);
        std::fs::write(folder.path().join(COMMIT_NUMBER), [1; 16]).unwrap();
        is_damaged(COMMIT_NUMBER);
        write_format(folder.path()).unwrap();
        std::fs::remove_file(folder.path().join(COMMIT_NUMBER)).unwrap();
        is_damaged(COMMIT_NUMBER);
    }

    #[test]
    fn a_start_that_was_cut_short_is_started_anew() {
        let folder = tempfile::tempdir().unwrap();
        drop(Folder::open(folder.path()).unwrap());
        std::fs::create_dir(folder.path().join(ENGINE)).unwrap();
        std::fs::write(folder.path().join(ENGINE).join("0.jnl"), "").unwrap();
        let held = Folder::open(folder.path()).unwrap();
        assert!(!held.engine().exists());
    }
}
