//! Queries that are one row: of constants, once their constant parts are computed, or of what the moment gives. Nothing is left
//! to plan.

use std::sync::Arc;

use arrow::datatypes::Schema;
use arrow::record_batch::{RecordBatch, RecordBatchOptions};
use datafusion::execution::SessionState;
use datafusion::logical_expr::{EmptyRelation, Expr, LogicalPlan, Projection};

use super::outputs::{Outputs, Run, is_of_run_or_random};
use crate::aside::aside_unless;
use crate::expr::unaliased;

/// The row, if the plan is a select list of values over nothing.
pub(super) fn constant_row(plan: &LogicalPlan) -> Option<RecordBatch> {
    let (list, _) = over_nothing(plan)?;
    let value = |expr: &Expr| match unaliased(expr) {
        Expr::Literal(value, _) => value.to_array().ok(),
        _ => None,
    };
    let columns = list.expr.iter().map(value).collect::<Option<Vec<_>>>()?;
    // A value that is not of its column's type is for the optimizer to convert.
    RecordBatch::try_new(Arc::clone(list.schema.inner()), columns).ok()
}

/// The row, if the plan is a select list over nothing that is computed at once: `now()`, `gen_random_uuid()`. What fails is left
/// to the optimizer, which may find another way.
pub(super) fn computed_row(plan: &LogicalPlan, run: &Run<'_>, state: &SessionState) -> Option<RecordBatch> {
    let (list, nothing) = over_nothing(plan)?;
    if !list.expr.iter().all(|expr| is_of_run_or_random(expr).unwrap_or(false)) {
        return None;
    }
    let outputs = Outputs::of(&list.expr, &nothing.schema, list.schema.inner(), state).ok()?;
    let one = RecordBatchOptions::new().with_row_count(Some(1));
    let row = RecordBatch::try_new_with_options(Arc::new(Schema::empty()), Vec::new(), &one).ok()?;
    let computed = outputs.in_run(run).ok()?;
    aside_unless(outputs.is_plain(), || computed.of(&row)).ok()
}

/// A select list over nothing, and that.
fn over_nothing(plan: &LogicalPlan) -> Option<(&Projection, &EmptyRelation)> {
    let LogicalPlan::Projection(list) = plan else { return None };
    let LogicalPlan::EmptyRelation(nothing) = &*list.input else { return None };
    (nothing.produce_one_row && !list.expr.is_empty()).then_some((list, nothing))
}
