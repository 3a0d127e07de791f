//! The numbers are those of what was done.

use futures::SinkExt;
use futures::StreamExt;
use tokio_postgres::{Client, NoTls, SimpleQueryMessage};

use crate::monitoring::connect;
use crate::monitoring::endpoint::{scrape, start};
use crate::monitoring::exposition::Samples;

const TABLE: &str = "CREATE TABLE people (\"PartitionKey\" text, \"RowKey\" text, n int)";

async fn rows(client: &Client, query: &str) -> usize {
    let messages = client.simple_query(query).await.unwrap();
    messages.iter().filter(|message| matches!(message, SimpleQueryMessage::Row(_))).count()
}

async fn code(client: &Client, query: &str) -> String {
    client.simple_query(query).await.unwrap_err().code().unwrap().code().to_owned()
}

/// Each series, and by how much it is to have grown.
fn assert_growth(before: &Samples, after: &Samples, expected: &[(&str, f64)]) {
    let wrong: Vec<String> = expected
        .iter()
        .map(|(series, growth)| (series, growth, after.growth(before, series)))
        .filter(|(_, expected, found)| (*expected - found).abs() > 1e-9)
        .map(|(series, expected, found)| format!("{series} grew by {found}, not {expected}"))
        .collect();
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[tokio::test]
async fn statements_and_what_they_read_and_write_are_counted() {
    let (server, address) = start(&[]);
    let client = connect(&server).await.unwrap();
    client.batch_execute(TABLE).await.unwrap();
    let before = scrape(&address);
    client.batch_execute("INSERT INTO people VALUES ('p', '1', 1), ('p', '2', 2), ('p', '3', 3)").await.unwrap();
    assert_eq!(rows(&client, "SELECT * FROM people").await, 3);
    assert_eq!(rows(&client, "SELECT * FROM people WHERE n > 1").await, 2);
    let prepared =
        client.prepare("SELECT n FROM people WHERE \"PartitionKey\" = $1 AND \"RowKey\" = $2").await.unwrap();
    assert_eq!(client.query(&prepared, &[&"p", &"2"]).await.unwrap().len(), 1);
    assert_eq!(code(&client, "INSERT INTO people VALUES ('p', '1', 9)").await, "23505");
    assert_eq!(code(&client, "SELECT 1 / 0").await, "22012");
    assert_eq!(code(&client, "SELECT nothing FROM nowhere").await, "42P01");
    client.batch_execute("UPDATE people SET n = 5 WHERE \"RowKey\" = '1'").await.unwrap();
    client.batch_execute("DELETE FROM people WHERE \"PartitionKey\" = 'p' AND \"RowKey\" = '3'").await.unwrap();
    let after = scrape(&address);
    assert_growth(
        &before,
        &after,
        &[
            ("tablegate_statements_total{kind=\"insert\",outcome=\"ok\"}", 1.0),
            ("tablegate_statements_total{kind=\"insert\",outcome=\"error\"}", 1.0),
            ("tablegate_statements_total{kind=\"select\",outcome=\"ok\"}", 3.0),
            ("tablegate_statements_total{kind=\"update\",outcome=\"ok\"}", 1.0),
            ("tablegate_statements_total{kind=\"delete\",outcome=\"ok\"}", 1.0),
            ("tablegate_statements_total{kind=\"ddl\",outcome=\"ok\"}", 0.0),
            ("tablegate_statement_duration_seconds_count{kind=\"select\"}", 3.0),
            ("tablegate_statement_rows_total{kind=\"insert\"}", 3.0),
            ("tablegate_statement_rows_total{kind=\"select\"}", 6.0),
            ("tablegate_rows_sent_total", 6.0),
            ("tablegate_entities_written_total{operation=\"insert\"}", 3.0),
            ("tablegate_entities_written_total{operation=\"update\"}", 1.0),
            ("tablegate_entities_written_total{operation=\"delete\"}", 1.0),
            ("tablegate_egts_committed_total", 3.0),
            ("tablegate_errors_total{sqlstate_class=\"22\"}", 1.0),
            ("tablegate_errors_total{sqlstate_class=\"23\"}", 1.0),
            ("tablegate_errors_total{sqlstate_class=\"42\"}", 1.0),
        ],
    );
    assert!(after.growth(&before, "tablegate_sent_bytes_total") > 300.0);
    assert!(after.growth(&before, "tablegate_received_bytes_total") > 300.0);
    // All of the table twice, a key, and what the changes looked for.
    assert!(after.growth(&before, "tablegate_entities_scanned_total") >= 7.0);
}

#[tokio::test]
async fn scans_count_what_they_look_at_and_what_they_give() {
    let (server, address) = start(&[]);
    let client = connect(&server).await.unwrap();
    client.batch_execute(TABLE).await.unwrap();
    client.batch_execute("INSERT INTO people SELECT 'p', i::text, i FROM generate_series(1, 50) i").await.unwrap();
    let before = scrape(&address);
    assert_eq!(rows(&client, "SELECT * FROM people WHERE n <= 10").await, 10);
    let after = scrape(&address);
    assert_growth(
        &before,
        &after,
        &[("tablegate_entities_scanned_total", 50.0), ("tablegate_entities_returned_total", 10.0)],
    );
}

#[tokio::test]
async fn transactions_and_cursors_are_counted() {
    let (server, address) = start(&[]);
    let client = connect(&server).await.unwrap();
    client.batch_execute(TABLE).await.unwrap();
    let before = scrape(&address);
    // Two statements on their own, a block that commits, one that rolls back, one that fails, one that is a statement.
    client.batch_execute("INSERT INTO people VALUES ('p', '1', 1)").await.unwrap();
    client.query("SELECT 1", &[]).await.unwrap();
    client.batch_execute("BEGIN").await.unwrap();
    client.batch_execute("INSERT INTO people VALUES ('p', '2', 1)").await.unwrap();
    client.batch_execute("COMMIT").await.unwrap();
    client.batch_execute("BEGIN; INSERT INTO people VALUES ('p', '3', 1); ROLLBACK").await.unwrap();
    client.batch_execute("BEGIN").await.unwrap();
    assert_eq!(code(&client, "SELECT 1 / 0").await, "22012");
    client.batch_execute("COMMIT").await.unwrap();
    assert_eq!(code(&client, "SELECT 1 / 0").await, "22012");
    let after = scrape(&address);
    // The driver prepares, and then runs: each ends with its own Sync.
    assert_growth(
        &before,
        &after,
        &[
            ("tablegate_transactions_total{outcome=\"committed\"}", 4.0),
            ("tablegate_transactions_total{outcome=\"rolled_back\"}", 3.0),
            ("tablegate_egts_committed_total", 2.0),
        ],
    );
    client.batch_execute("BEGIN; DECLARE c CURSOR FOR SELECT * FROM people; FETCH 1 FROM c").await.unwrap();
    let open = scrape(&address);
    assert_eq!(open.get("tablegate_cursors"), 1.0);
    assert_eq!(open.get("tablegate_connections{state=\"idle in transaction\"}"), 1.0);
    client.batch_execute("COMMIT").await.unwrap();
    let closed = scrape(&address);
    assert_eq!(closed.get("tablegate_cursors"), 0.0);
    assert_eq!(closed.get("tablegate_connections{state=\"idle\"}"), 1.0);
    let shown =
        client.query_one("SELECT xact_commit, xact_rollback, tup_inserted, numbackends FROM pg_stat_database", &[]);
    let shown = shown.await.unwrap();
    assert!(shown.get::<_, i64>(0) >= 4 && shown.get::<_, i64>(1) == 3 && shown.get::<_, i64>(2) >= 2);
    assert_eq!(shown.get::<_, i32>(3), 1);
}

#[tokio::test]
async fn copied_rows_are_counted() {
    let (server, address) = start(&[]);
    let client = connect(&server).await.unwrap();
    client.batch_execute(TABLE).await.unwrap();
    let before = scrape(&address);
    let mut sink = Box::pin(client.copy_in("COPY people FROM STDIN").await.unwrap());
    sink.send(bytes::Bytes::from_static(b"p\t1\t1\np\t2\t2\np\t3\t3\n")).await.unwrap();
    assert_eq!(sink.as_mut().finish().await.unwrap(), 3);
    let lines = client.copy_out("COPY (SELECT * FROM people WHERE n < 3) TO STDOUT").await.unwrap();
    assert_eq!(lines.count().await, 2);
    let after = scrape(&address);
    assert_growth(
        &before,
        &after,
        &[
            ("tablegate_copy_rows_total{direction=\"in\"}", 3.0),
            ("tablegate_copy_rows_total{direction=\"out\"}", 2.0),
            ("tablegate_statements_total{kind=\"copy\",outcome=\"ok\"}", 2.0),
            ("tablegate_entities_written_total{operation=\"insert\"}", 3.0),
        ],
    );
}

#[tokio::test]
async fn statements_that_are_stopped_are_counted_by_why() {
    let (server, address) = start(&[]);
    let client = connect(&server).await.unwrap();
    let before = scrape(&address);
    let hurried = connect(&server).await.unwrap();
    hurried.batch_execute("SET statement_timeout = '20ms'").await.unwrap();
    assert_eq!(code(&hurried, "SELECT pg_sleep(60)").await, "57014");
    let canceller = client.cancel_token();
    let sleeping = tokio::spawn(async move { code(&client, "SELECT pg_sleep(60)").await });
    while scrape(&address).get("tablegate_connections{state=\"active\"}") < 1.0 {
        tokio::task::yield_now().await;
    }
    // One that comes before the statement runs has nothing to cancel.
    while !sleeping.is_finished() {
        canceller.cancel_query(NoTls).await.unwrap();
    }
    assert_eq!(sleeping.await.unwrap(), "57014");
    let after = scrape(&address);
    assert_growth(
        &before,
        &after,
        &[
            ("tablegate_interruptions_total{reason=\"statement_timeout\"}", 1.0),
            ("tablegate_interruptions_total{reason=\"user_request\"}", 1.0),
            ("tablegate_errors_total{sqlstate_class=\"57\"}", 2.0),
        ],
    );
    assert!(after.growth(&before, "tablegate_cancel_requests_total") >= 1.0);
}

#[tokio::test]
async fn connections_are_counted_also_those_that_are_refused() {
    let (server, address) = start(&["--max-connections", "1"]);
    let before = scrape(&address);
    let first = connect(&server).await.unwrap();
    let refused = connect(&server).await.map(drop).unwrap_err();
    assert_eq!(refused.code().unwrap().code(), "53300");
    let after = scrape(&address);
    assert_growth(
        &before,
        &after,
        &[
            ("tablegate_connections_accepted_total", 2.0),
            ("tablegate_connections_refused_total{reason=\"max_connections\"}", 1.0),
            ("tablegate_connections_refused_total{reason=\"password\"}", 0.0),
            ("tablegate_connections{state=\"idle\"}", 1.0),
            ("tablegate_errors_total{sqlstate_class=\"53\"}", 1.0),
        ],
    );
    assert_eq!(after.get("tablegate_connections_limit"), 1.0);
    drop(first);
}

#[tokio::test]
async fn locks_that_are_waited_for_are_counted() {
    let (server, address) = start(&[]);
    let (holder, waiter) = (connect(&server).await.unwrap(), connect(&server).await.unwrap());
    holder.batch_execute(TABLE).await.unwrap();
    holder.batch_execute("INSERT INTO people VALUES ('p', '1', 1)").await.unwrap();
    holder.batch_execute("BEGIN; UPDATE people SET n = 2 WHERE \"RowKey\" = '1'").await.unwrap();
    let before = scrape(&address);
    waiter.batch_execute("SET lock_timeout = '20ms'").await.unwrap();
    assert_eq!(code(&waiter, "UPDATE people SET n = 3 WHERE \"RowKey\" = '1'").await, "55P03");
    waiter.batch_execute("SET lock_timeout = 0").await.unwrap();
    let waiting = tokio::spawn(async move {
        waiter.batch_execute("UPDATE people SET n = 3 WHERE \"RowKey\" = '1'").await.unwrap();
        waiter
    });
    while scrape(&address).get("tablegate_locks_waiting") < 1.0 {
        tokio::task::yield_now().await;
    }
    holder.batch_execute("COMMIT").await.unwrap();
    waiting.await.unwrap();
    let after = scrape(&address);
    assert_growth(
        &before,
        &after,
        &[("tablegate_lock_timeouts_total", 1.0), ("tablegate_deadlocks_total", 0.0), ("tablegate_locks_waiting", 0.0)],
    );
    assert!(after.growth(&before, "tablegate_lock_waits_total") >= 2.0);
    assert!(after.growth(&before, "tablegate_lock_wait_seconds_total") >= 0.02);
}

#[tokio::test]
async fn broken_rules_are_counted_by_rule() {
    let (server, address) = start(&["--egt-mode", "observe"]);
    let client = connect(&server).await.unwrap();
    client.batch_execute(TABLE).await.unwrap();
    let before = scrape(&address);
    let both = "BEGIN; INSERT INTO people VALUES ('p', '1', 1); INSERT INTO people VALUES ('q', '1', 1); COMMIT";
    client.batch_execute(both).await.unwrap();
    let after = scrape(&address);
    assert_growth(
        &before,
        &after,
        &[
            ("tablegate_observed_breaches_total{rule=\"second partition\"}", 1.0),
            ("tablegate_observed_breaches_total{rule=\"second table\"}", 0.0),
            ("tablegate_entities_written_total{operation=\"insert\"}", 2.0),
        ],
    );
}

#[tokio::test]
async fn the_store_and_the_process_are_measured() {
    let (server, address) = start(&[]);
    let client = connect(&server).await.unwrap();
    client.batch_execute(TABLE).await.unwrap();
    client.batch_execute("INSERT INTO people SELECT 'p', i::text, i FROM generate_series(1, 90) i").await.unwrap();
    let samples = scrape(&address);
    for positive in [
        "tablegate_store_disk_bytes",
        "tablegate_store_write_buffer_bytes",
        "tablegate_query_memory_limit_bytes",
        "tablegate_transaction_memory_limit_bytes",
        "process_resident_memory_bytes",
        "process_start_time_seconds",
        "process_open_fds",
        "process_cpu_seconds_total",
    ] {
        assert!(samples.get(positive) > 0.0, "{positive}");
    }
    assert_eq!(samples.get("tablegate_store_commits_waiting"), 0.0);
    // So few rows are not kept as columns.
    for none in [
        "tablegate_store_segments",
        "tablegate_store_segments_disk_bytes",
        "tablegate_store_segments_building",
        "tablegate_store_segments_built_total",
    ] {
        assert_eq!(samples.get(none), 0.0, "{none}");
    }
    // The server of these tests does not sync.
    assert_eq!(samples.get("tablegate_store_syncs_total"), 0.0);
    assert_eq!(samples.get(&format!("tablegate_build_info{{version=\"{}\"}}", env!("CARGO_PKG_VERSION"))), 1.0);
}

#[tokio::test]
async fn no_series_names_what_is_the_users() {
    let (server, address) = start(&[]);
    let client = connect(&server).await.unwrap();
    let count = scrape(&address).names().count();
    for table in 0..20 {
        client.batch_execute(&format!("CREATE TABLE secret{table} (id int PRIMARY KEY)")).await.unwrap();
        client.batch_execute(&format!("INSERT INTO secret{table} VALUES (1)")).await.unwrap();
    }
    let samples = scrape(&address);
    assert!(!samples.names().any(|name| name.contains("secret")));
    // The histograms of two kinds that there were none of.
    assert!(samples.names().count() < count + 60, "{count} became {}", samples.names().count());
}
