//! The plan node that makes the calls: its rows are those of its input, with a column behind them for each call.
//!
//! A call that stands in the arguments of another is made before it: `setval('a', nextval('b'))`.

use std::fmt;
use std::sync::Arc;

use datafusion::arrow::array::new_null_array;
use datafusion::arrow::compute::concat_batches;
use datafusion::arrow::datatypes::{Schema, SchemaRef};
use datafusion::arrow::record_batch::RecordBatch;
use datafusion::common::Result;
use datafusion::common::config::ConfigOptions;
use datafusion::common::tree_node::{Transformed, TransformedResult, TreeNode, TreeNodeRecursion};
use datafusion::execution::{SendableRecordBatchStream, TaskContext};
use datafusion::physical_expr::async_scalar_function::AsyncFuncExpr;
use datafusion::physical_expr::equivalence::ProjectionMapping;
use datafusion::physical_expr::expressions::Column;
use datafusion::physical_expr::{Distribution, LexOrdering, OrderingRequirements, PhysicalExpr};
use datafusion::physical_plan::async_func::AsyncFuncExec;
use datafusion::physical_plan::metrics::{BaselineMetrics, ExecutionPlanMetricsSet, MetricsSet, RecordOutput};
use datafusion::physical_plan::stream::RecordBatchStreamAdapter;
use datafusion::physical_plan::{
    DisplayAs, DisplayFormatType, ExecutionPlan, InputDistributionRequirements, Partitioning, PlanProperties,
};
use futures::{StreamExt, stream};

use crate::one_input::one_input;

/// Makes calls row by row, of the rows of one stream.
#[derive(Debug)]
pub(super) struct CallsExec {
    /// In the order in which they are made, each with the column of its results.
    calls: Vec<(Arc<AsyncFuncExpr>, usize)>,
    input: Arc<dyn ExecutionPlan>,
    /// What the rows must be sorted by when the calls are made.
    order: Option<LexOrdering>,
    /// Each row is given on before a call is made for the next one: what is computed of it asks for the last result.
    row_by_row: bool,
    /// The input's columns, then one for each call.
    schema: SchemaRef,
    properties: Arc<PlanProperties>,
    metrics: ExecutionPlanMetricsSet,
}

impl CallsExec {
    /// What takes the place of the engine's node; `None` for any other.
    pub(super) fn of(node: &Arc<dyn ExecutionPlan>) -> Result<Option<Self>> {
        let Some(engines) = node.downcast_ref::<AsyncFuncExec>() else { return Ok(None) };
        let mut calls = Vec::new();
        engines.apply_expressions(&mut |expr| {
            calls.extend(expr.downcast_ref::<AsyncFuncExpr>().cloned());
            Ok(TreeNodeRecursion::Continue)
        })?;
        let schema = engines.schema();
        let calls = inner_first(calls, engines.input().schema().fields().len(), &schema)?;
        Self::new(calls, engines.input().clone(), schema, None, false).map(Some)
    }

    fn new(
        calls: Vec<(Arc<AsyncFuncExpr>, usize)>,
        input: Arc<dyn ExecutionPlan>,
        schema: SchemaRef,
        order: Option<LexOrdering>,
        row_by_row: bool,
    ) -> Result<Self> {
        let columns: Vec<usize> = (0..input.schema().fields().len()).collect();
        let kept = ProjectionMapping::from_indices(&columns, &input.schema())?;
        let properties = PlanProperties::new(
            input.properties().equivalence_properties().project(&kept, schema.clone()),
            Partitioning::UnknownPartitioning(1),
            input.properties().emission_type,
            input.properties().boundedness,
        );
        let metrics = ExecutionPlanMetricsSet::new();
        Ok(Self { calls, input, order, row_by_row, schema, properties: Arc::new(properties), metrics })
    }

    pub(super) fn input(&self) -> &Arc<dyn ExecutionPlan> {
        &self.input
    }

    /// The column of a call's results; `None` for any other expression.
    pub(super) fn result_of(&self, expr: &Arc<dyn PhysicalExpr>) -> Option<Arc<dyn PhysicalExpr>> {
        let (call, column) = self.calls.iter().find(|(call, _)| call.func.eq(expr))?;
        Some(Arc::new(Column::new(call.name(), *column)))
    }

    /// The same calls, of the same rows, sorted.
    pub(super) fn over_sorted(&self, input: Arc<dyn ExecutionPlan>, order: LexOrdering) -> Result<Self> {
        Self::new(self.calls.clone(), input, self.schema.clone(), Some(order), self.row_by_row)
    }

    /// The same, giving each row on before the next one is begun.
    pub(super) fn row_by_row(&self) -> Result<Self> {
        Self::new(self.calls.clone(), self.input.clone(), self.schema.clone(), self.order.clone(), true)
    }

    /// The same over another input.
    fn over(&self, input: Arc<dyn ExecutionPlan>) -> Result<Self> {
        let (calls, schema, order) = (self.calls.clone(), self.schema.clone(), self.order.clone());
        Self::new(calls, input, schema, order, self.row_by_row)
    }
}

impl DisplayAs for CallsExec {
    fn fmt_as(&self, _format: DisplayFormatType, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let calls: Vec<String> = self.calls.iter().map(|(call, _)| call.func.to_string()).collect();
        write!(f, "Calls: {}", calls.join(", "))
    }
}

impl ExecutionPlan for CallsExec {
    fn name(&self) -> &'static str {
        "CallsExec"
    }

    fn properties(&self) -> &Arc<PlanProperties> {
        &self.properties
    }

    fn children(&self) -> Vec<&Arc<dyn ExecutionPlan>> {
        vec![&self.input]
    }

    fn input_distribution_requirements(&self) -> InputDistributionRequirements {
        InputDistributionRequirements::new(vec![Distribution::SinglePartition])
    }

    fn required_input_ordering(&self) -> Vec<Option<OrderingRequirements>> {
        vec![self.order.clone().map(OrderingRequirements::from)]
    }

    fn maintains_input_order(&self) -> Vec<bool> {
        vec![true]
    }

    fn apply_expressions(
        &self,
        f: &mut dyn FnMut(&Arc<dyn PhysicalExpr>) -> Result<TreeNodeRecursion>,
    ) -> Result<TreeNodeRecursion> {
        for (call, _) in &self.calls {
            let call: Arc<dyn PhysicalExpr> = call.clone();
            if f(&call)? == TreeNodeRecursion::Stop {
                return Ok(TreeNodeRecursion::Stop);
            }
        }
        Ok(TreeNodeRecursion::Continue)
    }

    one_input!();

    fn execute(&self, partition: usize, context: Arc<TaskContext>) -> Result<SendableRecordBatchStream> {
        let input = self.input.execute(partition, Arc::clone(&context))?;
        let (calls, schema) = (self.calls.clone(), self.schema.clone());
        let options = Arc::clone(context.session_config().options());
        let metrics = BaselineMetrics::new(&self.metrics, partition);
        let row_by_row = self.row_by_row;
        let input = input.flat_map(move |batch| {
            let (rows, size) = match &batch {
                Ok(batch) if row_by_row => (batch.num_rows(), 1),
                Ok(batch) => (1, batch.num_rows()),
                Err(_) => return stream::iter(vec![batch]).left_stream(),
            };
            let batch = batch.ok();
            let parts = move |row| batch.as_ref().map(|batch: &RecordBatch| Ok(batch.slice(row * size, size)));
            stream::iter((0..rows).filter_map(parts)).right_stream()
        });
        let batches = input.then(move |batch| {
            let (calls, schema, options, metrics) =
                (calls.clone(), schema.clone(), Arc::clone(&options), metrics.clone());
            async move { Ok(called(&calls, &batch?, schema, &options).await?.record_output(&metrics)) }
        });
        Ok(Box::pin(RecordBatchStreamAdapter::new(self.schema(), batches)))
    }

    fn metrics(&self) -> Option<MetricsSet> {
        Some(self.metrics.clone_inner())
    }
}

/// The rows of a batch with what the calls give for them.
async fn called(
    calls: &[(Arc<AsyncFuncExpr>, usize)],
    batch: &RecordBatch,
    schema: SchemaRef,
    options: &Arc<ConfigOptions>,
) -> Result<RecordBatch> {
    // A single call may take the numbers for all rows at once, because no other call has to come between two rows.
    let size = if calls.len() == 1 { batch.num_rows().max(1) } else { 1 };
    let open = nullable(&schema);
    let mut parts = Vec::with_capacity(batch.num_rows().div_ceil(size));
    for first in (0..batch.num_rows()).step_by(size) {
        let rows = batch.slice(first, size.min(batch.num_rows() - first));
        // Results that are not there yet are nowhere looked at.
        let results = schema.fields().iter().skip(rows.num_columns());
        let mut columns = rows.columns().to_vec();
        columns.extend(results.map(|field| new_null_array(field.data_type(), rows.num_rows())));
        for (call, column) in calls {
            let known = RecordBatch::try_new(open.clone(), columns.clone())?;
            let values = call.invoke_with_args(&known, Arc::clone(options)).await?;
            columns[*column] = values.to_array(rows.num_rows())?;
        }
        parts.push(RecordBatch::try_new(schema.clone(), columns)?);
    }
    Ok(concat_batches(&schema, &parts)?)
}

/// The columns, any of which may be NULL.
fn nullable(schema: &Schema) -> SchemaRef {
    let fields = schema.fields().iter().map(|field| field.as_ref().clone().with_nullable(true));
    Arc::new(Schema::new(fields.collect::<Vec<_>>()))
}

/// The calls in an order in which each finds the results of those in its arguments; these are given from left to right, with
/// the call around others first. `width` columns stand before those of their results.
fn inner_first(calls: Vec<AsyncFuncExpr>, width: usize, schema: &Schema) -> Result<Vec<(Arc<AsyncFuncExpr>, usize)>> {
    let functions: Vec<_> = calls.iter().map(|call| call.func.clone()).collect();
    let mut ordered = Vec::with_capacity(calls.len());
    for (place, call) in calls.iter().enumerate() {
        let mut inner = 0;
        let arguments = call.func.children().into_iter().map(|argument| {
            let known = |part: Arc<dyn PhysicalExpr>| match functions.iter().position(|function| function.eq(&part)) {
                Some(other) => {
                    inner += 1;
                    let column = Column::new(schema.field(width + other).name(), width + other);
                    Ok(Transformed::new(Arc::new(column) as Arc<dyn PhysicalExpr>, true, TreeNodeRecursion::Jump))
                }
                None => Ok(Transformed::no(part)),
            };
            argument.clone().transform_down(known).data()
        });
        let arguments = arguments.collect::<Result<Vec<_>>>()?;
        let call = match inner {
            0 => call.clone(),
            _ => AsyncFuncExpr::try_new(call.name(), call.func.clone().with_new_children(arguments)?, schema)?,
        };
        ordered.push((Arc::new(call), width + place, inner > 0));
    }
    // Whatever is inside of a call follows it: from the right, each call comes behind those in it.
    let (waiting, ready): (Vec<_>, Vec<_>) = ordered.into_iter().partition(|(.., waits)| *waits);
    Ok(ready.into_iter().chain(waiting.into_iter().rev()).map(|(call, column, _)| (call, column)).collect())
}
