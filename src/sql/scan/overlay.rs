//! The transaction's own writes over what the store scans: what it wrote is seen, what it deleted is not.

use std::sync::Arc;

use arrow::array::{AsArray, StringArray};
use arrow::compute::interleave_record_batch;
use arrow::record_batch::RecordBatch;
use futures::{Stream, StreamExt, stream};

use crate::model::{EntityKey, StoredEntity};
use crate::sql::error::SqlResult;
use crate::sql::reads::OwnWrites;
use crate::table::{Direction, EntityColumns, KeyRange, ScanColumns, ScanStream, StoreError};

/// Merges the own writes that lie in `ranges` into a scan of them. PartitionKey and RowKey are the scan's first columns.
pub(super) fn merge(
    scan: ScanStream,
    own: Arc<OwnWrites>,
    ranges: &[KeyRange],
    columns: &Arc<ScanColumns>,
    direction: Direction,
) -> SqlResult<impl Stream<Item = Result<RecordBatch, StoreError>> + Send + 'static> {
    let overlay = Overlay::new(own, ranges, columns, direction)?;
    let state = (scan, overlay, false);
    Ok(stream::try_unfold(state, |(mut scan, mut overlay, ended)| async move {
        if ended {
            return Ok(None);
        }
        loop {
            let Some(batch) = scan.next().await.transpose()? else {
                return Ok(overlay.rest().map(|rest| (rest, (scan, overlay, true))));
            };
            if let Some(merged) = overlay.over(&batch)? {
                return Ok(Some((merged, (scan, overlay, false))));
            }
        }
    }))
}

struct Overlay {
    own: Arc<OwnWrites>,
    direction: Direction,
    /// The rows the transaction left, in scan order.
    keys: Vec<EntityKey>,
    rows: RecordBatch,
    /// How many of them were given out.
    done: usize,
}

impl Overlay {
    fn new(
        own: Arc<OwnWrites>,
        ranges: &[KeyRange],
        columns: &Arc<ScanColumns>,
        direction: Direction,
    ) -> SqlResult<Self> {
        let mut images: Vec<&StoredEntity> = own
            .iter()
            .filter(|(key, _)| ranges.iter().any(|range| range.contains(key)))
            .filter_map(|(_, image)| image.as_ref())
            .collect();
        if direction == Direction::Reverse {
            images.reverse();
        }
        let keys = images.iter().map(|image| image.entity.key.clone()).collect();
        let mut builder = EntityColumns::new(Arc::clone(columns));
        for image in images {
            builder.push(image).map_err(StoreError::from)?;
        }
        let rows = builder.take().unwrap_or_else(|| RecordBatch::new_empty(Arc::clone(columns.schema())));
        Ok(Self { own, direction, keys, rows, done: 0 })
    }

    /// A batch of the store with the own rows that belong before its end, without those the transaction changed.
    fn over(&mut self, batch: &RecordBatch) -> Result<Option<RecordBatch>, StoreError> {
        let (partitions, rows): (&StringArray, &StringArray) =
            (batch.column(0).as_string(), batch.column(1).as_string());
        let mut picked = Vec::with_capacity(batch.num_rows());
        for index in 0..batch.num_rows() {
            let key = (partitions.value(index), rows.value(index));
            while self.next_is_before(key) {
                picked.push((1, self.done));
                self.done += 1;
            }
            if !self.changed(key) {
                picked.push((0, index));
            }
        }
        if picked.is_empty() {
            return Ok(None);
        }
        let merged = interleave_record_batch(&[batch, &self.rows], &picked).map_err(|error| StoreError::Damaged {
            place: "the transaction's own writes".to_owned(),
            detail: error.to_string(),
        })?;
        Ok(Some(merged))
    }

    /// The own rows behind everything the store has.
    fn rest(&mut self) -> Option<RecordBatch> {
        let left = self.keys.len() - self.done;
        let rest = self.rows.slice(self.done, left);
        self.done = self.keys.len();
        (left > 0).then_some(rest)
    }

    /// Whether the next own row comes before this key, or is the new version of it.
    fn next_is_before(&self, key: (&str, &str)) -> bool {
        let Some(next) = self.keys.get(self.done) else { return false };
        let next = (next.partition.as_str(), next.row.as_str());
        match self.direction {
            Direction::Forward => next <= key,
            Direction::Reverse => next >= key,
        }
    }

    fn changed(&self, key: (&str, &str)) -> bool {
        // Keys from the store are legal: a parse that fails means that nobody can have written this one here.
        EntityKey::parse(key.0, key.1).is_ok_and(|key| self.own.contains_key(&key))
    }
}
