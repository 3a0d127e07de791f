//! A client that behaves, and is served while others do not.

use std::net::SocketAddr;

use tokio_postgres::{Client, Config, NoTls};

use crate::support::PATIENCE;

pub(super) struct Witness {
    client: Client,
    asked: i64,
}

impl Witness {
    /// Comes, and makes a table of its own.
    pub(super) async fn arrive(address: SocketAddr) -> Self {
        let mut config = Config::new();
        config.host("127.0.0.1").port(address.port()).user("witness");
        let (client, connection) = config.connect(NoTls).await.expect("the server listens");
        tokio::spawn(connection);
        client
            .batch_execute("CREATE TABLE testimony (place text, n bigint, PRIMARY KEY (place, n))")
            .await
            .expect("the table is made");
        Self { client, asked: 0 }
    }

    /// Writes a row and finds all that it wrote.
    pub(super) async fn is_served(&mut self) {
        self.asked += 1;
        let serve = async {
            self.client.execute("INSERT INTO testimony VALUES ('here', $1)", &[&self.asked]).await?;
            self.client.query_one("SELECT count(*) FROM testimony WHERE place = 'here'", &[]).await
        };
        let row = tokio::time::timeout(PATIENCE, serve).await.expect("the witness is not kept waiting");
        assert_eq!(row.expect("the witness is served").get::<_, i64>(0), self.asked);
    }
}
