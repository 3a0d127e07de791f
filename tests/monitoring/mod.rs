//! What an operator sees of a running server: its metrics over HTTP, its health, its log.

mod endpoint;
mod exposition;
#[cfg(unix)]
mod folder;
mod logging;
mod metrics;

use tokio_postgres::{Client, Config, Error, NoTls};

use crate::support::server::Server;

/// A client of a server that lets everybody in.
pub(crate) async fn connect(server: &Server) -> Result<Client, Error> {
    connect_as(server, "u", "").await
}

pub(crate) async fn connect_as(server: &Server, user: &str, password: &str) -> Result<Client, Error> {
    let mut config = Config::new();
    config.host("127.0.0.1").port(server.port).user(user).password(password);
    let (client, connection) = config.connect(NoTls).await?;
    tokio::spawn(connection);
    Ok(client)
}
