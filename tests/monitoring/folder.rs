//! Who may look into the data folder: the server's own user, and nobody else.

use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::{Command, Output, Stdio};

use crate::monitoring::connect;
use crate::support::server::{Server, add_user, program};

fn set(path: &Path, mode: u32) {
    fs::set_permissions(path, Permissions::from_mode(mode)).unwrap();
}

/// Every file and folder that others may do something with, or the group.
fn open_to_others(path: &Path, found: &mut Vec<String>) {
    let metadata = fs::symlink_metadata(path).unwrap();
    let mode = metadata.permissions().mode();
    if mode & 0o077 != 0 {
        found.push(format!("{} {mode:o}", path.display()));
    }
    if metadata.is_dir() {
        fs::read_dir(path).unwrap().for_each(|entry| open_to_others(&entry.unwrap().path(), found));
    }
}

fn started(folder: &Path) -> Output {
    let arguments = ["--no-sample", "--listen", "127.0.0.1:0", "--metrics", "127.0.0.1:0", "--data"];
    program().args(arguments).arg(folder).stdin(Stdio::null()).output().unwrap()
}

#[tokio::test]
async fn what_the_server_writes_is_its_users_alone() {
    let folder = tempfile::tempdir().unwrap();
    add_user(folder.path(), "ann", "secret");
    let server = Server::start_in(folder, &["--trust-loopback"]);
    let client = connect(&server).await.unwrap();
    client.batch_execute("CREATE TABLE t (id int PRIMARY KEY, word text)").await.unwrap();
    client.batch_execute("INSERT INTO t SELECT i, 'w' || i FROM generate_series(1, 20000) i").await.unwrap();
    client.batch_execute("CREATE TEMPORARY TABLE own (id int); INSERT INTO own VALUES (1)").await.unwrap();
    let mut found = Vec::new();
    open_to_others(&server.data(), &mut found);
    assert_eq!(found, Vec::<String>::new());
}

#[test]
fn a_folder_that_was_opened_is_refused_and_the_command_that_closes_it_is_told() {
    let folder = tempfile::tempdir().unwrap();
    let data = folder.path().join("data");
    add_user(folder.path(), "ann", "secret");
    set(&data, 0o755);
    fs::write(data.join("another"), "").unwrap();
    set(&data.join("another"), 0o600);
    let ended = started(&data);
    let said = String::from_utf8(ended.stderr).unwrap();
    assert_eq!(ended.status.code(), Some(1), "{said}");
    assert!(said.contains(&format!("chmod 700 {}", data.display())), "{said}");
    assert!(ended.stdout.is_empty());
}

/// Earlier servers made files that everybody could read.
#[tokio::test]
async fn a_folder_of_an_earlier_server_is_closed_with_a_notice() {
    let folder = tempfile::tempdir().unwrap();
    let mut server = Server::start_in(folder, &[]);
    let data = server.data();
    connect(&server).await.unwrap().batch_execute("CREATE TABLE t (id int PRIMARY KEY)").await.unwrap();
    server.terminate();
    assert!(server.ended());
    let status = Command::new("chmod").args(["-R", "go+rX"]).arg(&data).status().unwrap();
    assert!(status.success());
    let server = server.again(&[]);
    let mut found = Vec::new();
    open_to_others(&data, &mut found);
    assert_eq!(found, Vec::<String>::new());
    assert!(server.log().contains("NOTICE: the data folder was open to other users"), "{}", server.log());
}
