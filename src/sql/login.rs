//! What the front-end has verified of a session's client. The client's own claims are not among it.

use std::fmt;
use std::net::SocketAddr;
use std::sync::Arc;

use async_trait::async_trait;

/// What a user may do without anything being granted.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Role {
    /// May do everything, and manages the users. It is also the role of clients on connections that need no user.
    #[default]
    Admin,
    /// Everything with tables.
    ReadWrite,
    /// Its transactions are read-only, and it cannot make them otherwise.
    ReadOnly,
    /// Nothing: all it may do is granted.
    Granted,
}

impl Role {
    /// Whether it sees what the sessions of others do, and may stop it.
    pub(crate) fn sees_others(self) -> bool {
        matches!(self, Role::Admin | Role::ReadWrite)
    }
}

/// A user as others know it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Account {
    pub name: String,
    pub role: Role,
    /// It has a password.
    pub can_login: bool,
}

/// A new password, or the verifier of one in PostgreSQL's form. It is shown nowhere.
#[derive(Clone, PartialEq, Eq)]
pub struct Secret(String);

impl Secret {
    pub fn new(text: String) -> Self {
        Self(text)
    }

    /// The text, for the code that makes a verifier of it.
    pub fn reveal(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Secret(..)")
    }
}

/// What is to become of a user.
#[derive(Debug, Clone)]
pub enum AccountChange {
    Add {
        role: Role,
        password: Option<Secret>,
    },
    /// What is `None` stays.
    Change {
        role: Option<Role>,
        password: Option<Option<Secret>>,
    },
    Remove,
}

/// Why the users cannot be had or changed: for people, without secrets.
#[derive(Debug, thiserror::Error)]
pub enum AccountsError {
    #[error("the users cannot be read or written: {0}")]
    Unavailable(String),
    #[error("there is such a user")]
    Exists,
    #[error("there is no such user")]
    Missing,
    /// Said of the name or the password.
    #[error("{0}")]
    Refused(String),
}

/// The users that can log in, as the front-end keeps them, which checks their passwords. No password passes through
/// here.
#[async_trait]
pub trait Accounts: fmt::Debug + Send + Sync {
    /// All of them, by name.
    ///
    /// # Errors
    /// When they cannot be read.
    async fn all(&self) -> Result<Vec<Account>, AccountsError>;

    /// Changes one: whole or not at all, and for every login from then on.
    ///
    /// # Errors
    /// Why not.
    async fn change(&self, name: &str, change: AccountChange) -> Result<(), AccountsError>;
}

/// How a connection is encrypted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Encryption {
    /// As OpenSSL spells it: `TLSv1.3`.
    pub version: &'static str,
    pub cipher: String,
    /// Of the cipher's key.
    pub bits: i32,
}

/// A session's client.
#[derive(Debug, Clone, Default)]
pub(crate) struct Login {
    /// The number it knows its session by.
    pub process: i32,
    pub role: Role,
    /// `None` for a connection that is not encrypted.
    pub encryption: Option<Arc<Encryption>>,
    /// The address of ours that it came to; `None` for a session that nobody connected to.
    pub server: Option<SocketAddr>,
}
