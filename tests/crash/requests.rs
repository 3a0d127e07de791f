//! Requests of the Table service's protocol to a process that is killed: every acknowledged entity is there, and no batch in
//! part.

use std::net::SocketAddr;
use std::path::Path;
use std::sync::Arc;

use tablegate::backends::embedded::Fsync;
use tablegate::rest::{Alone, RestConfig, serve};
use tablegate::store::model::{EntityKey, SystemClock, TableName};
use tablegate::store::table::TableStore;
use tokio::net::TcpListener;
use tokio_util::sync::CancellationToken;

use crate::crash::next_random;
use crate::crash::sessions::run_and_kill;
use crate::crash::writers::open;
use crate::support::child;
use crate::support::tables::{Request, send};

const ROUNDS: u64 = 50;
const CLIENTS: usize = 4;
/// Entities of a batch.
const BATCH: usize = 10;
const SEED: u64 = 0x1234_5678_9abc_def1;
/// The process that serves finds its folder here.
const FOLDER: &str = "TABLEGATE_CRASH_REQUESTS";

/// The process that is killed: a door, and those who come to it.
pub(crate) fn requesters() {
    let folder = std::env::var(FOLDER).expect("it is told");
    child::run(async {
        let store: Arc<dyn TableStore> = Arc::new(open(Path::new(&folder), Fsync::Always).unwrap());
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let alone = Arc::new(Alone(store.clone()));
        let (config, stop) = (RestConfig::default(), CancellationToken::new());
        tokio::spawn(serve(listener, store, alone, Arc::new(SystemClock), config, stop));
        let run = std::process::id();
        let mut clients = tokio::task::JoinSet::new();
        for client in 0..CLIENTS {
            clients.spawn(write(address, format!("{run}-{client}")));
        }
        clients.join_all().await;
    });
}

/// Writes an entity, then a batch, and says what was acknowledged.
async fn write(address: SocketAddr, name: String) {
    for number in 0.. {
        let key = format!("one-{name}-{number}");
        let request =
            Request::new("PUT", &format!("/requests(PartitionKey='{key}',RowKey='0')")).with_body("{\"n\":1}");
        assert_eq!(send(address, &request).await.status, 204);
        child::say([key]);
        let key = format!("ten-{name}-{number}");
        let parts: String = (0..BATCH).map(|row| part(&key, row)).collect();
        let body = format!("--b\r\nContent-Type: multipart/mixed; boundary=c\r\n\r\n{parts}--c--\r\n--b--\r\n");
        let request = Request::new("POST", "/$batch").with_header("Content-Type", "multipart/mixed; boundary=b");
        let answer = send(address, &request.with_body(&body)).await;
        assert_eq!(answer.body.matches("HTTP/1.1 204").count(), BATCH, "{answer:?}");
        child::say([key]);
    }
}

fn part(key: &str, row: usize) -> String {
    format!(
        "--c\r\nContent-Type: application/http\r\n\r\nPUT /requests(PartitionKey='{key}',RowKey='{row}') HTTP/1.1\r\n\
         Content-Type: application/json\r\n\r\n{{\"n\":{row}}}\r\n"
    )
}

pub(crate) async fn acknowledged_requests_survive_a_kill_and_no_batch_in_part() {
    let folder = tempfile::tempdir().unwrap();
    let table = TableName::parse("requests").unwrap();
    {
        let store = open(folder.path(), Fsync::Always).unwrap();
        store.create_table(&table).await.unwrap();
        store.close().unwrap();
    }
    let (mut random, mut acknowledged) = (SEED, Vec::new());
    for round in 0..ROUNDS {
        random = next_random(random);
        let said = run_and_kill("crash::requests::requesters", FOLDER, folder.path(), 1 + random % 60, random);
        acknowledged.extend(said);
        let store = open(folder.path(), Fsync::Always).unwrap_or_else(|error| panic!("round {round}: {error}"));
        let reader = store.reader();
        for key in &acknowledged {
            let rows = if key.starts_with("ten-") { BATCH } else { 1 };
            for row in 0..rows {
                let key = EntityKey::parse(key, &row.to_string()).unwrap();
                let found = reader.get(&table, &key).await.unwrap();
                assert!(found.is_some(), "round {round}: {key} is lost");
            }
        }
        // What was not acknowledged is there whole or not at all.
        for (partition, rows) in rows_of_batches(&store, &table).await {
            assert_eq!(rows, BATCH, "round {round}: a part of batch {partition}");
        }
        store.close().unwrap();
    }
    assert!(acknowledged.len() > 500, "only {} writes were acknowledged", acknowledged.len());
}

/// The partitions that batches wrote, each with how many entities it has.
async fn rows_of_batches(store: &dyn TableStore, table: &TableName) -> std::collections::BTreeMap<String, usize> {
    use std::ops::ControlFlow;

    use tablegate::store::model::{Cut, Span};
    use tablegate::store::table::{Direction, KeyRange, ScanColumns, ScanRequest, walk};

    let behind = Span { from: Cut::Before("ten-".into()), to: Cut::Max };
    let request = ScanRequest {
        table: table.clone(),
        ranges: Arc::new([KeyRange { partitions: behind, rows: Arc::new([Span::ALL]) }]),
        columns: Arc::new(ScanColumns::new(Vec::new())),
        predicate: None,
        direction: Direction::Forward,
        limit: None,
        batch_rows: 1000,
        stats: Arc::default(),
    };
    let mut found = std::collections::BTreeMap::new();
    let mut walk = walk(&store.reader(), request).unwrap();
    walk.advance(usize::MAX, &mut |entity| {
        *found.entry(entity.partition.to_owned()).or_default() += 1;
        Ok(ControlFlow::Continue(()))
    })
    .await
    .unwrap();
    found
}
