//! The work of a thread, in the time that it had a processor: other programs do not make it more.

use std::time::Duration;

use rustix::time::{ClockId, clock_gettime};

/// What this thread has worked since it began, as the system counts it.
pub(crate) fn of_this_thread() -> Duration {
    let counted = clock_gettime(ClockId::ThreadCPUTime);
    Duration::try_from(counted).expect("time goes on")
}
