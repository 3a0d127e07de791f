//! What one door writes the other sees, and neither writes what the other holds.

use std::net::SocketAddr;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio_postgres::{Client, NoTls};

use super::server;
use crate::support::server::Server;
use crate::support::tables::{Answer, Request, send};

struct Both {
    _server: Server,
    rest: SocketAddr,
    sql: Client,
}

impl Both {
    async fn open() -> Self {
        let (server, rest) = server(&[]);
        let sql = connect(&server).await;
        Self { _server: server, rest, sql }
    }

    async fn run(&self, sql: &str) {
        self.sql.batch_execute(sql).await.unwrap_or_else(|error| panic!("{sql}: {error:?}"));
    }

    /// The first column of the first row, as text.
    async fn ask(&self, sql: &str) -> String {
        let rows = self.sql.simple_query(sql).await.unwrap_or_else(|error| panic!("{sql}: {error:?}"));
        let row = rows.iter().find_map(|message| match message {
            tokio_postgres::SimpleQueryMessage::Row(row) => Some(row),
            _ => None,
        });
        row.and_then(|row| row.get(0)).unwrap_or_default().to_owned()
    }

    async fn send(&self, method: &str, path: &str, body: &str) -> Answer {
        send(self.rest, &Request::new(method, path).with_body(body)).await
    }

    /// An entity, written whatever was there.
    async fn put(&self, path: &str, body: &str) -> Answer {
        self.send("PUT", path, body).await
    }
}

async fn connect(server: &Server) -> Client {
    let target = format!("host=127.0.0.1 port={} user=clara", server.port);
    let (client, connection) = tokio_postgres::connect(&target, NoTls).await.expect("it is let in");
    tokio::spawn(connection);
    client
}

const ORDER: &str = "/orders(PartitionKey='p',RowKey='1')";

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_one_door_writes_the_other_sees() {
    let both = Both::open().await;
    assert_eq!(both.send("POST", "/Tables", r#"{"TableName":"orders"}"#).await.status, 201);
    assert_eq!(both.put(ORDER, r#"{"n":5}"#).await.status, 204);
    assert_eq!(both.ask("SELECT n FROM orders").await, "5");
    both.run(r#"INSERT INTO orders ("PartitionKey", "RowKey", n) VALUES ('p', '2', 6)"#).await;
    let answer = both.send("GET", "/orders(PartitionKey='p',RowKey='2')?$select=n", "").await;
    assert_eq!((answer.status, answer.body.as_str()), (200, r#"{"n":6}"#));
    // A table that SQL declares is seen under the name that the store has it by.
    both.run("CREATE TABLE order_items (sku text PRIMARY KEY, quantity int)").await;
    both.run("INSERT INTO order_items VALUES ('a', 1)").await;
    let answer = both.send("GET", "/orderItems()?$select=quantity", "").await;
    assert_eq!((answer.status, answer.body.as_str()), (200, r#"{"value":[{"quantity":1}]}"#));
    let listed = both.send("GET", "/Tables", "").await.body;
    assert_eq!(listed, r#"{"value":[{"TableName":"orderItems"},{"TableName":"orders"}]}"#);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_value_that_is_not_of_the_declared_type_is_an_error_where_it_is_read() {
    let both = Both::open().await;
    both.run(r#"CREATE TABLE orders ("PartitionKey" text, "RowKey" text, n int)"#).await;
    assert_eq!(both.put(ORDER, r#"{"n":"five"}"#).await.status, 204);
    let error = both.sql.simple_query("SELECT n FROM orders").await.unwrap_err();
    let error = error.as_db_error().expect("the server says so");
    assert_eq!((error.code().code(), error.column()), ("22P02", Some("n")));
    assert_eq!(error.message(), "stored value \"five\" is not a value of type integer");
    let row = r#"Key ("PartitionKey", "RowKey")=(p, 1), column "n": it is stored as Edm.String."#;
    assert_eq!(error.detail(), Some(row));
    both.run(r#"UPDATE orders SET n = 5 WHERE "PartitionKey" = 'p' AND "RowKey" = '1'"#).await;
    assert_eq!(both.ask("SELECT n FROM orders").await, "5");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_row_without_a_declared_value_is_an_error_where_it_is_read() {
    let both = Both::open().await;
    both.run(r#"CREATE TABLE orders ("PartitionKey" text, "RowKey" text, n int NOT NULL, m int)"#).await;
    assert_eq!(both.put(ORDER, r#"{"m":5}"#).await.status, 204);
    assert_eq!(both.ask("SELECT m FROM orders").await, "5");
    let error = both.sql.simple_query("SELECT n FROM orders").await.unwrap_err();
    let error = error.as_db_error().expect("the server says so");
    assert_eq!((error.code().code(), error.column()), ("23502", Some("n")));
    assert!(error.hint().is_some());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_property_called_as_what_the_system_keeps_is_one_among_others() {
    let both = Both::open().await;
    assert_eq!(both.send("POST", "/Tables", r#"{"TableName":"orders"}"#).await.status, 201);
    assert_eq!(both.put(ORDER, r#"{"etag":"mine","n":1}"#).await.status, 204);
    both.run("UPDATE orders SET n = n + 1").await;
    assert_eq!(both.ask("SELECT etag || n FROM orders FOR UPDATE").await, "mine2");
    both.run("DELETE FROM orders").await;
    assert_eq!(both.ask("SELECT count(*) FROM orders").await, "0");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_table_is_made_and_dropped_by_its_stored_name() {
    let both = Both::open().await;
    assert_eq!(both.send("POST", "/Tables", r#"{"TableName":"first"}"#).await.status, 201);
    assert_eq!(both.put("/first(PartitionKey='p',RowKey='1')", r#"{"n":1}"#).await.status, 204);
    both.run("ALTER TABLE first RENAME TO second").await;
    both.run("CREATE TABLE plain (id int PRIMARY KEY) WITH (table = 'PlainStore')").await;
    // SQL calls others so.
    for name in ["second", "plain"] {
        let made = both.send("POST", "/Tables", &format!(r#"{{"TableName":"{name}"}}"#)).await;
        assert_eq!((made.status, made.code().as_deref()), (409, Some("TableAlreadyExists")), "{name}");
        assert_eq!(both.send("GET", &format!("/Tables('{name}')"), "").await.status, 404, "{name}");
        assert_eq!(both.send("DELETE", &format!("/Tables('{name}')"), "").await.status, 404, "{name}");
    }
    assert_eq!(both.ask("SELECT n FROM second").await, "1");
    assert_eq!(
        both.send("GET", "/Tables('PLAINSTORE')?$format=application/json;odata=nometadata", "").await.body,
        r#"{"TableName":"PlainStore"}"#
    );
    assert_eq!(both.send("DELETE", "/Tables('first')", "").await.status, 204);
    assert_eq!(both.ask("SELECT count(*) FROM pg_class WHERE relname IN ('first', 'second')").await, "0");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_name_that_an_open_transaction_gives_a_table_is_taken() {
    let both = Both::open().await;
    let table = r#"{"TableName":"orderItems"}"#;
    both.run("BEGIN; CREATE TABLE order_items (id int PRIMARY KEY)").await;
    let made = both.send("POST", "/Tables", table).await;
    assert_eq!((made.status, made.code().as_deref()), (409, Some("TableAlreadyExists")));
    assert_eq!(both.send("GET", "/orderItems()", "").await.status, 404);
    both.run("COMMIT").await;
    let made = both.send("POST", "/Tables", table).await;
    assert_eq!((made.status, made.code().as_deref()), (409, Some("TableAlreadyExists")));
    both.run("BEGIN; DROP TABLE order_items; ROLLBACK").await;
    assert_eq!(both.send("GET", "/orderItems()", "").await.status, 200);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn policies_end_with_their_table_whoever_drops_it() {
    let both = Both::open().await;
    let table = r#"{"TableName":"shared"}"#;
    assert_eq!(both.send("POST", "/Tables", table).await.status, 201);
    let policies = "<SignedIdentifiers><SignedIdentifier><Id>p</Id><AccessPolicy><Permission>r</Permission></AccessPolicy>\
        </SignedIdentifier></SignedIdentifiers>";
    assert_eq!(both.send("PUT", "/shared?comp=acl", policies).await.status, 204);
    assert!(both.send("GET", "/shared?comp=acl", "").await.body.contains("<Id>p</Id>"));
    both.run("DROP TABLE shared").await;
    assert_eq!(both.send("POST", "/Tables", table).await.status, 201);
    assert!(!both.send("GET", "/shared?comp=acl", "").await.body.contains("<Id>"));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_write_waits_for_a_row_that_sql_has_locked() {
    let both = Both::open().await;
    both.run(r#"CREATE TABLE orders ("PartitionKey" text, "RowKey" text, n int)"#).await;
    both.run("INSERT INTO orders VALUES ('p', '1', 1), ('p', '2', 1)").await;
    both.run("BEGIN; UPDATE orders SET n = 2 WHERE \"PartitionKey\" = 'p' AND \"RowKey\" = '1'").await;
    let refused = both.put(&format!("{ORDER}?timeout=1"), r#"{"n":3}"#).await;
    assert_eq!((refused.status, refused.code().as_deref()), (500, Some("OperationTimedOut")));
    // Other rows are free.
    assert_eq!(both.put("/orders(PartitionKey='p',RowKey='2')", r#"{"n":3}"#).await.status, 204);
    let rest = both.rest;
    let waiting = tokio::spawn(async move { send(rest, &Request::new("PUT", ORDER).with_body(r#"{"n":4}"#)).await });
    let other = connect(&both._server).await;
    loop {
        let row = other.query_one("SELECT count(*) FROM pg_locks WHERE NOT granted", &[]).await.unwrap();
        if row.get::<_, i64>(0) > 0 {
            break;
        }
    }
    both.run("COMMIT").await;
    assert_eq!(waiting.await.unwrap().status, 204);
    assert_eq!(both.ask("SELECT n FROM orders WHERE \"RowKey\" = '1'").await, "4");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_block_that_read_what_changed_is_told() {
    let both = Both::open().await;
    both.run(r#"CREATE TABLE orders ("PartitionKey" text, "RowKey" text, n int)"#).await;
    both.run("INSERT INTO orders VALUES ('p', '1', 1)").await;
    both.run("BEGIN ISOLATION LEVEL REPEATABLE READ").await;
    assert_eq!(both.ask("SELECT n FROM orders").await, "1");
    assert_eq!(both.put(ORDER, r#"{"n":2}"#).await.status, 204);
    assert_eq!(both.ask("SELECT n FROM orders").await, "1");
    let error = both.sql.batch_execute("UPDATE orders SET n = n + 1").await.unwrap_err();
    assert_eq!(error.code().map(|code| code.code()), Some("40001"));
    both.run("ROLLBACK").await;
    // At READ COMMITTED the row is read anew.
    both.run("BEGIN; SELECT n FROM orders").await;
    assert_eq!(both.put(ORDER, r#"{"n":7}"#).await.status, 204);
    both.run("UPDATE orders SET n = n + 1; COMMIT").await;
    assert_eq!(both.ask("SELECT n FROM orders").await, "8");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_declared_table_is_deleted_as_drop_table_does_it() {
    let both = Both::open().await;
    both.run(
        r#"CREATE TABLE orders ("PartitionKey" text, "RowKey" text, n int); CREATE VIEW big AS SELECT * FROM orders"#,
    )
    .await;
    let refused = both.send("DELETE", "/Tables('orders')", "").await;
    assert_eq!((refused.status, refused.code().as_deref()), (409, Some("ResourceInUse")));
    both.run("DROP VIEW big").await;
    assert_eq!(both.send("DELETE", "/Tables('orders')", "").await.status, 204);
    assert_eq!(both.ask("SELECT count(*) FROM pg_class WHERE relname = 'orders'").await, "0");
    assert_eq!(both.send("GET", "/orders()", "").await.code().as_deref(), Some("TableNotFound"));
    // A table that a block makes is not there before it commits.
    both.run(r#"BEGIN; CREATE TABLE later ("PartitionKey" text, "RowKey" text)"#).await;
    assert_eq!(both.send("GET", "/later()", "").await.code().as_deref(), Some("TableNotFound"));
    assert_eq!(
        both.send("POST", "/Tables", r#"{"TableName":"later"}"#).await.code().as_deref(),
        Some("TableAlreadyExists")
    );
    both.run("COMMIT").await;
    assert_eq!(both.send("GET", "/later()", "").await.status, 200);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn requests_are_seen_in_sql() {
    let both = Both::open().await;
    assert_eq!(both.send("POST", "/Tables", r#"{"TableName":"orders"}"#).await.status, 201);
    assert_eq!(both.put(ORDER, r#"{"n":5}"#).await.status, 204);
    for _ in 0..3 {
        assert_eq!(both.send("GET", ORDER, "").await.status, 200);
    }
    let counted = "SELECT usename || ' ' || calls || ' ' || rows FROM statement_statistics WHERE query = ";
    assert_eq!(both.ask(&format!("{counted}'GET orders(point)'")).await, "devstoreaccount1 3 3");
    assert_eq!(both.ask(&format!("{counted}'PUT orders(upsert)'")).await, "devstoreaccount1 1 1");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn many_writes_of_one_row_wait_for_each_other() {
    let both = Both::open().await;
    assert_eq!(both.send("POST", "/Tables", r#"{"TableName":"orders"}"#).await.status, 201);
    let mut writers = tokio::task::JoinSet::new();
    for writer in 0..8 {
        let rest = both.rest;
        writers.spawn(async move {
            for n in 0..20 {
                let body = format!("{{\"n{writer}\":{n}}}");
                let answer = send(rest, &Request::new("PATCH", ORDER).with_body(&body)).await;
                assert_eq!(answer.status, 204, "{answer:?}");
            }
        });
    }
    writers.join_all().await;
    assert_eq!(both.ask("SELECT n0 + n1 + n2 + n3 + n4 + n5 + n6 + n7 FROM orders").await, "152");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn change_sets_that_break_a_rule_are_recorded() {
    let both = Both::open().await;
    assert_eq!(both.send("POST", "/Tables", r#"{"TableName":"orders"}"#).await.status, 201);
    let put = |partition: &str| {
        format!("--c\r\n\r\nPUT /orders(PartitionKey='{partition}',RowKey='1') HTTP/1.1\r\n\r\n{{}}\r\n")
    };
    let body =
        format!("--b\r\nContent-Type: multipart/mixed; boundary=c\r\n\r\n{}{}--c--\r\n--b--\r\n", put("p"), put("q"));
    let request = Request::new("POST", "/$batch").with_header("Content-Type", "multipart/mixed; boundary=b");
    let answer = send(both.rest, &request.with_header("User-Agent", "shop/1.0").with_body(&body)).await;
    assert_eq!(answer.code().as_deref(), Some("CommandsInBatchActOnDifferentPartitions"));
    let row = "SELECT concat_ws(' | ', rule, application_name, user_name, partitions) FROM egt_violations";
    assert_eq!(both.ask(row).await, "second partition | shop/1.0 | devstoreaccount1 | {orders/p,orders/q}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn requests_are_counted() {
    let (server, rest) = server(&["--metrics", "127.0.0.1:0"]);
    assert_eq!(send(rest, &Request::new("GET", "/Tables")).await.status, 200);
    assert_eq!(send(rest, &Request::new("GET", "/missing()")).await.status, 404);
    let metrics = server.address_behind("metrics are at /metrics");
    let mut stream = tokio::net::TcpStream::connect(metrics).await.expect("it listens");
    stream.write_all(b"GET /metrics HTTP/1.1\r\nHost: x\r\n\r\n").await.expect("it is read");
    let mut told = String::new();
    stream.read_to_string(&mut told).await.expect("it answers");
    for line in [
        "tablegate_rest_requests_total{operation=\"QueryTables\",status=\"2xx\"} 1",
        "tablegate_rest_requests_total{operation=\"QueryEntities\",status=\"4xx\"} 1",
        "tablegate_rest_request_duration_seconds_count{operation=\"QueryTables\"} 1",
        "tablegate_rest_connections_accepted_total 2",
    ] {
        assert!(told.contains(line), "{line} is not in\n{told}");
    }
}
