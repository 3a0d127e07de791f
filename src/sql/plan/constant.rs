//! Queries that are one row of constants, once their constant parts are computed: nothing is left to plan.

use std::sync::Arc;

use arrow::record_batch::RecordBatch;
use datafusion::logical_expr::{Expr, LogicalPlan};

use crate::expr::unaliased;

/// The row, if the plan is a select list of values over nothing.
pub(super) fn constant_row(plan: &LogicalPlan) -> Option<RecordBatch> {
    let LogicalPlan::Projection(projection) = plan else { return None };
    let LogicalPlan::EmptyRelation(nothing) = &*projection.input else { return None };
    if !nothing.produce_one_row || projection.expr.is_empty() {
        return None;
    }
    let value = |expr: &Expr| match unaliased(expr) {
        Expr::Literal(value, _) => value.to_array().ok(),
        _ => None,
    };
    let columns = projection.expr.iter().map(value).collect::<Option<Vec<_>>>()?;
    // A value that is not of its column's type is for the optimizer to convert.
    RecordBatch::try_new(Arc::clone(projection.schema.inner()), columns).ok()
}
