//! What the server has done since it began, all sessions together: for a monitoring system, and `pg_stat_database`.

use std::sync::Arc;

use super::Cost;
use super::counter::{Counter, Histogram};
use super::kind::Kind;
use crate::observe::{Observed, Rule};

/// All counts that are kept for the sessions. Nothing here waits for anything.
#[derive(Debug, Default)]
pub(crate) struct Counters {
    statements: [Statements; Kind::ALL.len()],
    pub scanned: Counter,
    pub returned: Counter,
    pub commits: Counter,
    pub rollbacks: Counter,
    /// Transactions that observe mode saw break each rule.
    breaches: [Counter; Rule::ALL.len()],
    opened_cursors: Counter,
    closed_cursors: Counter,
}

/// The statements of one kind.
#[derive(Debug, Default)]
struct Statements {
    failed: Counter,
    /// Of those that did not fail.
    times: Histogram,
    rows: Counter,
}

/// What the statements of one kind came to.
#[derive(Debug, Clone)]
pub struct StatementFigures {
    pub kind: &'static str,
    pub failed: u64,
    /// Of those that did not fail.
    pub times: super::Times,
    /// Rows that were returned or changed.
    pub rows: u64,
}

impl Counters {
    pub(crate) fn add_statement(&self, kind: Kind, cost: &Cost) {
        let Some(statements) = self.statements.get(kind as usize) else { return };
        if cost.failed {
            statements.failed.add_one();
        } else {
            statements.times.add(cost.time);
            statements.rows.add(cost.rows);
        }
        self.scanned.add(cost.scanned);
        self.returned.add(cost.returned);
    }

    /// A transaction ended; a statement on its own is one.
    pub(crate) fn add_transaction(&self, committed: bool) {
        let counter = if committed { &self.commits } else { &self.rollbacks };
        counter.add_one();
    }

    pub(crate) fn add_breaches(&self, observed: &Observed) {
        for breach in observed.breaches() {
            if let Some(counter) = self.breaches.get(breach.rule as usize) {
                counter.add_one();
            }
        }
    }

    pub(crate) fn statements(&self) -> Vec<StatementFigures> {
        let figures = |(kind, of_kind): (Kind, &Statements)| StatementFigures {
            kind: kind.name(),
            failed: of_kind.failed.get(),
            times: of_kind.times.times(),
            rows: of_kind.rows.get(),
        };
        Kind::ALL.into_iter().zip(&self.statements).map(figures).collect()
    }

    pub(crate) fn breaches(&self) -> Vec<(&'static str, u64)> {
        Rule::ALL.into_iter().map(Rule::name).zip(self.breaches.iter().map(Counter::get)).collect()
    }

    pub(crate) fn open_cursors(&self) -> u64 {
        let closed = self.closed_cursors.get();
        self.opened_cursors.get().saturating_sub(closed)
    }
}

/// Counts a cursor for as long as it is there.
#[derive(Debug)]
pub(crate) struct OpenCursor(Arc<Counters>);

impl OpenCursor {
    pub(crate) fn new(counters: &Arc<Counters>) -> Self {
        counters.opened_cursors.add_one();
        Self(counters.clone())
    }
}

impl Drop for OpenCursor {
    fn drop(&mut self) {
        self.0.closed_cursors.add_one();
    }
}
