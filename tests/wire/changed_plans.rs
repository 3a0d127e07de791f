//! Prepared statements whose tables change: they go on where they can, and say so where their results would change.

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
