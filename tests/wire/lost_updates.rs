//! Two sessions that each add one to one row a thousand times, on a store that is kept on disk: none of it is lost.

use tokio_postgres::Client;

use crate::wire::harness::{PATIENCE, Server};

const TIMES: i32 = 1000;

/// Two sessions do this to the same row at the same time; gives what has become of it.
async fn sum_of_two<W, F>(work: W) -> i32
where
    W: Fn(Client) -> F + Copy + Send + 'static,
    F: Future<Output = ()> + Send + 'static,
{
    let folder = tempfile::tempdir().unwrap();
    let server = Server::start_in(folder.path()).await;
    let client = server.driver().await;
    let table = "CREATE TABLE sums (k text, n int, PRIMARY KEY (k)); INSERT INTO sums VALUES ('a', 0)";
    client.batch_execute(table).await.unwrap();
    let (one, other) = (server.driver().await, server.driver().await);
    let tasks = [tokio::spawn(work(one)), tokio::spawn(work(other))];
    for task in tasks {
        tokio::time::timeout(PATIENCE * 5, task).await.expect("they come to an end").unwrap();
    }
    let sum = client.query_one("SELECT n FROM sums", &[]).await.unwrap().get(0);
    server.stop().await;
    sum
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn statements_on_their_own_lose_nothing() {
    let sum = sum_of_two(|client| async move {
        let add = client.prepare("UPDATE sums SET n = n + 1 WHERE k = 'a'").await.unwrap();
        for _ in 0..TIMES {
            assert_eq!(client.execute(&add, &[]).await.unwrap(), 1);
        }
    });
    assert_eq!(sum.await, 2 * TIMES);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn reading_under_a_lock_before_writing_loses_nothing() {
    let sum = sum_of_two(|client| async move {
        let read = client.prepare("SELECT n FROM sums WHERE k = 'a' FOR UPDATE").await.unwrap();
        let write = client.prepare("UPDATE sums SET n = $1 WHERE k = 'a'").await.unwrap();
        for _ in 0..TIMES {
            client.batch_execute("BEGIN").await.unwrap();
            let n: i32 = client.query_one(&read, &[]).await.unwrap().get(0);
            assert_eq!(client.execute(&write, &[&(n + 1)]).await.unwrap(), 1);
            client.batch_execute("COMMIT").await.unwrap();
        }
    });
    assert_eq!(sum.await, 2 * TIMES);
}
