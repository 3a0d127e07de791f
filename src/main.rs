//! Arguments in, exit code out.

use std::process::ExitCode;

use tikv_jemallocator::Jemalloc;

/// Statements, joins and commits make and drop many small objects on several threads, at which the system's own is slow.
/// What a large query leaves behind goes back to the system, also when the threads that ran it sleep.
#[global_allocator]
static ALLOCATOR: Jemalloc = Jemalloc;

fn main() -> ExitCode {
    tablegate::cli::run(std::env::args_os())
}
