//! tokio-postgres: types as binary values, statements and portals by name, COPY, notifications, cancelling.

use std::pin::pin;
use std::time::{Duration, SystemTime};

use futures::{SinkExt, StreamExt, TryStreamExt};
use tokio_postgres::error::SqlState;
use tokio_postgres::{AsyncMessage, Client, Config, Error, NoTls};

use crate::clients::{DATABASE, PASSWORD, USER, server};
use crate::support::server::Server;

fn config(server: &Server) -> Config {
    let mut config = Config::new();
    config.host("127.0.0.1").port(server.port).user(USER).password(PASSWORD).dbname(DATABASE);
    config
}

async fn connect(server: &Server) -> Client {
    let (client, connection) = config(server).connect(NoTls).await.expect("the password is right");
    tokio::spawn(connection);
    client
}

/// A client with a table of two rows.
async fn with_parcels(server: &Server) -> Client {
    let client = connect(server).await;
    client
        .batch_execute(
            "CREATE TABLE parcels (depot text, id int, weight float8, code bytea, sent bool, serial bigint,
                 posted timestamptz, PRIMARY KEY (depot, id));
             INSERT INTO parcels VALUES ('north', 1, 2.25, '\\x00ff', true, 1099511627776, '2024-02-29 12:00Z');
             INSERT INTO parcels VALUES ('north', 2)",
        )
        .await
        .expect("the table is made");
    client
}

fn code(error: &Error) -> &SqlState {
    error.code().expect("the server says why")
}

#[tokio::test(flavor = "multi_thread")]
async fn types_are_understood_as_binary_values() {
    let server = server();
    let client = with_parcels(&server).await;
    let rows = client
        .query("SELECT * FROM parcels WHERE depot = $1 AND weight > $2 AND sent = $3", &[&"north", &1.5_f64, &true])
        .await
        .expect("the parameters fit");
    let row = &rows[0];
    assert_eq!((row.get::<_, &str>(0), row.get::<_, i32>(1), row.get::<_, f64>(2)), ("north", 1, 2.25));
    assert_eq!((row.get::<_, &[u8]>(3), row.get::<_, bool>(4), row.get::<_, i64>(5)), (&[0, 255][..], true, 1 << 40));
    assert_eq!(row.get::<_, SystemTime>(6), SystemTime::UNIX_EPOCH + Duration::from_secs(1_709_208_000));
    let found = client.query("SELECT id FROM parcels WHERE depot = ANY($1) LIMIT $2", &[&vec!["north"], &1_i64]).await;
    assert_eq!(found.expect("arrays are parameters too").len(), 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_transaction_reads_a_portal_in_pieces_and_is_rolled_back() {
    let server = server();
    let mut client = with_parcels(&server).await;
    let transaction = client.transaction().await.expect("it begins");
    let read = transaction.prepare("SELECT id FROM parcels ORDER BY id").await.expect("it is a query");
    let portal = transaction.bind(&read, &[]).await.expect("it needs nothing");
    for expected in [1, 2] {
        let rows = transaction.query_portal(&portal, 1).await.expect("the portal is open");
        assert_eq!(rows[0].get::<_, i32>(0), expected);
    }
    let deleted = transaction.execute("DELETE FROM parcels", &[]).await.expect("it may");
    assert_eq!(deleted, 2);
    transaction.rollback().await.expect("it is rolled back");
    assert_eq!(client.query("SELECT 1 FROM parcels", &[]).await.expect("they are there").len(), 2);
}

#[tokio::test(flavor = "multi_thread")]
async fn copies_go_both_ways() {
    let server = server();
    let client = with_parcels(&server).await;
    let mut sink = pin!(client.copy_in("COPY parcels (depot, id) FROM STDIN").await.expect("it is a COPY"));
    for id in 0..500 {
        sink.send(bytes::Bytes::from(format!("south\t{id}\n"))).await.expect("the server reads");
    }
    assert_eq!(sink.finish().await.expect("all rows fit"), 500);
    let out = client.copy_out("COPY parcels TO STDOUT (FORMAT csv)").await.expect("it is a COPY");
    let pieces: Vec<bytes::Bytes> = out.try_collect().await.expect("it ends");
    let text = pieces.concat();
    assert_eq!(text.iter().filter(|byte| **byte == b'\n').count(), 502);
}

#[tokio::test(flavor = "multi_thread")]
async fn errors_have_codes_and_the_connection_goes_on() {
    let server = server();
    let client = with_parcels(&server).await;
    for (sql, expected) in [
        ("SELECT * FROM nowhere", SqlState::UNDEFINED_TABLE),
        ("INSERT INTO parcels (depot, id) VALUES ('north', 1)", SqlState::UNIQUE_VIOLATION),
        ("SELECT 1/0", SqlState::DIVISION_BY_ZERO),
        ("SELEC 1", SqlState::SYNTAX_ERROR),
    ] {
        let error = client.query(sql, &[]).await.expect_err("it is wrong");
        assert_eq!(code(&error), &expected, "{sql}");
    }
    client.query("SELECT 1", &[]).await.expect("the connection goes on");
    let refused = config(&server).password("wrong").connect(NoTls).await.err().expect("the password is wrong");
    assert_eq!(code(&refused), &SqlState::INVALID_PASSWORD);
}

#[tokio::test(flavor = "multi_thread")]
async fn notifications_arrive_and_a_statement_is_cancelled() {
    let server = server();
    let (listener, mut connection) = config(&server).connect(NoTls).await.expect("the password is right");
    let heard = tokio::spawn(async move {
        let mut messages = futures::stream::poll_fn(move |context| connection.poll_message(context));
        while let Some(message) = messages.next().await {
            if let AsyncMessage::Notification(note) = message.expect("the connection stays") {
                return (note.channel().to_owned(), note.payload().to_owned());
            }
        }
        panic!("the connection ended");
    });
    listener.batch_execute("LISTEN depots").await.expect("it listens");
    let other = connect(&server).await;
    other.execute("SELECT pg_notify('depots', $1)", &[&"open"]).await.expect("it tells");
    assert_eq!(heard.await.expect("it is told"), ("depots".to_owned(), "open".to_owned()));

    let cancel = other.cancel_token();
    let endless = "WITH RECURSIVE r AS (SELECT 1 UNION ALL SELECT 1 FROM r) SELECT count(*) FROM r";
    let running = tokio::spawn(async move { other.query(endless, &[]).await });
    // A cancel request before the statement began does nothing: repeat it until the statement ended.
    while !running.is_finished() {
        cancel.cancel_query(NoTls).await.expect("the server takes cancel requests");
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    let error = running.await.expect("no panic").expect_err("it is cancelled");
    assert_eq!(code(&error), &SqlState::QUERY_CANCELED);
}
