//! Queries that are one row: of constants, once their constant parts are computed, of what the moment gives, or of the next values
//! of sequences. Nothing is left to plan.

use std::sync::Arc;

use arrow::array::ArrayRef;
use arrow::datatypes::{Field, FieldRef, Schema};
use arrow::record_batch::{RecordBatch, RecordBatchOptions};
use datafusion::common::ScalarValue;
use datafusion::logical_expr::async_udf::AsyncScalarUDF;
use datafusion::logical_expr::{ColumnarValue, EmptyRelation, Expr, LogicalPlan, Projection, ScalarFunctionArgs};
use tablegate_types::error::SqlResult;

use super::outputs::{Outputs, Run, is_of_run_or_random};
use crate::aside::aside_unless;
use crate::engine::Engine;
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
pub(super) fn computed_row(plan: &LogicalPlan, run: &Run<'_>, engine: &Engine) -> Option<RecordBatch> {
    let (list, nothing) = over_nothing(plan)?;
    if !list.expr.iter().all(|expr| is_of_run_or_random(expr).unwrap_or(false)) {
        return None;
    }
    let outputs = Outputs::of(&list.expr, &nothing.schema, list.schema.inner(), engine).ok()?;
    let one = RecordBatchOptions::new().with_row_count(Some(1));
    let row = RecordBatch::try_new_with_options(Arc::new(Schema::empty()), Vec::new(), &one).ok()?;
    let computed = outputs.in_run(run).ok()?;
    aside_unless(outputs.is_quick(), || computed.of(&row)).ok()
}

/// The row, if the plan is a select list over nothing of calls that may have to wait: `nextval('s')`.
///
/// # Errors
/// Those of the calls.
pub(super) async fn awaited_row(plan: &LogicalPlan, engine: &Engine) -> SqlResult<Option<RecordBatch>> {
    let Some(calls) = over_nothing(plan).and_then(|(list, _)| list.expr.iter().map(AwaitedCall::of).collect()) else {
        return Ok(None);
    };
    let calls: Vec<AwaitedCall<'_>> = calls;
    let mut columns = Vec::with_capacity(calls.len());
    for (call, field) in calls.into_iter().zip(plan.schema().fields()) {
        columns.push(call.value(field, engine).await?);
    }
    Ok(Some(RecordBatch::try_new(Arc::clone(plan.schema().inner()), columns)?))
}

/// A call of a function that may have to wait, with texts: they are of the types that it takes.
struct AwaitedCall<'p> {
    function: &'p AsyncScalarUDF,
    arguments: Vec<ScalarValue>,
}

impl<'p> AwaitedCall<'p> {
    fn of(expr: &'p Expr) -> Option<Self> {
        let Expr::ScalarFunction(call) = unaliased(expr) else { return None };
        let argument = |expr: &Expr| match unaliased(expr) {
            Expr::Literal(value @ ScalarValue::Utf8(_), _) => Some(value.clone()),
            _ => None,
        };
        let arguments = call.args.iter().map(argument).collect::<Option<_>>()?;
        Some(Self { function: call.func.inner().downcast_ref::<AsyncScalarUDF>()?, arguments })
    }

    async fn value(self, field: &FieldRef, engine: &Engine) -> SqlResult<ArrayRef> {
        let field_of = |value: &ScalarValue| Arc::new(Field::new("", value.data_type(), true));
        let arguments = ScalarFunctionArgs {
            arg_fields: self.arguments.iter().map(field_of).collect(),
            args: self.arguments.into_iter().map(ColumnarValue::Scalar).collect(),
            number_rows: 1,
            return_field: Arc::clone(field),
            config_options: Arc::clone(engine.state().config_options()),
        };
        Ok(self.function.invoke_async_with_args(arguments).await?.into_array(1)?)
    }
}

/// A select list over nothing, and that.
fn over_nothing(plan: &LogicalPlan) -> Option<(&Projection, &EmptyRelation)> {
    let LogicalPlan::Projection(list) = plan else { return None };
    let LogicalPlan::EmptyRelation(nothing) = &*list.input else { return None };
    (nothing.produce_one_row && !list.expr.is_empty()).then_some((list, nothing))
}
