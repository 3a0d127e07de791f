//! Accounts that are mounted beside another store, or beside another account.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use tablegate::backends::memory::MemoryStore;
use tablegate::sql::{EngineConfig, MountName, MountedStore};
use tablegate::store::model::{SystemClock, TableName};
use tablegate::store::table::TableStore;

use super::service;
use crate::azure::client::{connect, gateway, gateway_of, query, rows};
use crate::azure::proxy::{Fault, Proxy};
use crate::support::PATIENCE;

fn mount(name: &str, store: impl TableStore, read_only: bool) -> MountedStore {
    MountedStore { name: MountName::parse(name).unwrap(), store: Arc::new(store), read_only }
}

/// A gateway over memory with these stores mounted.
async fn gateway_with(mounts: Vec<MountedStore>) -> u16 {
    let config = EngineConfig { mounts, ..EngineConfig::default() };
    gateway_of(Arc::new(MemoryStore::new(Arc::new(SystemClock))), config).await
}

/// Asks until the answer is the expected one.
async fn until(client: &tokio_postgres::Client, sql: &str, expected: &Result<Vec<String>, String>) {
    let started = Instant::now();
    while query(client, sql).await != *expected {
        assert!(started.elapsed() < PATIENCE, "{sql}: {:?}", query(client, sql).await);
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_mounted_account_has_the_schema_that_its_own_gateways_have() {
    let account = service::new_account();
    let own = connect(gateway(&account).await).await;
    let mounted = || mount("prod", account.store(), false);
    let beside = connect(gateway_with(vec![mounted()]).await).await;
    query(&own, "CREATE TABLE orders (id serial PRIMARY KEY, amount numeric(12,2))").await.unwrap();
    query(&own, "INSERT INTO orders (amount) VALUES (10.5), (20)").await.unwrap();
    query(&own, "CREATE VIEW large AS SELECT id FROM orders WHERE amount > 15").await.unwrap();

    // Each says it in its own words.
    until(&beside, "SELECT amount FROM prod.orders ORDER BY id", &rows(&["10.50", "20.00"])).await;
    assert_eq!(query(&beside, "SELECT id FROM prod.large").await, rows(&["2"]));
    query(&beside, "CREATE TABLE names (id int PRIMARY KEY, name text)").await.unwrap();
    query(&beside, "INSERT INTO names VALUES (2, 'second')").await.unwrap();
    let join = "SELECT n.name || ' ' || o.amount FROM names n JOIN prod.orders o USING (id)";
    assert_eq!(query(&beside, join).await, rows(&["second 20.00"]));

    // What is declared through the mount has the names of the account itself.
    query(&beside, "CREATE TABLE prod.places (id serial PRIMARY KEY, place text)").await.unwrap();
    query(&beside, "INSERT INTO prod.places (place) VALUES ('a')").await.unwrap();
    query(&beside, "CREATE VIEW prod.all_places AS SELECT place FROM prod.places").await.unwrap();
    assert_eq!(query(&own, "SELECT place FROM all_places").await, rows(&["a"]));
    query(&own, "INSERT INTO places (place) VALUES ('b')").await.unwrap();
    assert_eq!(query(&beside, "SELECT count(DISTINCT id) FROM prod.places").await, rows(&["2"]));
    // A third one, which mounts it under another name, and finds all of it.
    let other =
        connect(gateway_with(vec![MountedStore { name: MountName::parse("x").unwrap(), ..mounted() }]).await).await;
    until(&other, "SELECT count(*) FROM x.places, x.all_places, x.orders", &rows(&["8"])).await;
    query(&own, "DROP TABLE places CASCADE").await.unwrap();
    until(&beside, "SELECT 1 FROM prod.places", &Err("42P01".to_owned())).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn two_accounts_are_copied_and_joined_and_never_one_transaction() {
    let accounts = [service::new_account(), service::new_account()];
    let main: Arc<dyn TableStore> = Arc::new(accounts[0].store());
    let mounts = vec![mount("prod", accounts[1].store(), false)];
    let client = connect(gateway_of(main, EngineConfig { mounts, ..EngineConfig::default() }).await).await;
    // An account that does not answer at once is asked again.
    until(&client, "SELECT 1 FROM prod.t", &Err("42P01".to_owned())).await;
    for schema in ["public", "prod"] {
        let make = format!("CREATE TABLE {schema}.t (a text, b int, PRIMARY KEY (a, b))");
        query(&client, &make).await.unwrap();
    }
    query(&client, "INSERT INTO t SELECT 'p' || n % 3, n FROM generate_series(1, 250) AS s(n)").await.unwrap();
    query(&client, "INSERT INTO prod.t SELECT * FROM public.t").await.unwrap();
    assert_eq!(query(&client, "SELECT count(*) FROM t JOIN prod.t AS p USING (a, b)").await, rows(&["250"]));
    let both = "BEGIN; DELETE FROM t WHERE a = 'p1' AND b = 1; DELETE FROM prod.t WHERE a = 'p1' AND b = 1";
    assert_eq!(query(&client, both).await, Err("0A000".to_owned()));
    query(&client, "ROLLBACK").await.unwrap();
    assert_eq!(query(&client, "SELECT count(*) FROM t").await, rows(&["250"]));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_is_mounted_read_only_is_never_written_to() {
    let account = service::new_account();
    // Made by nobody's gateway: there is no catalogue in the account.
    let store = account.store();
    store.create_table(&TableName::parse("Found").unwrap()).await.unwrap();
    let written = Arc::new(Mutex::new(Vec::new()));
    let seen = Arc::clone(&written);
    let plan = move |_, request: &str| {
        if !request.starts_with("GET ") {
            seen.lock().unwrap().push(request.to_owned());
        }
        Fault::None
    };
    let proxy = Proxy::start(account.address, Arc::new(plan)).await;
    let mounts = vec![mount("prod", account.store_at(proxy.address), true)];
    let client = connect(gateway_with(mounts).await).await;
    until(&client, "SELECT count(*) FROM prod.\"Found\"", &rows(&["0"])).await;
    for refused in [
        "INSERT INTO prod.\"Found\" (\"PartitionKey\", \"RowKey\") VALUES ('a', 'b')",
        "DELETE FROM prod.\"Found\"",
        "TRUNCATE prod.\"Found\"",
        "DROP TABLE prod.\"Found\"",
        "ALTER TABLE prod.\"Found\" RENAME TO other",
        "CREATE TABLE prod.t (id int PRIMARY KEY)",
        "CREATE TABLE prod.t AS SELECT 1 AS id",
        "CREATE VIEW prod.v AS SELECT 1 AS id",
        "CREATE SEQUENCE prod.s",
        "COMMENT ON TABLE prod.\"Found\" IS 'x'",
        "GRANT SELECT ON prod.\"Found\" TO PUBLIC",
        "COPY prod.\"Found\" FROM STDIN",
    ] {
        assert_eq!(query(&client, refused).await, Err("25006".to_owned()), "{refused}");
    }
    assert!(proxy.requests() > 0);
    assert_eq!(*written.lock().unwrap(), Vec::<String>::new());
    let tables = store.reader().list_tables().await.unwrap();
    assert_eq!(tables, [TableName::parse("Found").unwrap()], "no catalogue was made");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_mount_alone_writes_nothing_until_something_is_declared() {
    let account = service::new_account();
    let client = connect(gateway_with(vec![mount("prod", account.store(), false)]).await).await;
    until(&client, "SELECT 1 FROM prod.t", &Err("42P01".to_owned())).await;
    // A store of its own for each look: one that has looked remembers the names for a while.
    let look = || account.store().reader();
    assert!(look().list_tables().await.unwrap().is_empty());
    query(&client, "CREATE TABLE prod.t (id int PRIMARY KEY)").await.unwrap();
    assert_eq!(look().list_tables().await.unwrap().len(), 2);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_mount_that_is_away_stops_nobody_and_is_there_when_it_answers() {
    let account = service::new_account();
    let own = connect(gateway(&account).await).await;
    query(&own, "CREATE TABLE t (id int PRIMARY KEY)").await.unwrap();
    query(&own, "INSERT INTO t VALUES (7)").await.unwrap();
    let away = Arc::new(AtomicUsize::new(1));
    let is_away = Arc::clone(&away);
    let plan = move |_, _: &str| if is_away.load(Ordering::SeqCst) == 1 { Fault::Busy } else { Fault::None };
    let proxy = Proxy::start(account.address, Arc::new(plan)).await;
    let client = connect(gateway_with(vec![mount("prod", account.store_at(proxy.address), false)]).await).await;
    // Whatever has nothing to do with it goes on.
    query(&client, "CREATE TABLE here (id int PRIMARY KEY)").await.unwrap();
    query(&client, "INSERT INTO here VALUES (1)").await.unwrap();
    let listed = "SELECT relname FROM pg_class WHERE relkind = 'r' AND relnamespace = 'public'::regnamespace";
    assert_eq!(query(&client, listed).await, rows(&["here"]));
    let listed = "SELECT nspname FROM pg_namespace WHERE nspname = 'prod'";
    assert_eq!(query(&client, listed).await, rows(&["prod"]));
    for refused in ["SELECT * FROM prod.t", "CREATE TABLE prod.u (id int PRIMARY KEY)", "DROP TABLE prod.t"] {
        let error = client.simple_query(refused).await.unwrap_err();
        let error = error.as_db_error().unwrap();
        assert_eq!(error.code().code(), "58030", "{refused}");
        assert!(error.message().contains("schema \"prod\" cannot be used"), "{}", error.message());
        assert!(!format!("{error:?}").contains("AccountKey"));
    }
    away.store(0, Ordering::SeqCst);
    until(&client, "SELECT id FROM prod.t", &rows(&["7"])).await;
}

/// It takes requests and does not answer them. Who asks for something else waits for it once, and never again.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_mount_that_is_silent_delays_only_its_own_tables() {
    let account = service::new_account();
    let own = connect(gateway(&account).await).await;
    query(&own, "CREATE TABLE t (id int PRIMARY KEY)").await.unwrap();
    let silent = Arc::new(AtomicUsize::new(1));
    let is_silent = Arc::clone(&silent);
    let plan = move |_, _: &str| if is_silent.load(Ordering::SeqCst) == 1 { Fault::Slow } else { Fault::None };
    let proxy = Proxy::start(account.address, Arc::new(plan)).await;
    let store = account.store_at(proxy.address);
    let client = connect(gateway_with(vec![mount("prod", store, false)]).await).await;
    let began = Instant::now();
    let statements: u64 = 30;
    for n in 0..statements {
        query(&client, &format!("CREATE TABLE here{n} (id int PRIMARY KEY)")).await.unwrap();
        assert_eq!(query(&client, "SELECT 1 FROM nowhere").await, Err("42P01".to_owned()));
        let listed = "SELECT count(*) FROM pg_class WHERE relname LIKE 'here%' AND relkind = 'r'";
        assert_eq!(query(&client, listed).await, rows(&[&(n + 1).to_string()]));
    }
    // Each of the three waits for seconds where it waits.
    let all_waited = Duration::from_secs(3 * 3 * statements);
    assert!(began.elapsed() < all_waited / 3, "{statements} tables took {:?}", began.elapsed());
    silent.store(0, Ordering::SeqCst);
    proxy.let_go(1_000);
    until(&client, "SELECT count(*) FROM prod.t", &rows(&["0"])).await;
}
