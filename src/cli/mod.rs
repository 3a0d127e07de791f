//! The command line: the one place that sees every layer and plugs stores into front-ends.
//!
//! It parses, wires and waits; what SQL means and how tables are kept is decided elsewhere. Exit codes: 0 for a clean
//! stop, 2 for arguments or a configuration that cannot be used, 1 for everything the world refuses (a port, a folder).

mod account;
mod args;
mod config;
mod doors;
mod metrics;
#[cfg(unix)]
mod private;
mod sample;
mod script;
mod serve;
mod settings;
mod store_account;
mod token_keys;
mod user;
mod wiring;

use std::ffi::OsString;
use std::io::Write;
use std::process::ExitCode;

use self::args::{Cli, Task};
use self::config::Config;

/// The configuration cannot be used; also what clap exits with for wrong arguments.
const EXIT_BAD_CONFIG: u8 = 2;
const EXIT_FAILED: u8 = 1;

/// Runs the program with these arguments, the first being its own name.
pub fn run(arguments: impl IntoIterator<Item = OsString>) -> ExitCode {
    #[cfg(unix)]
    private::make_private_files();
    let task = match Cli::read(arguments) {
        Ok(task) => task,
        Err(error) => {
            // Nothing is left to do when even that cannot be written.
            let _ = error.print();
            return if error.use_stderr() { ExitCode::from(EXIT_BAD_CONFIG) } else { ExitCode::SUCCESS };
        }
    };
    let (Task::Serve(args) | Task::User(_, args) | Task::Account(_, args)) = &task;
    let config = match Config::load(args, environment()) {
        Ok(config) => config,
        Err(error) => return fail(&error, EXIT_BAD_CONFIG),
    };
    match &task {
        Task::Serve(_) => ended(serve::serve(&config)),
        Task::User(command, _) => ended(user::run(command, &config)),
        Task::Account(command, _) => ended(account::run(command, &config)),
    }
}

fn ended<E: std::error::Error>(result: Result<(), E>) -> ExitCode {
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => fail(&error, EXIT_FAILED),
    }
}

/// The environment; a variable that is not UTF-8 keeps its name, so that it is still found to be wrong.
fn environment() -> impl Iterator<Item = (String, String)> {
    std::env::vars_os().map(|(name, value)| (name.to_string_lossy().into_owned(), value.to_string_lossy().into_owned()))
}

/// One line for the person who started it.
fn fail(error: &dyn std::error::Error, code: u8) -> ExitCode {
    let _ = writeln!(std::io::stderr(), "tablegate: {error}");
    ExitCode::from(code)
}
