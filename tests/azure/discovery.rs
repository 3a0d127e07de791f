//! Tables that nobody declared: how their columns are found, and what is told of where they come from.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use tablegate::backends::azure::{AzureOptions, AzureStore};
use tablegate::store::model::{EdmValue, Entity, EntityKey, PropertyName, TableName};
use tablegate::store::table::{Batch, Operation, TableStore};

use super::service;
use crate::azure::client::{connect, gateway, gateway_at, query, rows};
use crate::azure::proxy::{Fault, Plan, Proxy};
use crate::support::PATIENCE;

fn table() -> TableName {
    TableName::parse("Orders").unwrap()
}

fn entity(partition: &str, row: &str, values: &[(&str, EdmValue)]) -> Entity {
    let properties = values.iter().map(|(name, value)| (PropertyName::parse(name).unwrap(), value.clone()));
    Entity::new(EntityKey::parse(partition, row).unwrap(), properties.collect())
}

/// Somebody else's table of so many rows in one partition.
async fn fill(store: &AzureStore, partition: &str, rows: std::ops::Range<usize>, value: &(&str, EdmValue)) {
    for chunk in rows.collect::<Vec<_>>().chunks(100) {
        let mut batch = Batch::builder(table());
        for row in chunk {
            let insert = Operation::Insert(entity(partition, &format!("{row:04}"), std::slice::from_ref(value)));
            batch.push(insert).map_err(|(_, error)| error).unwrap();
        }
        store.commit(batch.build().unwrap()).await.unwrap();
    }
}

async fn insert(store: &AzureStore, partition: &str, row: &str, values: &[(&str, EdmValue)]) {
    let insert = Operation::Insert(entity(partition, row, values));
    store.commit(Batch::single(table(), insert).unwrap()).await.unwrap();
}

async fn found(store: &AzureStore) -> Vec<String> {
    let schema = store.reader().observed_schema(&table()).await.unwrap();
    schema.properties().iter().map(|property| property.name.as_str().to_owned()).collect()
}

#[tokio::test]
async fn a_sample_reaches_far_behind_the_first_page() {
    let account = service::new_account();
    let direct = account.store();
    direct.create_table(&table()).await.unwrap();
    fill(&direct, "customer-2024-01", 0..1100, &("first", EdmValue::Int32(1))).await;
    for (partition, name) in
        [("customer-2024-02", "month"), ("customer-2025-01", "year"), ("supplier-2024-01", "kind"), ("x", "place")]
    {
        insert(&direct, partition, "0", &[(name, EdmValue::Int32(1))]).await;
    }
    // Behind the first page of its own partition.
    insert(&direct, "customer-2024-01", "2000", &[("row", EdmValue::Int32(1))]).await;
    let fresh = account.store();
    let mut names = found(&fresh).await;
    names.sort();
    assert_eq!(names, ["first", "kind", "month", "place", "row", "year"]);
    let seen = fresh.reader().sightings(&table());
    let count = |name: &str| seen.each.iter().find(|seen| seen.property.as_str() == name).unwrap().entities;
    let counted = seen.counted.unwrap().entities;
    assert!(count("first") >= 1000 && count("first") + 5 == counted, "no entity twice: {seen:?}");
    assert_eq!(count("row"), 1);
}

#[tokio::test]
async fn what_is_old_is_sampled_anew() {
    let account = service::new_account();
    let direct = account.store();
    direct.create_table(&table()).await.unwrap();
    insert(&direct, "p", "1", &[("a", EdmValue::Int32(1))]).await;
    let once = account.store_with(account.address, AzureOptions { sample_age: None, ..AzureOptions::default() });
    let often = account.store_with(
        account.address,
        AzureOptions { sample_age: Some(Duration::from_millis(20)), ..AzureOptions::default() },
    );
    assert_eq!((found(&once).await, found(&often).await), (vec!["a".to_owned()], vec!["a".to_owned()]));
    insert(&direct, "p", "2", &[("b", EdmValue::Int32(1))]).await;
    let started = Instant::now();
    while found(&often).await != ["a", "b"] {
        assert!(started.elapsed() < PATIENCE);
    }
    assert_eq!(found(&once).await, ["a"]);
    once.analyze(&table()).await.unwrap();
    assert_eq!(found(&once).await, ["a", "b"]);
}

/// Of many who ask at once, one looks.
#[tokio::test]
async fn a_table_is_sampled_once_for_all_who_wait() {
    let account = service::new_account();
    account.store().create_table(&table()).await.unwrap();
    let proxy = Proxy::start(account.address, Arc::new(|_, _: &str| Fault::None)).await;
    let store = account.store_at(proxy.address);
    let asked = futures::future::join_all((0..20).map(|_| found(&store))).await;
    assert!(asked.iter().all(Vec::is_empty));
    assert_eq!(proxy.requests(), 1);
}

/// A gateway over a table of somebody else's behind a proxy whose pages get this fault once it is armed.
async fn armed_gateway(fault: Fault) -> (tokio_postgres::Client, Arc<AtomicBool>) {
    let account = service::new_account();
    let direct = account.store();
    direct.create_table(&table()).await.unwrap();
    fill(&direct, "p", 0..3, &("n", EdmValue::Int32(1))).await;
    let is_armed = Arc::new(AtomicBool::new(false));
    let armed = Arc::clone(&is_armed);
    let plan: Plan =
        Arc::new(
            move |_, request| {
                if request.contains("/Orders()") && armed.load(Ordering::SeqCst) { fault } else { Fault::None }
            },
        );
    let proxy = Proxy::start(account.address, plan).await;
    (connect(gateway_at(proxy.address, &account).await).await, is_armed)
}

const COLUMNS: &str = "SELECT column_name FROM information_schema.columns WHERE table_name = 'Orders' ORDER BY 1";
const ORIGINS: &str = "SELECT column_name || ' ' || data_type || ' ' || edm_type || ' ' || source FROM column_origins
    WHERE table_name = 'Orders' AND source <> 'system' ORDER BY column_name, edm_type";

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_property_that_a_page_shows_is_a_column_of_the_next_statement() {
    let (client, is_armed) = armed_gateway(Fault::NewProperty).await;
    assert_eq!(query(&client, COLUMNS).await, rows(&["PartitionKey", "RowKey", "Timestamp", "n"]));
    assert_eq!(query(&client, ORIGINS).await, rows(&["n integer Edm.Int32 sampled"]));
    is_armed.store(true, Ordering::SeqCst);
    query(&client, r#"SELECT * FROM "Orders""#).await.unwrap();
    assert_eq!(query(&client, COLUMNS).await, rows(&["PartitionKey", "RowKey", "Timestamp", "late", "n"]));
    // The proxy has made it up: a filter on it would find nothing in the account.
    assert_eq!(query(&client, r#"SELECT late FROM "Orders" ORDER BY late LIMIT 1"#).await, rows(&["t"]));
    let origins = rows(&["late boolean Edm.Boolean scanned", "n integer Edm.Int32 sampled"]);
    assert_eq!(query(&client, ORIGINS).await, origins);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_new_type_in_a_page_is_told_once_and_then_read() {
    let (client, is_armed) = armed_gateway(Fault::NewType).await;
    let numbers = r#"SELECT n FROM "Orders" ORDER BY "RowKey""#;
    assert_eq!(query(&client, numbers).await, rows(&["1", "1", "1"]));
    is_armed.store(true, Ordering::SeqCst);
    assert_eq!(query(&client, numbers).await, Err("22P02".to_owned()));
    assert_eq!(query(&client, numbers).await, rows(&["1", "1", "many"]));
    assert_eq!(query(&client, ORIGINS).await, rows(&["n text Edm.Int32 sampled", "n text Edm.String scanned"]));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn analyze_counts_and_drops_what_is_gone() {
    let account = service::new_account();
    let direct = account.store();
    direct.create_table(&table()).await.unwrap();
    fill(&direct, "p", 0..1100, &("n", EdmValue::Int32(1))).await;
    insert(&direct, "q", "1", &[("n", EdmValue::String("one".into())), ("gone", EdmValue::Boolean(true))]).await;
    let client = connect(gateway(&account).await).await;
    query(&client, "CREATE TABLE declared (id int PRIMARY KEY, total numeric)").await.unwrap();
    let counts = "SELECT column_name || ' ' || edm_type || ' ' || entities || ' of ' || counted FROM column_origins
        WHERE table_name = 'Orders' AND source <> 'system' ORDER BY column_name, edm_type";
    let sampled = query(&client, counts).await.unwrap();
    assert_eq!(sampled.len(), 3, "{sampled:?}");
    query(&client, r#"UPDATE "Orders" SET gone = NULL WHERE "PartitionKey" = 'q' AND "RowKey" = '1'"#).await.unwrap();
    query(&client, r#"ANALYZE "Orders""#).await.unwrap();
    assert_eq!(query(&client, counts).await, rows(&["n Edm.Int32 1100 of 1101", "n Edm.String 1 of 1101"]));
    query(&client, r#"DELETE FROM "Orders" WHERE "PartitionKey" = 'q' AND "RowKey" = '1'"#).await.unwrap();
    let before = query(&client, "SELECT now()").await.unwrap().remove(0);
    // All tables, declared ones among them.
    query(&client, "ANALYZE").await.unwrap();
    assert_eq!(query(&client, counts).await, rows(&["n Edm.Int32 1100 of 1100"]));
    let declared = "SELECT column_name || ' ' || source || ' ' || coalesce(edm_type, 'key') FROM column_origins
        WHERE table_name = 'declared' ORDER BY 1";
    assert_eq!(query(&client, declared).await, rows(&["id declared key", "total declared Edm.String"]));
    let times = format!(
        "SELECT count(*) FROM column_origins WHERE table_name = 'Orders' AND source <> 'system'
        AND first_seen <= counted_at AND counted_at <= now() AND counted_at >= '{before}'"
    );
    assert_eq!(query(&client, &times).await, rows(&["1"]));
}
