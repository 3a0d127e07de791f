//! The process itself, as the operating system sees it, with the names that Prometheus' own clients have for it.

use std::fmt;
use std::fs;

use tablegate_store::model::EdmDateTime;

use super::exposition::Writer;

/// Nothing of what this system does not tell.
pub(super) fn write(out: &mut Writer<'_>, started: EdmDateTime) -> fmt::Result {
    out.seconds("process_start_time", "When the server began, since 1970", seconds(started))?;
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    if let Some(bytes) = kilobytes(&status, "VmRSS:") {
        out.bytes("process_resident_memory", "Memory of the process that is not on disk", bytes)?;
    }
    if let Some(bytes) = kilobytes(&status, "VmSize:") {
        out.bytes("process_virtual_memory", "Address space of the process", bytes)?;
    }
    if let Some(threads) = field(&status, "Threads:").and_then(|threads| threads.parse().ok()) {
        out.gauge("process_threads", "Threads of the process", threads)?;
    }
    if let Ok(open) = fs::read_dir("/proc/self/fd") {
        out.gauge("process_open_fds", "Files and sockets that are open", open.count() as u64)?;
    }
    if let Some(seconds) = fs::read_to_string("/proc/self/stat").ok().as_deref().and_then(cpu_seconds) {
        out.seconds_total("process_cpu", "Time of processors that was used", seconds)?;
    }
    Ok(())
}

#[expect(clippy::cast_precision_loss, reason = "microseconds of centuries to come are not told apart")]
fn seconds(moment: EdmDateTime) -> f64 {
    moment.unix_micros() as f64 / 1e6
}

fn field<'a>(status: &'a str, name: &str) -> Option<&'a str> {
    status.lines().find_map(|line| line.strip_prefix(name)).map(str::trim)
}

fn kilobytes(status: &str, name: &str) -> Option<u64> {
    field(status, name)?.strip_suffix(" kB")?.parse::<u64>().ok()?.checked_mul(1024)
}

/// How many ticks a second has in the files of /proc, whatever the kernel counts in itself.
const TICKS: f64 = 100.0;

/// Of the 14th and 15th field, in ticks. The second is a name in parentheses that may have anything in it.
#[expect(clippy::cast_precision_loss, reason = "hundredths of seconds")]
fn cpu_seconds(stat: &str) -> Option<f64> {
    let (_, rest) = stat.rsplit_once(')')?;
    let mut fields = rest.split_ascii_whitespace().skip(11);
    let ticks: u64 = fields.next()?.parse::<u64>().ok()?.checked_add(fields.next()?.parse().ok()?)?;
    Some(ticks as f64 / TICKS)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_linux_tells_is_read() {
        let status = "Name:\ttablegate\nVmSize:\t  200 kB\nVmRSS:\t    12 kB\nThreads:\t7\n";
        assert_eq!((kilobytes(status, "VmRSS:"), field(status, "Threads:")), (Some(12 * 1024), Some("7")));
        let stat = "1 (a) b) S 1 1 1 0 -1 4 0 0 0 0 150 50 0 0 20";
        assert!((cpu_seconds(stat).unwrap() - 2.0).abs() < 1e-9);
        assert_eq!((kilobytes(status, "VmSwap:"), cpu_seconds("")), (None, None));
    }
}
