//! Isolation: what transactions at the same time may do to each other, and what they are refused.

use tokio_postgres::{Client, Error};

use crate::wire::harness::{PATIENCE, Server};

const DOCTORS: &str = "CREATE TABLE doctors (shift text, id int, on_call boolean, PRIMARY KEY (shift, id));
    INSERT INTO doctors VALUES ('night', 1, true), ('night', 2, true)";

fn code<T: std::fmt::Debug>(result: Result<T, Error>) -> String {
    let error = result.unwrap_err();
    error.code().unwrap_or_else(|| panic!("{error}")).code().to_owned()
}

async fn on_call(client: &Client) -> i64 {
    let count = "SELECT count(*) FROM doctors WHERE shift = 'night' AND on_call";
    client.query_one(count, &[]).await.unwrap().get(0)
}

/// Two doctors each see that both are on call, and each goes home. Gives what the second one's COMMIT says.
async fn write_skew(server: &Server, level: &str) -> Result<(), Error> {
    let (a, b) = (server.driver().await, server.driver().await);
    a.batch_execute("UPDATE doctors SET on_call = true WHERE shift = 'night'").await.unwrap();
    for (client, id) in [(&a, 1), (&b, 2)] {
        client.batch_execute(&format!("BEGIN ISOLATION LEVEL {level}")).await.unwrap();
        assert_eq!(on_call(client).await, 2);
        let go_home = format!("UPDATE doctors SET on_call = false WHERE shift = 'night' AND id = {id}");
        assert_eq!(client.execute(&go_home, &[]).await.unwrap(), 1);
    }
    a.batch_execute("COMMIT").await.unwrap();
    b.batch_execute("COMMIT").await
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn write_skew_is_refused_where_all_are_serializable() {
    let server = Server::start().await;
    let client = server.driver().await;
    client.batch_execute(DOCTORS).await.unwrap();
    write_skew(&server, "REPEATABLE READ").await.unwrap();
    assert_eq!(on_call(&client).await, 0);
    let error = write_skew(&server, "SERIALIZABLE").await.unwrap_err();
    let error = error.as_db_error().unwrap();
    let message = "could not serialize access due to read/write dependencies among transactions";
    assert_eq!((error.code().code(), error.message()), ("40001", message));
    assert_eq!(on_call(&client).await, 1);
    server.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_phantom_is_refused_and_what_was_not_looked_at_is_not() {
    let server = Server::start().await;
    let (a, b) = (server.driver().await, server.driver().await);
    a.batch_execute(DOCTORS).await.unwrap();
    for (new_row, expected) in [("('night', 9, true)", "40001"), ("('day', 9, true)", "")] {
        for client in [&a, &b] {
            client.batch_execute("BEGIN ISOLATION LEVEL SERIALIZABLE").await.unwrap();
        }
        // The sum decides about another row; a row that comes after would have been in it.
        let copy = "INSERT INTO doctors SELECT 'night', 100 + count(*), false FROM doctors WHERE shift = 'night'";
        assert_eq!(a.execute(copy, &[]).await.unwrap(), 1);
        b.batch_execute(&format!("INSERT INTO doctors VALUES {new_row}; COMMIT")).await.unwrap();
        let committed = a.batch_execute("COMMIT").await;
        assert_eq!(committed.map_or_else(|error| code(Err::<(), _>(error)), |()| String::new()), expected);
    }
    server.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn statements_on_their_own_are_serializable_too() {
    let server = Server::start().await;
    let (a, b) = (server.driver().await, server.driver().await);
    a.batch_execute(DOCTORS).await.unwrap();
    a.batch_execute("BEGIN ISOLATION LEVEL SERIALIZABLE").await.unwrap();
    assert_eq!(on_call(&a).await, 2);
    b.batch_execute("SET default_transaction_isolation = 'serializable'").await.unwrap();
    b.batch_execute("UPDATE doctors SET on_call = false WHERE shift = 'night' AND id = 2").await.unwrap();
    b.batch_execute("UPDATE doctors SET on_call = true WHERE shift = 'night' AND id = 2").await.unwrap();
    a.batch_execute("UPDATE doctors SET on_call = false WHERE shift = 'night' AND id = 1").await.unwrap();
    assert_eq!(code(a.batch_execute("COMMIT").await), "40001");
    server.stop().await;
}

/// Repeats a transaction for as long as it cannot be serialized, as applications are told to.
async fn repeat_until_done(client: &Client, text: &str) {
    loop {
        match client.batch_execute(text).await {
            Ok(()) => return,
            Err(error) => assert_eq!(code(Err::<(), _>(error)), "40001"),
        }
        client.batch_execute("ROLLBACK").await.unwrap();
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn repeated_transactions_lose_nothing() {
    let server = Server::start().await;
    let client = server.driver().await;
    client.batch_execute("CREATE TABLE sums (k text, id int, n int, PRIMARY KEY (k, id))").await.unwrap();
    client.batch_execute("INSERT INTO sums VALUES ('a', 1, 0), ('a', 2, 0)").await.unwrap();
    let levels = ["REPEATABLE READ", "SERIALIZABLE"];
    for (id, level) in (1..).zip(levels) {
        let work = format!(
            "BEGIN ISOLATION LEVEL {level}; SELECT n FROM sums WHERE k = 'a' AND id = {id};
             UPDATE sums SET n = n + 1 WHERE k = 'a' AND id = {id}; COMMIT"
        );
        let tasks = [server.driver().await, server.driver().await].map(|client| {
            let work = work.clone();
            tokio::spawn(async move {
                for _ in 0..100 {
                    repeat_until_done(&client, &work).await;
                }
            })
        });
        for task in tasks {
            tokio::time::timeout(PATIENCE, task).await.expect("they come to an end").unwrap();
        }
        let row = client.query_one("SELECT n FROM sums WHERE k = 'a' AND id = $1", &[&id]).await.unwrap();
        assert_eq!(row.get::<_, i32>(0), 200, "{level}");
    }
    server.stop().await;
}

/// Whatever serializable transactions do, the outcome is one they could have had one after the other: each inserts the
/// count of what it sees, so that in any order the counts are 0, 1, 2 and so on.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn counts_are_as_if_they_had_been_made_in_turn() {
    let server = Server::start().await;
    let client = server.driver().await;
    client.batch_execute("CREATE TABLE counts (k text, id int, n int, PRIMARY KEY (k, id))").await.unwrap();
    let tasks: Vec<_> = futures::future::join_all((0..4).map(|_| server.driver())).await;
    let tasks = tasks.into_iter().enumerate().map(|(task, client)| {
        tokio::spawn(async move {
            for turn in 0..15 {
                let id = task * 1000 + turn;
                let work = format!(
                    "BEGIN ISOLATION LEVEL SERIALIZABLE;
                     INSERT INTO counts SELECT 'a', {id}, count(*) FROM counts WHERE k = 'a'; COMMIT"
                );
                repeat_until_done(&client, &work).await;
            }
        })
    });
    for task in tasks.collect::<Vec<_>>() {
        tokio::time::timeout(PATIENCE, task).await.expect("they come to an end").unwrap();
    }
    let rows = client.query("SELECT n FROM counts ORDER BY n", &[]).await.unwrap();
    let counts: Vec<i32> = rows.iter().map(|row| row.get(0)).collect();
    assert_eq!(counts, (0..60).collect::<Vec<_>>());
    server.stop().await;
}
