//! The folder of the segments' files.

use std::collections::HashSet;
use std::fs::File;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use tablegate_store::table::StoreError;
use uuid::Uuid;

use super::super::engine::io_error;

const SUFFIX: &str = ".arrow";

/// A name that no file ever had: a reader that is late may still hold one of the same span.
pub(super) fn new_name(table: u32) -> String {
    format!("{table:08x}-{}{SUFFIX}", Uuid::new_v4().simple())
}

/// # Errors
/// What the disk says.
pub(super) fn make(folder: &Path) -> Result<(), StoreError> {
    std::fs::create_dir_all(folder).map_err(|e| io_error(folder, &e))
}

/// Deletes the files that are not among these: they were not finished, or have no readers any more.
///
/// # Errors
/// What the disk says.
pub(super) fn delete_orphans<'a>(folder: &Path, kept: impl Iterator<Item = &'a str>) -> Result<(), StoreError> {
    let kept: HashSet<&str> = kept.collect();
    let entries = match std::fs::read_dir(folder) {
        Err(e) if e.kind() == ErrorKind::NotFound => return Ok(()),
        entries => entries.map_err(|e| io_error(folder, &e))?,
    };
    for entry in entries {
        let path = entry.map_err(|e| io_error(folder, &e))?.path();
        let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
        if name.ends_with(SUFFIX) && !kept.contains(name) {
            delete(&path);
        }
    }
    Ok(())
}

/// A file that stays is deleted at the next start.
pub(super) fn delete(path: &Path) {
    match std::fs::remove_file(path) {
        Err(error) if error.kind() != ErrorKind::NotFound => {
            tracing::warn!(file = %path.display(), %error, "a segment's file was not deleted");
        }
        _ => {}
    }
}

/// The names in the folder are on the disk, and so is the folder's own.
///
/// # Errors
/// What the disk says.
pub(super) fn sync(folder: &Path) -> Result<(), StoreError> {
    let paths = [Some(folder.to_path_buf()), folder.parent().map(PathBuf::from)];
    for path in paths.into_iter().flatten() {
        File::open(&path).and_then(|folder| folder.sync_all()).map_err(|e| io_error(&path, &e))?;
    }
    Ok(())
}
