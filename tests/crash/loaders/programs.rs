//! Loads by programs: pg_restore in one transaction, and pandas.

use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::sync::Arc;

use tempfile::TempDir;
use tokio_postgres::Client;

use super::{Load, connect, number, try_connect, whole_tables};
use crate::support::installed::Installed;
use crate::support::server::Server;

/// The tables of a dump, and their rows.
const TABLES: [(&str, i64); 3] = [("orders", 4_000), ("lines", 8_000), ("notes", 500)];
const SCHEMA: &str = "
    CREATE TABLE orders (id bigint PRIMARY KEY, placed timestamptz, status text CHECK (status <> ''));
    CREATE TABLE lines (\"order\" bigint, line int, price numeric(10,2), PRIMARY KEY (\"order\", line));
    CREATE TABLE notes (id int PRIMARY KEY, note text NOT NULL);
    INSERT INTO orders SELECT n, TIMESTAMPTZ '2024-01-01 00:00Z' + n * INTERVAL '1 minute', 'open' FROM generate_series(1, 4000) n;
    INSERT INTO lines SELECT n / 2, n % 2, n / 8.0 FROM generate_series(1, 8000) n;
    INSERT INTO notes SELECT n, repeat(md5(n::text), 30) FROM generate_series(1, 500) n;
    ";
/// Rows of a frame: `FRAMES` makes so many.
const FRAME: i64 = 3_000;
const FRAMES: &str = "
import sys, pandas, sqlalchemy
port, number = sys.argv[1:]
engine = sqlalchemy.create_engine(f'postgresql+psycopg2://loader@127.0.0.1:{port}/tablegate')
frame = pandas.DataFrame({'load': int(number), 'n': range(3000)})
frame['note'] = 'row ' + frame['n'].astype(str)
frame.to_sql(f'load_{number}', engine, index=False)
";

/// A program of PostgreSQL's, told where a server is.
fn program(name: &str, port: u16) -> Command {
    let mut command = Command::new(name);
    command.args(["-h", "127.0.0.1", "-p", &port.to_string(), "-U", "loader", "-d", "tablegate"]);
    command.env("PGSSLMODE", "disable").stdin(Stdio::null()).stderr(Stdio::null());
    command
}

/// Whether it ended well. It runs beside the threads of the test.
async fn succeeds(mut command: Command) -> bool {
    let running = tokio::task::spawn_blocking(move || command.status().expect("the program can be run").success());
    running.await.expect("it ends")
}

/// Each load drops what the one before has restored.
#[derive(Clone, Default)]
pub(super) struct Restores {
    folder: Option<Arc<TempDir>>,
}

impl Restores {
    fn dump(&self) -> PathBuf {
        self.folder.as_ref().expect("it is prepared").path().join("dump")
    }
}

impl Load for Restores {
    async fn prepare(&mut self, server: &Server) {
        self.folder = Some(Arc::new(tempfile::tempdir().expect("there is room for temporary files")));
        let client = connect(server.port).await;
        client.batch_execute(SCHEMA).await.expect("the tables are made");
        let mut dump = program("pg_dump", server.port);
        dump.arg("-Fc").arg("-f").arg(self.dump());
        assert!(succeeds(dump).await, "it is dumped");
        client.batch_execute("CREATE TABLE loads (load bigint PRIMARY KEY)").await.expect("the table is made");
    }

    async fn load(&self, port: u16, number: i64) -> bool {
        let Ok(client) = try_connect(port).await else { return false };
        let names = TABLES.map(|(table, _)| table).join(", ");
        let mut restore = program("pg_restore", port);
        restore.arg("--single-transaction").arg(self.dump());
        client.batch_execute(&format!("DROP TABLE IF EXISTS {names}")).await.is_ok()
            && succeeds(restore).await
            && client.batch_execute(&format!("INSERT INTO loads VALUES ({number})")).await.is_ok()
    }

    async fn check(&self, client: &Client, acknowledged: i64, may_have_begun: bool) -> i64 {
        let loads = number(client, "SELECT count(*) FROM loads").await;
        assert!(loads >= acknowledged, "load {acknowledged} was acknowledged, of {loads}");
        let names = TABLES.map(|(table, _)| format!("'{table}'")).join(", ");
        let there = number(client, &format!("SELECT count(*) FROM pg_class WHERE relname IN ({names})")).await;
        let none = may_have_begun && there == 0;
        assert!(none || there == 3, "{there} of the tables are there");
        for (table, rows) in TABLES.iter().take(if none { 0 } else { TABLES.len() }) {
            assert_eq!(number(client, &format!("SELECT count(*) FROM {table}")).await, *rows, "{table}");
            let keys =
                format!("SELECT count(*) FROM pg_constraint WHERE conrelid = '{table}'::regclass AND contype = 'p'");
            assert_eq!(number(client, &keys).await, 1, "{table}");
        }
        loads
    }
}

#[derive(Clone)]
pub(super) struct Frames;

impl Load for Frames {
    async fn prepare(&mut self, _: &Server) {}

    async fn load(&self, port: u16, number: i64) -> bool {
        let mut python = Command::new(Installed::find().python());
        python.args(["-c", FRAMES, &port.to_string(), &number.to_string()]).stdin(Stdio::null()).stderr(Stdio::null());
        succeeds(python).await
    }

    async fn check(&self, client: &Client, acknowledged: i64, _: bool) -> i64 {
        whole_tables(client, acknowledged, FRAME).await
    }
}
