//! Small files that keep who may come in: written whole or not at all, readable by their owner only, and read again when
//! they changed.
//!
//! What is in such a file, and what is said when it cannot be used, says the type that is kept in it ([`Kept`]).

mod mapped;

pub use mapped::MappedFile;

use std::fs::{self, File, Metadata};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::SystemTime;

/// What a file keeps. Its default is what there is without a file.
pub trait Kept: Default {
    type Error;

    /// What the file opens with, as comments.
    const HEADER: &'static str;
    /// What the name of the file that is going to replace it begins with.
    const PREFIX: &'static str;

    /// # Errors
    /// When the text of this file is damaged. The reason must quote nothing of it.
    fn from_text(text: &str, file: &Path) -> Result<Self, Self::Error>;

    /// # Errors
    /// When there is no text for it.
    fn to_text(&self, file: &Path) -> Result<String, Self::Error>;

    /// The error for a file that the system does not let us use.
    fn unusable(file: &Path, error: io::Error) -> Self::Error;
}

/// A file that keeps something.
#[derive(Debug)]
pub struct KeptFile<T> {
    path: PathBuf,
    read: Mutex<Option<(Stamp, Arc<T>)>>,
}

/// Changes with the file: every change puts another file in its place.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Stamp {
    modified: Option<SystemTime>,
    length: u64,
    inode: u64,
}

impl<T: Kept> KeptFile<T> {
    pub fn new(path: impl Into<PathBuf>) -> Self {
        Self { path: path.into(), read: Mutex::new(None) }
    }

    /// What is kept; the default when there is no file.
    ///
    /// # Errors
    /// When the file cannot be read or is damaged.
    pub fn read(&self) -> Result<T, T::Error> {
        match fs::read_to_string(&self.path) {
            Ok(text) => T::from_text(&text, &self.path),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(T::default()),
            Err(error) => Err(self.unusable(error)),
        }
    }

    /// As [`KeptFile::read`], from memory when the file is as it was.
    ///
    /// # Errors
    /// As [`KeptFile::read`].
    pub fn current(&self) -> Result<Arc<T>, T::Error> {
        let stamp = match fs::metadata(&self.path) {
            Ok(metadata) => Stamp::of(&metadata),
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Arc::default()),
            Err(error) => return Err(self.unusable(error)),
        };
        // What the mutex guards is replaced whole.
        let mut read = self.read.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((known, kept)) = &*read
            && *known == stamp
        {
            return Ok(Arc::clone(kept));
        }
        // Read after the stamp was taken: a change in between is seen the next time.
        let kept = Arc::new(self.read()?);
        *read = Some((stamp, Arc::clone(&kept)));
        Ok(kept)
    }

    /// Reads what is kept, changes it and writes it back, one process at a time.
    ///
    /// # Errors
    /// What `change` meets, or the file; then nothing has changed.
    pub fn change<R>(&self, change: impl FnOnce(&mut T) -> Result<R, T::Error>) -> Result<R, T::Error> {
        let folder = self.path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
        fs::create_dir_all(folder).map_err(|error| self.unusable(error))?;
        let _lock = self.lock().map_err(|error| self.unusable(error))?;
        let mut kept = self.read()?;
        let result = change(&mut kept)?;
        let text = kept.to_text(&self.path)?;
        self.replace(folder, &text).map_err(|error| self.unusable(error))?;
        Ok(result)
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
        let mut file = tempfile::Builder::new().prefix(T::PREFIX).tempfile_in(folder)?;
        file.write_all(T::HEADER.as_bytes())?;
        file.write_all(text.as_bytes())?;
        file.as_file().sync_all()?;
        file.persist(&self.path)?;
        // The new name is on the disk when its folder is.
        File::open(folder)?.sync_all()
    }

    fn unusable(&self, error: io::Error) -> T::Error {
        T::unusable(&self.path, error)
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
