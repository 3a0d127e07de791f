//! Rows that a statement looks at again, as a scan of their table gives them.

use std::sync::Arc;

use arrow::record_batch::RecordBatch;
use datafusion::common::Result;
use futures::stream::BoxStream;
use futures::{StreamExt, stream};
use tablegate_store::table::{EntityColumns, ScanColumns, StoreError};

use super::run::external;
use crate::newest::NewestEntries;

/// The rows as batches of these columns, of at most so many rows each.
pub(super) fn batches(
    rows: NewestEntries,
    columns: &Arc<ScanColumns>,
    batch_rows: usize,
) -> BoxStream<'static, Result<RecordBatch>> {
    let columns = Arc::clone(columns);
    stream::iter(std::iter::from_fn({
        let mut rows = rows;
        move || next_batch(&mut rows, &columns, batch_rows).transpose()
    }))
    .boxed()
}

fn next_batch(rows: &mut NewestEntries, columns: &Arc<ScanColumns>, batch_rows: usize) -> Result<Option<RecordBatch>> {
    let mut batch = EntityColumns::new(Arc::clone(columns));
    for (_, row) in rows.take(batch_rows) {
        batch.push(&row).map_err(|unfit| external(StoreError::from(unfit)))?;
    }
    batch.take().map_err(external)
}
