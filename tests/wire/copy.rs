//! COPY over the wire, in both protocols.

use bytes::Bytes;
use futures::{SinkExt, StreamExt, pin_mut};

use crate::wire::harness::{
    Client, Server, bind, column, error, error_code, execute, message, parse, query, status, sync, tags,
};

const TABLE: &str = "CREATE TABLE t (p text, r text, v int, PRIMARY KEY (p, r))";

fn data(bytes: &[u8]) -> Vec<u8> {
    message(b'd', bytes)
}

fn done() -> Vec<u8> {
    message(b'c', b"")
}

async fn rows(client: &mut Client) -> Vec<String> {
    column(&client.query("SELECT v FROM t ORDER BY r").await)
}

#[tokio::test]
async fn rows_are_copied_in_however_they_are_cut() {
    let server = Server::start().await;
    let mut client = server.client().await;
    client.query(TABLE).await;
    client.send(&[query("COPY t FROM STDIN")]).await;
    let start = client.read().await;
    assert_eq!((start.tag, start.body.as_slice()), ('G', &[0, 0, 3, 0, 0, 0, 0, 0, 0][..]));
    for byte in b"a\t1\t10\na\t2\t\\N\n" {
        client.send(&[data(&[*byte])]).await;
    }
    // A message cut into single writes, and an empty one.
    for byte in data(b"a\t3\t30\n") {
        client.write(&[byte]).await;
    }
    let messages = client.ask(&[data(b""), done()]).await;
    let complete = messages.iter().find(|message| message.tag == 'C').unwrap();
    assert_eq!((complete.text().as_str(), status(&messages)), ("COPY 3", 'I'));
    assert_eq!(rows(&mut client).await, ["10", "NULL", "30"]);
    server.stop().await;
}

#[tokio::test]
async fn the_rows_of_a_change_are_copied_out() {
    let server = Server::start().await;
    let mut client = server.client().await;
    client.query(TABLE).await;
    let copied = |messages: &[crate::wire::harness::Message]| {
        let lines = messages.iter().filter(|m| m.tag == 'd').map(|m| String::from_utf8_lossy(&m.body).into_owned());
        let complete = messages.iter().find(|m| m.tag == 'C').map(|m| m.text()).unwrap_or_default();
        (lines.collect::<String>(), complete)
    };
    for (sql, lines, tag) in [
        (
            "COPY (INSERT INTO t VALUES ('a', '1', 10), ('a', '2', 20) RETURNING r, v) TO STDOUT",
            "1\t10\n2\t20\n",
            "COPY 2",
        ),
        ("COPY (UPDATE t SET v = v + 1 WHERE r = '2' RETURNING v) TO STDOUT (FORMAT csv, HEADER)", "v\n21\n", "COPY 1"),
        ("COPY (WITH d AS (DELETE FROM t WHERE r = '1' RETURNING v) SELECT v * 2 FROM d) TO STDOUT", "20\n", "COPY 1"),
        ("COPY (DELETE FROM t WHERE r = 'x' RETURNING v) TO STDOUT", "", "COPY 0"),
    ] {
        let (got, complete) = copied(&client.query(sql).await);
        assert_eq!((got.as_str(), complete.as_str()), (lines, tag), "{sql}");
    }
    assert_eq!(rows(&mut client).await, ["21"]);
    // In a block it is undone with it.
    client.query("BEGIN").await;
    assert_eq!(copied(&client.query("COPY (DELETE FROM t RETURNING v) TO STDOUT").await).0, "21\n");
    client.query("ROLLBACK").await;
    assert_eq!(rows(&mut client).await, ["21"]);
    let without = client.query("COPY (DELETE FROM t) TO STDOUT").await;
    assert_eq!(error(&without).field('M').unwrap(), "COPY query must have a RETURNING clause");
    let refused = client.query("BEGIN READ ONLY; COPY (DELETE FROM t RETURNING v) TO STDOUT").await;
    assert_eq!(error_code(&refused), "25006");
    client.query("ROLLBACK").await;
    assert_eq!(rows(&mut client).await, ["21"]);
    server.stop().await;
}

#[tokio::test]
async fn a_client_may_give_up() {
    let server = Server::start().await;
    let mut client = server.client().await;
    client.query(TABLE).await;
    client.send(&[query("COPY t FROM STDIN"), data(b"a\t1\t10\n"), message(b'f', b"no more\0")]).await;
    let messages = client.until_ready().await;
    assert_eq!((tags(&messages).as_str(), error_code(&messages).as_str()), ("GEZ", "57014"));
    assert!(error(&messages).field('M').unwrap().contains("no more"));
    assert!(rows(&mut client).await.is_empty());
    server.stop().await;
}

#[tokio::test]
async fn what_comes_after_a_bad_row_is_dropped() {
    let server = Server::start().await;
    let mut client = server.client().await;
    client.query(TABLE).await;
    let mut sent = vec![query("COPY t FROM STDIN"), data(b"a\t1\tnot a number\n")];
    sent.extend((0..100).map(|_| data(b"a\t2\t20\n")));
    sent.push(done());
    client.send(&sent).await;
    let messages = client.until_ready().await;
    assert_eq!((tags(&messages).as_str(), error_code(&messages).as_str()), ("GEZ", "22P02"));
    assert!(error(&messages).field('W').unwrap().contains("line 1"));
    assert!(rows(&mut client).await.is_empty());
    server.stop().await;
}

#[tokio::test]
async fn another_message_ends_the_copy() {
    let server = Server::start().await;
    let mut client = server.client().await;
    client.query(TABLE).await;
    client.send(&[query("COPY t FROM STDIN"), data(b"a\t1\t10\n"), query("SELECT 1")]).await;
    let messages = client.until_ready().await;
    assert_eq!((tags(&messages).as_str(), error_code(&messages).as_str()), ("GEZ", "08P01"));
    assert!(rows(&mut client).await.is_empty());
    server.stop().await;
}

#[tokio::test]
async fn a_copy_waiting_for_its_client_can_be_cancelled() {
    let server = Server::start().await;
    let mut client = server.client().await;
    client.query(TABLE).await;
    client.send(&[query("COPY t FROM STDIN"), data(b"a\t1\t10\n")]).await;
    assert_eq!(client.read().await.tag, 'G');
    server.cancel(client.pid, client.secret).await;
    assert_eq!(error_code(&client.until_ready().await), "57014");
    assert!(rows(&mut client).await.is_empty());
    server.stop().await;
}

#[tokio::test]
async fn the_extended_protocol_copies_too() {
    let server = Server::start().await;
    let mut client = server.client().await;
    client.query(TABLE).await;
    // The Sync that some clients send along with the Execute is not the end of it.
    let start = [parse("", "COPY t FROM STDIN", &[]), bind("", "", &[]), execute("", 0), sync()];
    client.send(&start).await;
    let messages = client.ask(&[data(b"a\t1\t10\n"), done(), sync()]).await;
    assert_eq!(tags(&messages), "12GCZ");
    client.send(&start).await;
    client.send(&[data(b"broken\n"), data(b"a\t2\t20\n"), done(), sync()]).await;
    let messages = client.until_ready().await;
    assert_eq!((tags(&messages).as_str(), error_code(&messages).as_str()), ("12GEZ", "22P04"));
    assert_eq!(rows(&mut client).await, ["10"]);
    server.stop().await;
}

#[tokio::test]
async fn rows_are_copied_out() {
    let server = Server::start().await;
    let mut client = server.client().await;
    client.query(TABLE).await;
    client.query("INSERT INTO t VALUES ('a', '1', 10), ('a', '2', NULL)").await;
    let messages = client.query("COPY t TO STDOUT").await;
    let text: Vec<u8> = messages.iter().filter(|m| m.tag == 'd').flat_map(|m| m.body.clone()).collect();
    assert_eq!(String::from_utf8(text).unwrap(), "a\t1\t10\na\t2\t\\N\n");
    let tags = tags(&messages);
    assert!(tags.starts_with("Hd") && tags.ends_with("cCZ"), "{tags}");
    assert_eq!(messages[messages.len() - 2].text(), "COPY 2");
    server.stop().await;
}

#[tokio::test]
async fn drivers_copy_in_and_out() {
    let server = Server::start().await;
    let client = server.driver().await;
    client.batch_execute(TABLE).await.unwrap();
    let sink = client.copy_in("COPY t FROM STDIN").await.unwrap();
    pin_mut!(sink);
    for part in 0..4 {
        let lines: String = (0..250).map(|row| format!("a\t{part}-{row:03}\t{row}\n")).collect();
        sink.send(Bytes::from(lines)).await.unwrap();
    }
    assert_eq!(sink.finish().await.unwrap(), 1000);
    let out = client.copy_out("COPY t TO STDOUT").await.unwrap();
    pin_mut!(out);
    let mut lines = 0;
    while let Some(part) = out.next().await {
        lines += part.unwrap().iter().filter(|byte| **byte == b'\n').count();
    }
    assert_eq!(lines, 1000);
    server.stop().await;
}

#[tokio::test]
async fn copied_rows_get_defaults_and_are_checked() {
    let server = Server::start().await;
    let mut client = server.client().await;
    client
        .query("CREATE TABLE t (p text, r text, v int DEFAULT 7 CHECK (v > 0), w int GENERATED ALWAYS AS (v * 2) STORED, PRIMARY KEY (p, r))")
        .await;
    client.send(&[query("COPY t (p, r) FROM STDIN"), data(b"a\t1\na\t2\n"), done()]).await;
    assert_eq!(tags(&client.until_ready().await), "GCZ");
    client.send(&[query("COPY t FROM STDIN"), data(b"a\t3\t30\n"), done()]).await;
    assert_eq!(tags(&client.until_ready().await), "GCZ");
    assert_eq!(rows(&mut client).await, ["7", "7", "30"]);
    assert_eq!(column(&client.query("SELECT w FROM t ORDER BY r").await), ["14", "14", "60"]);
    client.send(&[query("COPY t (p, r, v) FROM STDIN"), data(b"a\t4\t1\na\t5\t-1\n"), done()]).await;
    let messages = client.until_ready().await;
    let error = error(&messages);
    assert_eq!(error.field('C').unwrap(), "23514");
    assert_eq!(error.field('n').unwrap(), "t_v_check");
    assert_eq!(error.field('W').unwrap(), "COPY t, line 2: \"a\t5\t-1\"");
    assert_eq!(rows(&mut client).await, ["7", "7", "30"]);
    server.stop().await;
}
