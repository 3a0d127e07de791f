//! The file that keeps the accounts: written whole or not at all, readable by its owner only, and read again when it
//! changed.

use std::collections::BTreeMap;
use std::fs::{self, File, Metadata};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::SystemTime;

use serde::{Deserialize, Serialize};
use thiserror::Error;

use super::{AccountKey, Accounts};

const HEADER: &str = "# The accounts of tablegate's door for the Azure SDKs, as `tablegate account` writes them.\n\
                      # Who has a key may do everything with all tables.\n\n";

/// Why the accounts cannot be had or changed.
#[derive(Debug, Error)]
pub enum AccountsError {
    #[error("cannot use the accounts file {}: {error}", file.display())]
    File { file: PathBuf, error: io::Error },
    #[error("the accounts file {} is damaged: {reason}", file.display())]
    Damaged { file: PathBuf, reason: String },
    #[error("account \"{0}\" exists already; `tablegate account rotate` changes its keys")]
    Exists(String),
    #[error("there is no account \"{0}\"")]
    Missing(String),
    #[error(
        "\"{0}\" cannot be an account's name: it has 3 to 24 lower-case letters and digits, and is not the emulator's"
    )]
    Name(String),
    #[error("a key must be Base64")]
    Key,
    #[error("the system has no random bytes")]
    NoRandomness,
}

/// The accounts of a file.
#[derive(Debug)]
pub struct AccountsFile {
    path: PathBuf,
    read: Mutex<Option<(Stamp, Arc<Accounts>)>>,
}

/// Changes with the file: every change puts another file in its place.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Stamp {
    modified: Option<SystemTime>,
    length: u64,
    inode: u64,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Form {
    accounts: BTreeMap<String, KeysForm>,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct KeysForm {
    key1: String,
    key2: String,
}

impl AccountsFile {
    pub fn new(path: impl Into<PathBuf>) -> Self {
        Self { path: path.into(), read: Mutex::new(None) }
    }

    /// The accounts, from memory when the file is as it was; none when there is no file.
    ///
    /// # Errors
    /// When the file cannot be read or is damaged.
    pub fn current(&self) -> Result<Arc<Accounts>, AccountsError> {
        let stamp = match fs::metadata(&self.path) {
            Ok(metadata) => Stamp::of(&metadata),
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Arc::default()),
            Err(error) => return Err(self.failed(error)),
        };
        // What the mutex guards is replaced whole.
        let mut read = self.read.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((known, accounts)) = &*read
            && *known == stamp
        {
            return Ok(Arc::clone(accounts));
        }
        // Read after the stamp was taken: a change in between is seen the next time.
        let accounts = Arc::new(self.read()?);
        *read = Some((stamp, Arc::clone(&accounts)));
        Ok(accounts)
    }

    /// Reads the accounts, changes them and writes them back, one process at a time.
    ///
    /// # Errors
    /// What `change` meets, or the file; then nothing has changed.
    pub fn change<T>(
        &self,
        change: impl FnOnce(&mut Accounts) -> Result<T, AccountsError>,
    ) -> Result<T, AccountsError> {
        let folder = self.path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
        fs::create_dir_all(folder).map_err(|error| self.failed(error))?;
        let _lock = self.lock().map_err(|error| self.failed(error))?;
        let mut accounts = self.read()?;
        let result = change(&mut accounts)?;
        let text = toml::to_string(&Form::of(&accounts)).map_err(|error| self.damaged(error.to_string()))?;
        self.replace(folder, &text).map_err(|error| self.failed(error))?;
        Ok(result)
    }

    fn read(&self) -> Result<Accounts, AccountsError> {
        match fs::read_to_string(&self.path) {
            // The reason quotes nothing of the text.
            Ok(text) => toml::from_str::<Form>(&text)
                .map_err(|error| self.damaged(error.message().to_owned()))
                .and_then(Form::into_accounts),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(Accounts::default()),
            Err(error) => Err(self.failed(error)),
        }
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
        let mut file = tempfile::Builder::new().prefix(".accounts").tempfile_in(folder)?;
        file.write_all(HEADER.as_bytes())?;
        file.write_all(text.as_bytes())?;
        file.as_file().sync_all()?;
        file.persist(&self.path)?;
        // The new name is on the disk when its folder is.
        File::open(folder)?.sync_all()
    }

    fn failed(&self, error: io::Error) -> AccountsError {
        AccountsError::File { file: self.path.clone(), error }
    }

    fn damaged(&self, reason: String) -> AccountsError {
        AccountsError::Damaged { file: self.path.clone(), reason }
    }
}

impl Form {
    fn of(accounts: &Accounts) -> Self {
        let form = |keys: &[AccountKey; 2]| KeysForm { key1: keys[0].to_base64(), key2: keys[1].to_base64() };
        Self { accounts: accounts.0.iter().map(|(name, keys)| (name.clone(), form(keys))).collect() }
    }

    fn into_accounts(self) -> Result<Accounts, AccountsError> {
        let keys = |form: KeysForm| Ok(Arc::new([AccountKey::parse(&form.key1)?, AccountKey::parse(&form.key2)?]));
        self.accounts.into_iter().map(|(name, form)| Ok((name, keys(form)?))).collect::<Result<_, _>>().map(Accounts)
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

    #[test]
    fn changes_are_seen_at_once() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("new/accounts.toml");
        let file = AccountsFile::new(&path);
        assert!(file.current().unwrap().is_empty());
        let key = file.change(|accounts| accounts.add("shop")).unwrap();
        assert_eq!(file.current().unwrap().keys("shop").unwrap()[0], key);
        let again = file.current().unwrap();
        assert!(Arc::ptr_eq(&again, &file.current().unwrap()), "it is read only when it changed");
        AccountsFile::new(&path).change(|accounts| accounts.add("bank")).unwrap();
        assert_eq!(file.current().unwrap().names().collect::<Vec<_>>(), ["bank", "shop"]);
    }

    #[test]
    fn a_damaged_file_is_said_to_be_without_its_keys() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("accounts.toml");
        fs::write(&path, "[accounts.shop]\nkey1 = \"c2VjcmV0\"\nkey3 = \"c2VjcmV0\"\n").unwrap();
        let error = AccountsFile::new(&path).current().unwrap_err().to_string();
        assert!(error.contains("is damaged") && !error.contains("c2VjcmV0"), "{error}");
    }
}
