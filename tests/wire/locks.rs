//! Sessions that want the same rows: they wait for each other, read again, and lose nothing.

use tokio::task::JoinHandle;
use tokio_postgres::{Client, Error};

use crate::wire::harness::{PATIENCE, Server, pid_of};

/// A statement on its way, with the session that sent it.
struct Running {
    task: JoinHandle<(Client, Result<u64, Error>)>,
}

impl Running {
    fn start(client: Client, sql: &str) -> Self {
        let sql = sql.to_owned();
        let task = tokio::spawn(async move {
            let result = client.execute(&sql, &[]).await;
            (client, result)
        });
        Self { task }
    }

    /// Sends a statement that has to wait for somebody, and comes back when it does.
    async fn waiting(server: &Server, client: Client, sql: &str) -> Self {
        let pid = pid_of(&client).await;
        let mut running = Self::start(client, sql);
        tokio::select! {
            ended = &mut running.task => panic!("it did not wait: {sql}: {:?}", ended.unwrap().1),
            () = server.until_waiting(pid) => running,
        }
    }

    async fn end(self) -> (Client, Result<u64, Error>) {
        tokio::time::timeout(PATIENCE, self.task).await.expect("the wait ends").unwrap()
    }
}

fn code<T: std::fmt::Debug>(result: Result<T, Error>) -> String {
    let error = result.unwrap_err();
    error.code().unwrap_or_else(|| panic!("{error}")).code().to_owned()
}

/// A table of accounts `1`, `2` and `3` in one partition, each with 0.
async fn accounts() -> Server {
    let server = Server::start().await;
    let client = server.driver().await;
    client
        .batch_execute(
            "CREATE TABLE accounts (bank text, id int, n int, PRIMARY KEY (bank, id));
             INSERT INTO accounts VALUES ('b', 1, 0), ('b', 2, 0), ('b', 3, 0)",
        )
        .await
        .unwrap();
    server
}

async fn balance(client: &Client, id: i32) -> i32 {
    client.query_one("SELECT n FROM accounts WHERE bank = 'b' AND id = $1", &[&id]).await.unwrap().get(0)
}

fn add(amount: i32, id: i32) -> String {
    format!("UPDATE accounts SET n = n + {amount} WHERE bank = 'b' AND id = {id}")
}

/// Two sessions do this many times each, at the same time.
async fn twice<W, F>(server: &Server, times: u32, work: W)
where
    W: Fn(Client, u32) -> F + Copy + Send + 'static,
    F: Future<Output = ()> + Send + 'static,
{
    let (one, other) = (server.driver().await, server.driver().await);
    let tasks = [tokio::spawn(work(one, times)), tokio::spawn(work(other, times))];
    for task in tasks {
        tokio::time::timeout(PATIENCE * 3, task).await.expect("they come to an end").unwrap();
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn two_sessions_that_add_one_lose_nothing() {
    let server = accounts().await;
    twice(&server, 300, |client, times| async move {
        let statement = client.prepare(&add(1, 1)).await.unwrap();
        for _ in 0..times {
            assert_eq!(client.execute(&statement, &[]).await.unwrap(), 1);
        }
    })
    .await;
    assert_eq!(balance(&server.driver().await, 1).await, 600);
    server.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn two_sessions_that_add_one_in_blocks_lose_nothing() {
    let server = accounts().await;
    twice(&server, 300, |client, times| async move {
        let text = format!("BEGIN; {}; COMMIT", add(1, 2));
        for _ in 0..times {
            client.batch_execute(&text).await.unwrap();
        }
    })
    .await;
    assert_eq!(balance(&server.driver().await, 2).await, 600);
    server.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn statements_of_their_own_and_blocks_lose_nothing_together() {
    let server = accounts().await;
    twice(&server, 200, |client, times| async move {
        let upsert = "INSERT INTO accounts VALUES ('b', 9, 1) ON CONFLICT (bank, id) DO UPDATE SET n = accounts.n + 1";
        for _ in 0..times {
            client.batch_execute(upsert).await.unwrap();
            client.batch_execute(&format!("BEGIN; {upsert}; SAVEPOINT s; {}; COMMIT", add(1, 9))).await.unwrap();
        }
    })
    .await;
    assert_eq!(balance(&server.driver().await, 9).await, 1200);
    server.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn who_waited_sees_what_was_committed_meanwhile() {
    let server = accounts().await;
    let (a, b) = (server.driver().await, server.driver().await);
    a.batch_execute("BEGIN; UPDATE accounts SET n = id * 10 WHERE bank = 'b'").await.unwrap();
    // Every row matches as it is, one of them will not.
    let b = Running::waiting(&server, b, "UPDATE accounts SET n = n + 1 WHERE bank = 'b' AND n < 25").await;
    a.batch_execute("COMMIT").await.unwrap();
    let (b, changed) = b.end().await;
    assert_eq!(changed.unwrap(), 2);
    assert_eq!((balance(&b, 1).await, balance(&b, 2).await, balance(&b, 3).await), (11, 21, 30));
    server.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn who_waited_goes_on_as_before_after_a_rollback() {
    let server = accounts().await;
    let (a, b) = (server.driver().await, server.driver().await);
    a.batch_execute("BEGIN; UPDATE accounts SET n = 5 WHERE bank = 'b' AND id = 1").await.unwrap();
    let b = Running::waiting(&server, b, &add(1, 1)).await;
    a.batch_execute("ROLLBACK").await.unwrap();
    let (b, changed) = b.end().await;
    assert_eq!((changed.unwrap(), balance(&b, 1).await), (1, 1));
    server.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_row_deleted_meanwhile_is_not_updated() {
    let server = accounts().await;
    let (a, b) = (server.driver().await, server.driver().await);
    a.batch_execute("BEGIN; DELETE FROM accounts WHERE bank = 'b' AND id = 1").await.unwrap();
    b.batch_execute("BEGIN").await.unwrap();
    let b = Running::waiting(&server, b, "UPDATE accounts SET n = n + 1 WHERE bank = 'b'").await;
    a.batch_execute("COMMIT").await.unwrap();
    let (b, changed) = b.end().await;
    assert_eq!(changed.unwrap(), 2);
    b.batch_execute("COMMIT").await.unwrap();
    server.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_insert_waits_for_the_one_who_inserted_the_key() {
    let server = accounts().await;
    let insert = "INSERT INTO accounts VALUES ('b', 7, 7)";
    for (end, expected) in [("ROLLBACK", "1"), ("COMMIT", "23505")] {
        let (a, b) = (server.driver().await, server.driver().await);
        a.batch_execute(&format!("BEGIN; {insert}")).await.unwrap();
        b.batch_execute("BEGIN").await.unwrap();
        let b = Running::waiting(&server, b, insert).await;
        a.batch_execute(end).await.unwrap();
        let (b, inserted) = b.end().await;
        let outcome = inserted.map_or_else(|error| code(Err::<(), _>(error)), |rows| rows.to_string());
        assert_eq!(outcome, expected, "{end}");
        b.batch_execute("ROLLBACK").await.unwrap();
    }
    server.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn on_conflict_waits_and_takes_what_is_there_then() {
    let server = accounts().await;
    let (a, b, c) = (server.driver().await, server.driver().await, server.driver().await);
    a.batch_execute("BEGIN; INSERT INTO accounts VALUES ('b', 7, 7)").await.unwrap();
    let update = "INSERT INTO accounts VALUES ('b', 7, 1) ON CONFLICT (bank, id) DO UPDATE SET n = accounts.n + 100";
    let b = Running::waiting(&server, b, update).await;
    let c = Running::waiting(&server, c, "INSERT INTO accounts VALUES ('b', 7, 1) ON CONFLICT DO NOTHING").await;
    a.batch_execute("COMMIT").await.unwrap();
    assert_eq!((b.end().await.1.unwrap(), c.end().await.1.unwrap()), (1, 0));
    assert_eq!(balance(&a, 7).await, 107);
    server.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_circle_of_two_is_broken() {
    let server = accounts().await;
    let (a, b) = (server.driver().await, server.driver().await);
    a.batch_execute(&format!("BEGIN; {}", add(1, 1))).await.unwrap();
    b.batch_execute(&format!("BEGIN; {}", add(10, 2))).await.unwrap();
    let waiting = Running::waiting(&server, a, &add(1, 2)).await;
    let error = b.execute(&add(10, 1), &[]).await.unwrap_err();
    let error = error.as_db_error().unwrap();
    assert_eq!((error.code().code(), error.message()), ("40P01", "deadlock detected"));
    assert!(error.detail().unwrap().contains("blocked by process"), "{error:?}");
    assert_eq!(error.hint(), Some("See server log for query details."));
    // The loser's locks are free although it has not rolled back yet.
    let (a, changed) = waiting.end().await;
    assert_eq!(changed.unwrap(), 1);
    a.batch_execute("COMMIT").await.unwrap();
    b.batch_execute("ROLLBACK").await.unwrap();
    assert_eq!((balance(&a, 1).await, balance(&a, 2).await), (1, 1));
    server.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_wait_has_its_time_and_no_more() {
    let server = accounts().await;
    let (a, b) = (server.driver().await, server.driver().await);
    a.batch_execute(&format!("BEGIN; {}", add(1, 1))).await.unwrap();
    b.batch_execute("SET lock_timeout = '50ms'").await.unwrap();
    let error = b.execute(&add(1, 1), &[]).await.unwrap_err();
    let error = error.as_db_error().unwrap();
    assert_eq!((error.code().code(), error.message()), ("55P03", "canceling statement due to lock timeout"));
    b.batch_execute("SET lock_timeout = 0").await.unwrap();
    // It ends with the statement, so that none that follows is in a hurry.
    let hurried = format!("BEGIN; SET LOCAL statement_timeout = '50ms'; {}", add(1, 1));
    assert_eq!(code(b.batch_execute(&hurried).await), "57014");
    b.batch_execute("ROLLBACK").await.unwrap();
    a.batch_execute("COMMIT").await.unwrap();
    assert_eq!(b.execute(&add(1, 1), &[]).await.unwrap(), 1);
    server.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn who_is_cancelled_leaves_the_queue() {
    let server = accounts().await;
    let [a, b, c] = [server.driver().await, server.driver().await, server.driver().await];
    a.batch_execute(&format!("BEGIN; {}", add(1, 1))).await.unwrap();
    let token = b.cancel_token();
    let b = Running::waiting(&server, b, &add(10, 1)).await;
    let c = Running::waiting(&server, c, &add(100, 1)).await;
    token.cancel_query(tokio_postgres::NoTls).await.unwrap();
    assert_eq!(code(b.end().await.1), "57014");
    a.batch_execute("COMMIT").await.unwrap();
    assert_eq!(c.end().await.1.unwrap(), 1);
    assert_eq!(balance(&a, 1).await, 101);
    server.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn who_leaves_gives_everything_back() {
    let server = accounts().await;
    let (mut a, b) = (server.client().await, server.driver().await);
    a.query("BEGIN").await;
    a.query(&add(1, 1)).await;
    let b = Running::waiting(&server, b, &add(10, 1)).await;
    drop(a);
    let (b, changed) = b.end().await;
    assert_eq!((changed.unwrap(), balance(&b, 1).await), (1, 10));
    server.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn going_back_to_a_savepoint_gives_back_what_was_locked_since() {
    let server = accounts().await;
    let (a, b) = (server.driver().await, server.driver().await);
    a.batch_execute(&format!("BEGIN; {}; SAVEPOINT s; {}", add(1, 1), add(1, 2))).await.unwrap();
    let b = Running::waiting(&server, b, &add(10, 2)).await;
    a.batch_execute("ROLLBACK TO s").await.unwrap();
    let (b, changed) = b.end().await;
    assert_eq!(changed.unwrap(), 1);
    // An error inside the savepoint does so too, and what was locked before it stays.
    a.batch_execute(&add(1, 2)).await.unwrap();
    a.batch_execute("SELECT no_such_column FROM accounts").await.unwrap_err();
    assert_eq!(b.execute(&add(10, 2), &[]).await.unwrap(), 1);
    let b = Running::waiting(&server, b, &add(10, 1)).await;
    a.batch_execute("ROLLBACK").await.unwrap();
    assert_eq!(b.end().await.1.unwrap(), 1);
    server.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_large_change_waits_for_one_row_and_misses_nothing() {
    let server = accounts().await;
    let (a, b) = (server.driver().await, server.driver().await);
    // More than one entity group transaction, so that some would be committed when another fails.
    let rows: Vec<String> = (100..600).map(|id| format!("('b', {id}, 0)")).collect();
    a.batch_execute(&format!("INSERT INTO accounts VALUES {}", rows.join(", "))).await.unwrap();
    a.batch_execute(&format!("BEGIN; {}", add(1, 300))).await.unwrap();
    let b = Running::waiting(&server, b, "UPDATE accounts SET n = n + 10 WHERE bank = 'b' AND id >= 100").await;
    a.batch_execute("COMMIT").await.unwrap();
    let (b, changed) = b.end().await;
    assert_eq!(changed.unwrap(), 500);
    let row = b.query_one("SELECT sum(n), max(n) FROM accounts WHERE bank = 'b' AND id >= 100", &[]).await.unwrap();
    assert_eq!((row.get::<_, i64>(0), row.get::<_, i32>(1)), (5001, 11));
    server.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_locked_table_is_waited_for() {
    let server = accounts().await;
    let [a, b, c] = [server.driver().await, server.driver().await, server.driver().await];
    a.batch_execute("BEGIN; LOCK TABLE accounts IN EXCLUSIVE MODE").await.unwrap();
    // Readers go on, writers wait.
    assert_eq!(balance(&b, 1).await, 0);
    assert_eq!(code(b.batch_execute("BEGIN; LOCK accounts IN ROW EXCLUSIVE MODE NOWAIT").await), "55P03");
    b.batch_execute("ROLLBACK").await.unwrap();
    let b = Running::waiting(&server, b, &add(1, 1)).await;
    a.batch_execute("COMMIT").await.unwrap();
    let (b, changed) = b.end().await;
    assert_eq!(changed.unwrap(), 1);
    // DDL waits for whoever has read or written the table, also for itself to be the only one.
    a.batch_execute("BEGIN; SELECT * FROM accounts").await.unwrap();
    let b = Running::waiting(&server, b, "TRUNCATE accounts").await;
    let c = Running::waiting(&server, c, "INSERT INTO accounts VALUES ('b', 4, 4)").await;
    a.batch_execute("COMMIT").await.unwrap();
    b.end().await.1.unwrap();
    let (c, inserted) = c.end().await;
    assert_eq!(inserted.unwrap(), 1);
    let count: i64 = c.query_one("SELECT count(*) FROM accounts", &[]).await.unwrap().get(0);
    assert_eq!(count, 1);
    server.stop().await;
}
