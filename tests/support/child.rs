//! Processes to be killed: this very program, in another role.

use std::io::{BufRead, BufReader, Write};
use std::process::{Command, ExitStatus, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::time::Instant;

use tablegate::sql::limits::STATEMENT_STACK;

use super::PATIENCE;

/// Says which role it is.
const ROLE: &str = "TABLEGATE_TEST_ROLE";

/// The role of this process; `None` where it runs tests.
pub(crate) fn role() -> Option<String> {
    std::env::var(ROLE).ok()
}

/// This program in a role.
pub(crate) fn command(role: &str) -> Command {
    let mut command = Command::new(std::env::current_exe().expect("it runs"));
    command.env(ROLE, role);
    command
}

/// Runs what a test or a role does, with the stack that the server gives its threads.
pub(crate) fn run(work: impl Future<Output = ()>) {
    let mut threads = tokio::runtime::Builder::new_multi_thread();
    let runtime = threads.worker_threads(2).thread_stack_size(STATEMENT_STACK).enable_all().build();
    runtime.expect("a runtime starts").block_on(work);
}

/// Tells whoever started this process what was acknowledged.
pub(crate) fn say(acknowledged: impl IntoIterator<Item = String>) {
    let mut out = std::io::stdout().lock();
    for line in acknowledged {
        writeln!(out, "{line}").expect("somebody listens");
    }
    out.flush().expect("somebody listens");
}

/// A process that says what is acknowledged. It does not outlive its test.
pub(crate) struct Child {
    process: std::process::Child,
    lines: Receiver<String>,
    heard: Vec<String>,
}

impl Child {
    pub(crate) fn start(mut command: Command) -> Self {
        let mut process = command.stdout(Stdio::piped()).spawn().expect("this program starts");
        let mut said = BufReader::new(process.stdout.take().expect("it is piped"));
        let (tell, lines) = channel();
        std::thread::spawn(move || {
            let mut line = String::new();
            while said.read_line(&mut line).is_ok_and(|read| read > 0) {
                // What is cut off in the middle is not acknowledged.
                if let Some(whole) = line.strip_suffix('\n') {
                    let _ = tell.send(whole.to_owned());
                }
                line.clear();
            }
        });
        Self { process, lines, heard: Vec::new() }
    }

    /// Waits until it has said so much.
    pub(crate) fn hear(&mut self, lines: usize) {
        while self.heard.len() < lines {
            self.heard.push(self.lines.recv_timeout(PATIENCE).expect("it comes to an answer"));
        }
    }

    /// Waits until it ends by itself, as long as is sensible.
    pub(crate) fn await_end(&mut self) {
        let began = Instant::now();
        while let Ok(line) = self.lines.recv_timeout(PATIENCE.saturating_sub(began.elapsed())) {
            self.heard.push(line);
        }
    }

    /// Kills it: all that it said, and how it ended.
    pub(crate) fn kill(mut self) -> (Vec<String>, ExitStatus) {
        self.process.kill().expect("it is a child");
        let status = self.process.wait().expect("it is a child");
        let mut heard = std::mem::take(&mut self.heard);
        heard.extend(self.lines.iter());
        (heard, status)
    }
}

impl Drop for Child {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}
