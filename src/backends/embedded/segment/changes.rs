//! What was written since, laid over the batches of a segment in the order of keys.

use std::ops::Range;

use arrow::record_batch::RecordBatch;
use tablegate_store::table::StoreError;

use super::super::engine::Engine;
use super::super::key_bytes::ByteSpan;
use super::super::rows::RowColumns;
use super::assemble::Keys;
use super::delta::Delta;
use super::manifest::BatchMeta;
use super::recent::{Placed, Written};

/// The entries of a span, one after the other.
pub(super) enum Changes {
    /// Read, placed and decoded as they come.
    Streamed(Delta),
    /// Those that are kept, from one on, to one.
    Kept(Written, Range<usize>),
}

impl Changes {
    /// Those of a span.
    pub(super) fn kept(written: Written, span: &ByteSpan) -> Self {
        let place = |end: &[u8]| written.entries.partition_point(|placed| *placed.entry.key < *end);
        let range = place(&span.from)..place(&span.to);
        Changes::Kept(written, range)
    }

    /// Whether there are certainly none left.
    pub(super) fn is_empty(&self) -> bool {
        match self {
            Changes::Streamed(delta) => delta.is_empty(),
            Changes::Kept(_, left) => left.is_empty(),
        }
    }

    /// Whether the next one is not behind the last row of a batch.
    ///
    /// # Errors
    /// [`StoreError::Damaged`].
    pub(super) fn is_within(&mut self, engine: &Engine, batch: &BatchMeta) -> Result<bool, StoreError> {
        self.is_before(engine, |key| *key <= *batch.last)
    }

    /// Whether there is a next one.
    ///
    /// # Errors
    /// [`StoreError::Damaged`].
    pub(super) fn has_next(&mut self, engine: &Engine) -> Result<bool, StoreError> {
        self.is_before(engine, |_| true)
    }

    /// Passes over all that are before a key.
    ///
    /// # Errors
    /// [`StoreError::Damaged`].
    pub(super) fn skip_to(&mut self, engine: &Engine, to: &[u8]) -> Result<(), StoreError> {
        while self.is_before(engine, |key| *key < *to)? {
            self.advance();
        }
        Ok(())
    }

    /// The columns of a batch that all of the next ones leave as they are, where all of those stand for rows of it; `None`
    /// where that is not known.
    pub(super) fn untouched(&self, batch: usize) -> Option<&[bool]> {
        let Changes::Kept(written, left) = self else { return None };
        // Some of before may be left, of batches that were left out.
        next_of(written, left).filter(|placed| placed.batch == batch)?;
        let known = &written.decoded.untouched;
        let place = known.binary_search_by_key(&batch, |untouched| untouched.batch).ok()?;
        Some(&known[place].columns)
    }

    /// Passes over all that are within a batch.
    pub(super) fn pass(&mut self, batch: usize) {
        if let Changes::Kept(written, left) = self {
            left.start += written.entries[left.clone()].partition_point(|placed| placed.batch <= batch);
        }
    }

    fn is_before(&mut self, engine: &Engine, is_it: impl Fn(&[u8]) -> bool) -> Result<bool, StoreError> {
        Ok(match self {
            Changes::Streamed(delta) => delta.peek(engine)?.is_some_and(|entry| is_it(&entry.key)),
            Changes::Kept(written, left) => next_of(written, left).is_some_and(|placed| is_it(&placed.entry.key)),
        })
    }

    fn advance(&mut self) {
        match self {
            Changes::Streamed(delta) => drop(delta.take()),
            Changes::Kept(_, left) => left.start += 1,
        }
    }

    /// The first of these rows of a batch that is not before the next one, and whether it has its key. Behind them all when
    /// there is none.
    ///
    /// # Errors
    /// [`StoreError::Damaged`].
    pub(super) fn place(
        &mut self,
        engine: &Engine,
        batch: usize,
        keys: &Keys,
        rows: Range<usize>,
    ) -> Result<(usize, bool), StoreError> {
        Ok(match self {
            Changes::Streamed(delta) => match delta.peek(engine)? {
                Some(entry) => keys.at_key(rows, entry.keys()?),
                None => (rows.end, false),
            },
            Changes::Kept(written, left) => match next_of(written, left) {
                Some(placed) if placed.batch == batch => (placed.row.clamp(rows.start, rows.end), placed.is_there),
                // Its own batch was left out.
                Some(_) => (rows.start, false),
                None => (rows.end, false),
            },
        })
    }

    /// Takes the next one; where its row is among those of [`Changes::rows`], unless it was deleted.
    ///
    /// # Errors
    /// As [`RowColumns::push`].
    pub(super) fn take(&mut self, decoded: &mut RowColumns) -> Result<Option<usize>, StoreError> {
        match self {
            Changes::Streamed(delta) => {
                let Some(entry) = delta.take() else { return Ok(None) };
                let Some(row) = entry.row() else { return Ok(None) };
                decoded.push(&entry.key, row)?;
                Ok(Some(decoded.len() - 1))
            }
            Changes::Kept(written, left) => {
                let placed = next_of(written, left);
                let row = placed.filter(|placed| placed.entry.row().is_some()).map(|placed| placed.rows_before);
                left.start += 1;
                Ok(row)
            }
        }
    }

    /// The rows that were taken.
    ///
    /// # Errors
    /// [`StoreError::Underived`].
    pub(super) fn rows(&self, decoded: &mut RowColumns) -> Result<Option<RecordBatch>, StoreError> {
        match self {
            Changes::Streamed(_) => decoded.take(),
            Changes::Kept(written, _) => Ok(written.decoded.rows.clone()),
        }
    }
}

fn next_of<'a>(written: &'a Written, left: &Range<usize>) -> Option<&'a Placed> {
    written.entries.get(left.clone())?.first()
}
