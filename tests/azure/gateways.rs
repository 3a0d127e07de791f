//! Two gateways over one account.

use std::collections::HashSet;
use std::time::Instant;

use tablegate::store::model::TableName;
use tablegate::store::table::TableStore;
use tokio::task::JoinSet;
use tokio_postgres::Client;

use super::service;
use crate::azure::client::{connect, gateway, query, rows};
use crate::support::PATIENCE;

/// Asks again until the answer is the expected one, for as long as a change of the catalogue may take.
async fn until(client: &Client, sql: &str, expected: Result<Vec<String>, String>) {
    let started = Instant::now();
    loop {
        let answer = query(client, sql).await;
        if answer == expected {
            return;
        }
        assert!(started.elapsed() < PATIENCE, "{sql}: {answer:?}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_one_gateway_declares_and_writes_the_other_reads() {
    let account = service::new_account();
    let (first, second) = (connect(gateway(&account).await).await, connect(gateway(&account).await).await);
    query(&first, "CREATE TABLE accounts (id int PRIMARY KEY, balance numeric(12,2))").await.unwrap();
    query(&first, "INSERT INTO accounts VALUES (1, 10.50)").await.unwrap();
    // A name that is not known makes it look.
    assert_eq!(query(&second, "SELECT balance FROM accounts").await, rows(&["10.50"]));
    query(&second, "INSERT INTO accounts VALUES (2, 20)").await.unwrap();
    assert_eq!(query(&first, "SELECT balance FROM accounts ORDER BY id").await, rows(&["10.50", "20.00"]));
    assert_eq!(query(&second, "CREATE TABLE accounts (id int PRIMARY KEY)").await, Err("42P07".to_owned()));
    query(&second, "ALTER TABLE accounts ADD COLUMN owner text").await.unwrap();
    until(&first, "SELECT owner FROM accounts WHERE id = 1", rows(&["NULL"])).await;
    query(&first, "DROP TABLE accounts").await.unwrap();
    until(&second, "SELECT 1 FROM accounts", Err("42P01".to_owned())).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_transaction_lost_to_the_other_gateway_is_40001() {
    let account = service::new_account();
    let (first, second) = (connect(gateway(&account).await).await, connect(gateway(&account).await).await);
    query(&first, "CREATE TABLE counters (id int PRIMARY KEY, n int)").await.unwrap();
    query(&first, "INSERT INTO counters VALUES (1, 0)").await.unwrap();
    assert_eq!(query(&second, "SELECT n FROM counters").await, rows(&["0"]));
    query(&first, "BEGIN; UPDATE counters SET n = n + 1 WHERE id = 1").await.unwrap();
    query(&second, "UPDATE counters SET n = n + 10 WHERE id = 1").await.unwrap();
    assert_eq!(query(&first, "COMMIT").await, Err("40001".to_owned()));
    assert_eq!(query(&first, "SELECT n FROM counters").await, rows(&["10"]));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn no_update_of_twenty_clients_over_two_gateways_is_lost() {
    const CLIENTS: usize = 20;
    const UPDATES: usize = 5;
    let account = service::new_account();
    let ports = [gateway(&account).await, gateway(&account).await];
    let first = connect(ports[0]).await;
    query(&first, "CREATE TABLE counters (id int PRIMARY KEY, n int)").await.unwrap();
    query(&first, "INSERT INTO counters VALUES (1, 0)").await.unwrap();
    let mut clients = JoinSet::new();
    for number in 0..CLIENTS {
        let port = ports[number % 2];
        clients.spawn(async move {
            let client = connect(port).await;
            for _ in 0..UPDATES {
                // As an application does it: again, when somebody else was there.
                loop {
                    match query(&client, "UPDATE counters SET n = n + 1 WHERE id = 1").await {
                        Ok(_) => break,
                        Err(code) => assert_eq!(code, "40001"),
                    }
                }
            }
        });
    }
    clients.join_all().await;
    assert_eq!(query(&first, "SELECT n FROM counters").await, rows(&[&(CLIENTS * UPDATES).to_string()]));
}

/// What one gateway has written the other one has not seen: it knows a sample, and the property of a dropped column all the same.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_column_that_is_dropped_and_added_has_none_of_the_values_that_another_gateway_wrote() {
    let account = service::new_account();
    let (first, second) = (connect(gateway(&account).await).await, connect(gateway(&account).await).await);
    query(&first, "CREATE TABLE items (id int PRIMARY KEY, a int, b int)").await.unwrap();
    assert_eq!(query(&second, "SELECT b FROM items").await, rows(&[]));
    query(&second, "INSERT INTO items VALUES (1, 10, 100)").await.unwrap();
    for _ in 0..2 {
        query(&first, "ALTER TABLE items DROP COLUMN b").await.unwrap();
        query(&first, "ALTER TABLE items ADD COLUMN b int").await.unwrap();
        assert_eq!(query(&first, "SELECT b FROM items").await, rows(&["NULL"]));
    }
    query(&first, "UPDATE items SET b = 5").await.unwrap();
    // Rows that are written anew have none of it any more.
    query(&first, "ALTER TABLE items ADD COLUMN c int DEFAULT 7").await.unwrap();
    query(&first, "ALTER TABLE items DROP COLUMN b, ADD COLUMN d int").await.unwrap();
    assert_eq!(query(&first, "SELECT concat_ws(' ', id, a, c, d) FROM items").await, rows(&["1 10 7"]));
}

/// A block changes what it has read, or nothing: what it computes from is read once, and the commit is on that version.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn no_update_in_a_block_of_several_clients_is_lost() {
    const CLIENTS: usize = 8;
    const BLOCKS: usize = 10;
    let account = service::new_account();
    let ports = [gateway(&account).await, gateway(&account).await];
    let first = connect(ports[0]).await;
    query(&first, "CREATE TABLE counters (id int PRIMARY KEY, n int)").await.unwrap();
    query(&first, "INSERT INTO counters VALUES (1, 0)").await.unwrap();
    let ways = [
        "UPDATE counters SET n = n + 1 WHERE id = 1",
        "INSERT INTO counters VALUES (1, 0) ON CONFLICT (id) DO UPDATE SET n = counters.n + 1",
        "MERGE INTO counters c USING (VALUES (1)) v(id) ON c.id = v.id WHEN MATCHED THEN UPDATE SET n = c.n + 1",
        "UPDATE counters c SET n = c.n + v.by FROM (VALUES (1, 1)) v(id, by) WHERE c.id = v.id",
    ];
    let mut clients = JoinSet::new();
    for number in 0..CLIENTS {
        let port = ports[number % 2];
        clients.spawn(async move {
            let client = connect(port).await;
            for block in 0..BLOCKS {
                let way = ways[(number + block) % ways.len()];
                // Again, when somebody else was there.
                while let Err(code) = query(&client, &format!("BEGIN; {way}; COMMIT")).await {
                    assert_eq!(code, "40001");
                    query(&client, "ROLLBACK").await.unwrap();
                }
            }
        });
    }
    clients.join_all().await;
    assert_eq!(query(&first, "SELECT n FROM counters").await, rows(&[&(CLIENTS * BLOCKS).to_string()]));
}

/// The dangerous moment: the stored table is there and the declaration is not read yet. It must not be taken for a found
/// table, whose columns are encoded keys.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_table_that_another_gateway_is_making_is_never_taken_for_a_found_one() {
    const TABLES: usize = 8;
    let account = service::new_account();
    let (first, second) = (connect(gateway(&account).await).await, connect(gateway(&account).await).await);
    for number in 0..TABLES {
        let make = format!("CREATE TABLE t{number} (id int PRIMARY KEY, name text)");
        let write = async {
            let started = Instant::now();
            loop {
                match query(&second, &format!("INSERT INTO t{number} VALUES (7, 'seven')")).await {
                    Ok(_) => break,
                    Err(code) => assert!(["42P01", "40001"].contains(&&*code), "{code}"),
                }
                assert!(started.elapsed() < PATIENCE);
            }
        };
        let (made, ()) = tokio::join!(query(&first, &make), write);
        made.unwrap();
        let read = format!("SELECT id || name FROM t{number} WHERE id = 7");
        assert_eq!(query(&first, &read).await, rows(&["7seven"]));
        assert_eq!(query(&second, &read).await, rows(&["7seven"]));
    }
    let listed = "SELECT count(*) FROM information_schema.columns WHERE table_name ~ '^t[0-9]$'";
    assert_eq!(query(&second, listed).await, rows(&[&(2 * TABLES).to_string()]));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn counters_of_two_gateways_never_give_the_same_number() {
    const CLIENTS: usize = 4;
    const ROWS: usize = 20;
    let account = service::new_account();
    let ports = [gateway(&account).await, gateway(&account).await];
    let first = connect(ports[0]).await;
    query(&first, "CREATE TABLE orders (id serial PRIMARY KEY, client int)").await.unwrap();
    query(&first, "CREATE SEQUENCE numbers").await.unwrap();
    let mut clients = JoinSet::new();
    for number in 0..CLIENTS {
        let port = ports[number % 2];
        clients.spawn(async move {
            let client = connect(port).await;
            let mut numbers = Vec::new();
            for _ in 0..ROWS {
                query(&client, &format!("INSERT INTO orders (client) VALUES ({number})")).await.unwrap();
                numbers.extend(query(&client, "SELECT nextval('numbers')").await.unwrap());
            }
            numbers
        });
    }
    let numbers: Vec<String> = clients.join_all().await.into_iter().flatten().collect();
    assert_eq!(numbers.iter().collect::<HashSet<_>>().len(), CLIENTS * ROWS);
    assert_eq!(query(&first, "SELECT count(*) FROM orders").await, rows(&[&(CLIENTS * ROWS).to_string()]));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_table_dropped_and_made_again_is_the_new_one_everywhere() {
    let account = service::new_account();
    let (first, second) = (connect(gateway(&account).await).await, connect(gateway(&account).await).await);
    query(&first, "CREATE TABLE things (id int PRIMARY KEY, name text)").await.unwrap();
    query(&first, "INSERT INTO things VALUES (1, 'old')").await.unwrap();
    assert_eq!(query(&second, "SELECT name FROM things").await, rows(&["old"]));
    query(&first, "DROP TABLE things").await.unwrap();
    query(&first, "CREATE TABLE things (name text PRIMARY KEY)").await.unwrap();
    // Whatever the other gateway still takes it for, what it writes does not get into the new table.
    assert!(query(&second, "INSERT INTO things VALUES (2, 'stale')").await.is_err());
    query(&first, "INSERT INTO things VALUES ('new')").await.unwrap();
    until(&second, "SELECT name FROM things", rows(&["new"])).await;
    query(&second, "INSERT INTO things VALUES ('newer')").await.unwrap();
    assert_eq!(query(&first, "SELECT * FROM things ORDER BY 1").await, rows(&["new", "newer"]));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_found_table_that_another_gateway_declares_is_not_written_as_before() {
    let account = service::new_account();
    let store = account.store();
    let (first, second) = (connect(gateway(&account).await).await, connect(gateway(&account).await).await);
    let found = TableName::parse("Found").unwrap();
    store.create_table(&found).await.unwrap();
    let insert = r#"INSERT INTO "Found" ("PartitionKey", "RowKey") VALUES ('p', 'r1')"#;
    until(&second, insert, rows(&[])).await;
    query(&second, r#"BEGIN; INSERT INTO "Found" ("PartitionKey", "RowKey") VALUES ('p', 'r2')"#).await.unwrap();
    store.drop_table(&found).await.unwrap();
    // The list of tables that the first gateway has may be a second old.
    until(&first, r#"CREATE TABLE "Found" (id int PRIMARY KEY)"#, rows(&[])).await;
    assert_eq!(query(&second, "COMMIT").await, Err("40001".to_owned()));
    assert_eq!(query(&first, r#"SELECT * FROM "Found""#).await, rows(&[]));
}
