//! Rows that a change has found, collected until they are enough to be written together.
//!
//! Where rows go through columns to the store ([`Writes::write_known`]) few at a time would cost as much as many. Elsewhere they
//! are not collected: each is written when it is found.

use arrow::compute::concat_batches;
use arrow::record_batch::RecordBatch;
use tablegate_store::table::KnownChange;
use tablegate_types::error::SqlResult;

use super::update::etags_of;
use super::writes::Writes;
use crate::batches::all_keys_of_batch;

/// So many are enough.
const ROWS_ENOUGH: usize = 4_096;
/// So many where some are new rows that the block has written as columns: whole columns are written in the place of these.
const OWN_ROWS_ENOUGH: usize = 32_768;
/// So much memory is enough, however few rows they are.
const BYTES_ENOUGH: usize = 8 * 1024 * 1024;

/// Batches that begin with keys and versions.
#[derive(Default)]
pub(super) struct FoundRows {
    batches: Vec<RecordBatch>,
    rows: usize,
    bytes: usize,
}

impl FoundRows {
    /// Takes a batch. Gives all there are, once they are enough, or where there is no use in waiting.
    ///
    /// # Errors
    /// None are expected: the batches are of one schema.
    pub(super) fn push(&mut self, batch: RecordBatch, writes: &Writes<'_>) -> SqlResult<Option<RecordBatch>> {
        self.rows += batch.num_rows();
        self.bytes += batch.get_array_memory_size();
        self.batches.push(batch);
        let rows_enough = if writes.has_met_own_columns { OWN_ROWS_ENOUGH } else { ROWS_ENOUGH };
        let is_enough = self.rows >= rows_enough || self.bytes >= BYTES_ENOUGH || !writes.takes_known();
        if is_enough { self.take() } else { Ok(None) }
    }

    /// All that is left.
    ///
    /// # Errors
    /// As [`FoundRows::push`].
    pub(super) fn take(&mut self) -> SqlResult<Option<RecordBatch>> {
        let Self { mut batches, .. } = std::mem::take(self);
        let Some(last) = batches.pop() else { return Ok(None) };
        if batches.is_empty() {
            return Ok(Some(last));
        }
        batches.push(last);
        Ok(Some(concat_batches(&batches[0].schema(), &batches)?))
    }
}

/// Writes the rows of a batch at once, where that can be done: see [`Writes::write_known`].
///
/// # Errors
/// As there.
pub(super) async fn write_together(
    batch: &RecordBatch,
    change: impl FnOnce() -> Option<KnownChange>,
    writes: &mut Writes<'_>,
) -> SqlResult<bool> {
    if !writes.takes_known_rows(batch.num_rows()) {
        return Ok(false);
    }
    let Some(change) = change() else { return Ok(false) };
    writes.write_known(all_keys_of_batch(batch)?, etags_of(batch)?, change).await
}
