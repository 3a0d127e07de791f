//! Removing from the delta what no segment needs, and counting what is left.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use fjall::{Guard, Slice};
use tablegate_store::model::Span;
use tablegate_store::table::StoreError;

use super::super::super::commit::Job;
use super::super::super::engine::{Engine, FLUSH_LOOK};
use super::super::super::key_bytes::{self, ByteSpan};
use super::super::super::meta::TableMeta;
use super::super::delta::commit_of;
use super::super::install::Trim;
use super::super::{Segment, UNKNOWN};
use super::{ROWS_AT_ONCE, Worker};

/// Entries of the delta that are removed at a time, with commits waiting behind.
const TRIMMED_AT_ONCE: usize = 256;
/// Removed entries of the delta that are worth taking out of its files.
const REMOVED_IS_MANY: usize = 8192;

impl Worker {
    /// Looks through the delta of all tables, once: what an earlier run has left there.
    pub(super) fn sweep_all(&self) -> Result<(), StoreError> {
        self.sweep(&ByteSpan { from: Vec::new(), to: vec![0xff; 5] }).map(|_| ())
    }

    /// What was noted of tables that are no more.
    pub(super) fn forget_dropped(&mut self, tables: &[Arc<TableMeta>]) -> Result<(), StoreError> {
        let is_there = |number: u32| tables.iter().any(|table| table.number == number);
        let dropped: Vec<u32> = self.seen.keys().copied().filter(|number| !is_there(*number)).collect();
        for number in dropped {
            self.sweep(&key_bytes::of_partitions(number, &Span::ALL))?;
            self.seen.remove(&number);
        }
        Ok(())
    }

    /// How many rows of its span were written since the segment was made.
    pub(super) fn count_dirty(&self, segment: &Segment) -> Result<u64, StoreError> {
        let dirty = segment.dirty();
        // The new view contains everything that was written up to here, so a count of zero in it means that nothing
        // was.
        self.renew_view()?;
        // The same row may have been written again and again.
        let counted = self.sweep(&segment.meta.span)?;
        // The new count replaces the old one; writes that came in between may be counted twice.
        segment.dirty.fetch_add(counted.wrapping_sub(dirty), Ordering::Relaxed);
        Ok(counted)
    }

    /// Removes from a span of the delta what no segment needs; how many entries are left.
    pub(super) fn sweep(&self, span: &ByteSpan) -> Result<u64, StoreError> {
        let view = self.workshop.published.get();
        let tables: HashMap<u32, Arc<TableMeta>> =
            view.tables.values().map(|table| (table.number, Arc::clone(table))).collect();
        let is_needed = |key: &[u8], commit: u64| {
            let number = key.first_chunk().map(|number| u32::from_be_bytes(*number));
            let table = number.and_then(|number| tables.get(&number));
            table.and_then(|table| table.segments.find(key)).is_some_and(|segment| commit > segment.meta.number)
        };
        let mut entries = view.delta(&*view.engine()?, span)?;
        let (mut left, mut trim) = (0, Vec::new());
        loop {
            self.check_stopping()?;
            let some: Vec<(Slice, Slice)> =
                view.engine()?.guarded(|| entries.by_ref().take(ROWS_AT_ONCE).map(Guard::into_inner).collect())?;
            for (key, value) in &some {
                let commit = commit_of(value).unwrap_or_default();
                if is_needed(key, commit) {
                    left += 1;
                } else {
                    trim.push((key.clone(), commit));
                }
            }
            while trim.len() >= TRIMMED_AT_ONCE || (some.is_empty() && !trim.is_empty()) {
                let rest = trim.split_off(trim.len().min(TRIMMED_AT_ONCE));
                let now = Trim(std::mem::replace(&mut trim, rest));
                self.ask(|reply| Job::TrimDelta(now, reply))?;
            }
            if some.is_empty() {
                return Ok(left);
            }
        }
    }

    /// Takes removed entries out of the delta's files once they are most of it: scans go through them one by one.
    pub(super) fn compact_delta(&mut self) -> Result<(), StoreError> {
        let held = self.engine()?.delta_len();
        let view = self.workshop.published.get();
        let segments = view.tables.values().flat_map(|table| table.segments.list());
        let needed: u64 = segments.map(|segment| segment.dirty()).filter(|n| *n < UNKNOWN).sum();
        drop(view);
        // What is still seen by somebody stays: it is tried again when there is more.
        let worth = usize::try_from(needed).unwrap_or(usize::MAX).max(self.compacted).saturating_mul(2);
        if held <= worth.saturating_add(REMOVED_IS_MANY) {
            return Ok(());
        }
        let engine = self.engine()?;
        engine.begin_flush()?;
        drop(engine);
        self.wait_for_flush()?;
        let engine = self.engine()?;
        engine.compact_delta()?;
        self.compacted = engine.delta_len();
        tracing::debug!(held, left = self.compacted, "removed entries were taken out of the delta");
        Ok(())
    }

    /// Has all that is in memory only written into files, and the memory freed: the next start need not read it again from
    /// the journal, which is needed as long as there is something that is nowhere else.
    pub(super) fn come_to_rest(&self) -> Result<(), StoreError> {
        let engine = self.engine()?;
        if engine.is_worth_a_flush() {
            engine.begin_flush()?;
        } else if !engine.holds_flushed() {
            return Ok(());
        }
        drop(engine);
        self.wait_for_flush()?;
        // What was written stays in memory while a view from before is read; and the engine lets go of it when it is told
        // to write something else.
        self.renew_view()?;
        self.engine()?.let_go_of_flushed()
    }

    /// Not to be held for long: it may have to be opened anew.
    fn engine(&self) -> Result<Arc<Engine>, StoreError> {
        self.workshop.published.get().engine()
    }

    fn wait_for_flush(&self) -> Result<(), StoreError> {
        while !self.engine()?.is_flushed() {
            self.check_stopping()?;
            std::thread::sleep(FLUSH_LOOK);
        }
        Ok(())
    }

    /// Has a view published that is newer than all that was written up to now.
    fn renew_view(&self) -> Result<(), StoreError> {
        self.ask(|reply| Job::TrimDelta(Trim::renewing_view(), reply))
    }
}
