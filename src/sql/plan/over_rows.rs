//! Queries of a change over the rows that it holds, computed without a plan: most lists of RETURNING, and most of what ON
//! CONFLICT sets.

use arrow::compute::filter_record_batch;
use arrow::record_batch::RecordBatch;
use datafusion::common::Result;
use datafusion::common::tree_node::{Transformed, TransformedResult, TreeNode};
use datafusion::logical_expr::{Case, Expr, LogicalPlan};
use tablegate_types::error::SqlResult;

use super::outputs::{Condition, Outputs, Run, SHORT_ROWS, is_of_run};
use crate::aside::aside_unless;
use crate::engine::Engine;
use crate::expr::is_coalesce;

/// A query that gives a row of each of its rows, or of those that its condition leaves.
#[derive(Debug)]
pub(super) struct OverRows {
    condition: Option<Condition>,
    outputs: Outputs,
}

impl OverRows {
    /// What a planned query is, if it is such a one.
    pub(super) fn of(plan: &LogicalPlan, engine: &Engine) -> Option<Self> {
        // What the engine cannot compute as it stands, a plan may.
        Self::analyzed(plan, engine).ok().flatten()
    }

    fn analyzed(plan: &LogicalPlan, engine: &Engine) -> Result<Option<Self>> {
        if Parts::of(plan).is_none() {
            return Ok(None);
        }
        let state = engine.state();
        let analyzed = state.analyzer().execute_and_check(plan.clone(), state.config_options(), |_, _| {})?;
        let Some(Parts { exprs, condition, rows }) = Parts::of(&analyzed) else { return Ok(None) };
        let exprs = exprs.iter().map(with_cases).collect::<Result<Vec<_>>>()?;
        let condition = condition.map(with_cases).transpose()?;
        for expr in exprs.iter().chain(&condition) {
            if !is_of_run(expr)? {
                return Ok(None);
            }
        }
        let read = rows.schema();
        let condition = condition.map(|condition| Condition::of(&condition, read, engine));
        let outputs = Outputs::of(&exprs, read, analyzed.schema().inner(), engine)?;
        Ok(Some(Self { condition: condition.transpose()?, outputs }))
    }

    /// What it gives of these rows; `None` where that is left to a plan: of many rows, and where it fails, since a plan may do
    /// with fewer rows at a time.
    pub(super) fn rows(&self, run: &Run<'_>, batches: &[RecordBatch]) -> Option<Vec<RecordBatch>> {
        if batches.iter().map(RecordBatch::num_rows).sum::<usize>() > SHORT_ROWS {
            return None;
        }
        self.computed(run, batches).ok()
    }

    fn computed(&self, run: &Run<'_>, batches: &[RecordBatch]) -> SqlResult<Vec<RecordBatch>> {
        let condition = self.condition.as_ref().map(|condition| condition.in_run(run)).transpose()?;
        let outputs = self.outputs.in_run(run)?;
        let computed = |batch: &RecordBatch| match &condition {
            None => Ok(outputs.of(batch)?),
            Some(condition) => Ok(outputs.of(&filter_record_batch(batch, &condition.is_true_of(batch)?)?)?),
        };
        let is_quick = self.condition.as_ref().is_none_or(Condition::is_quick) && self.outputs.is_quick();
        aside_unless(is_quick, || batches.iter().map(computed).collect())
    }
}

/// An expression with CASE for each COALESCE, which the engine computes as one: its optimizer says so, which does not see this one.
fn with_cases(expr: &Expr) -> Result<Expr> {
    let with_case = |part| match part {
        Expr::ScalarFunction(mut call) if is_coalesce(&call) && !call.args.is_empty() => {
            let last = call.args.pop().map(Box::new);
            let given = call.args.into_iter();
            let branches = given.map(|value| (Box::new(value.clone().is_not_null()), Box::new(value))).collect();
            Ok(Transformed::yes(Expr::Case(Case::new(None, branches, last))))
        }
        other => Ok(Transformed::no(other)),
    };
    expr.clone().transform_up(with_case).data()
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
