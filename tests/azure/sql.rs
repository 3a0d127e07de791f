//! What SQL over an account costs, and what it does while a table is being deleted.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use super::service;
use crate::azure::client::{connect, gateway, gateway_at, query, rows};
use crate::azure::proxy::{Fault, Mercy, Plan, Proxy};

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn explain_analyze_tells_requests_and_what_they_cost() {
    let client = connect(gateway(&service::new_account()).await).await;
    query(&client, "CREATE TABLE items (id int PRIMARY KEY, name text)").await.unwrap();
    query(&client, "INSERT INTO items SELECT n, 'x' FROM generate_series(1, 1500) n").await.unwrap();
    let explain = async |select: &str| query(&client, &format!("EXPLAIN ANALYZE {select}")).await.unwrap().join("\n");
    let point = explain("SELECT name FROM items WHERE id = 7").await;
    for line in ["Requests: 1", "Entities Scanned: 1", "Pages: 1", "Retries: 0", "Billable Transactions: 1"] {
        assert!(point.contains(line), "{line} is not in\n{point}");
    }
    let limited = explain("SELECT name FROM items LIMIT 5").await;
    assert!(limited.contains("Requests: 1"), "{limited}");
    let whole = explain("SELECT name FROM items").await;
    assert!(whole.contains("Entities Scanned: 1500") && whole.contains("Billable Transactions: 2"), "{whole}");
}

/// The service takes 40 s and more to delete a table, and refuses its name as long.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_table_can_be_made_again_while_its_name_is_refused() {
    let is_deleted = Arc::new(AtomicBool::new(false));
    let seen = Arc::clone(&is_deleted);
    let plan: Plan = Arc::new(move |_, request| {
        if request.starts_with("DELETE") && request.contains("Tables('things')") {
            seen.store(true, Ordering::SeqCst);
        }
        let makes = request.contains("\"TableName\":\"things\"");
        let refused = makes && seen.load(Ordering::SeqCst);
        if refused { Fault::BeingDeleted } else { Fault::None }
    });
    let account = service::new_account();
    let proxy = Proxy::start(account.address, plan).await;
    let client = connect(gateway_at(proxy.address, &account).await).await;
    query(&client, "CREATE TABLE things (id int PRIMARY KEY)").await.unwrap();
    query(&client, "INSERT INTO things VALUES (1)").await.unwrap();
    query(&client, "DROP TABLE things").await.unwrap();
    assert!(is_deleted.load(Ordering::SeqCst));
    query(&client, "CREATE TABLE things (id int PRIMARY KEY)").await.unwrap();
    query(&client, "INSERT INTO things VALUES (2)").await.unwrap();
    assert_eq!(query(&client, "SELECT id FROM things").await, rows(&["2"]));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn observe_mode_records_constraints_and_keeps_transactions_strict() {
    let client = connect(gateway(&service::new_account()).await).await;
    query(&client, "SET egt.mode = observe").await.unwrap();
    query(&client, "CREATE TABLE people (id int PRIMARY KEY, mail text UNIQUE)").await.unwrap();
    let listed = "SELECT count(*) FROM pg_constraint WHERE conrelid = 'people'::regclass AND contype = 'u'";
    assert_eq!(query(&client, listed).await, rows(&["1"]));
    let both = "BEGIN; INSERT INTO people VALUES (1, 'a'); INSERT INTO people VALUES (2, 'b')";
    assert_eq!(query(&client, both).await, Err("0A000".to_owned()));
    query(&client, "ROLLBACK").await.unwrap();
    assert_eq!(query(&client, "SELECT count(*) FROM people").await, rows(&["0"]));
}

/// What is read back after a lost answer is what was written, whatever its types.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn values_of_every_type_are_known_again_when_an_answer_is_lost() {
    let batches = AtomicUsize::new(0);
    let plan: Plan = Arc::new(move |_, request| {
        let is_batch = request.starts_with("POST") && request.contains("$batch HTTP");
        let is_first = is_batch && request.contains("/kinds(") && batches.fetch_add(1, Ordering::SeqCst) == 0;
        if is_first { Fault::ResetAfter } else { Fault::None }
    });
    let account = service::new_account();
    let proxy = Proxy::start(account.address, plan).await;
    let client = connect(gateway_at(proxy.address, &account).await).await;
    let table = "CREATE TABLE kinds (part text, at timestamptz, i int, b bigint, d float8, r real, n numeric, t text,
        yes boolean, raw bytea, id uuid, day date, PRIMARY KEY (part, at))";
    query(&client, table).await.unwrap();
    let insert = "INSERT INTO kinds SELECT 'p', '2024-05-06 07:08:09Z'::timestamptz + i * interval '1 hour', i, i, i, i, i,
        'text ' || i, i > 1, '\\x0102', '6f1ed002-ab5d-4d4c-9a5e-3f3c1c5d7e11', '2024-05-06' FROM generate_series(1, 3) i";
    query(&client, insert).await.unwrap();
    assert_eq!(query(&client, "SELECT count(*) || ' ' || sum(d) FROM kinds").await, rows(&["3 6"]));
}

/// What goes wrong with every fifth batch of a statement that keeps many under way.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn of_ten_thousand_rows_of_one_statement_none_is_lost_or_doubled() {
    const FAULTS: [Fault; 7] = [
        Fault::Busy,
        Fault::FailedBefore,
        Fault::FailedAfter,
        Fault::ResetInBody,
        Fault::ResetBefore,
        Fault::ResetAfter,
        Fault::ResetInAnswer,
    ];
    let batches = Arc::new(AtomicUsize::new(0));
    let counter = Arc::clone(&batches);
    let mercy = Mercy::default();
    let plan: Plan = Arc::new(move |_, request| {
        if !request.starts_with("POST") || !request.contains("$batch HTTP") {
            return Fault::None;
        }
        let number = counter.fetch_add(1, Ordering::SeqCst);
        if number % 5 == 4 { mercy.bound(request, FAULTS[number / 5 % FAULTS.len()]) } else { Fault::None }
    });
    let account = service::new_account();
    let proxy = Proxy::start(account.address, plan).await;
    let client = connect(gateway_at(proxy.address, &account).await).await;
    query(&client, "CREATE TABLE items (part int, id int, n int, PRIMARY KEY (part, id))").await.unwrap();
    // Rows of one partition are 250 apart, and 40 of each.
    let insert = "INSERT INTO items SELECT n % 250, n / 250, n FROM generate_series(0, 9999) n";
    query(&client, insert).await.unwrap();
    assert!(batches.load(Ordering::SeqCst) >= 250);
    let found = "SELECT count(*) || ' ' || count(DISTINCT n) || ' ' || sum(n) FROM items";
    assert_eq!(query(&client, found).await, rows(&["10000 10000 49995000"]));
    // A second time every row is there, and the first of them is told.
    assert_eq!(query(&client, insert).await, Err("23505".to_owned()));
    assert_eq!(query(&client, found).await, rows(&["10000 10000 49995000"]));
}

/// Nothing would keep others from changing them.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn rows_of_the_account_cannot_be_locked() {
    let client = connect(gateway(&service::new_account()).await).await;
    query(&client, "CREATE TABLE jobs (id int PRIMARY KEY)").await.unwrap();
    assert_eq!(query(&client, "SELECT id FROM jobs FOR UPDATE").await, Err("0A000".to_owned()));
    assert_eq!(query(&client, "SELECT id FROM jobs FOR SHARE SKIP LOCKED").await, Err("0A000".to_owned()));
}
