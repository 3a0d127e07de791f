//! The transaction's own writes over what the store scans: what it wrote is seen, what it deleted is not.

use std::cmp::Ordering;
use std::sync::Arc;

use arrow::array::{AsArray, StringArray};
use arrow::compute::interleave_record_batch;
use arrow::record_batch::RecordBatch;
use datafusion::common::{DataFusionError, Result};
use futures::stream::{BoxStream, Fuse};
use futures::{StreamExt, stream};
use tablegate_store::table::{Direction, EntityColumns, KeyRange, ScanColumns, ScanStream};

use super::run::external;
use crate::tx::{OwnEntries, OwnWrites};

/// Merges the own writes that lie in `ranges` into a scan of them. PartitionKey and RowKey are the scan's first columns.
/// At most `batch_rows` own rows are held at a time.
pub(super) fn merge(
    scan: ScanStream,
    own: &OwnWrites,
    ranges: &[KeyRange],
    columns: &Arc<ScanColumns>,
    direction: Direction,
    batch_rows: usize,
) -> BoxStream<'static, Result<RecordBatch>> {
    let own = own.range(ranges, direction);
    let overlay =
        Overlay { scan: scan.fuse(), current: None, own, columns: Arc::clone(columns), direction, batch_rows };
    let batches = stream::try_unfold(overlay, |mut overlay| async move {
        let batch = overlay.next_batch().await?;
        Ok(batch.map(|batch| (batch, overlay)))
    });
    batches.boxed()
}

struct Overlay {
    scan: Fuse<ScanStream>,
    /// A batch of the store, and the row to go on with.
    current: Option<(RecordBatch, usize)>,
    own: OwnEntries,
    columns: Arc<ScanColumns>,
    direction: Direction,
    batch_rows: usize,
}

impl Overlay {
    async fn next_batch(&mut self) -> Result<Option<RecordBatch>> {
        loop {
            if self.current.is_none() {
                let Some(batch) = self.scan.next().await.transpose().map_err(external)? else { return self.rest() };
                self.current = Some((batch, 0));
            }
            if let Some((batch, from)) = self.current.take()
                && let Some(merged) = self.over(batch, from)?
            {
                return Ok(Some(merged));
            }
        }
    }

    /// Rows of the store from one on, without those the transaction changed, and the own rows that belong between them.
    fn over(&mut self, batch: RecordBatch, from: usize) -> Result<Option<RecordBatch>> {
        let (partitions, rows): (&StringArray, &StringArray) =
            (batch.column(0).as_string(), batch.column(1).as_string());
        let mut own = EntityColumns::new(Arc::clone(&self.columns));
        let mut picked = Vec::with_capacity(batch.num_rows() - from);
        let mut index = from;
        while index < batch.num_rows() && !own.is_full(self.batch_rows) {
            let side = self.next_against((partitions.value(index), rows.value(index)));
            if side == Ordering::Greater {
                picked.push((0, index));
                index += 1;
                continue;
            }
            // The new version stands for the stored one.
            index += usize::from(side == Ordering::Equal);
            if self.push_next(&mut own)? {
                picked.push((1, own.rows() - 1));
            }
        }
        if picked.is_empty() || index < batch.num_rows() {
            self.current = (index < batch.num_rows()).then(|| (batch.clone(), index));
        }
        if picked.is_empty() {
            return Ok(None);
        }
        if picked.len() == batch.num_rows() && own.is_empty() {
            return Ok(Some(batch));
        }
        let own =
            own.take().map_err(external)?.unwrap_or_else(|| RecordBatch::new_empty(Arc::clone(self.columns.schema())));
        Ok(Some(interleave_record_batch(&[&batch, &own], &picked)?))
    }

    /// Own rows behind everything the store has.
    fn rest(&mut self) -> Result<Option<RecordBatch>> {
        let mut own = EntityColumns::new(Arc::clone(&self.columns));
        while !own.is_full(self.batch_rows) && self.own.peek().is_some() {
            self.push_next(&mut own)?;
        }
        own.take().map_err(external)
    }

    /// Where the next own write lies against a stored row, in scan order; behind it when there is none.
    fn next_against(&mut self, key: (&str, &str)) -> Ordering {
        let Some(next) = self.own.peek() else { return Ordering::Greater };
        match self.direction {
            Direction::Forward => next.cmp(&key),
            Direction::Reverse => key.cmp(&next),
        }
    }

    /// Takes the next own write; false when it is a deletion.
    fn push_next(&mut self, rows: &mut EntityColumns) -> Result<bool> {
        self.own.push_next(rows).map_err(|error| DataFusionError::External(error))
    }
}
