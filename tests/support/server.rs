//! The server as a process of its own, as its users start it.

use std::fs::{self, File};
use std::io::{BufRead, BufReader, Write};
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::time::{Duration, Instant};

use tempfile::TempDir;

use super::PATIENCE;

pub(crate) const PROGRAM: &str = env!("CARGO_BIN_EXE_tablegate");

/// The program, to be run with these tests' settings alone.
pub(crate) fn program() -> Command {
    let mut program = Command::new(PROGRAM);
    forget_settings(&mut program);
    program
}

/// What the variables of whoever runs the tests say is for their own servers, or for the tests: where drivers are, how long
/// to go on. The program would heed the former, and refuse the latter.
pub(crate) fn forget_settings(command: &mut Command) {
    for (name, _) in std::env::vars_os() {
        if name.to_string_lossy().starts_with("TABLEGATE_") {
            command.env_remove(name);
        }
    }
}

pub(crate) struct Server {
    child: Child,
    folder: Arc<TempDir>,
    pub port: u16,
}

impl Server {
    /// A server on a free port of 127.0.0.1, its data in a folder of its own.
    pub(crate) fn start(arguments: &[&str]) -> Self {
        Self::start_in(tempfile::tempdir().expect("there is room for temporary files"), arguments)
    }

    /// The same with the sample tables, as a first start makes them.
    pub(crate) fn start_with_sample(arguments: &[&str]) -> Self {
        Self::launch(tempfile::tempdir().expect("there is room for temporary files").into(), arguments)
    }

    /// The same with a folder that something was put into, users for example.
    pub(crate) fn start_in(folder: TempDir, arguments: &[&str]) -> Self {
        Self::launch(folder.into(), &[&["--no-sample"], arguments].concat())
    }

    /// Another one in the same folder, when this one has ended.
    pub(crate) fn again(self, arguments: &[&str]) -> Self {
        Self::launch(self.folder.clone(), &[&["--no-sample"], arguments].concat())
    }

    fn launch(folder: Arc<TempDir>, arguments: &[&str]) -> Self {
        Self::try_launch(folder, arguments).unwrap_or_else(|refused| panic!("the server did not start: {refused}"))
    }

    /// The same in a folder that it may refuse: what it says then.
    pub(crate) fn try_start_in(folder: Arc<TempDir>, arguments: &[&str]) -> Result<Self, String> {
        Self::try_launch(folder, &[&["--no-sample"], arguments].concat())
    }

    fn try_launch(folder: Arc<TempDir>, arguments: &[&str]) -> Result<Self, String> {
        let log = File::create(folder.path().join("log")).expect("the folder is writable");
        // Commits that survive the end of the process are enough, unless a test asks for more.
        let fsync = if arguments.contains(&"--fsync") { &[][..] } else { &["--fsync", "never"] };
        let mut child = program()
            .args(["--listen", "127.0.0.1:0"])
            .args(fsync)
            .arg("--data")
            .arg(data(folder.path()))
            .args(arguments)
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(log)
            .spawn()
            .expect("the server was built");
        let mut greeting = String::new();
        let out = child.stdout.take().expect("it is piped");
        BufReader::new(out).read_line(&mut greeting).expect("it says where it listens");
        let port = greeting.split_once("127.0.0.1:").and_then(|(_, rest)| rest.split(',').next()?.trim().parse().ok());
        let Some(port) = port else {
            let ended = child.wait().expect("it is a child");
            let log = fs::read_to_string(folder.path().join("log")).unwrap_or_default();
            return Err(format!("{ended} {greeting:?} {log}"));
        };
        Ok(Self { child, folder, port })
    }

    pub(crate) fn process_id(&self) -> u32 {
        self.child.id()
    }

    /// Ends it as `kill -9` does.
    pub(crate) fn kill(&mut self) {
        self.child.kill().expect("it is a child");
        self.child.wait().expect("it is a child");
    }

    /// Where its store is.
    pub(crate) fn data(&self) -> PathBuf {
        data(self.folder.path())
    }

    /// What it wrote to stderr.
    pub(crate) fn log(&self) -> String {
        fs::read_to_string(self.folder.path().join("log")).expect("the log is there")
    }

    /// The address that its log names behind this: it may serve before it says so.
    pub(crate) fn address_behind(&self, words: &str) -> SocketAddr {
        let began = Instant::now();
        loop {
            let log = self.log();
            let said = log.split_once(words).and_then(|(_, behind)| behind.split_once("127.0.0.1:"));
            let port = said.and_then(|(_, address)| address.split_once(|c: char| !c.is_ascii_digit()));
            if let Some((port, _)) = port {
                return ([127, 0, 0, 1], port.parse::<u16>().expect("it is a port")).into();
            }
            assert!(began.elapsed() < PATIENCE, "the log says nothing of {words}: {log}");
            std::thread::sleep(Duration::from_millis(5));
        }
    }

    /// Memory of the process that is not on disk, bytes.
    pub(crate) fn resident_bytes(&self) -> u64 {
        let status = fs::read_to_string(format!("/proc/{}/status", self.child.id())).expect("it runs, on Linux");
        let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).expect("a process has memory");
        let kib: u64 = line.trim().trim_end_matches(" kB").parse().expect("a number of kB");
        kib * 1024
    }

    /// Asks it to stop, as a service manager does.
    pub(crate) fn terminate(&self) {
        self.signal("TERM");
    }

    /// Sends it a signal, by its name.
    pub(crate) fn signal(&self, name: &str) {
        let pid = self.child.id().to_string();
        assert!(Command::new("kill").args(["-s", name, &pid]).status().expect("there is kill").success());
    }

    /// Waits until it has stopped by itself: whether it says that all went well.
    pub(crate) fn ended(&mut self) -> bool {
        self.child.wait().expect("it is a child").success()
    }

    pub(crate) fn is_running(&mut self) -> bool {
        matches!(self.child.try_wait(), Ok(None))
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn data(folder: &Path) -> PathBuf {
    folder.join("data")
}

/// Makes a user with `tablegate user add`, before the server starts in the folder.
pub(crate) fn add_user(folder: &Path, name: &str, password: &str) {
    add_user_with(folder, name, password, &[]);
}

/// The same with a role.
pub(crate) fn add_user_with(folder: &Path, name: &str, password: &str, arguments: &[&str]) {
    let mut adding = program()
        .args(["user", "add", name, "--data"])
        .arg(data(folder))
        .args(arguments)
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .spawn()
        .expect("the program was built");
    let mut stdin = adding.stdin.take().expect("it is piped");
    writeln!(stdin, "{password}").expect("it reads the password");
    drop(stdin);
    assert!(adding.wait().expect("it ends").success(), "tablegate user add {name}");
}
