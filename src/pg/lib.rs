//! The PostgreSQL wire front-end: bytes of a connection become calls on a session, and what it gives becomes bytes.
//!
//! Message types and their encoding come from `pgwire`; the loop, the reading of client messages and the sending of rows
//! are here, because a statement must be stoppable at every point: while it is planned, while it runs, while its rows
//! are being sent to a client that reads slowly or not at all.

#![warn(clippy::panic, clippy::unwrap_used)]

mod arrivals;
mod auth;
mod binary;
mod body;
mod cancel;
mod catalog_values;
mod connection;
mod counters;
mod error;
mod frame;
mod halt;
mod numeric;
mod outbox;
mod params;
mod portal;
mod rows;
mod seats;
mod server;
mod startup;
mod stream;
mod tls;

use std::sync::Arc;
use std::time::Duration;

use tokio_util::sync::CancellationToken;

pub use self::auth::{
    AuthConfig, FileAccounts, ListenRefused, Method, User, Users, UsersError, UsersFile, Verifier, check_listen_address,
};
pub use self::counters::Counters;
pub use self::server::serve;
pub use self::tls::{Tls, TlsError, server_config};
pub use tablegate_sql::session::Role;

/// What the front-end is told.
#[derive(Debug, Clone)]
pub struct PgConfig {
    /// Sessions at once; one more gets 53300.
    pub max_connections: usize,
    /// Sessions of one user at once.
    pub max_connections_per_user: Option<usize>,
    /// Bytes that long messages of all clients may have before they are complete.
    pub message_memory: usize,
    /// Time from the connection to the end of its start-up: handshake, password and all.
    pub startup_timeout: Duration,
    /// How long running statements may go on after a shutdown was asked for.
    pub drain_timeout: Duration,
    /// Cancelled when they are not to have that time, or what is left of it.
    pub hurry: CancellationToken,
    pub auth: AuthConfig,
    /// Certificate and key; without them connections are not encrypted.
    pub tls: Option<Tls>,
    /// Connections that are not encrypted are refused.
    pub require_tls: bool,
    /// Clients on other machines may connect without TLS.
    pub insecure: bool,
    /// The counters of this server; the caller keeps a clone to read them.
    pub counters: Arc<Counters>,
}

impl Default for PgConfig {
    /// PostgreSQL's own limits for connections and start-up; ten seconds to drain.
    fn default() -> Self {
        Self {
            max_connections: 100,
            max_connections_per_user: None,
            message_memory: 256 << 20,
            startup_timeout: Duration::from_secs(60),
            drain_timeout: Duration::from_secs(10),
            hurry: CancellationToken::new(),
            auth: AuthConfig::default(),
            tls: None,
            require_tls: false,
            insecure: false,
            counters: Arc::default(),
        }
    }
}
