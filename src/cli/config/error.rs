//! Why a configuration cannot be used: one line, which says where the wrong value stands.

use std::fmt;
use std::net::SocketAddr;
use std::path::PathBuf;

use tablegate_sql::MountNameError;
use thiserror::Error;

use super::mounts::known_mount_keys;
use crate::cli::settings::{CONFIG_VARIABLE, DEFINITIONS, Definition, Reason, VARIABLE_PREFIX};

/// Why the configuration cannot be used.
#[derive(Debug, Error, PartialEq, Eq)]
pub(crate) enum ConfigError {
    #[error("cannot read the configuration file {}: {reason}", file.display())]
    Unreadable { file: PathBuf, reason: String },
    #[error("{}: {reason}", file.display())]
    Syntax { file: PathBuf, reason: String },
    #[error("{}: unknown key \"{key}\"; known are {}, and tables [mount.NAME]", file.display(), known_keys())]
    UnknownKey { file: PathBuf, key: String },
    #[error("{}: \"{key}\" must be a string, a whole number, true or false", file.display())]
    ValueKind { file: PathBuf, key: String },
    #[error(
        "unknown environment variable {name}; known are {CONFIG_VARIABLE}, {VARIABLE_PREFIX}MOUNT_NAME and {}",
        known_variables()
    )]
    UnknownVariable { name: String },
    #[error("{at}: two of a data folder, memory and an account are asked for; choose one")]
    TwoStores { at: Origin },
    #[error("{at}: a secret does not belong on the command line; name it as env:VARIABLE or file:PATH")]
    SecretInOption { at: Origin },
    #[error("{at}: an account takes connection_string, or endpoint with one of key, sas and entra = true")]
    HalfAccount { at: Origin },
    #[error("{at}: a mount is NAME=env:VARIABLE or NAME=file:PATH, where its connection string is")]
    MountOption { at: Origin },
    #[error("{}: \"{key}\" must be a table, such as [mount.prod]", file.display())]
    NoMountTable { file: PathBuf, key: String },
    #[error("{}: unknown key \"{key}\"; a mount has {}", file.display(), known_mount_keys())]
    UnknownMountKey { file: PathBuf, key: String },
    #[error("{at}: \"{name}\" cannot be the name of a mount: {reason}")]
    MountName { at: Origin, name: String, reason: MountNameError },
    #[error("{at}: \"{name}\" is mounted twice")]
    SecondMount { at: Origin, name: String },
    #[error("{at}: only an account can be used read-only")]
    NotReadOnly { at: Origin },
    #[error("tls_cert and tls_key go together: both are needed, or neither")]
    HalfTls,
    #[error("rest_token_issuer and rest_token_keys go together: both are needed, or neither")]
    HalfIssuer,
    #[error("{at}: TLS cannot be required without a certificate; give --tls-cert and --tls-key")]
    NoTls { at: Origin },
    #[error("{at}: metrics need an address of their own, {address} is where clients connect")]
    SharedAddress { at: Origin, address: SocketAddr },
    #[error("{at}: the Azure SDKs need an address of their own, {address} is taken by another option")]
    RestAddress { at: Origin, address: SocketAddr },
    #[error("{at}: \"{value}\" is not valid, it must be {reason}")]
    Value { at: Origin, value: String, reason: Reason },
}

/// Where a value was given.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Origin {
    Option(String),
    Variable(String),
    File(PathBuf, &'static str),
    /// A key of a mount, with the table it is in.
    MountKey(PathBuf, String),
    Default(&'static str),
}

impl fmt::Display for Origin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Origin::Option(name) => write!(f, "option {name}"),
            Origin::Variable(name) => write!(f, "environment variable {name}"),
            Origin::File(file, key) => write!(f, "{}, key \"{key}\"", file.display()),
            Origin::MountKey(file, key) => write!(f, "{}, key \"{key}\"", file.display()),
            Origin::Default(key) => write!(f, "default of {key}"),
        }
    }
}

fn known_keys() -> String {
    DEFINITIONS.iter().map(|d| d.key).collect::<Vec<_>>().join(", ")
}

fn known_variables() -> String {
    DEFINITIONS.iter().map(Definition::variable).collect::<Vec<_>>().join(", ")
}
