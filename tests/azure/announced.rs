//! Two gateways over one account, one of which changes what the rows of a table must be while the other one writes them.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use tablegate::sql::{Announcing, EngineConfig};
use tablegate::store::model::{EdmValue, Entity, EntityKey, Properties, PropertyName, TableName, own_tables};
use tablegate::store::table::{Batch, IfMatch, Operation, TableStore};
use tokio_postgres::Client;

use super::service;
use crate::azure::client::{connect, gateway, gateway_of, query, rows};
use crate::support::PATIENCE;

/// Two clients, each at a gateway of its own over one account.
async fn two() -> [Client; 2] {
    let account = service::new_account();
    [connect(gateway(&account).await).await, connect(gateway(&account).await).await]
}

/// Writes rows until so many were acknowledged after the end of what goes on beside it; gives the number of all.
async fn write_until(client: Client, is_over: Arc<AtomicBool>) -> usize {
    const AFTERWARDS: usize = 20;
    let (mut acknowledged, mut afterwards) = (0, 0);
    let started = Instant::now();
    for id in 1000.. {
        let began_afterwards = is_over.load(Ordering::SeqCst);
        match query(&client, &format!("INSERT INTO items (id) VALUES ({id})")).await {
            Ok(_) => {
                acknowledged += 1;
                afterwards += usize::from(began_afterwards);
            }
            Err(code) => assert_eq!(code, "40001"),
        }
        if afterwards == AFTERWARDS {
            break;
        }
        assert!(started.elapsed() < PATIENCE);
    }
    acknowledged
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn no_row_is_lost_that_is_written_while_another_gateway_rewrites_the_table() {
    const ROWS: usize = 300;
    let account = service::new_account();
    let ports = [gateway(&account).await, gateway(&account).await];
    let first = connect(ports[0]).await;
    query(&first, "CREATE TABLE items (id int PRIMARY KEY, v int, w int DEFAULT 5)").await.unwrap();
    query(&first, &format!("INSERT INTO items SELECT i, i FROM generate_series(1, {ROWS}) i")).await.unwrap();
    let is_over = Arc::new(AtomicBool::new(false));
    let writing = tokio::spawn(write_until(connect(ports[1]).await, is_over.clone()));
    query(&first, "ALTER TABLE items ALTER v TYPE text USING 'v' || v").await.unwrap();
    is_over.store(true, Ordering::SeqCst);
    let written = writing.await.unwrap();
    for port in ports {
        let counted = query(&connect(port).await, "SELECT count(*) FROM items").await;
        assert_eq!(counted, rows(&[&(ROWS + written).to_string()]));
    }
    assert_eq!(query(&first, "SELECT v FROM items WHERE id = 7").await, rows(&["v7"]));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_block_does_not_write_what_another_gateway_has_forbidden_since() {
    let [first, second] = two().await;
    for (change, forbidden, code) in [
        ("ADD CHECK (v < 10)", "INSERT INTO items VALUES (2, 50)", "23514"),
        ("ALTER v SET NOT NULL", "INSERT INTO items (id) VALUES (2)", "23502"),
    ] {
        query(&first, "DROP TABLE IF EXISTS items").await.unwrap();
        query(&first, "CREATE TABLE items (id int PRIMARY KEY, v int)").await.unwrap();
        query(&first, "INSERT INTO items VALUES (1, 1)").await.unwrap();
        query(&second, &format!("BEGIN; {forbidden}")).await.unwrap();
        query(&first, &format!("ALTER TABLE items {change}")).await.unwrap();
        assert_eq!(query(&second, "COMMIT").await, Err("40001".to_owned()));
        assert_eq!(query(&second, forbidden).await, Err(code.to_owned()));
        assert_eq!(query(&second, "SELECT count(*) FROM items").await, rows(&["1"]));
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn either_the_row_is_written_or_it_is_forbidden() {
    let [first, second] = two().await;
    query(&first, "CREATE TABLE items (id int PRIMARY KEY, v int)").await.unwrap();
    query(&second, "BEGIN; INSERT INTO items VALUES (2, 50)").await.unwrap();
    let alter = query(&first, "ALTER TABLE items ADD CHECK (v < 10)");
    let (altered, committed) = tokio::join!(alter, query(&second, "COMMIT"));
    let count = if committed.is_ok() { "1" } else { "0" };
    match (&altered, &committed) {
        (Ok(_), Err(code)) => assert_eq!(code, "40001"),
        (Err(code), Ok(_)) => assert_eq!(code, "23514"),
        both => panic!("{both:?}"),
    }
    assert_eq!(query(&first, "SELECT count(*) FROM items").await, rows(&[count]));
    // A change that was not made is announced no more.
    query(&second, "INSERT INTO items VALUES (3, 3)").await.unwrap();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_announcement_of_a_gateway_that_died_lapses() {
    let account = service::new_account();
    let announcing = Announcing { lapses: Duration::from_secs(2), ..Announcing::default() };
    let impatient = EngineConfig { announcing, ..EngineConfig::default() };
    let first = connect(gateway(&account).await).await;
    let second = connect(gateway_of(Arc::new(account.store()), impatient).await).await;
    query(&first, "CREATE TABLE items (id int PRIMARY KEY, v int)").await.unwrap();
    query(&first, "SET lock_timeout = '10ms'").await.unwrap();
    let number = "00000000-0000-4000-8000-000000000000";
    let text = format!(r#"{{"by":"{number}","change":"{number}","since":0}}"#);
    let properties: Properties =
        [(PropertyName::parse("Changing").unwrap(), EdmValue::string(text))].into_iter().collect();
    let entity = Entity::new(EntityKey::parse("table", "items").unwrap(), properties);
    let table = TableName::parse(own_tables::SCHEMA).unwrap();
    account.store().commit(Batch::single(table, Operation::Merge(entity, IfMatch::Any)).unwrap()).await.unwrap();
    let started = Instant::now();
    for id in 0.. {
        match query(&first, &format!("INSERT INTO items VALUES ({id})")).await {
            Ok(_) => assert!(started.elapsed() < PATIENCE),
            Err(code) => {
                assert_eq!(code, "40001");
                break;
            }
        }
    }
    // It is read all the same, and written to by who has waited long enough.
    query(&first, "SELECT count(*) FROM items").await.unwrap();
    query(&second, "INSERT INTO items VALUES (-1)").await.unwrap();
}

/// The announcement is withdrawn while the next change is under way.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_change_that_was_not_made_does_not_stand_in_the_way_of_the_next_ones() {
    let announcing = Announcing { ahead: Duration::ZERO, ..Announcing::default() };
    let config = EngineConfig { announcing, ..EngineConfig::default() };
    let client = connect(gateway_of(Arc::new(service::new_account().store()), config).await).await;
    query(&client, "CREATE TABLE items (id int PRIMARY KEY, v int)").await.unwrap();
    query(&client, "INSERT INTO items VALUES (1, 50)").await.unwrap();
    for _ in 0..20 {
        assert_eq!(query(&client, "ALTER TABLE items ADD CHECK (v < 10)").await, Err("23514".to_owned()));
        query(&client, "ALTER TABLE items RENAME v TO w").await.unwrap();
        assert_eq!(query(&client, "ALTER TABLE items ADD CHECK (w < 10)").await, Err("23514".to_owned()));
        query(&client, "ALTER TABLE items ALTER w SET NOT NULL").await.unwrap();
        query(&client, "BEGIN; ALTER TABLE items ALTER w DROP NOT NULL; SAVEPOINT s").await.unwrap();
        query(&client, "ALTER TABLE items ADD CHECK (w > 10); ROLLBACK TO s").await.unwrap();
        tokio::time::sleep(Duration::from_millis(5)).await;
        query(&client, "ALTER TABLE items RENAME w TO v; COMMIT").await.unwrap();
    }
}
