//! SELECT ... FOR UPDATE between sessions: what it returns stays so, and queues hand out each job once.

use std::collections::BTreeSet;

use tokio_postgres::Client;

use crate::wire::harness::{PATIENCE, Server, pid_of};

const JOBS: i32 = 40;

async fn queue() -> Server {
    let server = Server::start().await;
    let client = server.driver().await;
    let rows: Vec<String> = (0..JOBS).map(|id| format!("('q', {id}, 'new')")).collect();
    client
        .batch_execute(&format!(
            "CREATE TABLE jobs (queue text, id int, state text, PRIMARY KEY (queue, id));
             INSERT INTO jobs VALUES {}",
            rows.join(", ")
        ))
        .await
        .unwrap();
    server
}

/// Several workers take jobs until there are none; each job must have been taken once.
async fn work_off<W, F>(server: &Server, take: W)
where
    W: Fn(Client) -> F + Copy + Send + 'static,
    F: Future<Output = Vec<i32>> + Send + 'static,
{
    let mut workers = Vec::new();
    for _ in 0..4 {
        workers.push(tokio::spawn(take(server.driver().await)));
    }
    let mut taken = Vec::new();
    for worker in workers {
        taken.extend(tokio::time::timeout(PATIENCE, worker).await.expect("the queue is worked off").unwrap());
    }
    assert_eq!(taken.len(), taken.iter().collect::<BTreeSet<_>>().len(), "a job was taken twice: {taken:?}");
    assert_eq!(taken.len(), usize::try_from(JOBS).unwrap());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn workers_take_each_job_once() {
    let server = queue().await;
    work_off(&server, |client| async move {
        let next = "SELECT id FROM jobs WHERE queue = 'q' AND state = 'new' ORDER BY id LIMIT 1 FOR UPDATE SKIP LOCKED";
        let mut taken = Vec::new();
        loop {
            client.batch_execute("BEGIN").await.unwrap();
            let row = client.query_opt(next, &[]).await.unwrap();
            let Some(id) = row.map(|row| row.get::<_, i32>(0)) else { break };
            let done = "UPDATE jobs SET state = 'done' WHERE queue = 'q' AND id = $1";
            assert_eq!(client.execute(done, &[&id]).await.unwrap(), 1);
            client.batch_execute("COMMIT").await.unwrap();
            taken.push(id);
        }
        taken
    })
    .await;
    server.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn workers_take_each_job_once_with_one_statement() {
    let server = queue().await;
    work_off(&server, |client| async move {
        let take = "DELETE FROM jobs WHERE queue = 'q' AND id IN
            (SELECT id FROM jobs WHERE queue = 'q' ORDER BY id LIMIT $1 FOR UPDATE SKIP LOCKED) RETURNING id";
        let mut taken = Vec::new();
        loop {
            let rows = client.query(take, &[&3_i64]).await.unwrap();
            if rows.is_empty() {
                return taken;
            }
            taken.extend(rows.iter().map(|row| row.get::<_, i32>(0)));
        }
    })
    .await;
    server.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_is_locked_comes_back_as_it_is_then() {
    let server = queue().await;
    let (a, b) = (server.driver().await, server.driver().await);
    a.batch_execute("BEGIN; UPDATE jobs SET state = 'done' WHERE queue = 'q' AND id < 2").await.unwrap();
    let pid = pid_of(&b).await;
    let waiting = tokio::spawn(async move {
        b.batch_execute("BEGIN").await.unwrap();
        let query = "SELECT id FROM jobs WHERE queue = 'q' AND state = 'new' ORDER BY id LIMIT 1 FOR NO KEY UPDATE";
        (b.query_one(query, &[]).await.unwrap().get::<_, i32>(0), b)
    });
    server.until_waiting(pid).await;
    a.batch_execute("COMMIT").await.unwrap();
    let (id, b) = tokio::time::timeout(PATIENCE, waiting).await.unwrap().unwrap();
    // The first one that is still new, and it is locked.
    assert_eq!(id, 2);
    let refused = a.execute("UPDATE jobs SET state = 'x' WHERE queue = 'q' AND id = 3", &[]).await;
    assert_eq!(refused.unwrap(), 1);
    let nowait = "SELECT id FROM jobs WHERE queue = 'q' AND id = 2 FOR UPDATE NOWAIT";
    let error = a.query_one(nowait, &[]).await.unwrap_err();
    let error = error.as_db_error().unwrap();
    assert_eq!((error.code().code(), error.message()), ("55P03", "could not obtain lock on row in relation \"jobs\""));
    b.batch_execute("COMMIT").await.unwrap();
    server.stop().await;
}
