//! The emulator of the Table service: one for each test program, with an account for each store that a test wants.
//!
//! It ends with the program: it reads a pipe that nobody writes to, and stops when that is closed.

use std::env;
use std::io::{BufRead, BufReader};
use std::net::TcpListener;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicUsize, Ordering};

use tablegate::backends::azure::AzureStore;

use super::account::Account;

/// Stores that one program can have.
const ACCOUNTS: usize = 2000;
const KEY: &str = "a2V5IG9mIGEgdGVzdA==";
/// Starts the emulator, which ends when standard input does.
const SCRIPT: &str = "process.stdin.on('end', () => process.exit()).resume(); require(process.env.AZURITE_MAIN)";

struct Emulator {
    port: u16,
    _process: Child,
}

fn emulator() -> &'static Emulator {
    static EMULATOR: OnceLock<Emulator> = OnceLock::new();
    EMULATOR.get_or_init(|| (0..5).find_map(|_| start()).expect("Azurite starts"))
}

/// `None` when somebody else took the port meanwhile.
fn start() -> Option<Emulator> {
    let main = installed().join("node_modules/azurite/dist/src/table/main.js");
    let port = TcpListener::bind("127.0.0.1:0").and_then(|free| free.local_addr()).expect("a port is free").port();
    let accounts: Vec<String> = (0..ACCOUNTS).map(|i| format!("{}:{KEY}", account_name(i))).collect();
    let mut process = Command::new("node")
        .args(["-e", SCRIPT, "--", "azurite", "--inMemoryPersistence", "--disableTelemetry", "--skipApiVersionCheck"])
        .args(["--tableHost", "127.0.0.1", "--tablePort", &port.to_string()])
        .env("AZURITE_MAIN", main)
        .env("AZURITE_ACCOUNTS", accounts.join(";"))
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .expect("node runs");
    let mut lines = BufReader::new(process.stdout.take().expect("it is piped")).lines();
    let started = lines.any(|line| line.is_ok_and(|line| line.contains("successfully started")));
    // Nothing it may still say must fill the pipe.
    std::thread::spawn(move || lines.for_each(drop));
    started.then_some(Emulator { port, _process: process })
}

/// Where `install.sh` put it.
fn installed() -> PathBuf {
    let home = || PathBuf::from(env::var_os("HOME").expect("HOME is set")).join(".cache/tablegate-azurite");
    let place = env::var_os("TABLEGATE_AZURITE").map_or_else(home, PathBuf::from);
    assert!(
        place.join("installed").exists(),
        "no Azurite in {}: run tests/azurite/install.sh, or `make test`, which does",
        place.display()
    );
    place
}

/// The token of a page that goes on at the key ' '.
pub(crate) const PAGE_AT_SPACE: &str = "IA==";
/// It reads fewer forms of filters than the service.
pub(crate) const IS_EMULATOR: bool = true;

/// An account that nobody has used yet.
pub(crate) fn new_account() -> Account {
    static NEXT: AtomicUsize = AtomicUsize::new(0);
    let index = NEXT.fetch_add(1, Ordering::Relaxed);
    assert!(index < ACCOUNTS, "more stores than accounts");
    Account { address: ([127, 0, 0, 1], emulator().port).into(), name: account_name(index), key: KEY }
}

fn account_name(index: usize) -> String {
    format!("account{index:04}")
}

/// An empty store.
pub(crate) fn new_store() -> AzureStore {
    new_account().store()
}
