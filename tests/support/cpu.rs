//! The work of a thread, in the time that it had a processor: other programs do not make it more.

use std::time::Duration;

/// What this thread has worked since it began, as Linux counts it.
pub(crate) fn of_this_thread() -> Duration {
    let counted = std::fs::read_to_string("/proc/thread-self/schedstat").expect("Linux counts it");
    let nanoseconds = counted.split(' ').next().and_then(|first| first.parse().ok());
    Duration::from_nanos(nanoseconds.expect("the first number is the time on a processor"))
}
