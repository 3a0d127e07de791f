//! Scans: rows and segments into record batches, one step at a time and each on a thread that may block.

use std::collections::VecDeque;
use std::sync::Arc;

use arrow::array::{Array as _, UInt64Array};
use arrow::compute::take_record_batch;
use arrow::record_batch::RecordBatch;
use futures::stream;
use tablegate_store::table::{Direction, KeyRange, ScanRequest, ScanStream, StoreError};

use super::engine::Engine;
use super::meta::TableMeta;
use super::reader::View;
use super::rows::RowColumns;
use super::segment::piece::{Piece, Step};
use super::walk::{Next, Walk};

/// Ranges of a scan that begins where it is asked for: handing it to another thread would take longer than a few look-ups.
const FEW_RANGES: usize = 16;
/// Rows of a batch that there is room for at once.
const MANY_ROWS: usize = 1024;
/// Rows that are read there before the rest of the scan goes to a thread that may block.
const FEW_ROWS: usize = 128;

pub(super) struct Scan {
    walk: Walk,
    request: Arc<ScanRequest>,
    rows: RowColumns,
    /// Batches that were cut out of a segment and are not handed out yet: they hold nothing of their own. They are turned round
    /// when they are.
    ready: VecDeque<RecordBatch>,
    /// How many rows may still be read.
    rows_left: usize,
    /// Rows that may still be read where the scan is asked for.
    rows_here: usize,
    /// It may be long: rows of segments count among those that may be read there.
    may_be_long: bool,
    is_done: bool,
}

impl Scan {
    pub(super) fn new(view: Arc<View>, table: Arc<TableMeta>, request: ScanRequest) -> Self {
        let request = Arc::new(request);
        // If neither the partitions nor a limit are given, their number is unknown before the first row is read, so the scan
        // may be long.
        let is_near = |range: &KeyRange| range.partitions.as_point().is_some();
        let is_page = request.limit.is_some_and(|limit| limit <= FEW_ROWS);
        let may_be_long = !is_page && !request.ranges.iter().all(is_near);
        let is_point = |range: &KeyRange| range.as_point().is_some();
        let rows_at_most = if request.ranges.iter().all(is_point) { request.ranges.len() } else { usize::MAX };
        let rows = rows_at_most.min(request.limit.unwrap_or(usize::MAX)).min(request.batch_rows).min(MANY_ROWS);
        Self {
            walk: Walk::new(view, Arc::clone(&table), Arc::clone(&request)),
            rows: RowColumns::with_capacity(table, Arc::clone(&request.columns), rows),
            ready: VecDeque::new(),
            rows_left: request.limit.unwrap_or(usize::MAX),
            rows_here: if request.ranges.len() <= FEW_RANGES { FEW_ROWS } else { 0 },
            may_be_long,
            is_done: false,
            request,
        }
    }

    /// The same, with segments left aside: what they have to give.
    #[cfg(test)]
    pub(super) fn of_rows(view: Arc<View>, table: Arc<TableMeta>, request: ScanRequest) -> Self {
        let scan = Self::new(Arc::clone(&view), Arc::clone(&table), request);
        Self { walk: Walk::of_rows(view, table, Arc::clone(&scan.request)), ..scan }
    }

    pub(super) fn into_stream(self) -> ScanStream {
        Box::pin(stream::try_unfold(Some(self), |scan| async move {
            let Some(scan) = scan else { return Ok(None) };
            scan.advance().await
        }))
    }

    /// The next batch, and the scan unless it is at its end.
    async fn advance(mut self) -> Result<Option<(RecordBatch, Option<Self>)>, StoreError> {
        let rows_here = std::mem::take(&mut self.rows_here);
        let (mut scan, batch) = if !self.ready.is_empty() || (rows_here > 0 && self.is_batch_here(rows_here)?) {
            let batch = self.take_batch()?;
            (self, batch)
        } else {
            let read = tokio::task::spawn_blocking(move || self.next_batch().map(|batch| (self, batch))).await;
            read.map_err(|stopped| match stopped.is_cancelled() {
                true => StoreError::ShuttingDown,
                false => StoreError::Unavailable(format!("a scan failed: {stopped}")),
            })??
        };
        scan.is_done |= scan.rows_left == 0;
        let goes_on = !scan.is_done || !scan.ready.is_empty() || scan.rows.len() > 0;
        Ok(batch.map(|batch| (batch, goes_on.then_some(scan))))
    }

    fn next_batch(&mut self) -> Result<Option<RecordBatch>, StoreError> {
        self.read(usize::MAX)?;
        self.take_batch()
    }

    /// Reads so many rows where the scan is asked for; false when the batch has room for more, and there may be more.
    fn is_batch_here(&mut self, rows: usize) -> Result<bool, StoreError> {
        self.read(rows)?;
        let is_full = self.rows.is_full(self.request.batch_rows);
        Ok(!self.ready.is_empty() || self.is_done || self.rows_left == 0 || is_full)
    }

    fn take_batch(&mut self) -> Result<Option<RecordBatch>, StoreError> {
        let Some(batch) = self.ready.pop_front() else { return self.rows.take() };
        // These rows are counted here, when they are handed out, because reading a segment does not count them.
        self.request.stats.add_entities_scanned(batch.num_rows());
        let bytes = batch.columns().iter().map(|column| column.to_data().get_slice_memory_size().unwrap_or_default());
        self.request.stats.add_bytes(bytes.sum());
        match self.request.direction {
            Direction::Forward => Ok(Some(batch)),
            Direction::Reverse => backwards(&batch).map(Some),
        }
    }

    /// Reads on, until there are rows for a batch or batches of a segment, or so many rows were read. Segments are left to
    /// those who may read all there is, unless what is asked for is in memory: their pages may still be on the disk.
    fn read(&mut self, rows: usize) -> Result<(), StoreError> {
        let engine = self.walk.engine()?;
        let mut read = 0;
        while read < rows && self.rows_left > 0 && !self.rows.is_full(self.request.batch_rows) {
            match self.walk.next(&engine)? {
                Next::Row(key, value) => {
                    self.request.stats.add_entities_scanned(1);
                    self.request.stats.add_bytes(key.len() + value.len());
                    self.rows.push(&key, &value)?;
                    self.rows_left -= 1;
                    read += 1;
                }
                // What was read of rows comes before.
                Next::Piece(piece)
                    if self.rows.len() > 0 || (rows < usize::MAX && !piece.is_at_hand(self.rows.columns())) =>
                {
                    self.walk.put_back(piece);
                    return Ok(());
                }
                Next::Piece(piece) if self.request.direction == Direction::Reverse => {
                    self.read_backwards(piece, &engine)?;
                    if !self.ready.is_empty() {
                        return Ok(());
                    }
                }
                Next::Piece(mut piece) => {
                    let (batch_rows, view) = (self.request.batch_rows, self.walk.view());
                    match piece.step(view, &engine, &mut self.rows, batch_rows, self.rows_left)? {
                        Step::Batches(batches) => {
                            let found: usize = batches.iter().map(RecordBatch::num_rows).sum();
                            self.rows_left = self.rows_left.saturating_sub(found);
                            read += if self.may_be_long { found } else { 0 };
                            self.ready.extend(batches);
                            let is_at_end = piece.is_at_end();
                            if !is_at_end {
                                self.walk.put_back(piece);
                            }
                            // A short scan goes on until it knows that it has reached its end, because it is not asked
                            // again.
                            if !is_at_end || rows == usize::MAX {
                                return Ok(());
                            }
                        }
                        Step::Rows(span) => {
                            self.walk.put_back(piece);
                            self.walk.put_rows(span);
                        }
                        Step::Done => {}
                    }
                }
                Next::End => {
                    self.is_done = true;
                    return Ok(());
                }
            }
        }
        Ok(())
    }

    /// Reads all of a piece, which is of one batch of its segment: its last rows come first.
    fn read_backwards(&mut self, mut piece: Box<Piece>, engine: &Engine) -> Result<(), StoreError> {
        let mut found = Vec::new();
        loop {
            match piece.step(self.walk.view(), engine, &mut self.rows, self.request.batch_rows, usize::MAX)? {
                Step::Batches(batches) => found.extend(batches),
                Step::Rows(_) => {
                    self.walk.put_rows(piece.into_span());
                    return Ok(());
                }
                Step::Done => break,
            }
        }
        for batch in found.into_iter().rev() {
            let rows = batch.num_rows().min(self.rows_left);
            if rows > 0 {
                self.ready.push_back(batch.slice(batch.num_rows() - rows, rows));
            }
            self.rows_left -= rows;
        }
        Ok(())
    }
}

/// The rows the other way round.
fn backwards(batch: &RecordBatch) -> Result<RecordBatch, StoreError> {
    if batch.num_columns() == 0 {
        return Ok(batch.clone());
    }
    let places: UInt64Array = (0..batch.num_rows()).rev().map(|place| place as u64).collect();
    take_record_batch(batch, &places)
        .map_err(|error| StoreError::Unavailable(format!("rows were not turned round: {error}")))
}
