//! How much memory a server has, and had at most.

use std::fs;

use crate::support::server::Server;

/// Looks at a process as Linux counts its memory: what it has of its own, not what of files is mapped into it.
pub(super) struct Watch {
    process: u32,
}

impl Watch {
    pub(super) fn new(server: &Server) -> Self {
        Self { process: server.process_id() }
    }

    /// Forgets what there was at most until now.
    pub(super) fn begin(&self) {
        fs::write(format!("/proc/{}/clear_refs", self.process), "5").expect("one may forget of one's own processes");
    }

    /// Bytes that it has now.
    pub(super) fn resident(&self) -> u64 {
        self.status("RssAnon:")
    }

    /// The most that it had since the beginning. Pages of files come and go little meanwhile.
    pub(super) fn peak(&self) -> u64 {
        let files = self.status("RssFile:") + self.status("RssShmem:");
        self.status("VmHWM:").saturating_sub(files).max(self.resident())
    }

    fn status(&self, name: &str) -> u64 {
        let Ok(status) = fs::read_to_string(format!("/proc/{}/status", self.process)) else { return 0 };
        let line = status.lines().find_map(|line| line.strip_prefix(name)).unwrap_or("0 kB");
        line.trim().trim_end_matches(" kB").parse::<u64>().expect("a number of kB") * 1024
    }
}
