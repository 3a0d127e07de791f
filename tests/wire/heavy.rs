//! Clients are served while every thread computes for others, and what nobody waits for any longer ends.

use crate::wire::harness::{
    Client, PATIENCE, QUERY_THREADS, Server, column, endless_count, error_code, many_rows, query,
};

/// A query for each way of keeping a thread. Each would take hours.
fn heavy_queries() -> Vec<(&'static str, String)> {
    let numbers = format!("(SELECT c0 + 10 * c1 + 100 * c2 + 1000 * c3 + 10000 * c4 AS n FROM {})", many_rows(5));
    let texts = format!("(SELECT repeat('x', 20000) || n AS t FROM {numbers} n WHERE n < 2500)");
    vec![
        ("a recursion", endless_count()),
        (
            "pairs of which none meets a condition",
            format!("SELECT count(*) FROM {numbers} a, {numbers} b WHERE a.n + b.n < 0"),
        ),
        (
            "pairs of equals of which none meets a condition",
            format!("SELECT count(*) FROM {numbers} a JOIN {numbers} b ON a.n % 2 = b.n % 2 AND a.n + b.n < 0"),
        ),
        (
            "rows without any pair",
            format!("SELECT count(*) FROM {numbers} a WHERE NOT EXISTS (SELECT FROM {numbers} b WHERE a.n + b.n < 0)"),
        ),
        ("all pairs", format!("SELECT sum(a.n * b.n), count(*) FROM {numbers} a, {numbers} b, {numbers} c")),
        ("pairs of long texts", format!("SELECT max(a.t || b.t) FROM {texts} a, {texts} b, {texts} c")),
        (
            "rows of which none is kept",
            format!("SELECT a.n FROM {numbers} a, {numbers} b, {numbers} c WHERE a.n + b.n + c.n < 0"),
        ),
    ]
}

/// What a client asks that has nothing to do with the others.
async fn is_served(server: &Server) {
    let mut client = server.client().await;
    assert_eq!(column(&client.query("SELECT 1").await), ["1"]);
    assert_eq!(column(&client.query("SELECT v FROM kv WHERE k = 'b'").await), ["2"]);
    client.query("INSERT INTO kv VALUES ('c', 3)").await;
    client.query("DELETE FROM kv WHERE k = 'c'").await;
    assert_eq!(column(&client.query("SELECT sum(v) FROM kv").await), ["3"]);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn clients_are_served_while_every_thread_computes() {
    let server = Server::start().await;
    let mut client = server.client().await;
    client.query("CREATE TABLE kv (k text PRIMARY KEY, v int)").await;
    client.query("INSERT INTO kv VALUES ('a', 1), ('b', 2)").await;
    for (what, text) in heavy_queries() {
        let served = async {
            let mut busy: Vec<Client> = Vec::new();
            for _ in 0..QUERY_THREADS {
                let mut client = server.client().await;
                client.send(&[query(&text)]).await;
                server.until_active(client.pid).await;
                busy.push(client);
            }
            is_served(&server).await;
            let mut hurried = server.client().await;
            hurried.query("SET statement_timeout = '50ms'").await;
            assert_eq!(error_code(&hurried.query(&text).await), "57014", "{what}");
            let explained = hurried.query(&format!("EXPLAIN ANALYZE {text}")).await;
            assert_eq!(error_code(&explained), "57014", "{what}");
            for mut client in busy {
                server.cancel(client.pid, client.secret).await;
                assert_eq!(error_code(&client.until_ready().await), "57014", "{what}");
            }
            server.until_idle().await;
        };
        tokio::time::timeout(PATIENCE, served).await.expect(what);
    }
    server.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_query_of_a_client_that_left_ends() {
    let server = Server::start().await;
    for (_, text) in heavy_queries() {
        let mut client = server.client().await;
        client.send(&[query(&text)]).await;
        server.until_active(client.pid).await;
    }
    server.until_idle().await;
    server.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_cursor_that_is_closed_ends_its_query() {
    let server = Server::start().await;
    let mut client = server.client().await;
    client.query("BEGIN").await;
    client.query(&format!("DECLARE c CURSOR FOR SELECT c0 FROM {}", many_rows(9))).await;
    assert_eq!(column(&client.query("FETCH 2 FROM c").await).len(), 2);
    client.query("CLOSE c").await;
    server.until_idle().await;
    client.query("DECLARE d CURSOR FOR SELECT a.oid FROM pg_class a, pg_class b, pg_class c, pg_class d").await;
    assert_eq!(error_code(&client.query("SELECT 1 / 0").await), "22012");
    client.query("ROLLBACK").await;
    server.until_idle().await;
    server.stop().await;
}
