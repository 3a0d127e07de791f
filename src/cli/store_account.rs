//! The account that a store is in: named in the configuration, opened from its secrets.
//!
//! A secret is given by name (`env:VAR`, `file:PATH`) or stands in the file or the environment itself; an option of the
//! command line, which others on the machine can see, only names one.

use std::path::PathBuf;
use std::time::Duration;

use tablegate_backends::azure::{AccountError, AzureAccount, Credential, RetryPolicy, Secret};
use thiserror::Error;

use super::config::{ConfigError, Origin};

/// How the account is reached.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum AccountConfig {
    ConnectionString(SecretSource),
    Key {
        endpoint: String,
        key: SecretSource,
    },
    Sas {
        endpoint: String,
        sas: SecretSource,
    },
    /// By tokens of Entra ID, for whom the environment says.
    Entra {
        endpoint: String,
    },
}

/// How an account is used.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct AccountUse {
    /// Nothing is ever written there.
    pub read_only: bool,
    /// Under way at one time.
    pub requests: usize,
    pub retry: RetryPolicy,
    /// How long a sample of a found table serves; `None` for as long as the server runs.
    pub rediscover: Option<Duration>,
}

/// Where a secret is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum SecretSource {
    Variable(String),
    File(PathBuf),
    Here(Secret),
}

/// Why an account cannot be used.
#[derive(Debug, Error)]
pub(super) enum OpenAccountError {
    #[error("the environment variable {0}, named for the account, is not set")]
    NoVariable(String),
    #[error("cannot read the file {}, named for the account: {reason}", file.display())]
    NoFile { file: PathBuf, reason: String },
    #[error("entra = true: {0}")]
    NoEntra(String),
    #[error(transparent)]
    Account(#[from] AccountError),
}

impl SecretSource {
    /// # Errors
    /// When the secret itself is in an option.
    pub(super) fn of(value: &str, at: &Origin) -> Result<Self, ConfigError> {
        if let Some(name) = value.strip_prefix("env:") {
            return Ok(SecretSource::Variable(name.to_owned()));
        }
        if let Some(path) = value.strip_prefix("file:") {
            return Ok(SecretSource::File(PathBuf::from(path)));
        }
        match at {
            Origin::Option(_) => Err(ConfigError::SecretInOption { at: at.clone() }),
            Origin::Variable(_) | Origin::File(..) | Origin::MountKey(..) | Origin::Default(_) => {
                Ok(SecretSource::Here(Secret::new(value)))
            }
        }
    }

    fn read(&self) -> Result<Secret, OpenAccountError> {
        match self {
            SecretSource::Here(secret) => Ok(secret.clone()),
            SecretSource::Variable(name) => {
                let text = std::env::var(name).map_err(|_| OpenAccountError::NoVariable(name.clone()))?;
                Ok(Secret::new(text.trim()))
            }
            SecretSource::File(file) => {
                let text = std::fs::read_to_string(file)
                    .map_err(|error| OpenAccountError::NoFile { file: file.clone(), reason: error.to_string() })?;
                Ok(Secret::new(text.trim()))
            }
        }
    }
}

impl AccountConfig {
    /// # Errors
    /// When a secret cannot be read, or is none.
    pub(super) fn open(&self) -> Result<AzureAccount, OpenAccountError> {
        Ok(match self {
            AccountConfig::ConnectionString(source) => AzureAccount::of_connection_string(&source.read()?)?,
            AccountConfig::Key { endpoint, key } => AzureAccount::new(endpoint, Credential::key(&key.read()?)?)?,
            AccountConfig::Sas { endpoint, sas } => AzureAccount::new(endpoint, Credential::sas(&sas.read()?)?)?,
            AccountConfig::Entra { endpoint } => AzureAccount::new(endpoint, entra()?)?,
        })
    }
}

#[cfg(feature = "entra")]
fn entra() -> Result<Credential, OpenAccountError> {
    let entra = tablegate_backends::azure::Entra::of_environment().map_err(OpenAccountError::NoEntra)?;
    Ok(Credential::Token(std::sync::Arc::new(entra)))
}

#[cfg(not(feature = "entra"))]
fn entra() -> Result<Credential, OpenAccountError> {
    let reason = "this program was built without Entra ID; build it with cargo build --features entra";
    Err(OpenAccountError::NoEntra(reason.to_owned()))
}
