//! A PostgreSQL 15 of the test's own: its answers are the expected ones.
//!
//! It lives in a folder of its own, listens on a free port of the loopback address, and is stopped by its process id when
//! it goes out of scope, whether or not the test panics. PostgreSQL refuses to run as root, so then it runs as another user.

use std::net::{SocketAddr, TcpListener};
use std::os::unix::fs::{MetadataExt, chown};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use tempfile::TempDir;

use super::PATIENCE;

/// Where Debian and others put it; `PG_BIN` names another place.
const FOLDERS: &[&str] = &["/usr/lib/postgresql/15/bin", "/usr/pgsql-15/bin", "/usr/local/bin", "/usr/bin"];
/// Tries to find a port that nobody takes in between.
const TRIES: usize = 5;
/// Between two looks at whether it has started or stopped.
const LOOK: Duration = Duration::from_millis(20);
/// The superuser, whom it trusts.
pub(crate) const USER: &str = "reference";

#[derive(Debug)]
pub(crate) struct Postgres {
    pub address: SocketAddr,
    process: Child,
    _folder: TempDir,
}

/// The user that it runs as, when this process is root's.
#[derive(Debug, Clone, Copy)]
struct Account {
    uid: u32,
    gid: u32,
}

impl Postgres {
    /// A fresh cluster.
    ///
    /// # Panics
    /// When PostgreSQL 15 is not installed: a comparison that is not made must not pass.
    pub(crate) fn start() -> Self {
        let binaries = binaries().unwrap_or_else(|| {
            panic!("no PostgreSQL 15 in {FOLDERS:?} or PG_BIN: tests/clients/install.sh installs it")
        });
        (0..TRIES).find_map(|_| Self::try_start(&binaries)).expect("PostgreSQL starts")
    }

    /// `None` when it ends at once, as where somebody else has taken the port.
    fn try_start(binaries: &Path) -> Option<Self> {
        let folder = tempfile::tempdir().expect("there is room for temporary files");
        let account = account(folder.path());
        if let Some(account) = account {
            chown(folder.path(), Some(account.uid), Some(account.gid)).expect("root gives folders away");
        }
        let data = folder.path().join("data");
        initialize(binaries, &data, account);
        let address = free_address();
        let process = run_as(&binaries.join("postgres"), account)
            .arg("-D")
            .arg(&data)
            .args(["-p", &address.port().to_string(), "-c", "listen_addresses=127.0.0.1", "-c", "fsync=off"])
            .args(["-c", "autovacuum=off", "-c", "timezone=UTC", "-c", "jit=off", "-c", "unix_socket_directories="])
            .current_dir(folder.path())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .expect("postgres can be run");
        let mut server = Self { address, process, _folder: folder };
        let began = Instant::now();
        while !is_ready(&data) {
            if server.has_ended() {
                return None;
            }
            assert!(began.elapsed() < PATIENCE, "PostgreSQL does not start");
            std::thread::sleep(LOOK);
        }
        Some(server)
    }

    fn has_ended(&mut self) -> bool {
        !matches!(self.process.try_wait(), Ok(None))
    }
}

impl Drop for Postgres {
    fn drop(&mut self) {
        // SIGINT is its fast shutdown: a killed postmaster would leave its shared memory behind.
        let told = Command::new("kill").args(["-INT", &self.process.id().to_string()]).status();
        let began = Instant::now();
        while told.is_ok() && began.elapsed() < PATIENCE {
            if self.has_ended() {
                return;
            }
            std::thread::sleep(LOOK);
        }
        drop(self.process.kill());
        drop(self.process.wait());
    }
}

/// What the postmaster says of itself in the last line of its file: it answers.
fn is_ready(data: &Path) -> bool {
    let said = std::fs::read_to_string(data.join("postmaster.pid")).unwrap_or_default();
    said.lines().nth(7).is_some_and(|status| status.trim() == "ready")
}

/// The folder of PostgreSQL 15's programs.
fn binaries() -> Option<PathBuf> {
    let named = std::env::var_os("PG_BIN").map(PathBuf::from);
    let known = FOLDERS.iter().map(PathBuf::from);
    named
        .into_iter()
        .chain(known)
        .find(|folder| is_version_15(&folder.join("postgres")) && folder.join("initdb").exists())
}

fn is_version_15(postgres: &Path) -> bool {
    let told = Command::new(postgres).arg("--version").output();
    told.is_ok_and(|told| String::from_utf8_lossy(&told.stdout).contains("(PostgreSQL) 15."))
}

/// Texts are ordered by their bytes here, and case is Unicode's: it gets the same locale.
fn initialize(binaries: &Path, data: &Path, account: Option<Account>) {
    let output = run_as(&binaries.join("initdb"), account)
        .arg("-D")
        .arg(data)
        .args(["-U", USER, "-A", "trust", "-E", "UTF8", "--lc-collate=C", "--lc-ctype=C.UTF-8", "--no-sync"])
        .args(["--lc-messages=C", "--lc-monetary=C", "--lc-numeric=C", "--lc-time=C"])
        .current_dir(std::env::temp_dir())
        .output()
        .expect("initdb can be run");
    assert!(output.status.success(), "initdb: {}", String::from_utf8_lossy(&output.stderr));
}

fn run_as(program: &Path, account: Option<Account>) -> Command {
    let mut command = Command::new(program);
    if let Some(account) = account {
        command.uid(account.uid).gid(account.gid);
    }
    command.stdin(Stdio::null());
    command
}

/// `None` unless a folder of ours is root's.
fn account(folder: &Path) -> Option<Account> {
    let owner = folder.metadata().expect("it was just made").uid();
    if owner != 0 {
        return None;
    }
    let users = std::fs::read_to_string("/etc/passwd").unwrap_or_default();
    let find = |name: &str| {
        let fields: Vec<&str> = users.lines().find(|line| line.split(':').next() == Some(name))?.split(':').collect();
        Some(Account { uid: fields.get(2)?.parse().ok()?, gid: fields.get(3)?.parse().ok()? })
    };
    Some(find("postgres").or_else(|| find("nobody")).unwrap_or(Account { uid: 65_534, gid: 65_534 }))
}

fn free_address() -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port is free");
    listener.local_addr().expect("it is bound")
}
