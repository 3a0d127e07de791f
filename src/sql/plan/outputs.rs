//! Expressions over rows, computed as they stand: what a read by key gives, and what a change makes of the rows it has met.
//!
//! What does not change from one run to the next is made once. Expressions with parameters, or that ask the time, are made
//! for each run; no plan is.

use std::sync::Arc;

use arrow::datatypes::SchemaRef;
use arrow::record_batch::{RecordBatch, RecordBatchOptions};
use datafusion::common::metadata::ScalarAndMetadata;
use datafusion::common::tree_node::{Transformed, TreeNode, TreeNodeRecursion};
use datafusion::common::{DFSchemaRef, Result, ScalarValue};
use datafusion::execution::SessionState;
use datafusion::logical_expr::execution_props::ExecutionProps;
use datafusion::logical_expr::physical_planning_context::PhysicalPlanningContext;
use datafusion::logical_expr::{Expr, Volatility};
use datafusion::physical_expr::{PhysicalExpr, create_physical_expr};
use tablegate_types::error::SqlResult;
use tablegate_types::sql_type::SqlType;

use crate::aside::{aside, aside_unless};
use crate::expr::{folded_over, has_constant_part, parameter_number, parameter_value, unaliased};

type Exprs = Arc<[Arc<dyn PhysicalExpr>]>;

/// Functions that give something else each time, and do no more than that.
const RANDOM: [&str; 4] = ["clock_timestamp", "gen_random_uuid", "random", "uuid_generate_v4"];

/// A list of expressions over rows.
#[derive(Debug)]
pub(super) struct Outputs {
    exprs: OutputExprs,
    /// Of what they give.
    schema: SchemaRef,
    /// They are columns, values and calls without arguments.
    is_plain: bool,
}

#[derive(Debug)]
enum OutputExprs {
    /// The same at each run.
    Ready(Exprs),
    /// Not so, over these columns.
    OfRun(Vec<Expr>, DFSchemaRef),
}

/// What is different from one run to the next.
pub(super) trait Run {
    /// The values of parameters, `$1` first.
    fn parameters(&self) -> &[ScalarValue];
    /// The time, and what else functions ask of the session.
    fn moment(&self) -> ExecutionProps;
}

impl Outputs {
    /// Expressions that each [`is_of_run`], over columns that are `read`.
    ///
    /// # Errors
    /// The engine's, for an expression that it cannot compute.
    pub(super) fn of(exprs: &[Expr], read: &DFSchemaRef, schema: &SchemaRef, state: &SessionState) -> Result<Self> {
        let is_of_run = |part: &Expr| match part {
            Expr::Placeholder(_) => true,
            Expr::ScalarFunction(call) => call.func.signature().volatility != Volatility::Immutable,
            _ => false,
        };
        // Constants are computed in each run, whether it has rows or not: they may be refused.
        let is_of_run = |expr: &Expr| {
            expr.exists(|part| Ok(is_of_run(part))).unwrap_or(true) || has_constant_part(expr).unwrap_or(true)
        };
        let is_plain = exprs.iter().all(|expr| match unaliased(expr) {
            Expr::Column(_) | Expr::Literal(..) | Expr::Placeholder(_) => true,
            Expr::ScalarFunction(call) => call.args.is_empty(),
            _ => false,
        });
        let exprs = if exprs.iter().any(is_of_run) {
            OutputExprs::OfRun(exprs.to_vec(), Arc::clone(read))
        } else {
            OutputExprs::Ready(physical(exprs, read, state.execution_props())?)
        };
        Ok(Self { exprs, schema: Arc::clone(schema), is_plain })
    }

    /// What they are in a run.
    ///
    /// # Errors
    /// Those of computing what is constant in it.
    pub(super) fn in_run(&self, run: &dyn Run) -> SqlResult<RunOutputs> {
        let schema = Arc::clone(&self.schema);
        let (exprs, read) = match &self.exprs {
            OutputExprs::Ready(exprs) => return Ok(RunOutputs { exprs: Arc::clone(exprs), schema }),
            OutputExprs::OfRun(exprs, read) => (exprs, read),
        };
        let moment = run.moment();
        let exprs = exprs.iter().map(|expr| in_run(expr, read, run.parameters(), || moment.clone()));
        let exprs = exprs.collect::<SqlResult<Vec<_>>>()?;
        Ok(RunOutputs { exprs: physical(&exprs, read, &moment)?, schema })
    }

    /// What they give of some rows in a run. Where they are more than columns and values it may take long.
    ///
    /// # Errors
    /// Those of computing it.
    pub(super) fn of_rows(&self, run: &dyn Run, rows: &[RecordBatch]) -> SqlResult<Vec<RecordBatch>> {
        let outputs = self.in_run(run)?;
        aside_unless(self.is_plain, || rows.iter().map(|batch| Ok(outputs.of(batch)?)).collect())
    }
}

fn physical(exprs: &[Expr], read: &DFSchemaRef, props: &ExecutionProps) -> Result<Exprs> {
    let planning = PhysicalPlanningContext::default();
    exprs.iter().map(|expr| create_physical_expr(expr, read, props, &planning)).collect()
}

/// The expressions of one run.
pub(super) struct RunOutputs {
    exprs: Exprs,
    schema: SchemaRef,
}

impl RunOutputs {
    /// What they give of some rows.
    ///
    /// # Errors
    /// Those of computing it.
    pub(super) fn of(&self, rows: &RecordBatch) -> Result<RecordBatch> {
        let columns = self.exprs.iter().map(|expr| expr.evaluate(rows)?.into_array(rows.num_rows()));
        let columns = columns.collect::<Result<Vec<_>>>()?;
        let options = RecordBatchOptions::new().with_row_count(Some(rows.num_rows()));
        Ok(RecordBatch::try_new_with_options(Arc::clone(&self.schema), columns, &options)?)
    }
}

/// An expression over these columns as it is in a run: its parameters are values, and what is constant then is computed.
///
/// # Errors
/// Those of computing it.
pub(super) fn in_run(
    expr: &Expr,
    read: &DFSchemaRef,
    parameters: &[ScalarValue],
    moment: impl FnOnce() -> ExecutionProps,
) -> SqlResult<Expr> {
    let expr = with_parameters(expr, parameters)?;
    if has_constant_part(&expr)? { aside(|| folded_over(expr, read, &moment())) } else { Ok(expr) }
}

/// An expression with values in the places of its parameters.
pub(super) fn with_parameters(expr: &Expr, parameters: &[ScalarValue]) -> Result<Expr> {
    if parameters.is_empty() {
        return Ok(expr.clone());
    }
    let expr = expr.clone().transform(|expr| {
        let Expr::Placeholder(placeholder) = &expr else { return Ok(Transformed::no(expr)) };
        let number = parameter_number(&placeholder.id).and_then(|number| number.checked_sub(1));
        let Some(value) = number.and_then(|number| parameters.get(number)) else { return Ok(Transformed::no(expr)) };
        let sql_type = placeholder.field.as_ref().map_or(SqlType::Text, |field| SqlType::of_field(field));
        let ScalarAndMetadata { value, metadata } = parameter_value(value, &sql_type);
        Ok(Transformed::yes(Expr::Literal(value, metadata)))
    })?;
    Ok(expr.data)
}

/// Whether an expression can be computed from its row, its parameters and the moment of its statement: it has no sub-query, and
/// no function that gives something else each time or waits.
pub(super) fn is_of_run(expr: &Expr) -> Result<bool> {
    has_only(expr, |part| match part {
        Expr::ScalarFunction(call) => call.func.signature().volatility != Volatility::Volatile,
        _ => true,
    })
}

/// The same of one that may also have functions which give something else each time, and do no more than that.
pub(super) fn is_of_run_or_random(expr: &Expr) -> Result<bool> {
    has_only(expr, |part| match part {
        Expr::ScalarFunction(call) => {
            call.func.signature().volatility != Volatility::Volatile || RANDOM.contains(&call.func.name())
        }
        _ => true,
    })
}

/// Whether it can be computed from its row and its parameters.
pub(super) fn is_lasting(expr: &Expr) -> Result<bool> {
    has_only(expr, |part| match part {
        Expr::ScalarFunction(call) => call.func.signature().volatility == Volatility::Immutable,
        _ => true,
    })
}

/// Whether an expression is of one row, and of such parts only.
fn has_only(expr: &Expr, is_such: impl Fn(&Expr) -> bool) -> Result<bool> {
    let mut has_only = true;
    expr.apply(|part| {
        has_only &= match part {
            Expr::ScalarSubquery(_) | Expr::InSubquery(_) | Expr::Exists(_) | Expr::SetComparison(_) => false,
            Expr::OuterReferenceColumn(..) | Expr::ScalarVariable(..) | Expr::Unnest(_) => false,
            Expr::AggregateFunction(_) | Expr::WindowFunction(_) | Expr::GroupingSet(_) => false,
            other => is_such(other),
        };
        Ok(if has_only { TreeNodeRecursion::Continue } else { TreeNodeRecursion::Stop })
    })?;
    Ok(has_only)
}
