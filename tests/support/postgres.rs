//! A PostgreSQL 15 of the test's own, where one is installed: its answers are the expected ones.

use std::net::TcpListener;
use std::os::unix::fs::{MetadataExt, chown};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::Command;

use tempfile::TempDir;

/// PostgreSQL refuses to run as root: there it runs as `nobody`.
const NOBODY: u32 = 65534;

pub struct Postgres {
    folder: TempDir,
    binaries: PathBuf,
    pub port: u16,
}

impl Postgres {
    /// A fresh cluster on a free port of 127.0.0.1, with the superuser `reference`. `None` where PostgreSQL is not
    /// installed; `PG_BIN` names the folder of its programs.
    pub fn start() -> Option<Self> {
        let binaries = PathBuf::from(std::env::var("PG_BIN").unwrap_or("/usr/lib/postgresql/15/bin".to_owned()));
        if !binaries.join("initdb").exists() {
            return None;
        }
        let folder = tempfile::tempdir().expect("there is room for temporary files");
        if is_root() {
            chown(folder.path(), Some(NOBODY), Some(NOBODY)).expect("root may give files away");
        }
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port is free");
        let port = listener.local_addr().expect("it is bound").port();
        drop(listener);
        let postgres = Self { folder, binaries, port };
        let data = postgres.data();
        let cluster = ["-U", "reference", "-A", "trust", "-E", "UTF8", "--locale=C", "--no-sync"];
        postgres.run("initdb", &data, &cluster);
        let options = format!("-p {port} -c listen_addresses=127.0.0.1 -c unix_socket_directories= -c fsync=off");
        let log = postgres.folder.path().join("log");
        postgres.run("pg_ctl", &data, &["-w", "-l", &log.to_string_lossy(), "-o", &options, "start"]);
        Some(postgres)
    }

    fn data(&self) -> PathBuf {
        self.folder.path().join("data")
    }

    fn run(&self, program: &str, data: &Path, arguments: &[&str]) {
        let mut command = Command::new(self.binaries.join(program));
        command.arg("-D").arg(data).args(arguments).current_dir("/").env("TZ", "UTC");
        // What the daemon inherits would keep the test's own output open.
        command.stdin(std::process::Stdio::null()).stdout(std::process::Stdio::null());
        command.stderr(std::process::Stdio::null());
        if is_root() {
            command.uid(NOBODY).gid(NOBODY);
        }
        let ended = command.status().expect("it was found");
        assert!(ended.success(), "{program} {arguments:?}: {ended}");
    }
}

impl Drop for Postgres {
    fn drop(&mut self) {
        self.run("pg_ctl", &self.data(), &["-m", "immediate", "stop"]);
    }
}

fn is_root() -> bool {
    std::fs::metadata("/proc/self").is_ok_and(|own| own.uid() == 0)
}
