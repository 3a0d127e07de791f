//! Scans: rows and segments into record batches, one step at a time and each on a thread that may block.

use std::collections::VecDeque;
use std::sync::Arc;

use arrow::array::Array as _;
use arrow::record_batch::RecordBatch;
use futures::stream;

use super::meta::TableMeta;
use super::reader::View;
use super::rows::RowColumns;
use super::segment::piece::Step;
use super::walk::{Next, Walk};
use crate::table::{ScanRequest, ScanStream, StoreError};

/// Scans of this many single rows or fewer are read where they are asked for: handing them to another thread would take
/// longer than the look-ups.
const FEW_POINTS: usize = 16;

pub(super) struct Scan {
    walk: Walk,
    request: Arc<ScanRequest>,
    rows: RowColumns,
    /// Batches that were cut out of a segment and are not handed out yet: they hold nothing of their own.
    ready: VecDeque<RecordBatch>,
    /// How many rows may still be read.
    rows_left: usize,
    is_short: bool,
    is_done: bool,
}

impl Scan {
    pub(super) fn new(view: Arc<View>, table: Arc<TableMeta>, request: ScanRequest) -> Self {
        let request = Arc::new(request);
        Self {
            walk: Walk::new(view, Arc::clone(&table), Arc::clone(&request)),
            rows: RowColumns::new(table, Arc::clone(&request.columns)),
            ready: VecDeque::new(),
            rows_left: request.limit.unwrap_or(usize::MAX),
            is_short: request.ranges.len() <= FEW_POINTS
                && request.ranges.iter().all(|range| range.as_point().is_some()),
            is_done: false,
            request,
        }
    }

    pub(super) fn into_stream(self) -> ScanStream {
        Box::pin(stream::try_unfold(Some(self), |scan| async move {
            let Some(scan) = scan else { return Ok(None) };
            scan.advance().await
        }))
    }

    /// The next batch, and the scan unless it is at its end.
    async fn advance(mut self) -> Result<Option<(RecordBatch, Option<Self>)>, StoreError> {
        let (mut scan, batch) = if self.is_short || !self.ready.is_empty() {
            let batch = self.next_batch()?;
            (self, batch)
        } else {
            let read = tokio::task::spawn_blocking(move || self.next_batch().map(|batch| (self, batch))).await;
            read.map_err(|stopped| match stopped.is_cancelled() {
                true => StoreError::ShuttingDown,
                false => StoreError::Unavailable(format!("a scan failed: {stopped}")),
            })??
        };
        scan.is_done |= scan.rows_left == 0;
        let goes_on = !scan.is_done || !scan.ready.is_empty();
        Ok(batch.map(|batch| (batch, goes_on.then_some(scan))))
    }

    fn next_batch(&mut self) -> Result<Option<RecordBatch>, StoreError> {
        if self.ready.is_empty() {
            self.read()?;
        }
        let Some(batch) = self.ready.pop_front() else { return Ok(self.rows.take()) };
        // Counted as they are handed out: nobody has touched them before.
        self.request.stats.add_entities_scanned(batch.num_rows());
        let bytes = batch.columns().iter().map(|column| column.to_data().get_slice_memory_size().unwrap_or_default());
        self.request.stats.add_bytes(bytes.sum());
        Ok(Some(batch))
    }

    /// Reads on, until there are rows for a batch or batches of a segment.
    fn read(&mut self) -> Result<(), StoreError> {
        let engine = self.walk.engine()?;
        while self.rows_left > 0 && !self.rows.is_full(self.request.batch_rows) {
            match self.walk.next(&engine)? {
                Next::Row(key, value) => {
                    self.request.stats.add_entities_scanned(1);
                    self.request.stats.add_bytes(key.len() + value.len());
                    self.rows.push(&key, &value)?;
                    self.rows_left -= 1;
                }
                // What was read of rows comes before.
                Next::Piece(piece) if self.rows.len() > 0 => {
                    self.walk.put_back(piece);
                    return Ok(());
                }
                Next::Piece(mut piece) => {
                    let (batch_rows, view) = (self.request.batch_rows, self.walk.view());
                    match piece.step(view, &engine, &mut self.rows, batch_rows, self.rows_left)? {
                        Step::Batches(batches) => {
                            self.walk.put_back(piece);
                            let rows: usize = batches.iter().map(RecordBatch::num_rows).sum();
                            self.rows_left = self.rows_left.saturating_sub(rows);
                            self.ready.extend(batches);
                            return Ok(());
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
}
