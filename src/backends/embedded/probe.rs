//! Looking at the span of a batch's keys instead of at each of them.
//!
//! Rows that are loaded in the order of their keys, or into a new partition, meet no existing rows, and one look at the
//! span shows that for the whole batch. The look is wasted where rows lie between the keys, or where so much was
//! deleted that it takes long. After each wasted look the next ones are skipped, more of them each time.

use std::time::{Duration, Instant};

use tablegate_store::table::{Batch, Operation, StoreError};

use super::engine::Engine;
use super::key_bytes;
use super::tries::Tries;

/// Fewer operations than this are looked up one by one.
const LEAST_OPERATIONS: usize = 8;
/// A look that takes longer than this counts as wasted, whatever it finds: it is about the time of a hundred look-ups
/// of single keys.
const LONG: Duration = Duration::from_micros(300);

/// Whether looking at spans has been worth it.
#[derive(Debug, Default)]
pub(super) struct Probe {
    looks: Tries,
    /// Whether going through rows was, where they are looked for ([`super::look_up`]).
    pub(super) walks: Tries,
}

impl Probe {
    /// Whether there is known to be no row under any of the keys of these batches, which are of one table.
    ///
    /// # Errors
    /// When the engine cannot read its files.
    pub(super) fn finds_nothing(&self, engine: &Engine, table: u32, batches: &[Batch]) -> Result<bool, StoreError> {
        let operations = || batches.iter().flat_map(|batch| batch.operations());
        if operations().take(LEAST_OPERATIONS).count() < LEAST_OPERATIONS || !self.looks.is_worth_one() {
            return Ok(false);
        }
        let keys = || operations().map(Operation::key);
        let (Some(first), Some(last)) = (keys().min(), keys().max()) else { return Ok(false) };
        self.is_empty(engine, &key_bytes::of_entity(table, first), &key_bytes::of_entity(table, last))
    }

    /// Whether there is known to be no row under any of so many keys, the first and the last of which are these.
    ///
    /// # Errors
    /// When the engine cannot read its files.
    pub(super) fn finds_nothing_between(
        &self,
        engine: &Engine,
        keys: usize,
        (first, last): (&[u8], &[u8]),
    ) -> Result<bool, StoreError> {
        if keys < LEAST_OPERATIONS || !self.looks.is_worth_one() {
            return Ok(false);
        }
        self.is_empty(engine, first, last)
    }

    fn is_empty(&self, engine: &Engine, first: &[u8], last: &[u8]) -> Result<bool, StoreError> {
        let begun = Instant::now();
        let is_empty = engine.has_no_rows(first, last)?;
        self.looks.learn(is_empty && begun.elapsed() < LONG);
        Ok(is_empty)
    }
}
