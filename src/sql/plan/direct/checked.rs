//! Rows of a few keys, of which the keys do not say whether they are wanted: `id = 7 AND deleted_at IS NULL`.

use std::sync::Arc;

use arrow::compute::filter_record_batch;
use arrow::datatypes::Schema;
use arrow::record_batch::RecordBatch;
use datafusion::common::{DFSchema, Result};
use datafusion::execution::SessionState;
use datafusion::logical_expr::TableScan;
use datafusion::logical_expr::utils::conjunction;
use futures::stream::BoxStream;
use futures::{StreamExt, TryStreamExt};
use tablegate_store::table::{Direction, KeyRange};
use tablegate_types::error::SqlResult;

use crate::key_range::KeyPlan;
use crate::plan::outputs::{Condition, Run};
use crate::reads::Reads;
use crate::relation::Relation;
use crate::scan::{DirectScan, RelationProvider};

/// Of so many keys the rows are read one after the other.
const KEYS_MAX: usize = 64;

/// The scan's filters, evaluated on its rows.
#[derive(Debug)]
pub(super) struct Checked {
    /// Of the columns that come out, and behind them of those that only the filters name.
    pub scan: DirectScan,
    condition: Condition,
    /// How many come out.
    width: usize,
}

/// Whether a plan names a few keys, and no ranges.
pub(super) fn has_few_keys(plan: &KeyPlan) -> bool {
    let is_key = |range: &KeyRange| range.as_point().is_some();
    plan.ranges().take(KEYS_MAX + 1).count() <= KEYS_MAX && plan.ranges().all(is_key)
}

impl Checked {
    /// `columns` are the relation's that come out; `None` where there is nothing to look at.
    ///
    /// # Errors
    /// The engine's, for a filter that it cannot compute.
    pub(super) fn of(
        relation: &Arc<Relation>,
        columns: &[usize],
        scan: &TableScan,
        provider: &RelationProvider,
        state: &SessionState,
    ) -> Result<Option<Self>> {
        let Some(condition) = conjunction(scan.filters.iter().cloned()) else { return Ok(None) };
        let mut read = columns.to_vec();
        for named in condition.column_refs() {
            let Ok(place) = relation.arrow_schema.index_of(&named.name) else { return Ok(None) };
            if !read.contains(&place) {
                read.push(place);
            }
        }
        let fields: Vec<_> = read.iter().map(|place| Arc::clone(&relation.arrow_schema.fields()[*place])).collect();
        let schema = Arc::new(Schema::new(fields));
        let named = Arc::new(DFSchema::try_from_qualified_schema(scan.table_name.clone(), &schema)?);
        let condition = Condition::of(&condition, &named, state)?;
        let scan = DirectScan::new(Arc::clone(relation), read.into(), schema, provider.reversible());
        Ok(Some(Self { scan: scan.locked_as(provider.target()), condition, width: columns.len() }))
    }

    /// The rows of a plan's keys that the filters leave, with the columns that come out.
    ///
    /// # Errors
    /// Those of computing what is constant in the filters.
    pub(super) fn rows(
        &self,
        plan: KeyPlan,
        direction: Direction,
        run: &Run<'_>,
        reads: &Arc<Reads>,
        batch_rows: usize,
    ) -> SqlResult<BoxStream<'static, Result<RecordBatch>>> {
        let condition = self.condition.in_run(run)?;
        let rows = self.scan.rows(plan.of_keys_alone(), direction, None, Arc::clone(reads), batch_rows);
        let places: Vec<usize> = (0..self.width).collect();
        let left = move |batch: RecordBatch| -> Result<RecordBatch> {
            Ok(filter_record_batch(&batch.project(&places)?, &condition.is_true_of(&batch)?)?)
        };
        let left = rows.map(move |batch| left(batch?));
        Ok(left.try_filter(|batch| futures::future::ready(batch.num_rows() > 0)).boxed())
    }
}
