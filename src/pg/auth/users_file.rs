//! The file that keeps the users: written whole or not at all, readable by its owner only, and read again when it changed.

use std::fs::{self, File, Metadata};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::SystemTime;

use super::users::{Users, UsersError};

const HEADER: &str = "# The users of tablegate, as `tablegate user` writes them. There are no passwords here, only what\n\
                      # they are checked with; keep it to yourself all the same.\n\n";

/// The users of a file.
#[derive(Debug)]
pub struct UsersFile {
    path: PathBuf,
    read: Mutex<Option<(Stamp, Arc<Users>)>>,
}

/// Changes with the file: every change puts another file in its place.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Stamp {
    modified: Option<SystemTime>,
    length: u64,
    inode: u64,
}

impl UsersFile {
    pub fn new(path: impl Into<PathBuf>) -> Self {
        Self { path: path.into(), read: Mutex::new(None) }
    }

    /// The users; none when there is no file.
    ///
    /// # Errors
    /// When the file cannot be read or is damaged.
    pub fn read(&self) -> Result<Users, UsersError> {
        match fs::read_to_string(&self.path) {
            Ok(text) => Users::from_text(&text).map_err(|reason| self.damaged(reason)),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(Users::default()),
            Err(error) => Err(self.failed(error)),
        }
    }

    /// As [`UsersFile::read`], from memory when the file is as it was.
    ///
    /// # Errors
    /// As [`UsersFile::read`].
    pub fn current(&self) -> Result<Arc<Users>, UsersError> {
        let stamp = match fs::metadata(&self.path) {
            Ok(metadata) => Stamp::of(&metadata),
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Arc::default()),
            Err(error) => return Err(self.failed(error)),
        };
        // What the mutex guards is replaced whole.
        let mut read = self.read.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((known, users)) = &*read
            && *known == stamp
        {
            return Ok(users.clone());
        }
        // Read after the stamp was taken: a change in between is seen at the next login.
        let users = Arc::new(self.read()?);
        *read = Some((stamp, users.clone()));
        Ok(users)
    }

    /// Reads the users, changes them and writes them back, one process at a time.
    ///
    /// # Errors
    /// What `change` meets, or the file; then nothing has changed.
    pub fn change(&self, change: impl FnOnce(&mut Users) -> Result<(), UsersError>) -> Result<(), UsersError> {
        let folder = self.path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
        fs::create_dir_all(folder).map_err(|error| self.failed(error))?;
        let _lock = self.lock().map_err(|error| self.failed(error))?;
        let mut users = self.read()?;
        change(&mut users)?;
        let text = users.to_text().map_err(|reason| self.damaged(reason))?;
        self.replace(folder, &text).map_err(|error| self.failed(error))
    }

    /// The lock is a file beside it, because the file itself is replaced.
    fn lock(&self) -> io::Result<File> {
        let mut name = self.path.clone().into_os_string();
        name.push(".lock");
        let lock = File::options().create(true).append(true).open(name)?;
        lock.lock()?;
        Ok(lock)
    }

    fn replace(&self, folder: &Path, text: &str) -> io::Result<()> {
        // Made with mode 0600.
        let mut file = tempfile::Builder::new().prefix(".users").tempfile_in(folder)?;
        file.write_all(HEADER.as_bytes())?;
        file.write_all(text.as_bytes())?;
        file.as_file().sync_all()?;
        file.persist(&self.path)?;
        // The new name is on the disk when its folder is.
        File::open(folder)?.sync_all()
    }

    fn failed(&self, error: io::Error) -> UsersError {
        UsersError::File { file: self.path.clone(), error }
    }

    fn damaged(&self, reason: String) -> UsersError {
        UsersError::Damaged { file: self.path.clone(), reason }
    }
}

impl Stamp {
    fn of(metadata: &Metadata) -> Self {
        Self { modified: metadata.modified().ok(), length: metadata.len(), inode: inode(metadata) }
    }
}

#[cfg(unix)]
fn inode(metadata: &Metadata) -> u64 {
    std::os::unix::fs::MetadataExt::ino(metadata)
}

#[cfg(not(unix))]
fn inode(_: &Metadata) -> u64 {
    0
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::auth::{User, Verifier};
    use tablegate_sql::session::Role;

    fn add(file: &UsersFile, name: &str) -> Result<(), UsersError> {
        let user = User { role: Role::ReadOnly, verifier: Some(Verifier::of_password("x").unwrap()) };
        file.change(|users| users.add(name, user))
    }

    #[test]
    fn changes_are_seen_at_once() {
        let folder = tempfile::tempdir().unwrap();
        let file = UsersFile::new(folder.path().join("new/users.toml"));
        assert!(file.current().unwrap().is_empty());
        add(&file, "a").unwrap();
        assert!(file.current().unwrap().get("a").is_some());
        let again = file.current().unwrap();
        assert!(Arc::ptr_eq(&again, &file.current().unwrap()), "it is read only when it changed");
        add(&UsersFile::new(folder.path().join("new/users.toml")), "b").unwrap();
        assert!(file.current().unwrap().get("b").is_some());
    }

    #[test]
    fn a_change_that_fails_leaves_the_file() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("users.toml");
        let file = UsersFile::new(&path);
        add(&file, "a").unwrap();
        let before = fs::read(&path).unwrap();
        assert!(add(&file, "a").is_err());
        assert_eq!(fs::read(&path).unwrap(), before);
        fs::write(&path, "secret = ").unwrap();
        assert!(matches!(add(&file, "b"), Err(UsersError::Damaged { .. })));
        assert!(matches!(file.current(), Err(UsersError::Damaged { .. })));
        assert_eq!(fs::read(&path).unwrap(), b"secret = ");
    }

    #[cfg(unix)]
    #[test]
    fn nobody_else_may_read_it() {
        use std::os::unix::fs::PermissionsExt;

        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("users.toml");
        add(&UsersFile::new(&path), "a").unwrap();
        assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
    }
}
