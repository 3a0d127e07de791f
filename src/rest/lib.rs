//! The Table service's own front door: requests of its REST protocol become reads and batches of the store.
//!
//! It stands beside the PostgreSQL one and knows nothing of it. What the two must agree on, rows that are locked and tables
//! that are on their way out, it asks its [`Coordinator`].
//!
//! ```text
//! server     connections: how many, how long, TLS
//! handler    one request: who it is of (auth, accounts), what it is of (head, address), who does it; body, once that is known
//! tables, entity, query, batch (multipart), acl, service (cors, xml)      the operations
//! filter, edm, token                                                      what travels in them
//! door       what requests share: the store, those to agree with (coordinator), bounds (throttle), counts
//! own        what is kept of this door's own, in a table that no client sees
//! error      what clients are refused for
//! ```

#![warn(clippy::panic, clippy::unwrap_used)]

mod accounts;
mod acl;
mod address;
mod answer;
mod auth;
mod batch;
mod body;
mod coordinator;
mod cors;
mod counters;
mod door;
mod edm;
mod entity;
mod error;
mod filter;
mod handler;
mod head;
mod multipart;
mod own;
mod prefer;
mod query;
mod server;
mod service;
mod tables;
mod throttle;
mod token;
mod xml;

use std::io;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use tablegate_store::model::Clock;
use tablegate_store::table::TableStore;
use thiserror::Error;
use tokio::net::TcpListener;
use tokio_rustls::TlsAcceptor;
use tokio_rustls::rustls::ServerConfig;
use tokio_util::sync::CancellationToken;

pub use self::accounts::{
    AccountKey, Accounts, AccountsError, AccountsFile, EMULATOR_ACCOUNT, EMULATOR_KEY, KeyNumber,
};
use self::auth::Tokens;
pub use self::auth::{KeyFile, KeySource, TokenConfig};
use self::body::Room;
pub use self::coordinator::{Alone, Broken, Call, Client, Coordinator, Ended, Locked, Objection, Rule};
pub use self::counters::{Counters, Operation, OperationFigures};
use self::door::{AccountBook, Door, RequestNumbers};
use self::own::Own;
use self::server::Server;
use self::throttle::Throttle;

/// What the door is told.
#[derive(Clone)]
pub struct RestConfig {
    /// Where the accounts are; none without.
    pub accounts: Option<PathBuf>,
    /// Without it connections are not encrypted.
    pub tls: Option<Arc<ServerConfig>>,
    /// Clients on other machines may connect without TLS.
    pub insecure: bool,
    /// Whose tokens are let in; nobody's without.
    pub tokens: Option<TokenConfig>,
    pub max_connections: usize,
    /// Bytes of bodies that are in memory at one time.
    pub max_body_bytes: usize,
    /// Refuse what is beyond the service's scalability targets.
    pub throttles: bool,
    pub drain_timeout: Duration,
    /// The counters of this door; the caller keeps a clone to read them.
    pub counters: Arc<Counters>,
}

impl Default for RestConfig {
    fn default() -> Self {
        Self {
            accounts: None,
            tls: None,
            insecure: false,
            tokens: None,
            max_connections: 1000,
            max_body_bytes: 64 << 20,
            throttles: false,
            drain_timeout: Duration::from_secs(10),
            counters: Arc::default(),
        }
    }
}

/// An address that must not be served with this configuration.
#[derive(Debug, Error)]
pub enum ListenRefused {
    #[error(
        "refusing to listen on {0} for the REST protocol, which is not a loopback address, without accounts; make one with \
         `tablegate account add NAME`"
    )]
    NoAccounts(SocketAddr),
    #[error(
        "refusing to listen on {0} for the REST protocol, which is not a loopback address, without TLS; give --tls-cert \
         and --tls-key, or --insecure to send everything readable by everyone on the way"
    )]
    NoTls(SocketAddr),
    #[error(transparent)]
    Accounts(#[from] AccountsError),
}

/// Whether the address may be listened on: one that others than this machine reach needs accounts and TLS.
///
/// # Errors
/// Says what is missing. Reads the accounts file.
pub fn check_listen_address(address: SocketAddr, config: &RestConfig) -> Result<(), ListenRefused> {
    let has_accounts = match &config.accounts {
        Some(file) => !AccountsFile::new(file).current()?.is_empty(),
        None => false,
    };
    match is_loopback(address) {
        true => Ok(()),
        false if !has_accounts => Err(ListenRefused::NoAccounts(address)),
        false if config.tls.is_none() && !config.insecure => Err(ListenRefused::NoTls(address)),
        false => Ok(()),
    }
}

/// Whether only this machine reaches it: then the emulator's account is let in too.
pub fn is_loopback(address: SocketAddr) -> bool {
    address.ip().to_canonical().is_loopback()
}

/// Serves clients until `stop`; then requests under way have the time to end that the configuration gives them.
///
/// # Errors
/// When the listener listens on an address that must not be served with this configuration.
pub fn serve(
    listener: TcpListener,
    store: Arc<dyn TableStore>,
    coordinator: Arc<dyn Coordinator>,
    clock: Arc<dyn Clock>,
    config: RestConfig,
    stop: CancellationToken,
) -> Pin<Box<dyn Future<Output = io::Result<()>> + Send>> {
    Box::pin(async move {
        let address = listener.local_addr()?;
        check_listen_address(address, &config).map_err(|error| io::Error::new(io::ErrorKind::InvalidInput, error))?;
        let tokens = config.tokens.map(Tokens::new);
        if let Some(tokens) = &tokens {
            tokens.prepare().await;
        }
        let door = Door {
            own: Own::new(Arc::clone(&store)),
            store,
            coordinator,
            clock,
            accounts: AccountBook::new(config.accounts.map(AccountsFile::new), is_loopback(address)),
            tokens,
            room: Room::new(config.max_body_bytes),
            throttle: config.throttles.then(Throttle::default),
            counters: config.counters,
            requests: RequestNumbers::new(),
        };
        let server = Server {
            door: Arc::new(door),
            tls: config.tls.map(TlsAcceptor::from),
            max_connections: config.max_connections,
            drain_timeout: config.drain_timeout,
        };
        server.run(listener, stop).await;
        Ok(())
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_that_others_reach_needs_accounts_and_tls() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("accounts.toml");
        let (here, everywhere) = (([127, 0, 0, 1], 1).into(), ([0, 0, 0, 0], 1).into());
        let mut config = RestConfig { accounts: Some(file.clone()), ..RestConfig::default() };
        assert!(check_listen_address(here, &config).is_ok());
        assert!(matches!(check_listen_address(everywhere, &config), Err(ListenRefused::NoAccounts(_))));
        AccountsFile::new(&file).change(|accounts| accounts.add("shop")).unwrap();
        assert!(matches!(check_listen_address(everywhere, &config), Err(ListenRefused::NoTls(_))));
        config.insecure = true;
        assert!(check_listen_address(everywhere, &config).is_ok());
        std::fs::write(&file, "damaged").unwrap();
        assert!(matches!(check_listen_address(here, &config), Err(ListenRefused::Accounts(_))));
    }
}
