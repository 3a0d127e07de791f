//! Arguments in, exit code out.

use std::process::ExitCode;

use tikv_jemallocator::Jemalloc;

/// Statements, joins and commits make and drop many small objects on several threads, at which the system's own is slow.
/// What a large query leaves behind goes back to the system, also when the threads that ran it sleep.
#[global_allocator]
static ALLOCATOR: Jemalloc = Jemalloc;

/// Memory that nobody has taken for a second goes back to the system. Without this it would do so little by little for ten.
#[expect(
    unsafe_code,
    reason = "the allocator looks for its options under this name: a C string that lives as long as the program"
)]
#[unsafe(export_name = "_rjem_malloc_conf")]
static OPTIONS: &[u8; 20] = b"dirty_decay_ms:1000\0";

fn main() -> ExitCode {
    tablegate::cli::run(std::env::args_os())
}
