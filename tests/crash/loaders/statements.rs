//! Loads by COPY and INSERT .. SELECT: alone, in a block, in the block that makes the table.

use std::pin::pin;

use bytes::Bytes;
use futures::SinkExt;
use tokio_postgres::Client;

use super::{Load, connect, number, try_connect, whole_tables};
use crate::support::server::Server;

/// Rows of a partition, which are written together.
const LINES: i64 = 4;
const PARTS: i64 = 2_500;
/// Of texts that are too long for the beginning of a COPY to hold all of them back.
const LONG_PARTS: i64 = 560;
const LONG: usize = 30_000;
const KEY: &str = "load bigint, part bigint, line int, note text, PRIMARY KEY (part, line)";

/// Lines of a load, in the order of their keys or in none.
fn lines(load: i64, parts: i64, note: usize, is_shuffled: bool) -> impl Iterator<Item = Bytes> {
    let note = "n".repeat(note);
    (0..parts).map(move |n| {
        // A step that has no factor in common with their number meets each once.
        let part = if is_shuffled { n * 1_237 % parts } else { n };
        let rows = (0..LINES).map(|line| format!("{load}\t{}\t{line}\t{note}\n", load * parts + part));
        Bytes::from(rows.collect::<String>())
    })
}

async fn copy(client: &Client, table: &str, lines: impl Iterator<Item = Bytes>) -> Result<(), tokio_postgres::Error> {
    let sink = client.copy_in(&format!("COPY {table} FROM STDIN")).await?;
    let mut sink = pin!(sink);
    for line in lines {
        sink.feed(line).await?;
    }
    sink.finish().await.map(|_| ())
}

/// Rows of a load, of partitions that have fewer than all of theirs, and the last load there is.
async fn copied(client: &Client, load: i64) -> (i64, i64, i64) {
    let parts = format!("SELECT part, count(*) n FROM copied WHERE load = {load} GROUP BY part");
    let sql = format!(
        "SELECT coalesce(sum(n), 0)::bigint, count(*) FILTER (WHERE n < {LINES}), (SELECT coalesce(max(load), 0) FROM copied) \
         FROM ({parts}) counted"
    );
    let row = client.query_one(&sql, &[]).await.expect("the rows can be read");
    (row.get(0), row.get(1), row.get(2))
}

/// All rows of the loads that were acknowledged; of one more all of them or none, or whole transactions of it.
async fn copied_loads(client: &Client, acknowledged: i64, may_have_begun: bool, rows: i64, is_in_parts: bool) -> i64 {
    let (found, parts, last) = copied(client, acknowledged).await;
    assert_eq!((found, parts), (rows, 0), "load {acknowledged} was acknowledged");
    if last == acknowledged {
        return last;
    }
    assert!(may_have_begun, "load {last} had not begun");
    let (found, parts, _) = copied(client, last).await;
    if is_in_parts {
        // Where one window ends and the next begins, a partition may be written by two transactions.
        assert!(parts <= 1, "{parts} of the partitions of load {last} are there in part, with {found} rows in all");
        // Out of the way: the next one has the same number.
        client.execute(&format!("DELETE FROM copied WHERE load = {last}"), &[]).await.expect("they are deleted");
        return acknowledged;
    }
    assert_eq!(found, rows, "load {last}");
    last
}

async fn make_copied(server: &Server) {
    let table = format!("CREATE TABLE copied ({KEY})");
    connect(server.port).await.batch_execute(&table).await.expect("the table is made");
}

#[derive(Clone)]
pub(super) struct Copy;

impl Load for Copy {
    async fn prepare(&mut self, server: &Server) {
        make_copied(server).await;
    }

    async fn load(&self, port: u16, number: i64) -> bool {
        let Ok(client) = try_connect(port).await else { return false };
        copy(&client, "copied", lines(number, PARTS, 20, true)).await.is_ok()
    }

    async fn check(&self, client: &Client, acknowledged: i64, may_have_begun: bool) -> i64 {
        copied_loads(client, acknowledged, may_have_begun, PARTS * LINES, false).await
    }
}

/// More than is held back to be committed together.
#[derive(Clone)]
pub(super) struct LongCopy;

impl Load for LongCopy {
    async fn prepare(&mut self, server: &Server) {
        make_copied(server).await;
    }

    async fn load(&self, port: u16, number: i64) -> bool {
        let Ok(client) = try_connect(port).await else { return false };
        copy(&client, "copied", lines(number, LONG_PARTS, LONG, false)).await.is_ok()
    }

    async fn check(&self, client: &Client, acknowledged: i64, may_have_begun: bool) -> i64 {
        copied_loads(client, acknowledged, may_have_begun, LONG_PARTS * LINES, true).await
    }
}

/// Into a table that is there, in a block of observe mode, which is committed in one piece.
#[derive(Clone)]
pub(super) struct Block;

impl Load for Block {
    async fn prepare(&mut self, server: &Server) {
        make_copied(server).await;
    }

    async fn load(&self, port: u16, number: i64) -> bool {
        let Ok(client) = try_connect(port).await else { return false };
        let begun = client.batch_execute("SET egt.mode = observe; BEGIN").await;
        begun.is_ok()
            && copy(&client, "copied", lines(number, PARTS, 20, true)).await.is_ok()
            && client.batch_execute("COMMIT").await.is_ok()
    }

    async fn check(&self, client: &Client, acknowledged: i64, may_have_begun: bool) -> i64 {
        copied_loads(client, acknowledged, may_have_begun, PARTS * LINES, false).await
    }
}

/// A block that copies into a table that is empty, whose rows are written ahead, and into another one.
#[derive(Clone)]
pub(super) struct FilledInBlock;

impl Load for FilledInBlock {
    async fn prepare(&mut self, server: &Server) {
        make_copied(server).await;
    }

    async fn load(&self, port: u16, number: i64) -> bool {
        let Ok(client) = try_connect(port).await else { return false };
        let table = format!("filled_{number}");
        let made = format!("CREATE TABLE IF NOT EXISTS {table} ({KEY})");
        // Every second one in the order of its keys.
        let lines_of = |parts| lines(number, parts, 200, number % 2 == 0);
        client.batch_execute(&made).await.is_ok()
            && client.batch_execute("SET egt.mode = observe; BEGIN").await.is_ok()
            && copy(&client, &table, lines_of(PARTS)).await.is_ok()
            && copy(&client, "copied", lines_of(PARTS)).await.is_ok()
            && client.batch_execute("COMMIT").await.is_ok()
    }

    async fn check(&self, client: &Client, acknowledged: i64, may_have_begun: bool) -> i64 {
        let last = copied_loads(client, acknowledged, may_have_begun, PARTS * LINES, false).await;
        let filled = number(client, &format!("SELECT count(*) FROM filled_{last} WHERE load = {last}")).await;
        assert_eq!(filled, PARTS * LINES, "load {last}");
        let next = format!("filled_{}", last + 1);
        if number(client, &format!("SELECT count(*) FROM pg_class WHERE relname = '{next}'")).await == 1 {
            assert_eq!(
                number(client, &format!("SELECT count(*) FROM {next}")).await,
                0,
                "load {last} was the last one"
            );
        }
        last
    }
}

#[derive(Clone)]
pub(super) struct MadeInBlock;

impl Load for MadeInBlock {
    async fn prepare(&mut self, _: &Server) {}

    async fn load(&self, port: u16, number: i64) -> bool {
        let Ok(client) = try_connect(port).await else { return false };
        let table = format!("load_{number}");
        // Every second one in the order of its keys, and so long that it goes into files of its own.
        let is_long = number % 2 == 0;
        let lines = lines(number, PARTS, if is_long { 200 } else { 20 }, !is_long);
        client.batch_execute(&format!("BEGIN; CREATE TABLE {table} ({KEY})")).await.is_ok()
            && copy(&client, &table, lines).await.is_ok()
            && client.batch_execute("COMMIT").await.is_ok()
    }

    async fn check(&self, client: &Client, acknowledged: i64, _: bool) -> i64 {
        whole_tables(client, acknowledged, PARTS * LINES).await
    }
}

/// More rows than are committed together.
#[derive(Clone)]
pub(super) struct InsertSelect;

impl Load for InsertSelect {
    async fn prepare(&mut self, server: &Server) {
        make_copied(server).await;
        let client = connect(server.port).await;
        let table = format!("CREATE TABLE source ({KEY})");
        client.batch_execute(&table).await.expect("the table is made");
        let rows = lines(0, 3 * PARTS, 20, false);
        copy(&client, "source", rows).await.expect("it is filled");
        assert_eq!(number(&client, "SELECT count(*) FROM source").await, 3 * PARTS * LINES);
    }

    async fn load(&self, port: u16, number: i64) -> bool {
        let Ok(client) = try_connect(port).await else { return false };
        let first = number * 3 * PARTS;
        let sql = format!("INSERT INTO copied SELECT {number}, {first} + part, line, note FROM source");
        client.batch_execute(&sql).await.is_ok()
    }

    async fn check(&self, client: &Client, acknowledged: i64, may_have_begun: bool) -> i64 {
        copied_loads(client, acknowledged, may_have_begun, 3 * PARTS * LINES, true).await
    }
}
