//! Looking at the span of a batch's keys instead of at each of them.
//!
//! What is loaded in the order of its keys, and a new partition, meet nothing that is there: one look at the span says so
//! for all of a batch. Where rows lie between the keys, or so much was deleted there that the look itself takes long, it
//! is in vain, and after each such look the next ones are left out, more of them each time.

use std::cell::Cell;
use std::time::{Duration, Instant};

use super::engine::Engine;
use super::key_bytes;
use crate::table::{Batch, Operation, StoreError};

/// Fewer operations than this are looked up one by one.
const LEAST_OPERATIONS: usize = 8;
/// A look that takes longer is in vain, whatever it finds: about what a hundred single ones take.
const LONG: Duration = Duration::from_micros(300);
/// At most so many batches are looked up key by key before the next try, as a power of two.
const MOST_DOUBLINGS: u32 = 10;

/// Whether looking at spans has been worth it.
#[derive(Debug, Default)]
pub(super) struct Probe {
    /// Batches that are not tried any more.
    skipped: Cell<u32>,
    /// Looks in vain, one after the other.
    in_vain: Cell<u32>,
}

impl Probe {
    /// Whether there is known to be no row under any of the keys.
    ///
    /// # Errors
    /// When the engine cannot read its files.
    pub(super) fn finds_nothing(&self, engine: &Engine, table: u32, batch: &Batch) -> Result<bool, StoreError> {
        let operations = batch.operations();
        if operations.len() < LEAST_OPERATIONS || !self.is_worth_a_try() {
            return Ok(false);
        }
        let keys = || operations.iter().map(Operation::key);
        let (Some(first), Some(last)) = (keys().min(), keys().max()) else { return Ok(false) };
        let begun = Instant::now();
        let is_empty = engine.has_no_rows(&key_bytes::of_entity(table, first), &key_bytes::of_entity(table, last))?;
        self.learn(is_empty && begun.elapsed() < LONG);
        Ok(is_empty)
    }

    fn is_worth_a_try(&self) -> bool {
        let skipped = self.skipped.get();
        self.skipped.set(skipped.saturating_sub(1));
        skipped == 0
    }

    fn learn(&self, was_worth_it: bool) {
        let in_vain = if was_worth_it { 0 } else { (self.in_vain.get() + 1).min(MOST_DOUBLINGS) };
        self.in_vain.set(in_vain);
        self.skipped.set(if was_worth_it { 0 } else { 2_u32.pow(in_vain) });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// How many of so many batches are tried, when all looks are in vain, or none.
    fn tried(batches: usize, was_worth_it: bool) -> usize {
        let probe = Probe::default();
        let look = |_: &usize| {
            let tries = probe.is_worth_a_try();
            if tries {
                probe.learn(was_worth_it);
            }
            tries
        };
        (0..batches).filter(look).count()
    }

    #[test]
    fn looks_in_vain_become_rare() {
        assert_eq!(tried(10_000, true), 10_000);
        assert!((10..25).contains(&tried(10_000, false)));
        // The next look that is worth it is not the last one.
        let probe = Probe::default();
        probe.learn(false);
        let left_out = std::iter::from_fn(|| (!probe.is_worth_a_try()).then_some(())).count();
        assert_eq!(left_out, 2);
        probe.learn(true);
        assert!(probe.is_worth_a_try() && probe.is_worth_a_try());
    }
}
