//! Expressions over rows, computed as they stand: what a read by key gives, and what a change makes of the rows it has met.
//!
//! What does not change from one run to the next is made once. Expressions with parameters, or that ask the time, are made
//! for each run, but for most of those that a run computes of one row ([`OfRow`]); no plan is.

use std::slice;
use std::sync::{Arc, OnceLock};

use arrow::array::{AsArray, BooleanArray};
use arrow::datatypes::{DataType, Field, Schema, SchemaRef};
use arrow::record_batch::{RecordBatch, RecordBatchOptions};
use datafusion::common::metadata::ScalarAndMetadata;
use datafusion::common::tree_node::{Transformed, TreeNode, TreeNodeRecursion};
use datafusion::common::{DFSchemaRef, Result, ScalarValue};
use datafusion::logical_expr::execution_props::ExecutionProps;
use datafusion::logical_expr::physical_planning_context::PhysicalPlanningContext;
use datafusion::logical_expr::{Expr, Operator, ScalarUDF, Volatility};
use datafusion::physical_expr::{PhysicalExpr, create_physical_expr};
use tablegate_types::error::SqlResult;
use tablegate_types::sql_type::SqlType;

use crate::aside::aside_unless;
use crate::engine::Engine;
use crate::expr::{folded_over, has_constant_part, parameter_number, parameter_value};
use crate::plan::of_row::{Beside, OfRow};
use crate::plan::unnest::ONE_ROW;
use crate::reads::Reads;
use crate::zeros::{as_list_of_both, with_both_zeros};

pub(super) type Exprs = Arc<[Arc<dyn PhysicalExpr>]>;

/// Handing so many rows, and fewer, to other threads would take longer than it keeps one from others.
pub(super) const SHORT_ROWS: usize = 2_000;
/// Functions that give something else each time, and do no more than that.
const RANDOM: [&str; 4] = ["clock_timestamp", "gen_random_uuid", "random", "uuid_generate_v4"];

/// A list of expressions over rows.
#[derive(Debug)]
pub(super) struct Outputs {
    exprs: OutputExprs,
    /// Of what they give.
    schema: SchemaRef,
    /// They take about as long as copying the values that they read.
    is_quick: bool,
}

#[derive(Debug)]
enum OutputExprs {
    /// The same at each run.
    Ready(Exprs),
    /// Not so, over these columns; and for runs of one row.
    OfRun(Vec<Expr>, DFSchemaRef, Option<OfRow>),
}

/// What is different from one run to the next.
pub(super) struct Run<'r> {
    /// The values of parameters, `$1` first.
    pub parameters: &'r [ScalarValue],
    engine: &'r Engine,
    reads: &'r Reads,
    /// Made when it is first asked for.
    moment: OnceLock<ExecutionProps>,
}

impl<'r> Run<'r> {
    pub(super) fn new(engine: &'r Engine, reads: &'r Reads, parameters: &'r [ScalarValue]) -> Self {
        Self { parameters, engine, reads, moment: OnceLock::new() }
    }

    /// The time, and what else functions ask of the session.
    fn moment(&self) -> &ExecutionProps {
        self.moment.get_or_init(|| self.engine.moment(&self.reads.moments))
    }
}

impl Outputs {
    /// Expressions that each [`is_of_run`], over columns that are `read`.
    ///
    /// # Errors
    /// DataFusion's, for an expression that it cannot compute.
    pub(super) fn of(exprs: &[Expr], read: &DFSchemaRef, schema: &SchemaRef, engine: &Engine) -> Result<Self> {
        let mut are_ready = true;
        for expr in exprs {
            are_ready = are_ready && is_same_in_each_run(expr)?;
        }
        let is_quick = exprs.iter().all(|expr| !expr.exists(|part| Ok(may_take_long(part))).unwrap_or(true));
        let exprs = match are_ready {
            true => OutputExprs::Ready(physical(exprs, read, engine.timeless())?),
            false => OutputExprs::OfRun(exprs.to_vec(), Arc::clone(read), OfRow::of(exprs, read, engine)?),
        };
        Ok(Self { exprs, schema: Arc::clone(schema), is_quick })
    }

    /// What they are in a run.
    ///
    /// # Errors
    /// Those of computing what is constant in it.
    pub(super) fn in_run(&self, run: &Run<'_>) -> SqlResult<RunOutputs> {
        let schema = Arc::clone(&self.schema);
        let (exprs, read) = match &self.exprs {
            OutputExprs::Ready(exprs) => return Ok(RunOutputs { exprs: Arc::clone(exprs), beside: None, schema }),
            OutputExprs::OfRun(exprs, read, _) => (exprs, read),
        };
        let exprs = exprs.iter().map(|expr| in_run(expr, read, run)).collect::<SqlResult<Vec<_>>>()?;
        Ok(RunOutputs { exprs: physical(&exprs, read, run.moment())?, beside: None, schema })
    }

    /// As [`Outputs::in_run`], in a run that has one row at most.
    ///
    /// # Errors
    /// As [`Outputs::in_run`].
    pub(super) fn in_run_of_row(&self, run: &Run<'_>) -> SqlResult<RunOutputs> {
        let OutputExprs::OfRun(_, _, Some(of_row)) = &self.exprs else { return self.in_run(run) };
        match of_row.in_run(run.parameters) {
            Some((exprs, beside)) => Ok(RunOutputs { exprs, beside: Some(beside), schema: Arc::clone(&self.schema) }),
            None => self.in_run(run),
        }
    }

    /// Whether they take about as long as copying the values that they read.
    pub(super) fn is_quick(&self) -> bool {
        self.is_quick
    }
}

/// A condition on rows.
#[derive(Debug)]
pub(super) struct Condition(Outputs);

impl Condition {
    /// One that [`is_of_run`], over columns that are `read`.
    ///
    /// # Errors
    /// As [`Outputs::of`].
    pub(super) fn of(condition: &Expr, read: &DFSchemaRef, engine: &Engine) -> Result<Self> {
        let is_true = Arc::new(Schema::new(vec![Field::new("is true", DataType::Boolean, true)]));
        Outputs::of(slice::from_ref(condition), read, &is_true, engine).map(Self)
    }

    /// What it is in a run.
    ///
    /// # Errors
    /// As [`Outputs::in_run`].
    pub(super) fn in_run(&self, run: &Run<'_>) -> SqlResult<RunCondition> {
        self.0.in_run(run).map(RunCondition)
    }

    /// As [`Outputs::is_quick`].
    pub(super) fn is_quick(&self) -> bool {
        self.0.is_quick
    }
}

/// The condition of one run.
pub(super) struct RunCondition(RunOutputs);

impl RunCondition {
    /// Which of the rows it is true of.
    ///
    /// # Errors
    /// Those of computing it.
    pub(super) fn is_true_of(&self, rows: &RecordBatch) -> Result<BooleanArray> {
        Ok(self.0.of(rows)?.column(0).as_boolean().clone())
    }
}

pub(super) fn physical(exprs: &[Expr], read: &DFSchemaRef, props: &ExecutionProps) -> Result<Exprs> {
    let planning = PhysicalPlanningContext::default();
    exprs.iter().map(|expr| create_physical_expr(expr, read, props, &planning)).collect()
}

/// The expressions of one run.
pub(super) struct RunOutputs {
    exprs: Exprs,
    /// What stands beside the columns of its row.
    beside: Option<Beside>,
    schema: SchemaRef,
}

impl RunOutputs {
    /// What they give of some rows.
    ///
    /// # Errors
    /// Those of computing it.
    pub(super) fn of(&self, rows: &RecordBatch) -> Result<RecordBatch> {
        let computed = |rows: &RecordBatch| -> Result<Vec<_>> {
            self.exprs.iter().map(|expr| expr.evaluate(rows)?.into_array(rows.num_rows())).collect()
        };
        let columns = match &self.beside {
            Some(beside) => computed(&beside.with(rows)?),
            None => computed(rows),
        }?;
        let options = RecordBatchOptions::new().with_row_count(Some(rows.num_rows()));
        Ok(RecordBatch::try_new_with_options(Arc::clone(&self.schema), columns, &options)?)
    }
}

/// An expression over these columns as it is in a run: its parameters are values, and what is constant then is computed.
///
/// # Errors
/// Those of computing it.
pub(super) fn in_run(expr: &Expr, read: &DFSchemaRef, run: &Run<'_>) -> SqlResult<Expr> {
    let expr = with_parameters(expr, run.parameters)?;
    if !has_constant_part(&expr)? {
        return Ok(expr);
    }
    let is_quick = !expr.exists(|part| Ok(may_take_long(part)))?;
    let folded = aside_unless(is_quick, || folded_over(expr, read, run.moment()))?;
    Ok(with_both_zeros(folded)?.data)
}

/// An expression with values in the places of its parameters.
fn with_parameters(expr: &Expr, parameters: &[ScalarValue]) -> Result<Expr> {
    if parameters.is_empty() {
        return Ok(expr.clone());
    }
    let expr = expr.clone().transform(|expr| {
        let Expr::Placeholder(placeholder) = &expr else { return Ok(as_list_of_both(expr)) };
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
        Expr::ScalarFunction(call) => {
            call.func.signature().volatility != Volatility::Volatile || is_harmless(&call.func)
        }
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

/// Whether a function that is said to give something else each time is called so to keep it from being computed ahead.
pub(super) fn is_harmless(function: &ScalarUDF) -> bool {
    function.name() == ONE_ROW
}

/// Whether a part of an expression may take longer than copying what it reads.
fn may_take_long(part: &Expr) -> bool {
    match part {
        Expr::ScalarFunction(call) => !call.args.is_empty() && !is_harmless(&call.func),
        Expr::Like(_) | Expr::SimilarTo(_) => true,
        Expr::BinaryExpr(binary) => {
            use Operator::{And, Eq, Gt, GtEq, IsDistinctFrom, IsNotDistinctFrom, Lt, LtEq, NotEq, Or};
            !matches!(binary.op, And | Or | Eq | NotEq | Lt | LtEq | Gt | GtEq | IsDistinctFrom | IsNotDistinctFrom)
        }
        _ => false,
    }
}

/// Whether it can be computed from its row and its parameters.
pub(super) fn is_lasting(expr: &Expr) -> Result<bool> {
    has_only(expr, |part| match part {
        Expr::ScalarFunction(call) => call.func.signature().volatility == Volatility::Immutable,
        _ => true,
    })
}

/// Whether it means the same in each run. Constants are computed in each, whether it has rows or not: they may be refused.
fn is_same_in_each_run(expr: &Expr) -> Result<bool> {
    Ok(is_lasting(expr)? && !has_parameters(expr)? && !has_constant_part(expr)?)
}

pub(super) fn has_parameters(expr: &Expr) -> Result<bool> {
    expr.exists(|part| Ok(matches!(part, Expr::Placeholder(_))))
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
