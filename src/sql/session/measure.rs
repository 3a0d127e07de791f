//! Counting statements, what they cost, and transactions, and telling the log of slow ones.

use std::sync::Arc;
use std::time::{Duration, Instant};

use super::{Prepared, Session};
use crate::observe::Footprint;
use crate::outcome::CommandTag;
use crate::statistics::{Cost, Kind, Measure};
use crate::tx::EgtCount;

/// In how many entity group transactions something was committed, and to how many partitions.
#[derive(Debug, Default)]
pub(super) struct Extent {
    pub egts: u64,
    pub partitions: usize,
}

impl Session {
    /// A statement begins to run. One that a statement of SQL runs, as EXECUTE does, is a part of it.
    pub(super) fn begin_measure(&mut self, prepared: &Prepared) {
        self.meter.take();
        let kind = Kind::of(&prepared.statement.command);
        self.measure = Some(Measure { text: prepared.normalized(), kind, started: Instant::now() });
    }

    /// It ended: with a tag when it did what it was asked, and all its rows are sent.
    pub fn end_measure(&mut self, tag: Option<CommandTag>) {
        let Some(Measure { text, kind, started }) = self.measure.take() else { return };
        let [scanned, returned, egts, plans] = self.meter.take();
        let rows = match tag {
            Some(CommandTag::Counted(_, rows)) => rows,
            Some(CommandTag::Plain(_)) | None => 0,
        };
        let cost = Cost { time: started.elapsed(), rows, scanned, returned, egts, plans, failed: tag.is_none() };
        self.engine.statistics().add(self.login.process, &self.user, &text, &cost);
        self.engine.counters().add_statement(kind, &cost);
        self.log_if_slow(&text, &cost);
    }

    /// This was committed, if it is being counted.
    pub(super) fn note_extent(&mut self, committed: EgtCount, footprint: Option<&Footprint>) {
        if let Some(extent) = &mut self.extent {
            extent.egts += committed.egts;
            extent.partitions += footprint.map_or(0, Footprint::partition_count);
        }
    }

    /// The session does something that ends with a transaction, be it a statement's own.
    pub(super) fn begin_transacting(&mut self) {
        self.is_transacting = true;
    }

    /// The transaction ended.
    pub(super) fn end_transacting(&mut self, committed: bool) {
        if std::mem::take(&mut self.is_transacting) {
            self.engine.counters().add_transaction(committed);
        }
    }

    /// Without its constants and parameters: they are the client's.
    fn log_if_slow(&self, text: &Arc<str>, cost: &Cost) {
        let Some(patience) = self.settings.slow_statement() else { return };
        if cost.time < patience {
            return;
        }
        let (process, user, millis) = (self.login.process, self.user.as_str(), millis(cost.time));
        let (rows, scanned, egts, failed) = (cost.rows, cost.scanned, cost.egts, cost.failed);
        tracing::info!(process, user, millis, rows, scanned, egts, failed, statement = &**text, "slow statement");
    }
}

fn millis(time: Duration) -> f64 {
    time.as_secs_f64() * 1e3
}
