//! Everything that is counted and measured, at one moment: what `cli` shows to a monitoring system.

use std::collections::BTreeMap;
use std::time::Duration;

use tablegate_store::table::StoreFigures;

use super::StatementFigures;
use crate::Engine;
use crate::activity::Doing;

/// The figures of an engine. Counts are since it was opened.
#[derive(Debug, Clone)]
pub struct Figures {
    /// How many sessions are at each thing, each thing named.
    pub sessions: BTreeMap<&'static str, u64>,
    pub statements: Vec<StatementFigures>,
    /// Entities that scans looked at, and those of them that met their conditions.
    pub scanned: u64,
    pub returned: u64,
    pub commits: u64,
    pub rollbacks: u64,
    /// Entity group transactions: committed, rejected for each reason, failed otherwise.
    pub egts: u64,
    pub rejected_egts: Vec<(&'static str, u64)>,
    pub failed_egts: u64,
    /// Entities written by the operations of those that were committed, by the kind of the operation.
    pub written: [(&'static str, u64); 4],
    /// Transactions that observe mode saw break a rule, by the rule.
    pub breaches: Vec<(&'static str, u64)>,
    /// Rows that COPY has read and written.
    pub copied_in: u64,
    pub copied_out: u64,
    pub open_cursors: u64,
    pub locks: LockFigures,
    pub query_memory: Memory,
    pub write_memory: Memory,
    pub store: StoreFigures,
}

/// Waits for locks.
#[derive(Debug, Clone, Copy, Default)]
pub struct LockFigures {
    /// Transactions that wait now.
    pub waiting: u64,
    pub waits: u64,
    pub waited: Duration,
    pub timeouts: u64,
    pub deadlocks: u64,
}

/// Memory that has a bound, in bytes.
#[derive(Debug, Clone, Copy)]
pub struct Memory {
    pub used: u64,
    pub limit: u64,
}

impl Engine {
    /// What is counted and measured, now. It looks at every session once, so it is for every few seconds.
    pub fn figures(&self) -> Figures {
        let (counters, commits, copies) = (self.counters(), self.commits(), self.copies());
        let mut sessions: BTreeMap<&'static str, u64> = Doing::ALL.into_iter().map(|doing| (doing.name(), 0)).collect();
        for (doing, count) in self.sessions().counts() {
            sessions.insert(doing, count as u64);
        }
        let all = &commits.all;
        Figures {
            sessions,
            statements: counters.statements(),
            scanned: counters.scanned.get(),
            returned: counters.returned.get(),
            commits: counters.commits.get(),
            rollbacks: counters.rollbacks.get(),
            egts: commits.egts.get(),
            rejected_egts: commits.rejected(),
            failed_egts: commits.failed.get(),
            written: [
                ("insert", all.inserted.get()),
                ("update", all.updated.get()),
                ("delete", all.deleted.get()),
                ("upsert", all.upserted.get()),
            ],
            breaches: counters.breaches(),
            copied_in: copies.copied_in(),
            copied_out: copies.copied_out(),
            open_cursors: counters.open_cursors(),
            locks: self.locks().figures(),
            query_memory: self.query_memory(),
            write_memory: self.write_space().memory(),
            store: self.stores().public().figures(),
        }
    }
}
