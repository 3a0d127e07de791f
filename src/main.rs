//! Arguments in, exit code out.

use std::process::ExitCode;

use tikv_jemallocator::Jemalloc;

/// Statements, joins and commits make and drop many small objects on several threads, at which the system's own is slow.
/// What a large query leaves behind goes back to the system, also when the threads that ran it sleep.
#[global_allocator]
static ALLOCATOR: Jemalloc = Jemalloc;

/// Memory that nobody has taken for a quarter of a second goes back to the system: a large query frees and takes many times what it
/// holds. Without this it would go little by little for ten seconds.
#[expect(
    unsafe_code,
    reason = "the allocator looks for its options under this name: a C string that lives as long as the program"
)]
#[unsafe(export_name = "_rjem_malloc_conf")]
static OPTIONS: &[u8; 19] = b"dirty_decay_ms:250\0";

fn main() -> ExitCode {
    tablegate::cli::run(std::env::args_os())
}
