//! Real clients, as their users have them: psql, a driver each of Python, Node, Java and Rust, and the tools that load data frames,
//! with a password.
//!
//! Each connects, makes tables, writes and reads all types, binds parameters, prepares, copies, uses cursors and
//! transactions, provokes errors and reads the catalogue. `install.sh` beside this file puts the drivers in place;
//! `make test` runs it first.

mod psql;
mod rust;

use std::process::{Command, Stdio};

use crate::support::installed::Installed;
use crate::support::server::{Server, add_user};

const USER: &str = "clara";
const PASSWORD: &str = "correct horse";
const DATABASE: &str = "tablegate";

/// Rows alone, and whatever table is left alone for a second as columns too.
const ROWS: &[&str] = &["--segment-rows", "off"];
const COLUMNS: &[&str] = &["--segment-rows", "1", "--segment-dirty", "0%"];

/// A server that asks for passwords, and offers TLS.
fn server() -> Server {
    server_with(COLUMNS)
}

fn server_with(segments: &[&str]) -> Server {
    let folder = tempfile::tempdir().expect("there is room for temporary files");
    add_user(folder.path(), USER, PASSWORD);
    let tls = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/data/tls");
    let (certificate, key) = (format!("{tls}/server.crt"), format!("{tls}/server.key"));
    let arguments = ["--egt-mode", "observe", "--auth", "scram", "--tls-cert", &certificate, "--tls-key", &key];
    Server::start_in(folder, &[&arguments[..], segments].concat())
}

/// Tells a client where the server is, by the variables that all of them know.
fn to(server: &Server, client: &mut Command) {
    client
        .env("PGHOST", "127.0.0.1")
        .env("PGPORT", server.port.to_string())
        .env("PGUSER", USER)
        .env("PGPASSWORD", PASSWORD)
        .env("PGDATABASE", DATABASE)
        .stdin(Stdio::null());
}

/// Runs a client's checks, on each store: it ends with 0, and says that it ran some.
fn passes(mut client: Command) {
    for segments in [ROWS, COLUMNS] {
        let server = server_with(segments);
        to(&server, &mut client);
        let ended = client.output().unwrap_or_else(|error| panic!("{client:?}: {error}"));
        let (out, err) = (String::from_utf8_lossy(&ended.stdout), String::from_utf8_lossy(&ended.stderr));
        assert!(ended.status.success(), "{segments:?}: {out}\n{err}\nserver: {}", server.log());
        assert!(out.lines().filter(|line| line.starts_with("ok ")).count() >= 8, "few checks: {out}\n{err}");
    }
}

#[test]
fn python_with_psycopg() {
    let mut client = Command::new(Installed::find().python());
    client.arg(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/clients/python/check.py"));
    passes(client);
}

#[test]
fn python_with_tools_that_load() {
    let mut client = Command::new(Installed::find().python());
    client.arg(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/clients/python/loading.py"));
    passes(client);
}

#[test]
fn node_with_pg() {
    let mut client = Command::new("node");
    client.env("NODE_PATH", Installed::find().node_modules());
    client.arg(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/clients/node/check.js"));
    passes(client);
}

#[test]
fn java_with_jdbc() {
    let mut client = Command::new("java");
    client.arg("-cp").arg(Installed::find().class_path()).arg("Check");
    passes(client);
}
