//! The file that keeps the accounts.

use std::collections::BTreeMap;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use serde::{Deserialize, Serialize};
use tablegate_files::{Kept, KeptFile};
use thiserror::Error;

use super::{AccountKey, Accounts};

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
pub type AccountsFile = KeptFile<Accounts>;

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

impl Kept for Accounts {
    type Error = AccountsError;

    const HEADER: &'static str = "# The accounts of tablegate's door for the Azure SDKs, as `tablegate account` writes \
                                  them.\n# Who has a key may do everything with all tables.\n\n";
    const PREFIX: &'static str = ".accounts";

    fn from_text(text: &str, file: &Path) -> Result<Self, AccountsError> {
        // The reason quotes nothing of the text.
        let form = toml::from_str::<Form>(text).map_err(|error| damaged(file, error.message().to_owned()));
        form.and_then(Form::into_accounts)
    }

    fn to_text(&self, file: &Path) -> Result<String, AccountsError> {
        toml::to_string(&Form::of(self)).map_err(|error| damaged(file, error.to_string()))
    }

    fn unusable(file: &Path, error: io::Error) -> AccountsError {
        AccountsError::File { file: file.to_owned(), error }
    }
}

fn damaged(file: &Path, reason: String) -> AccountsError {
    AccountsError::Damaged { file: file.to_owned(), reason }
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

#[cfg(test)]
mod tests {
    use std::fs;

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
