//! Authentication: the users, how they prove who they are, and which connections need no proof.

mod accounts;
mod gate;
mod scram;
mod users;
mod users_file;
mod verifier;

use std::net::{IpAddr, SocketAddr};
use std::path::PathBuf;

pub use self::accounts::FileAccounts;
pub(super) use self::gate::{Admitted, Gate};
pub use self::users::{User, Users, UsersError};
pub use self::users_file::UsersFile;
pub use self::verifier::Verifier;
use super::PgConfig;

/// How clients prove who they are.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Method {
    /// By a password as soon as there are users; without users, those of this machine need no proof.
    #[default]
    Auto,
    /// No client has to.
    Trust,
    /// By a password, in a SCRAM exchange.
    Scram,
}

/// The rules of the door.
#[derive(Debug, Clone, Default)]
pub struct AuthConfig {
    pub method: Method,
    /// Clients of this machine need no password, whatever the others need.
    pub trust_loopback: bool,
    /// Where the users are kept; none without.
    pub users: Option<PathBuf>,
}

/// An address that must not be served with this configuration.
#[derive(Debug, thiserror::Error)]
pub enum ListenRefused {
    #[error("refusing to listen on {0}: clients are not asked for a password, so only a loopback address is served")]
    Trust(SocketAddr),
    #[error(
        "refusing to listen on {0}, which is not a loopback address, without users; \
         make one with `tablegate user add NAME`"
    )]
    NoUsers(SocketAddr),
    #[error(
        "refusing to listen on {0}, which is not a loopback address, without TLS; give --tls-cert and --tls-key, \
         or --insecure to send everything readable by everyone on the way"
    )]
    NoTls(SocketAddr),
    #[error(transparent)]
    Users(#[from] UsersError),
}

/// Whether the address may be listened on: one that others than this machine reach needs users and TLS.
///
/// # Errors
/// Says what is missing. Reads the users file.
pub fn check_listen_address(address: SocketAddr, config: &PgConfig) -> Result<(), ListenRefused> {
    let users = match &config.auth.users {
        Some(file) => UsersFile::new(file).read()?,
        None => Users::default(),
    };
    if is_loopback(address.ip()) {
        return Ok(());
    }
    match config.auth.method {
        Method::Trust => Err(ListenRefused::Trust(address)),
        Method::Auto | Method::Scram if users.is_empty() => Err(ListenRefused::NoUsers(address)),
        Method::Auto | Method::Scram if config.tls.is_none() && !config.insecure => Err(ListenRefused::NoTls(address)),
        Method::Auto | Method::Scram => Ok(()),
    }
}

fn is_loopback(address: IpAddr) -> bool {
    address.to_canonical().is_loopback()
}

#[cfg(test)]
mod tests;
