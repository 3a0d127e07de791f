//! The priority of threads that compute.

/// How much nicer than the threads that serve clients: these get a processor at once when they have something to do, and
/// still leave a third of it when they always have. Other programs of the machine come before queries too, so it is no more.
#[cfg(target_os = "linux")]
const NICE: libc::c_int = 5;

/// Puts the thread that calls it behind the others of this process.
#[cfg(target_os = "linux")]
#[expect(
    unsafe_code,
    reason = "a call of the system that takes two numbers and touches no memory. On Linux a `who` of 0 is the calling \
              thread alone. That it may be refused is no harm: the priority is then as it was."
)]
pub(super) fn lower() {
    unsafe { libc::setpriority(libc::PRIO_PROCESS, 0, NICE) };
}

/// Elsewhere a priority is that of the whole process.
#[cfg(not(target_os = "linux"))]
pub(super) fn lower() {}
