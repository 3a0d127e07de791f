//! The accounts that clients name: each with two keys, so that one can be changed while the other is in use.
//!
//! All of them are doors to the one store of the server.

mod file;

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use ring::hmac;
use ring::rand::{SecureRandom, SystemRandom};

pub use self::file::{AccountsError, AccountsFile};

/// The account of the service's emulators. Everybody knows its key, so only a loopback address has it.
pub const EMULATOR_ACCOUNT: &str = "devstoreaccount1";
/// Its key, as the emulator's documentation publishes it.
pub const EMULATOR_KEY: &str =
    "Eby8vdM02xNOcqFlqUwJPLlmEtlCDXJ1OUzFT50uSRZ6IFsuFq2UVErCz4I6tq/K1SZFPTOtr/KBHBeksoGMGw==";

/// As long as the keys of the service.
const KEY_BYTES: usize = 64;

/// A key of an account. It is shown nowhere but where it is asked for.
#[derive(Clone)]
pub struct AccountKey {
    bytes: Vec<u8>,
    /// The same, made ready for signatures.
    key: hmac::Key,
}

impl PartialEq for AccountKey {
    fn eq(&self, other: &Self) -> bool {
        self.bytes == other.bytes
    }
}

impl Eq for AccountKey {}

impl AccountKey {
    /// # Errors
    /// When the text is not Base64, or nothing.
    pub fn parse(text: &str) -> Result<Self, AccountsError> {
        let bytes = STANDARD.decode(text).map_err(|_| AccountsError::Key)?;
        if bytes.is_empty() { Err(AccountsError::Key) } else { Ok(Self::of(bytes)) }
    }

    /// # Errors
    /// When the system has no random bytes.
    pub fn generate() -> Result<Self, AccountsError> {
        let mut bytes = vec![0; KEY_BYTES];
        SystemRandom::new().fill(&mut bytes).map_err(|_| AccountsError::NoRandomness)?;
        Ok(Self::of(bytes))
    }

    fn of(bytes: Vec<u8>) -> Self {
        let key = hmac::Key::new(hmac::HMAC_SHA256, &bytes);
        Self { bytes, key }
    }

    /// As connection strings have it.
    pub fn to_base64(&self) -> String {
        STANDARD.encode(&self.bytes)
    }

    /// Whether a text was signed with it, found out in a time that tells nothing.
    pub(crate) fn has_signed(&self, text: &str, signature: &[u8]) -> bool {
        hmac::verify(&self.key, text.as_bytes(), signature).is_ok()
    }
}

impl fmt::Debug for AccountKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("AccountKey")
    }
}

/// Which of an account's keys.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum KeyNumber {
    First,
    Second,
}

/// The two keys of an account.
pub(crate) type AccountKeys = [AccountKey; 2];

/// All accounts, by their names.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Accounts(BTreeMap<String, Arc<AccountKeys>>);

impl Accounts {
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.0.keys().map(String::as_str)
    }

    pub fn keys(&self, name: &str) -> Option<&Arc<AccountKeys>> {
        self.0.get(name)
    }

    /// Adds an account with new keys; gives the first of them.
    ///
    /// # Errors
    /// When the name is taken or cannot be one.
    pub fn add(&mut self, name: &str) -> Result<AccountKey, AccountsError> {
        if !is_name(name) || name == EMULATOR_ACCOUNT {
            return Err(AccountsError::Name(name.to_owned()));
        }
        if self.0.contains_key(name) {
            return Err(AccountsError::Exists(name.to_owned()));
        }
        let keys = [AccountKey::generate()?, AccountKey::generate()?];
        let first = keys[0].clone();
        self.0.insert(name.to_owned(), Arc::new(keys));
        Ok(first)
    }

    /// Gives an account a new key in the place of this one.
    ///
    /// # Errors
    /// When there is no such account.
    pub fn rotate(&mut self, name: &str, number: KeyNumber) -> Result<AccountKey, AccountsError> {
        let keys = self.0.get_mut(name).ok_or_else(|| AccountsError::Missing(name.to_owned()))?;
        let key = AccountKey::generate()?;
        Arc::make_mut(keys)[number as usize] = key.clone();
        Ok(key)
    }

    /// # Errors
    /// When there is no such account.
    pub fn remove(&mut self, name: &str) -> Result<(), AccountsError> {
        self.0.remove(name).map(drop).ok_or_else(|| AccountsError::Missing(name.to_owned()))
    }
}

/// The service's rule: 3 to 24 lower-case letters and digits.
fn is_name(name: &str) -> bool {
    (3..=24).contains(&name.len()) && name.bytes().all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_account_has_two_keys_that_change_one_by_one() {
        let mut accounts = Accounts::default();
        let first = accounts.add("shop").unwrap();
        assert_eq!(accounts.keys("shop").unwrap()[0], first);
        let second = accounts.rotate("shop", KeyNumber::Second).unwrap();
        assert_eq!(accounts.keys("shop").map(|keys| &**keys), Some(&[first, second]));
        assert!(matches!(accounts.add("shop"), Err(AccountsError::Exists(_))));
        for wrong in ["", "ab", "Shop", "a-b-c", EMULATOR_ACCOUNT, &"a".repeat(25)] {
            assert!(matches!(accounts.add(wrong), Err(AccountsError::Name(_))), "{wrong}");
        }
        accounts.remove("shop").unwrap();
        assert!(matches!(accounts.rotate("shop", KeyNumber::First), Err(AccountsError::Missing(_))));
    }

    #[test]
    fn a_key_is_not_shown_by_chance() {
        let key = AccountKey::parse(EMULATOR_KEY).unwrap();
        assert_eq!(format!("{key:?}"), "AccountKey");
        assert_eq!(key.to_base64(), EMULATOR_KEY);
        assert!(AccountKey::parse("").is_err() && AccountKey::parse("?").is_err());
    }
}
