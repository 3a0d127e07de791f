//! The PostgreSQL wire front-end: bytes of a connection become calls on a session, and what it gives becomes bytes.
//!
//! Message types and their encoding come from `pgwire`; the loop, the reading of client messages and the sending of rows
//! are here, because a statement must be stoppable at every point: while it is planned, while it runs, while its rows
//! are being sent to a client that reads slowly or not at all.

mod binary;
mod body;
mod cancel;
mod connection;
mod copy;
mod error;
mod extended;
mod frame;
mod halt;
mod numeric;
mod outbox;
mod params;
mod portal;
mod rows;
mod server;
mod simple;
mod startup;
mod types;

use std::net::SocketAddr;
use std::time::Duration;

pub use self::server::serve;

/// What the front-end is told.
#[derive(Debug, Clone)]
pub struct PgConfig {
    /// Sessions at once; one more gets 53300.
    pub max_connections: usize,
    /// Time from the connection to the end of its start-up.
    pub startup_timeout: Duration,
    /// How long running statements may go on after a shutdown was asked for.
    pub drain_timeout: Duration,
}

impl Default for PgConfig {
    /// PostgreSQL's own limits for connections and start-up; ten seconds to drain.
    fn default() -> Self {
        Self { max_connections: 100, startup_timeout: Duration::from_secs(60), drain_timeout: Duration::from_secs(10) }
    }
}

/// An address that must not be served, because whoever reaches it is let in.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("refusing to listen on {0}: clients are not asked for a password, so only a loopback address is served")]
pub struct ListenRefused(pub SocketAddr);

/// Every client is trusted, so only this machine may be one.
///
/// # Errors
/// For an address that is not a loopback address.
pub fn check_listen_address(address: SocketAddr) -> Result<(), ListenRefused> {
    if address.ip().to_canonical().is_loopback() { Ok(()) } else { Err(ListenRefused(address)) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_loopback_is_served() {
        for good in ["127.0.0.1:5432", "127.8.0.1:1", "[::1]:5432", "[::ffff:127.0.0.1]:5432"] {
            assert_eq!(check_listen_address(good.parse().unwrap()), Ok(()), "{good}");
        }
        for bad in ["0.0.0.0:5432", "[::]:5432", "10.0.0.1:5432", "[::ffff:10.0.0.1]:5432"] {
            assert!(check_listen_address(bad.parse().unwrap()).is_err(), "{bad}");
        }
    }
}
