//! Work that may take long and waits for nothing, on a thread that serves others too.

use tokio::runtime::{Handle, RuntimeFlavor};

use crate::spare_stack;

/// Does the work here, while another thread takes over the tasks that wait for this one. It costs a change of threads, so it is
/// for what may take long: planning, computing constants, reading a long text.
pub(crate) fn aside<T>(work: impl FnOnce() -> T) -> T {
    let done = if can_be_replaced() { tokio::task::block_in_place(work) } else { work() };
    spare_stack::give_back();
    done
}

/// The same of work that may be so short that a change of threads would take longer.
pub(crate) fn aside_unless<T>(is_short: bool, work: impl FnOnce() -> T) -> T {
    if is_short { work() } else { aside(work) }
}

/// Whether there are other threads for what waits for this one.
fn can_be_replaced() -> bool {
    Handle::try_current().is_ok_and(|runtime| runtime.runtime_flavor() == RuntimeFlavor::MultiThread)
}
