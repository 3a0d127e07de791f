//! What a block asks of the service before its one batch, and where it learns that a key is there.

use std::sync::{Arc, Mutex};

use tokio_postgres::Client;

use super::service;
use crate::azure::client::{connect, gateway_at, query, rows};
use crate::azure::proxy::{Fault, Plan, Proxy};

/// The first lines of the requests about the table, as a proxy saw them.
type Seen = Arc<Mutex<Vec<String>>>;

/// A client behind a proxy that notes what is asked about `items`, and that table with the row 7.
async fn watched() -> (Client, Seen, Proxy) {
    let seen = Seen::default();
    let noted = Arc::clone(&seen);
    let plan: Plan = Arc::new(move |_, request| {
        let line = request.lines().next().unwrap_or_default().to_owned();
        if line.contains("/items") || (line.contains("/$batch") && request.contains("/items")) {
            noted.lock().unwrap().push(line.split(' ').next().unwrap_or_default().to_owned());
        }
        Fault::None
    });
    let account = service::new_account();
    let proxy = Proxy::start(account.address, plan).await;
    let client = connect(gateway_at(proxy.address, &account).await).await;
    query(&client, "CREATE TABLE items (part text, id int, name text, PRIMARY KEY (part, id))").await.unwrap();
    query(&client, "INSERT INTO items VALUES ('p', 7, 'seven')").await.unwrap();
    seen.lock().unwrap().clear();
    (client, seen, proxy)
}

fn taken(seen: &Seen) -> Vec<String> {
    std::mem::take(&mut *seen.lock().unwrap())
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_rows_of_a_block_are_one_request() {
    let (client, seen, _proxy) = watched().await;
    for block in [
        "BEGIN; INSERT INTO items SELECT 'a', i, 'x' FROM generate_series(1, 90) i; COMMIT",
        "BEGIN; INSERT INTO items VALUES ('b', 1, 'x'), ('b', 2, 'y'); INSERT INTO items VALUES ('b', 3, 'z'); COMMIT",
        "INSERT INTO items VALUES ('c', 1, 'x'); INSERT INTO items VALUES ('c', 2, 'y')",
        "SET egt.autocommit = strict; INSERT INTO items SELECT 'd', i, 'x' FROM generate_series(1, 90) i",
        // What a block has written is known without asking.
        "BEGIN; INSERT INTO items VALUES ('e', 1, 'x'); INSERT INTO items VALUES ('e', 1, 'y') ON CONFLICT DO NOTHING; COMMIT",
    ] {
        query(&client, block).await.unwrap();
        assert_eq!(taken(&seen), ["POST"], "{block}");
    }
    assert_eq!(query(&client, "SELECT count(*) FROM items").await, rows(&["187"]));
    // Whether it is there decides what is done: it is asked, once for each row.
    taken(&seen);
    let asks = "BEGIN; INSERT INTO items VALUES ('p', 7, 'x'), ('p', 8, 'y') ON CONFLICT DO NOTHING; COMMIT";
    query(&client, asks).await.unwrap();
    assert_eq!(taken(&seen), ["GET", "GET", "POST"]);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_key_that_is_there_is_told_by_the_commit() {
    let (client, seen, _proxy) = watched().await;
    query(&client, "BEGIN; INSERT INTO items VALUES ('p', 6, 'six'), ('p', 7, 'again')").await.unwrap();
    assert_eq!(query(&client, "SELECT name FROM items WHERE part = 'p' AND id = 7").await, rows(&["again"]));
    assert_eq!(query(&client, "COMMIT").await, Err("23505".to_owned()));
    let found = "SELECT id || name FROM items WHERE part = 'p' ORDER BY id";
    assert_eq!(query(&client, found).await, rows(&["7seven"]));
    // The second insertion of a block is known at once.
    query(&client, "BEGIN; INSERT INTO items VALUES ('p', 6, 'six')").await.unwrap();
    assert_eq!(query(&client, "INSERT INTO items VALUES ('p', 6, 'six')").await, Err("23505".to_owned()));
    query(&client, "ROLLBACK").await.unwrap();
    // What a block inserts and deletes leaves nothing for its commit to find, so the deletion asks.
    query(&client, "BEGIN; INSERT INTO items VALUES ('p', 7, 'again')").await.unwrap();
    taken(&seen);
    let delete = "DELETE FROM items WHERE part = 'p' AND id = 7";
    assert_eq!(query(&client, delete).await, Err("23505".to_owned()));
    query(&client, "ROLLBACK; BEGIN; INSERT INTO items VALUES ('p', 8, 'eight')").await.unwrap();
    assert_eq!(query(&client, "DELETE FROM items WHERE part = 'p' AND id = 8").await, rows(&[]));
    query(&client, "COMMIT").await.unwrap();
    assert_eq!(query(&client, found).await, rows(&["7seven"]));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn within_a_savepoint_it_is_told_at_once() {
    let (client, _seen, _proxy) = watched().await;
    query(&client, "BEGIN; INSERT INTO items VALUES ('p', 1, 'one'); SAVEPOINT s").await.unwrap();
    assert_eq!(query(&client, "INSERT INTO items VALUES ('p', 7, 'again')").await, Err("23505".to_owned()));
    query(&client, "ROLLBACK TO s; UPDATE items SET name = 'changed' WHERE part = 'p' AND id = 7; COMMIT")
        .await
        .unwrap();
    let found = "SELECT id || name FROM items WHERE part = 'p' ORDER BY id";
    assert_eq!(query(&client, found).await, rows(&["1one", "7changed"]));
}
