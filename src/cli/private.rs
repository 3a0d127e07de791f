//! What the server writes is its own user's alone: rows are in it, and what passwords are checked by.

use std::fs::{self, Permissions};
use std::io;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use thiserror::Error;

const OF_OTHERS: u32 = 0o077;
const OF_THE_OWNER: u32 = 0o700;

/// Why a data folder is not used.
#[derive(Debug, Error)]
#[error("the data folder {path} is open to other users of this machine; close it with: chmod 700 {path}", path = folder.display())]
pub(super) struct OpenToOthers {
    folder: PathBuf,
}

/// From now on this process makes files and folders that other users cannot read.
#[expect(unsafe_code, reason = "the standard library has no umask")]
pub(super) fn make_private_files() {
    // SAFETY: the call takes a number, keeps no pointer and cannot fail.
    unsafe { libc::umask(OF_OTHERS) };
}

/// Closes a data folder to others where that is the server's to do: a new one, and one of a server that did not keep its
/// files to itself yet.
///
/// # Errors
/// When somebody has opened a folder that was closed, or it is not this user's to close.
pub(super) fn close(folder: &Path, is_new: bool) -> Result<(), OpenToOthers> {
    let open = || OpenToOthers { folder: folder.to_owned() };
    let Ok(found) = fs::metadata(folder) else { return Ok(()) };
    if !found.is_dir() || found.permissions().mode() & OF_OTHERS == 0 {
        return Ok(());
    }
    if !is_new && !has_open_entries(folder).map_err(|_| open())? {
        return Err(open());
    }
    close_all(folder).map_err(|_| open())?;
    if !is_new {
        tracing::warn!(folder = %folder.display(), "NOTICE: the data folder was open to other users; now it is closed to them");
    }
    Ok(())
}

/// Whether others than its owner can read a file, or write to it.
pub(super) fn is_open_to_others(file: &Path) -> bool {
    fs::metadata(file).is_ok_and(|found| found.permissions().mode() & OF_OTHERS != 0)
}

/// Whether what is in the folder is open too, as everything was that earlier servers wrote.
fn has_open_entries(folder: &Path) -> io::Result<bool> {
    for entry in fs::read_dir(folder)? {
        if entry?.metadata()?.permissions().mode() & OF_OTHERS != 0 {
            return Ok(true);
        }
    }
    Ok(false)
}

/// The folder first: then nobody looks in while the rest is closed.
fn close_all(path: &Path) -> io::Result<()> {
    let found = fs::symlink_metadata(path)?;
    if found.is_symlink() {
        return Ok(());
    }
    let mode = found.permissions().mode();
    let own = if found.is_dir() { mode & !OF_OTHERS | OF_THE_OWNER } else { mode & !OF_OTHERS };
    if own != mode {
        fs::set_permissions(path, Permissions::from_mode(own))?;
    }
    if found.is_dir() {
        for entry in fs::read_dir(path)? {
            close_all(&entry?.path())?;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn mode(path: &Path) -> u32 {
        fs::metadata(path).unwrap().permissions().mode() & 0o777
    }

    fn set(path: &Path, mode: u32) {
        fs::set_permissions(path, Permissions::from_mode(mode)).unwrap();
    }

    #[test]
    fn an_old_folder_is_closed_with_all_that_is_in_it() {
        let folder = tempfile::tempdir().unwrap();
        let (inner, file) = (folder.path().join("inner"), folder.path().join("inner/file"));
        fs::create_dir(&inner).unwrap();
        fs::write(&file, "rows").unwrap();
        [(folder.path(), 0o755), (&inner, 0o755), (&file, 0o644)].into_iter().for_each(|(path, mode)| set(path, mode));
        close(folder.path(), false).unwrap();
        assert_eq!([mode(folder.path()), mode(&inner), mode(&file)], [0o700, 0o700, 0o600]);
    }

    #[test]
    fn a_new_folder_is_closed() {
        let folder = tempfile::tempdir().unwrap();
        set(folder.path(), 0o775);
        close(folder.path(), true).unwrap();
        assert_eq!(mode(folder.path()), 0o700);
    }

    #[test]
    fn a_folder_that_somebody_opened_is_refused_with_the_way_out() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("file");
        fs::write(&file, "rows").unwrap();
        set(folder.path(), 0o750);
        set(&file, 0o600);
        let refused = close(folder.path(), false).unwrap_err().to_string();
        let path = folder.path().display();
        assert_eq!(
            refused,
            format!("the data folder {path} is open to other users of this machine; close it with: chmod 700 {path}")
        );
        assert_eq!(mode(folder.path()), 0o750);
    }

    #[test]
    fn what_is_not_there_yet_is_made_closed() {
        let folder = tempfile::tempdir().unwrap();
        close(&folder.path().join("missing"), true).unwrap();
    }
}
