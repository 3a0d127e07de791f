//! Looking at the span of a batch's keys instead of at each of them.
//!
//! What is loaded in the order of its keys, and a new partition, meet nothing that is there: one look at the span says so
//! for all of a batch. Where rows lie between the keys, or so much was deleted there that the look itself takes long, it
//! is in vain, and after each such look the next ones are left out, more of them each time.

use std::time::{Duration, Instant};

use tablegate_store::table::{Batch, Operation, StoreError};

use super::engine::Engine;
use super::key_bytes;
use super::tries::Tries;

/// Fewer operations than this are looked up one by one.
const LEAST_OPERATIONS: usize = 8;
/// A look that takes longer is in vain, whatever it finds: about what a hundred single ones take.
const LONG: Duration = Duration::from_micros(300);

/// Whether looking at spans has been worth it.
#[derive(Debug, Default)]
pub(super) struct Probe(Tries);

impl Probe {
    /// Whether there is known to be no row under any of the keys.
    ///
    /// # Errors
    /// When the engine cannot read its files.
    pub(super) fn finds_nothing(&self, engine: &Engine, table: u32, batch: &Batch) -> Result<bool, StoreError> {
        let operations = batch.operations();
        if operations.len() < LEAST_OPERATIONS || !self.0.is_worth_one() {
            return Ok(false);
        }
        let keys = || operations.iter().map(Operation::key);
        let (Some(first), Some(last)) = (keys().min(), keys().max()) else { return Ok(false) };
        let begun = Instant::now();
        let is_empty = engine.has_no_rows(&key_bytes::of_entity(table, first), &key_bytes::of_entity(table, last))?;
        self.0.learn(is_empty && begun.elapsed() < LONG);
        Ok(is_empty)
    }
}
