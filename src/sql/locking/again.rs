//! Rows of a locking query that had changed before they were locked, looked at again: each in its newest version, beside
//! those rows of other tables that it was found with.

use std::collections::HashMap;
use std::sync::Arc;

use arrow::record_batch::RecordBatch;
use arrow::row::OwnedRow;
use datafusion::common::ScalarValue;
use futures::StreamExt;
use tablegate_store::model::StoredEntity;
use tablegate_types::error::SqlResult;

use super::query::{Form, LockingQuery};
use crate::dml::RowsOf;
use crate::newest::{NewestRows, TargetNumber};
use crate::plan::Planner;

/// A row of a batch, with the newest versions of its rows of the locked tables, in their order.
pub(super) type ChangedRow = (usize, Vec<Arc<StoredEntity>>);

impl LockingQuery {
    /// What the query has now of some rows of a batch; nothing of those that it does not find any more.
    ///
    /// # Errors
    /// Those of running it.
    pub(super) async fn look_again(
        &self,
        planner: &Planner<'_>,
        parameters: &[ScalarValue],
        form: &Form,
        batch: &RecordBatch,
        changed: &[ChangedRow],
    ) -> SqlResult<HashMap<usize, RecordBatch>> {
        let mut newest = NewestRows::default();
        for (_, rows) in changed {
            for (table, row) in rows.iter().enumerate() {
                newest.add(TargetNumber(table), Arc::clone(row));
            }
        }
        let mut identity = RowsOf::new(batch.schema_ref(), self.identity.clone())?;
        let mut wanted: HashMap<OwnedRow, Vec<usize>> = HashMap::new();
        let found = identity.of(batch)?;
        for (row, _) in changed {
            wanted.entry(found.row(*row).owned()).or_default().push(*row);
        }
        let mut again = HashMap::new();
        let mut batches = planner.looking_again(newest).run(&form.input, parameters).await?;
        while let Some(batch) = batches.next().await {
            let batch = batch?;
            let found = identity.of(&batch)?;
            for row in 0..batch.num_rows() {
                if let Some(place) = wanted.get_mut(&found.row(row).owned()).and_then(Vec::pop) {
                    again.insert(place, batch.slice(row, 1));
                }
            }
        }
        Ok(again)
    }
}
