//! Rows of a few keys, of which the keys do not say whether they are wanted: `id = 7 AND deleted_at IS NULL`.

use std::sync::Arc;

use arrow::compute::filter_record_batch;
use arrow::datatypes::{Schema, SchemaRef};
use arrow::record_batch::RecordBatch;
use datafusion::common::{DFSchema, Result};
use datafusion::logical_expr::TableScan;
use datafusion::logical_expr::utils::conjunction;
use tablegate_types::error::SqlResult;

use super::outputs::{Condition, Run, RunCondition};
use crate::engine::Engine;
use crate::scan::{DirectScan, RelationProvider};

/// A scan whose filters are evaluated on its rows.
#[derive(Debug)]
pub(super) struct Checked {
    /// Of the columns that come out, and behind them of those that only the filters name.
    pub scan: DirectScan,
    /// Of the columns that come out.
    pub schema: SchemaRef,
    condition: Option<Condition>,
}

impl Checked {
    /// `columns` are the relation's that come out; `None` where a filter names what is none of its columns.
    ///
    /// # Errors
    /// The engine's, for a filter that it cannot compute.
    pub(super) fn of(
        provider: &RelationProvider,
        columns: &[usize],
        scan: &TableScan,
        engine: &Engine,
    ) -> Result<Option<Self>> {
        let relation = provider.relation();
        let condition = conjunction(scan.filters.iter().cloned());
        let mut read = columns.to_vec();
        for named in condition.iter().flat_map(|condition| condition.column_refs()) {
            let Ok(place) = relation.arrow_schema.index_of(&named.name) else { return Ok(None) };
            if !read.contains(&place) {
                read.push(place);
            }
        }
        let schema_of = |places: &[usize]| {
            let fields = places.iter().map(|place| Arc::clone(&relation.arrow_schema.fields()[*place]));
            Arc::new(Schema::new(fields.collect::<Vec<_>>()))
        };
        let all = schema_of(&read);
        let named = Arc::new(DFSchema::try_from_qualified_schema(scan.table_name.clone(), &all)?);
        let condition = condition.map(|condition| Condition::of(&condition, &named, engine)).transpose()?;
        let scan = DirectScan::new(Arc::clone(relation), read.into(), all, provider.reversible());
        let scan = scan.locked_as(provider.target());
        Ok(Some(Self { scan, schema: schema_of(columns), condition }))
    }

    /// The check in a run.
    ///
    /// # Errors
    /// Those of computing what is constant in the filters.
    pub(super) fn in_run(&self, run: &Run<'_>) -> SqlResult<Check> {
        let condition = self.condition.as_ref().map(|condition| condition.in_run(run)).transpose()?;
        Ok(Check { condition, width: self.schema.fields().len() })
    }

    /// One that leaves all rows.
    pub(super) fn of_columns_alone(&self) -> Check {
        Check { condition: None, width: self.schema.fields().len() }
    }
}

/// What is looked at in one run.
pub(super) struct Check {
    condition: Option<RunCondition>,
    /// How many columns come out.
    width: usize,
}

impl Check {
    /// The rows that the filters leave, with the columns that come out.
    ///
    /// # Errors
    /// Those of computing the filters.
    pub(super) fn left_of(&self, rows: &RecordBatch) -> Result<RecordBatch> {
        let places: Vec<usize> = (0..self.width).collect();
        let columns = rows.project(&places)?;
        match &self.condition {
            None => Ok(columns),
            Some(condition) => Ok(filter_record_batch(&columns, &condition.is_true_of(rows)?)?),
        }
    }
}
