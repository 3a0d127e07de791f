//! Changes with parameters: those in FROM, SET, RETURNING, MERGE and WITH are found, typed and bound.

use crate::wire::harness::{Client, Message, Server, bind, describe, error, execute, parse, sync, tags};

const TABLES: &str = "CREATE TABLE items (box text, id int, n int, note text, PRIMARY KEY (box, id));
    CREATE TABLE other (id int PRIMARY KEY, n int, note text);
    INSERT INTO items VALUES ('a', 1, 10, 'x'), ('a', 2, 20, 'y');
    INSERT INTO other VALUES (1, 100, 'p'), (2, 200, 'q')";

/// Describes a statement and runs it with parameters in text.
async fn run(client: &mut Client, sql: &str, values: &[&str]) -> Vec<Message> {
    let values: Vec<Option<&str>> = values.iter().copied().map(Some).collect();
    let messages =
        client.ask(&[parse("", sql, &[]), describe(b'S', ""), bind("", "", &values), execute("", 0), sync()]).await;
    assert!(!tags(&messages).contains('E'), "{sql}: {}", error(&messages).field('M').unwrap_or_default());
    messages
}

/// The types of a statement's parameters, from its ParameterDescription.
fn parameter_types(messages: &[Message]) -> Vec<u32> {
    messages[1].body[2..].chunks(4).map(|oid| u32::from_be_bytes(oid.try_into().unwrap())).collect()
}

fn rows(messages: &[Message]) -> Vec<Vec<String>> {
    messages.iter().filter(|m| m.tag == 'D').map(Message::texts).collect()
}

const INT4: u32 = 23;
const TEXT: u32 = 25;

#[tokio::test]
async fn an_update_finds_parameters_in_every_clause() {
    let server = Server::start().await;
    let mut client = server.client().await;
    client.query(TABLES).await;
    let sql = "UPDATE items i SET (n, note) = ($2, $3) FROM other o WHERE o.id = i.id AND o.n = $4 \
               RETURNING i.id, i.n, i.note, o.n + $1";
    let messages = run(&mut client, sql, &["1", "5", "five", "100"]).await;
    assert_eq!(parameter_types(&messages), [INT4, INT4, TEXT, INT4]);
    assert_eq!(rows(&messages), [["1", "5", "five", "101"]]);
    server.stop().await;
}

#[tokio::test]
async fn on_conflict_finds_its_own_parameters() {
    let server = Server::start().await;
    let mut client = server.client().await;
    client.query(TABLES).await;
    let sql = "INSERT INTO items VALUES ('a', $3, $4) ON CONFLICT (box, id) DO UPDATE SET n = items.n + $2 \
               WHERE items.n < $5 RETURNING n + $1";
    let messages = run(&mut client, sql, &["1000", "7", "1", "0", "50"]).await;
    assert_eq!(parameter_types(&messages), [INT4; 5]);
    assert_eq!(rows(&messages), [["1017"]]);
    server.stop().await;
}

#[tokio::test]
async fn merge_binds_parameters_and_has_a_tag_of_its_own() {
    let server = Server::start().await;
    let mut client = server.client().await;
    client.query(TABLES).await;
    let sql = "MERGE INTO items i USING (VALUES ($1::int), ($2::int)) v (id) ON i.box = 'a' AND i.id = v.id \
               WHEN MATCHED THEN UPDATE SET n = $3 WHEN NOT MATCHED THEN INSERT (box, id, note) VALUES ('a', v.id, $4)";
    let messages = run(&mut client, sql, &["2", "3", "77", "new"]).await;
    assert_eq!(parameter_types(&messages), [INT4, INT4, INT4, TEXT]);
    assert_eq!(messages[4].text(), "MERGE 2");
    let found = client.query("SELECT id, n, note FROM items WHERE id > 1 ORDER BY id").await;
    assert_eq!(rows(&found), [["2", "77", "y"], ["3", "NULL", "new"]]);
    server.stop().await;
}

#[tokio::test]
async fn parts_of_with_share_the_parameters() {
    let server = Server::start().await;
    let mut client = server.client().await;
    client.query(TABLES).await;
    let sql = "WITH moved AS (DELETE FROM items WHERE id = $1 RETURNING id, n), plus AS (SELECT $2::int AS n) \
               INSERT INTO other SELECT id + (SELECT n FROM plus), n, $3 FROM moved RETURNING id, n, note";
    let messages = run(&mut client, sql, &["1", "50", "moved"]).await;
    assert_eq!(parameter_types(&messages), [INT4, INT4, TEXT]);
    assert_eq!(rows(&messages), [["51", "10", "moved"]]);
    // Prepared once, it runs again and finds what is there then.
    client.query("INSERT INTO items VALUES ('a', 1, 11, 'again')").await;
    client.ask(&[parse("s", sql, &[]), sync()]).await;
    for (plus, expected) in [("60", 1), ("70", 0)] {
        let messages = client.ask(&[bind("", "s", &[Some("1"), Some(plus), Some("x")]), execute("", 0), sync()]).await;
        assert_eq!(rows(&messages).len(), expected);
    }
    server.stop().await;
}
