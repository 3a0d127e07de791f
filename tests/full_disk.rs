//! A disk that fills up, and has room again: the server stays, and nothing acknowledged is lost.
//!
//! The program starts itself in a mount namespace of its own, where a small file system is the disk.

use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;
use std::time::Duration;

use tablegate::backends::embedded::{EmbeddedOptions, EmbeddedStore};
use tablegate::pg::{self, PgConfig};
use tablegate::sql::{Engine, EngineConfig};
use tablegate::store::model::SystemClock;
use tokio::net::TcpListener;
use tokio_postgres::{Client, NoTls};
use tokio_util::sync::CancellationToken;

use crate::support::child;

const DISK: &str = "TABLEGATE_FULL_DISK";
const MIB: u64 = 1024 * 1024;
const DISK_FULL: &str = "53100";
const OUTCOME_UNKNOWN: &str = "40003";

/// Takes a role where a file system of 96 MiB is mounted.
fn on_a_small_disk(role: &str) {
    let place = tempfile::tempdir().unwrap();
    let this = child::command(role);
    let mount = "mount -t tmpfs -o size=96m tmpfs \"$0\" && exec \"$@\"";
    let mut command = Command::new("unshare");
    command.args(["--user", "--map-root-user", "--mount", "sh", "-c", mount]).arg(place.path()).arg(this.get_program());
    command.envs(this.get_envs().filter_map(|(name, value)| Some((name, value?)))).env(DISK, place.path());
    let status = command.status().expect("unshare is there (util-linux)");
    assert!(status.success(), "{role} on a small disk: {status}");
}

pub(crate) async fn a_full_disk_is_refused_before_writing() {
    on_a_small_disk("full_disk::refused_before_writing");
}

pub(crate) async fn a_failed_write_is_repaired_in_place() {
    on_a_small_disk("full_disk::repaired_in_place");
}

pub(crate) async fn a_disk_that_fills_up_within_a_load_keeps_what_it_says() {
    on_a_small_disk("full_disk::full_within_a_load");
}

pub(crate) async fn a_disk_that_fills_up_within_changes_keeps_what_it_says() {
    on_a_small_disk("full_disk::full_within_changes");
}

/// A file that takes room.
struct Ballast(PathBuf);

impl Ballast {
    /// Takes room until this much is left, or as much as there is.
    fn new(disk: &Path, leave: u64) -> Self {
        let path = disk.join("ballast");
        let mut file = fs::File::create(&path).unwrap();
        let piece = vec![1; 64 * 1024];
        while free(disk) > leave {
            if file.write_all(&piece).is_err() {
                break;
            }
        }
        Self(path)
    }

    fn remove(self) {
        fs::remove_file(self.0).unwrap();
    }
}

fn free(disk: &Path) -> u64 {
    let place = rustix::fs::statvfs(disk).unwrap();
    place.f_bavail * place.f_frsize
}

/// A server on the disk with a table, and a client of it.
async fn server(disk: &Path, reserve_bytes: u64) -> Client {
    let options = EmbeddedOptions { reserve_bytes, ..EmbeddedOptions::default() };
    let store = EmbeddedStore::open(&disk.join("data"), Arc::new(SystemClock), options).unwrap();
    let engine = Engine::open(Arc::new(store), Arc::new(SystemClock), EngineConfig::default()).await.unwrap();
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let port = listener.local_addr().unwrap().port();
    tokio::spawn(pg::serve(listener, engine, PgConfig::default(), CancellationToken::new()));
    let config = format!("host=127.0.0.1 port={port} user=u sslmode=disable");
    let (client, connection) = tokio_postgres::connect(&config, NoTls).await.unwrap();
    tokio::spawn(connection);
    client.batch_execute("CREATE TABLE t (p text, n int, v text, PRIMARY KEY (p, n))").await.unwrap();
    client
}

/// The SQLSTATE of what is refused.
async fn insert(client: &Client, n: i32) -> Result<(), String> {
    let padding = "x".repeat(20_000);
    let inserted = client.batch_execute(&format!("INSERT INTO t VALUES ('p', {n}, '{padding}')")).await;
    inserted.map_err(|error| error.code().expect("an answer of the server").code().to_owned())
}

async fn count(client: &Client) -> i64 {
    client.query_one("SELECT count(*) FROM t", &[]).await.unwrap().get(0)
}

/// Where the role finds the small disk.
fn disk() -> PathBuf {
    std::env::var_os(DISK).expect("it is told").into()
}

pub(crate) fn refused_before_writing() {
    child::run(async {
        let disk = disk();
        let client = server(&disk, 32 * MIB).await;
        for n in 0..10 {
            insert(&client, n).await.unwrap();
        }
        let ballast = Ballast::new(&disk, 31 * MIB);
        assert_eq!(insert(&client, 10).await.unwrap_err(), DISK_FULL);
        assert_eq!(client.batch_execute("CREATE TABLE u (a int)").await.unwrap_err().code().unwrap().code(), DISK_FULL);
        assert_eq!(count(&client).await, 10);
        client.batch_execute("DELETE FROM t WHERE p = 'p' AND n = 0").await.expect("what makes room goes on");
        assert_eq!(count(&client).await, 9);
        ballast.remove();
        insert(&client, 10).await.expect("there is room again");
        assert_eq!(count(&client).await, 10);
    });
}

pub(crate) fn repaired_in_place() {
    child::run(async {
        let disk = disk();
        let client = server(&disk, 0).await;
        let ballast = Ballast::new(&disk, 2 * MIB);
        let mut acknowledged = 0;
        let failed = loop {
            match insert(&client, acknowledged).await {
                Ok(()) => acknowledged += 1,
                Err(code) => break code,
            }
        };
        // A write of the engine's own in the background may be the first to fail: then the insert is not tried.
        assert!([OUTCOME_UNKNOWN, DISK_FULL].contains(&failed.as_str()), "{failed} after {acknowledged} rows");
        assert_eq!(insert(&client, 1_000_001).await.unwrap_err(), DISK_FULL);
        assert_eq!(count(&client).await, i64::from(acknowledged), "reads go on");
        ballast.remove();
        // Opening anew is tried once a second.
        while let Err(refused) = insert(&client, 1_000_002).await {
            assert_eq!(refused, DISK_FULL);
            tokio::time::sleep(Duration::from_millis(100)).await;
        }
        let rows = count(&client).await - 1;
        let unknown = rows - i64::from(acknowledged);
        assert!((0..=1).contains(&unknown), "{acknowledged} rows were acknowledged, {rows} are there");
        insert(&client, 1_000_003).await.unwrap();
    });
}

/// One statement of many windows: the disk is full somewhere among them.
pub(crate) fn full_within_a_load() {
    child::run(async {
        let disk = disk();
        let client = server(&disk, 0).await;
        let ballast = Ballast::new(&disk, 20 * MIB);
        let load = "INSERT INTO t SELECT 'p' || n, n, repeat('x', 2000) FROM generate_series(1, 60000) n";
        let error = client.batch_execute(load).await.unwrap_err();
        let error = error.as_db_error().expect("an answer of the server").clone();
        assert!([OUTCOME_UNKNOWN, DISK_FULL].contains(&error.code().code()), "{error:?}");
        let told = error.detail().and_then(committed_rows).unwrap_or_default();
        ballast.remove();
        while let Err(refused) = insert(&client, 1_000_002).await {
            assert_eq!(refused, DISK_FULL);
            tokio::time::sleep(Duration::from_millis(100)).await;
        }
        let rows = count(&client).await - 1;
        // What was not answered may be there: at most the pieces that were under way.
        assert!((told..=told + 2 * 8_192).contains(&rows), "{told} rows were acknowledged, {rows} are there");
        client.batch_execute("INSERT INTO t SELECT 'q' || n, n, 'x' FROM generate_series(1, 5000) n").await.unwrap();
        assert_eq!(count(&client).await, rows + 5_001);
    });
}

/// An UPDATE of many windows: the disk is full somewhere among them, maybe within one.
pub(crate) fn full_within_changes() {
    const ROWS: i64 = 16_000;
    child::run(async {
        let disk = disk();
        let client = server(&disk, 0).await;
        let load = format!("INSERT INTO t SELECT 'p' || n, n, repeat('x', 500) FROM generate_series(1, {ROWS}) n");
        client.batch_execute(&load).await.unwrap();
        let ballast = Ballast::new(&disk, 12 * MIB);
        let error = client.batch_execute("UPDATE t SET v = repeat('y', 3000)").await.unwrap_err();
        let error = error.as_db_error().expect("an answer of the server").clone();
        assert!([OUTCOME_UNKNOWN, DISK_FULL].contains(&error.code().code()), "{error:?}");
        let told = error.detail().and_then(committed_rows).unwrap_or_default();
        ballast.remove();
        while let Err(refused) = insert(&client, 1_000_002).await {
            assert_eq!(refused, DISK_FULL);
            tokio::time::sleep(Duration::from_millis(100)).await;
        }
        let changed = "SELECT count(*) FILTER (WHERE v LIKE 'y%' AND length(v) = 3000), \
                       count(*) FILTER (WHERE length(v) = 500) FROM t WHERE p <> 'p'";
        let counts = client.query_one(changed, &[]).await.unwrap();
        let (new, old): (i64, i64) = (counts.get(0), counts.get(1));
        assert_eq!(new + old, ROWS, "each row is what it was or what it was to be");
        // What was not answered may be there: at most what was under way.
        assert!((told..=told + 2 * 8_192).contains(&new), "{told} rows were acknowledged, {new} are changed");
        assert_eq!(client.execute("DELETE FROM t WHERE p <> 'p'", &[]).await.unwrap(), u64::try_from(ROWS).unwrap());
        assert_eq!(count(&client).await, 1);
    });
}

/// How many rows an error says were committed.
fn committed_rows(detail: &str) -> Option<i64> {
    detail.split(" with ").nth(1)?.split(' ').next()?.parse().ok()
}
