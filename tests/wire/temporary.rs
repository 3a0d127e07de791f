//! Temporary tables: each session has its own, and they end with it.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use async_trait::async_trait;
use futures::SinkExt;
use tablegate::backends::memory::MemoryStore;
use tablegate::store::model::SystemClock;
use tablegate::store::table::{
    Batch, CommitError, GroupError, NewEntities, Refusals, StoreError, StoreLayer, TableStore, WindowOutcome,
    WriteGroup, Written,
};

use crate::wire::harness::{PATIENCE, Server};

async fn count(client: &tokio_postgres::Client, table: &str) -> i64 {
    client.query_one(&format!("SELECT count(*) FROM {table}"), &[]).await.unwrap().get(0)
}

/// Waits until the store has no table any more: they are dropped behind the session that ended.
async fn until_empty(store: &MemoryStore) {
    let emptied = async {
        while !store.reader().list_tables().await.unwrap().is_empty() {
            tokio::task::yield_now().await;
        }
    };
    tokio::time::timeout(PATIENCE, emptied).await.expect("the tables are dropped");
}

#[tokio::test(flavor = "multi_thread")]
async fn sessions_do_not_meet_in_tables_of_one_name_and_leave_nothing_behind() {
    let scratch = Arc::new(MemoryStore::new(Arc::new(SystemClock)));
    let server = Server::start_with_scratch(scratch.clone()).await;
    let (one, two) = (server.driver().await, server.driver().await);
    for (client, rows) in [(&one, 3), (&two, 5)] {
        client.batch_execute("CREATE TEMP TABLE work (id int PRIMARY KEY, n serial)").await.unwrap();
        let filled = format!("INSERT INTO work (id) SELECT generate_series(1, {rows})");
        assert_eq!(client.execute(&filled, &[]).await.unwrap(), rows);
    }
    assert_eq!((count(&one, "work").await, count(&two, "pg_temp.work").await), (3, 5));
    assert_eq!(scratch.reader().list_tables().await.unwrap().len(), 2);
    // Neither waits for the other, though both make and drop a table of one name in open blocks.
    for client in [&one, &two] {
        let block = "BEGIN; DROP TABLE work; CREATE TEMP TABLE work (a int); INSERT INTO work VALUES (1)";
        let done = tokio::time::timeout(PATIENCE, client.batch_execute(block)).await;
        done.expect("nobody waits").unwrap();
    }
    one.batch_execute("ROLLBACK").await.unwrap();
    two.batch_execute("COMMIT").await.unwrap();
    assert_eq!((count(&one, "work").await, count(&two, "work").await), (3, 1));
    // One leaves in the middle of a block.
    one.batch_execute("BEGIN; CREATE TEMP TABLE more (a int); INSERT INTO more VALUES (1)").await.unwrap();
    drop(one);
    drop(two);
    until_empty(&scratch).await;
    server.stop().await;
}

/// The usual way to change many rows at once: COPY into a temporary table, and from there into the one that is meant.
#[tokio::test(flavor = "multi_thread")]
async fn rows_are_copied_into_a_temporary_table_and_merged_from_there() {
    let scratch = Arc::new(MemoryStore::new(Arc::new(SystemClock)));
    let server = Server::start_with_scratch(scratch.clone()).await;
    let mut client = server.driver().await;
    let table = "CREATE TABLE stock (shop text, item text, amount int, PRIMARY KEY (shop, item)); \
                 INSERT INTO stock VALUES ('north', 'apple', 1), ('north', 'pear', 2)";
    client.batch_execute(table).await.unwrap();
    for round in 1..=3 {
        let transaction = client.transaction().await.unwrap();
        transaction
            .batch_execute("CREATE TEMP TABLE incoming (shop text, item text, amount int) ON COMMIT DROP")
            .await
            .unwrap();
        let mut sink = std::pin::pin!(transaction.copy_in("COPY incoming FROM STDIN").await.unwrap());
        let rows = format!("north\tapple\t{round}0\nnorth\tplum\t{round}\n");
        sink.send(bytes::Bytes::from(rows)).await.unwrap();
        assert_eq!(sink.as_mut().finish().await.unwrap(), 2);
        let merge = "INSERT INTO stock SELECT * FROM incoming \
                     ON CONFLICT (shop, item) DO UPDATE SET amount = excluded.amount";
        assert_eq!(transaction.execute(merge, &[]).await.unwrap(), 2);
        transaction.commit().await.unwrap();
        assert!(client.query("SELECT * FROM incoming", &[]).await.is_err(), "ON COMMIT DROP");
    }
    let rows = client.query("SELECT item, amount FROM stock ORDER BY item", &[]).await.unwrap();
    let rows: Vec<(String, i32)> = rows.iter().map(|row| (row.get(0), row.get(1))).collect();
    assert_eq!(rows, [("apple".to_owned(), 30), ("pear".to_owned(), 2), ("plum".to_owned(), 3)]);
    until_empty(&scratch).await;
    server.stop().await;
}

/// A store whose disk can fill up.
struct Full {
    store: MemoryStore,
    is_full: AtomicBool,
}

impl Full {
    fn check(&self) -> Result<(), StoreError> {
        match self.is_full.load(Ordering::Relaxed) {
            true => Err(StoreError::DiskFull("scratch".to_owned())),
            false => Ok(()),
        }
    }
}

#[async_trait]
impl StoreLayer for Full {
    fn below(&self) -> &dyn TableStore {
        &self.store
    }

    async fn commit(&self, batch: Batch) -> Result<Vec<Written>, CommitError> {
        self.check()?;
        self.store.commit(batch).await
    }

    async fn commit_window(&self, batches: Vec<Batch>) -> WindowOutcome {
        match self.check() {
            Ok(()) => self.store.commit_window(batches).await,
            Err(error) => batches.iter().map(|_| Err(error.clone().into())).collect(),
        }
    }

    async fn insert_window(&self, entities: NewEntities) -> Refusals {
        match self.check() {
            Ok(()) => self.store.insert_window(entities).await,
            Err(error) => (0..entities.transactions()).map(|index| (index, error.clone().into())).collect(),
        }
    }

    async fn commit_group(&self, batches: Vec<Batch>) -> Result<Vec<Vec<Written>>, GroupError> {
        self.check()?;
        self.store.commit_group(batches).await
    }

    async fn write_group(&self, group: WriteGroup) -> Result<(), GroupError> {
        self.check()?;
        self.store.write_group(group).await
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_session_whose_temporary_rows_cannot_follow_the_permanent_ones_ends() {
    let store = MemoryStore::new(Arc::new(SystemClock));
    let scratch = Arc::new(Full { store, is_full: AtomicBool::new(false) });
    let server = Server::start_with_scratch(scratch.clone()).await;
    let client = server.driver().await;
    client
        .batch_execute("CREATE TABLE kept (id int PRIMARY KEY); CREATE TEMP TABLE own (id int PRIMARY KEY)")
        .await
        .unwrap();
    scratch.is_full.store(true, Ordering::Relaxed);
    // Alone they are refused like anything else.
    let refused = client.batch_execute("BEGIN; INSERT INTO own VALUES (1); COMMIT").await.unwrap_err();
    let refused = refused.as_db_error().unwrap();
    assert_eq!((refused.severity(), refused.code().code()), ("ERROR", "53100"));
    client.batch_execute("ROLLBACK").await.unwrap();
    assert_eq!(count(&client, "own").await, 0);
    let block = "BEGIN; INSERT INTO kept VALUES (1); INSERT INTO own VALUES (1); COMMIT";
    let ended = client.batch_execute(block).await.unwrap_err();
    let ended = ended.as_db_error().unwrap();
    assert_eq!((ended.severity(), ended.code().code()), ("FATAL", "58030"));
    assert!(client.batch_execute("SELECT 1").await.is_err(), "the session is over");
    let other = server.driver().await;
    assert_eq!(count(&other, "kept").await, 1);
    until_empty(&scratch.store).await;
    server.stop().await;
}

/// Errors about a table say where it is, as drivers and ORMs look at it.
#[tokio::test(flavor = "multi_thread")]
async fn errors_name_the_schema_of_the_table() {
    let server = Server::start_with_scratch(Arc::new(MemoryStore::new(Arc::new(SystemClock)))).await;
    let client = server.driver().await;
    for (create, is_own) in [("CREATE TEMP TABLE work", true), ("CREATE TABLE kept", false)] {
        let table = create.rsplit(' ').next().unwrap();
        client.batch_execute(&format!("{create} (a int PRIMARY KEY, b int CHECK (b > 0))")).await.unwrap();
        client.batch_execute(&format!("INSERT INTO {table} VALUES (1, 1)")).await.unwrap();
        for values in ["(1, 1)", "(NULL, 1)", "(2, -1)"] {
            let error = client.batch_execute(&format!("INSERT INTO {table} VALUES {values}")).await.unwrap_err();
            let error = error.as_db_error().unwrap();
            let schema = error.schema().unwrap();
            assert_eq!(schema.starts_with("pg_temp_"), is_own, "{schema}");
            assert!(is_own || schema == "public", "{schema}");
            assert_eq!(error.table(), Some(table));
        }
    }
    drop(client);
    server.stop().await;
}
