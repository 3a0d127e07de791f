//! Gateways over accounts, and clients of theirs.

use std::net::SocketAddr;
use std::sync::{Arc, LazyLock};

use tablegate::pg::{self, PgConfig};
use tablegate::sql::limits::STATEMENT_STACK;
use tablegate::sql::{Engine, EngineConfig};
use tablegate::store::model::SystemClock;
use tablegate::store::table::TableStore;
use tokio::net::TcpListener;
use tokio::runtime::Runtime;
use tokio_postgres::{Client, NoTls, SimpleQueryMessage};
use tokio_util::sync::CancellationToken;

use crate::support::account::Account;

/// The threads of all gateways, with the stack that the program gives its own.
static GATEWAYS: LazyLock<Runtime> = LazyLock::new(|| {
    let mut threads = tokio::runtime::Builder::new_multi_thread();
    threads.worker_threads(4).thread_stack_size(STATEMENT_STACK).enable_all().build().unwrap()
});

/// A gateway over the account, for as long as the tests run.
pub(super) async fn gateway(account: &Account) -> u16 {
    gateway_at(account.address, account).await
}

/// The same, behind a proxy.
pub(super) async fn gateway_at(address: SocketAddr, account: &Account) -> u16 {
    gateway_of(Arc::new(account.store_at(address)), EngineConfig::default()).await
}

/// A gateway over the store.
pub(super) async fn gateway_of(store: Arc<dyn TableStore>, config: EngineConfig) -> u16 {
    let started = GATEWAYS.spawn(async move {
        let engine = Engine::open(store, Arc::new(SystemClock), config).await.unwrap();
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let port = listener.local_addr().unwrap().port();
        tokio::spawn(pg::serve(listener, engine, PgConfig::default(), CancellationToken::new()));
        port
    });
    started.await.unwrap()
}

pub(super) async fn connect(port: u16) -> Client {
    let config = format!("host=127.0.0.1 port={port} user=test dbname=tablegate");
    let (client, connection) = tokio_postgres::connect(&config, NoTls).await.unwrap();
    tokio::spawn(connection);
    client
}

/// The first column of the rows; an error's code.
pub(super) async fn query(client: &Client, sql: &str) -> Result<Vec<String>, String> {
    let messages = client.simple_query(sql).await.map_err(|error| error.code().unwrap().code().to_owned())?;
    let rows = messages.iter().filter_map(|message| match message {
        SimpleQueryMessage::Row(row) => Some(row.get(0).unwrap_or("NULL").to_owned()),
        _ => None,
    });
    Ok(rows.collect())
}

/// What a query answers.
pub(super) fn rows(values: &[&str]) -> Result<Vec<String>, String> {
    Ok(values.iter().map(|value| (*value).to_owned()).collect())
}
