//! Golden SQL: every `sql/**/*.slt` over the wire, once per backend.
//!
//! Each file gets a fresh store and server. `SLT=tx/egt cargo test --test inside sqllogictest` runs the files whose path
//! contains that text.

mod client;
mod server;

use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use sqllogictest::{DefaultColumnType, MakeConnection, Runner};
use tablegate::sql::limits::STATEMENT_STACK;

use crate::support::PATIENCE;
use client::Client;
use server::{Backend, Server};

/// Failures of one file that are told.
const FAILURES_SHOWN: usize = 5;
/// What is not run on the emulator, each for what it is about: sizes that the store counts, limits where the emulator is not
/// the service (keys of 512 characters, a rough count of what an entity takes), groups of observe mode, locks that bind
/// everybody, snapshots of all tables. COMPAT.md has the rows.
const NOT_ON_AZURE: &[&str] = &[
    "dml/upsert_many",
    "limits/entities",
    "observe/",
    "pg_catalog/sizes",
    "tx/conflict",
    "tx/for_update",
    "tx/joins",
    "tx/many_rows_in_block",
    "tx/queue",
    "tx/repeatable_read",
];

/// What is not run on the emulator, which is slow, but on the gateway's own door, since it sends no other requests than the
/// rest: what is computed, told or refused whatever the store is, and thousands of rows that are partitions of their own.
const BY_OUR_DOOR_ALONE: &[&str] = &[
    "ddl/alter_key_rows",
    "errors/",
    "functions/",
    "pg_catalog/",
    "select/collations",
    "select/group_by_text",
    "select/made_rows",
    "select/nested_calls",
    "select/order_kept",
    "select/range_joins",
    "select/tablesample",
    "session/",
    "temp/",
];

/// Settings with which nothing is read or planned in a short way, and with which all is that can be: the answers are the
/// same. In memory files are run without short ways, in the embedded store with all, in the others with what is usual.
const NO_SHORT_WAYS: &str = "-c tablegate.direct_reads=off";
const ALL_SHORT_WAYS: &str = "-c plan_cache_mode=force_generic_plan";
/// Where it is shown what is planned, and which settings there are.
const SHOWS_WAYS: &[&str] = &["explain/", "pg_catalog/", "session/"];

#[test]
fn every_golden_file_holds_on_memory() {
    run_all(Backend::Memory);
}

#[test]
fn every_golden_file_holds_on_embedded() {
    run_all(Backend::Embedded);
}

#[test]
fn every_golden_file_holds_on_columns() {
    run_all(Backend::Columns);
}

#[test]
fn golden_files_hold_on_azure() {
    run_all(Backend::Azure);
}

/// What the gateway sends to an account, its own door for the Azure SDKs understands.
#[test]
fn golden_files_hold_on_our_door() {
    run_all(Backend::OurDoor);
}

fn is_for(backend: Backend, file: &Path) -> bool {
    let text = file.to_string_lossy();
    match backend {
        Backend::Memory | Backend::Embedded | Backend::Columns => true,
        Backend::Azure => !is_any_of(NOT_ON_AZURE, &text) && !is_any_of(BY_OUR_DOOR_ALONE, &text),
        Backend::OurDoor => !is_any_of(NOT_ON_AZURE, &text),
    }
}

/// What a client says when it connects.
fn options(backend: Backend, file: &Path) -> &'static str {
    match backend {
        _ if is_any_of(SHOWS_WAYS, &file.to_string_lossy()) => "",
        Backend::Memory => NO_SHORT_WAYS,
        Backend::Embedded => ALL_SHORT_WAYS,
        Backend::Columns | Backend::Azure | Backend::OurDoor => "",
    }
}

fn is_any_of(files: &[&str], file: &str) -> bool {
    files.iter().any(|part| file.contains(&format!("sql/{part}")))
}

fn run_all(backend: Backend) {
    let wanted = std::env::var("SLT").unwrap_or_default();
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("sql");
    let files = golden_files(&folder);
    assert!(!files.is_empty(), "there are no .slt files in {}", folder.display());
    let failures: Vec<String> = files
        .iter()
        .filter(|file| file.to_string_lossy().contains(&wanted) && is_for(backend, file))
        .filter_map(|file| run_file(backend, file).err().map(|error| format!("=== {}\n{error}", file.display())))
        .collect();
    assert!(failures.is_empty(), "{} golden files fail on {backend:?}:\n{}", failures.len(), failures.join("\n"));
}

fn run_file(backend: Backend, file: &Path) -> Result<(), String> {
    let options = options(backend, file);
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .thread_stack_size(STATEMENT_STACK)
        .enable_all()
        .build()
        .expect("a runtime starts");
    let result = runtime.block_on(async {
        // What shows schemas shows no others in the files that have nothing to do with mounts.
        let mounts = file.to_string_lossy().contains("sql/mounts/");
        let server = Server::start(backend, mounts).await;
        let address = server.address;
        let mut runner = Runner::new(move || Client::connect(address, options));
        backend.labels().iter().for_each(|label| runner.add_label(label));
        runner.with_column_validator(same_number_of_columns);
        let outcome = run_records(&mut runner, file).await;
        runner.shutdown_async().await;
        server.stop().await;
        outcome
    });
    runtime.shutdown_timeout(Duration::from_secs(5));
    result
}

/// Runs on after a failure: the first few of a file tell more than the first one.
async fn run_records<M>(runner: &mut Runner<Client, M>, file: &Path) -> Result<(), String>
where
    M: MakeConnection<Conn = Client>,
{
    let records = sqllogictest::parse_file(file).map_err(|error| error.to_string())?;
    let mut failures = Vec::new();
    for record in records {
        let Ok(outcome) = tokio::time::timeout(PATIENCE, runner.run_async(record)).await else {
            failures.push(format!("a record did not end within {PATIENCE:?}"));
            break;
        };
        if let Err(error) = outcome {
            failures.push(error.display(false).to_string());
            if failures.len() == FAILURES_SHOWN {
                break;
            }
        }
    }
    if failures.is_empty() { Ok(()) } else { Err(failures.join("\n")) }
}

/// Types are not told by the simple query protocol; the number of columns is.
#[expect(clippy::ptr_arg, reason = "the signature is sqllogictest's")]
fn same_number_of_columns(actual: &Vec<DefaultColumnType>, expected: &Vec<DefaultColumnType>) -> bool {
    actual.len() == expected.len()
}

fn golden_files(folder: &Path) -> Vec<PathBuf> {
    let mut files = Vec::new();
    for entry in fs::read_dir(folder).expect("the folder can be read") {
        let path = entry.expect("the folder can be read").path();
        if path.is_dir() {
            files.extend(golden_files(&path));
        } else if path.extension().is_some_and(|e| e == "slt") {
            files.push(path);
        }
    }
    files.sort();
    files
}
