//! Queries of a change over the rows that it holds, computed without a plan: most lists of RETURNING, and most of what ON
//! CONFLICT sets.

use std::sync::Arc;

use arrow::array::AsArray;
use arrow::compute::filter_record_batch;
use arrow::datatypes::{DataType, Field, Schema};
use arrow::record_batch::RecordBatch;
use datafusion::common::Result;
use datafusion::execution::SessionState;
use datafusion::logical_expr::{Expr, LogicalPlan};
use tablegate_types::error::SqlResult;

use super::outputs::{Outputs, Run, is_of_run};

/// More rows than these are left to a plan, which other threads run.
const ROWS_MAX: usize = 2_000;

/// A query that gives a row of each of its rows, or of those that its condition leaves.
#[derive(Debug)]
pub(super) struct OverRows {
    condition: Option<Outputs>,
    outputs: Outputs,
}

impl OverRows {
    /// What a planned query is, if it is such a one.
    pub(super) fn of(plan: &LogicalPlan, state: &SessionState) -> Option<Self> {
        // What the engine cannot compute as it stands, a plan may.
        Self::analyzed(plan, state).ok().flatten()
    }

    fn analyzed(plan: &LogicalPlan, state: &SessionState) -> Result<Option<Self>> {
        if Parts::of(plan).is_none() {
            return Ok(None);
        }
        let analyzed = state.analyzer().execute_and_check(plan.clone(), state.config_options(), |_, _| {})?;
        let Some(Parts { exprs, condition, rows }) = Parts::of(&analyzed) else { return Ok(None) };
        for expr in exprs.iter().chain(condition) {
            if !is_of_run(expr)? {
                return Ok(None);
            }
        }
        let read = rows.schema();
        let is_true = Arc::new(Schema::new(vec![Field::new("is true", DataType::Boolean, true)]));
        let condition = condition.map(|condition| Outputs::of(std::slice::from_ref(condition), read, &is_true, state));
        let outputs = Outputs::of(exprs, read, analyzed.schema().inner(), state)?;
        Ok(Some(Self { condition: condition.transpose()?, outputs }))
    }

    /// What it gives of these rows; `None` where that is left to a plan: of many rows, and where it fails, since a plan may do
    /// with fewer rows at a time.
    pub(super) fn rows(&self, run: &dyn Run, batches: &[RecordBatch]) -> Option<Vec<RecordBatch>> {
        if batches.iter().map(RecordBatch::num_rows).sum::<usize>() > ROWS_MAX {
            return None;
        }
        self.computed(run, batches).ok()
    }

    fn computed(&self, run: &dyn Run, batches: &[RecordBatch]) -> SqlResult<Vec<RecordBatch>> {
        let Some(condition) = &self.condition else { return self.outputs.of_rows(run, batches) };
        let is_true = condition.of_rows(run, batches)?;
        let left = |(batch, is_true): (&RecordBatch, &RecordBatch)| {
            Ok(filter_record_batch(batch, is_true.column(0).as_boolean())?)
        };
        let left = batches.iter().zip(&is_true).map(left).collect::<Result<Vec<_>>>()?;
        self.outputs.of_rows(run, &left)
    }
}

/// The parts of a plan that is a list over rows, or over some of them.
struct Parts<'p> {
    exprs: &'p [Expr],
    condition: Option<&'p Expr>,
    rows: &'p LogicalPlan,
}

impl<'p> Parts<'p> {
    fn of(plan: &'p LogicalPlan) -> Option<Self> {
        let LogicalPlan::Projection(projection) = plan else { return None };
        let (condition, rows) = match &*projection.input {
            LogicalPlan::Filter(filter) => (Some(&filter.predicate), &*filter.input),
            other => (None, other),
        };
        matches!(rows, LogicalPlan::TableScan(_)).then_some(Self { exprs: &projection.expr, condition, rows })
    }
}
