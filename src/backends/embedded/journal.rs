//! The engine's journal at the end of a store.
//!
//! The engine reads its journal again whenever it is opened, whatever of it is in its files already, and begins a new one
//! only when that one is full: up to 64 MB, which takes seconds. So a store that is closed leaves none behind that is long:
//! everything is in files then, and the journal is emptied. It is not removed, for the engine takes a folder without one
//! for a new one.

use std::fs::{self, OpenOptions};
use std::io;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

/// More than this is worth being emptied: a tenth of a second to read.
const LONG_BYTES: u64 = 2 << 20;
/// Bytes of what the file system counts as a block.
const BLOCK: u64 = 512;

/// Whether reading it would take the next start a while.
///
/// # Errors
/// What the disk says.
pub(super) fn is_long(folder: &Path) -> io::Result<bool> {
    let mut bytes = 0;
    for file in files(folder)? {
        // The engine reserves more than it writes.
        bytes += fs::metadata(file)?.blocks() * BLOCK;
    }
    Ok(bytes > LONG_BYTES)
}

/// Empties the journal. The caller has made sure that everything in it is in other files and on the disk, and that
/// there are no more writers.
///
/// # Errors
/// What the disk says.
pub(super) fn empty(folder: &Path) -> io::Result<()> {
    for file in files(folder)? {
        let file = OpenOptions::new().write(true).open(file)?;
        file.set_len(0)?;
        file.sync_all()?;
    }
    Ok(())
}

fn files(folder: &Path) -> io::Result<Vec<PathBuf>> {
    let mut found = Vec::new();
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        if path.extension().is_some_and(|extension| extension == "jnl") {
            found.push(path);
        }
    }
    Ok(found)
}
