//! Prepared statements whose tables change: they go on where they can, and say so where their results would change.

use tokio_postgres::types::Type;
use tokio_postgres::{Client, Error, Statement};

use crate::wire::harness::Server;

fn code_and_message(error: &Error) -> (String, String) {
    let error = error.as_db_error().unwrap_or_else(|| panic!("{error}"));
    (error.code().code().to_owned(), error.message().to_owned())
}

async fn prepare(client: &Client, sql: &str) -> Statement {
    client.prepare(sql).await.unwrap()
}

async fn assert_changed(client: &Client, statement: &Statement) {
    let error = client.query(statement, &[]).await.unwrap_err();
    let expected = ("0A000".to_owned(), "cached plan must not change result type".to_owned());
    assert_eq!(code_and_message(&error), expected);
    // By this drivers know that they may prepare it again.
    assert_eq!(error.as_db_error().unwrap().routine(), Some("RevalidateCachedQuery"));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_statement_whose_columns_changed_is_to_be_prepared_again() {
    let server = Server::start().await;
    let (client, other) = (server.driver().await, server.driver().await);
    let table = |columns: &str| {
        let columns = format!("shop text, id int, {columns}, PRIMARY KEY (shop, id)");
        format!("CREATE TABLE items ({columns}); INSERT INTO items (shop, id) VALUES ('s', 1)")
    };
    client.batch_execute(&table("n int DEFAULT 7")).await.unwrap();
    let all = prepare(&client, "SELECT * FROM items").await;
    let locked = prepare(&client, "SELECT * FROM items FOR UPDATE").await;
    let returned = prepare(&client, "UPDATE items SET n = n + 1 RETURNING *").await;
    let some = prepare(&client, "SELECT n FROM items").await;
    assert_eq!(client.query(&all, &[]).await.unwrap().len(), 1);
    other.batch_execute(&format!("DROP TABLE items; {}", table("n int DEFAULT 7, note text"))).await.unwrap();
    for statement in [&all, &locked, &returned] {
        assert_changed(&client, statement).await;
    }
    // What names its columns goes on, and nothing was written.
    assert_eq!(client.query_one(&some, &[]).await.unwrap().get::<_, i32>(0), 7);
    let again = prepare(&client, "SELECT * FROM items").await;
    assert_eq!(client.query_one(&again, &[]).await.unwrap().len(), 4);
    other.batch_execute(&format!("DROP TABLE items; {}", table("other int"))).await.unwrap();
    let error = client.query(&some, &[]).await.unwrap_err();
    assert_eq!(code_and_message(&error).0, "42703");
    server.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_property_seen_since_is_for_statements_prepared_since() {
    let server = Server::start().await;
    let client = server.driver().await;
    let table = "CREATE TABLE things (\"PartitionKey\" text, \"RowKey\" text) WITH (open = true);
        INSERT INTO things (\"PartitionKey\", \"RowKey\", a) VALUES ('p', '1', 5)";
    client.batch_execute(table).await.unwrap();
    let all = prepare(&client, "SELECT * FROM things").await;
    client.batch_execute("UPDATE things SET b = 'x'").await.unwrap();
    assert_eq!(client.query_one(&all, &[]).await.unwrap().len(), 3);
    let again = prepare(&client, "SELECT * FROM things").await;
    assert_eq!(client.query_one(&again, &[]).await.unwrap().len(), 4);
    server.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_text_that_comes_again_means_what_it_means_then() {
    let server = Server::start().await;
    let (client, other) = (server.driver().await, server.driver().await);
    client
        .batch_execute(
            "CREATE TABLE items (id bigint PRIMARY KEY, at timestamptz); INSERT INTO items VALUES (1, '2024-02-01')",
        )
        .await
        .unwrap();
    let text = "SELECT * FROM items WHERE id = $1";
    let columns =
        async || prepare(&client, text).await.columns().iter().map(|c| c.name().to_owned()).collect::<Vec<_>>();
    for _ in 0..3 {
        assert_eq!(columns().await, ["id", "at"]);
    }
    other.batch_execute("ALTER TABLE items ADD COLUMN n int").await.unwrap();
    assert_eq!(columns().await, ["id", "at", "n"]);
    // A table of the session's own stands before the other one, as long as it is there.
    client.batch_execute("CREATE TEMP TABLE items (id bigint PRIMARY KEY, own text)").await.unwrap();
    assert_eq!(columns().await, ["id", "own"]);
    client.batch_execute("DROP TABLE pg_temp.items").await.unwrap();
    assert_eq!(columns().await, ["id", "at", "n"]);
    // In a block that has changed the table, and when that is taken back.
    client.batch_execute("BEGIN; ALTER TABLE items DROP COLUMN n").await.unwrap();
    assert_eq!(columns().await, ["id", "at"]);
    client.batch_execute("ROLLBACK").await.unwrap();
    assert_eq!(columns().await, ["id", "at", "n"]);
    // In a block that has failed.
    client.batch_execute("BEGIN").await.unwrap();
    client.batch_execute("SELECT 1 / 0").await.unwrap_err();
    let error = client.prepare(text).await.unwrap_err();
    assert_eq!(code_and_message(&error).0, "25P02");
    client.batch_execute("ROLLBACK").await.unwrap();
    // With other types of its parameters, and literals that are read in another style.
    let types = |statement: Statement| statement.params().to_vec();
    assert_eq!(types(client.prepare_typed(text, &[Type::INT2]).await.unwrap()), [Type::INT2]);
    assert_eq!(types(client.prepare(text).await.unwrap()), [Type::INT8]);
    let dated = "SELECT count(*) FROM items WHERE at = '01/02/2024'";
    let found = async || client.query_one(&prepare(&client, dated).await, &[]).await.unwrap().get::<_, i64>(0);
    assert_eq!(found().await, 0);
    client.batch_execute("SET DateStyle = 'ISO, DMY'").await.unwrap();
    assert_eq!(found().await, 1);
    client.batch_execute("SET TimeZone = 'Asia/Kolkata'").await.unwrap();
    assert_eq!(found().await, 0);
    other.batch_execute("DROP TABLE items").await.unwrap();
    assert_eq!(code_and_message(&client.prepare(text).await.unwrap_err()).0, "42P01");
    server.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_type_beside_a_text_is_not_a_label_in_it() {
    let server = Server::start().await;
    let client = server.driver().await;
    client.prepare_typed("SELECT $1", &[Type::TEXT]).await.unwrap();
    let labelled = prepare(&client, "SELECT $1 text").await;
    assert_eq!(labelled.columns()[0].name(), "text");
    server.stop().await;
}
