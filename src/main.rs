//! Arguments in, exit code out.

use std::process::ExitCode;

use mimalloc::MiMalloc;

/// Statements, joins and commits make and drop many small objects on several threads, at which the system's own is slow.
#[global_allocator]
static ALLOCATOR: MiMalloc = MiMalloc;

fn main() -> ExitCode {
    tablegate::cli::run(std::env::args_os())
}
