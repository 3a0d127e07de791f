//! The plan node: it stands for the first half of an aggregation, and gives what that would give.

use std::fmt;
use std::sync::Arc;

use datafusion::arrow::array::{ArrayRef, AsArray};
use datafusion::arrow::record_batch::RecordBatch;
use datafusion::common::tree_node::TreeNodeRecursion;
use datafusion::common::{Result, internal_err};
use datafusion::execution::memory_pool::{MemoryConsumer, MemoryReservation};
use datafusion::execution::{SendableRecordBatchStream, TaskContext};
use datafusion::logical_expr::{EmitTo, GroupsAccumulator};
use datafusion::physical_expr::PhysicalExpr;
use datafusion::physical_plan::aggregates::AggregateExec;
use datafusion::physical_plan::execution_plan::{ChildrenPropertiesMode, ReplaceChildrenOptions};
use datafusion::physical_plan::metrics::{BaselineMetrics, ExecutionPlanMetricsSet, MetricsSet};
use datafusion::physical_plan::stream::RecordBatchStreamAdapter;
use datafusion::physical_plan::{DisplayAs, DisplayFormatType, ExecutionPlan, PlanProperties};
use futures::{StreamExt, stream};

use super::texts::TextGroups;

/// With so many groups what was aggregated is given on: so many different texts do not become fewer soon.
const GROUPS_MAX: usize = 1 << 16;

/// The first half of an aggregation by one text column, which its input gives as dictionaries.
#[derive(Debug)]
pub(super) struct DictionaryAggregateExec {
    /// What it stands for, which knows its functions and its schema.
    aggregate: Arc<AggregateExec>,
    input: Arc<dyn ExecutionPlan>,
    /// Where in the input the column is.
    column: usize,
    metrics: ExecutionPlanMetricsSet,
}

impl DictionaryAggregateExec {
    pub fn new(aggregate: Arc<AggregateExec>, input: Arc<dyn ExecutionPlan>, column: usize) -> Self {
        Self { aggregate, input, column, metrics: ExecutionPlanMetricsSet::new() }
    }
}

impl DisplayAs for DictionaryAggregateExec {
    fn fmt_as(&self, format: DisplayFormatType, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Dictionary")?;
        self.aggregate.fmt_as(format, f)
    }
}

impl ExecutionPlan for DictionaryAggregateExec {
    fn name(&self) -> &'static str {
        "DictionaryAggregateExec"
    }

    fn properties(&self) -> &Arc<PlanProperties> {
        self.aggregate.properties()
    }

    fn children(&self) -> Vec<&Arc<dyn ExecutionPlan>> {
        vec![&self.input]
    }

    fn apply_expressions(
        &self,
        f: &mut dyn FnMut(&Arc<dyn PhysicalExpr>) -> Result<TreeNodeRecursion>,
    ) -> Result<TreeNodeRecursion> {
        self.aggregate.apply_expressions(f)
    }

    fn replace_children(
        self: Arc<Self>,
        mut children: Vec<Arc<dyn ExecutionPlan>>,
        _options: ReplaceChildrenOptions,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        match (children.pop(), children.is_empty()) {
            (Some(input), true) => Ok(Arc::new(Self::new(Arc::clone(&self.aggregate), input, self.column))),
            _ => internal_err!("an aggregation has one input"),
        }
    }

    /// The trait asks for it still.
    fn with_new_children(self: Arc<Self>, children: Vec<Arc<dyn ExecutionPlan>>) -> Result<Arc<dyn ExecutionPlan>> {
        self.replace_children(children, ReplaceChildrenOptions::new(ChildrenPropertiesMode::Recompute))
    }

    fn execute(&self, partition: usize, context: Arc<TaskContext>) -> Result<SendableRecordBatchStream> {
        let input = self.input.execute(partition, Arc::clone(&context))?;
        let consumer = MemoryConsumer::new(format!("{}[{partition}]", self.name()));
        let half = Half {
            aggregate: Arc::clone(&self.aggregate),
            column: self.column,
            groups: TextGroups::default(),
            functions: functions(&self.aggregate)?,
            of_rows: Vec::new(),
            reservation: consumer.register(context.memory_pool()),
            metrics: BaselineMetrics::new(&self.metrics, partition),
        };
        let batches = stream::try_unfold(Some((input, half)), |state| async move {
            let Some((mut input, mut half)) = state else { return Ok(None) };
            while let Some(batch) = input.next().await.transpose()? {
                half.add(&batch)?;
                if half.is_full()
                    && let Some(given) = half.take()?
                {
                    return Ok(Some((given, Some((input, half)))));
                }
            }
            Ok(half.take()?.map(|last| (last, None)))
        });
        Ok(Box::pin(RecordBatchStreamAdapter::new(self.schema(), batches)))
    }

    fn metrics(&self) -> Option<MetricsSet> {
        Some(self.metrics.clone_inner())
    }
}

/// What was aggregated and not given on yet.
struct Half {
    aggregate: Arc<AggregateExec>,
    column: usize,
    groups: TextGroups,
    functions: Vec<Function>,
    /// The group of each row of a batch.
    of_rows: Vec<usize>,
    reservation: MemoryReservation,
    metrics: BaselineMetrics,
}

/// An aggregate function over all groups.
struct Function {
    arguments: Vec<Arc<dyn PhysicalExpr>>,
    filter: Option<Arc<dyn PhysicalExpr>>,
    accumulator: Box<dyn GroupsAccumulator>,
}

fn functions(aggregate: &AggregateExec) -> Result<Vec<Function>> {
    let all = aggregate.aggr_expr().iter().zip(aggregate.filter_expr());
    let function = all.map(|(function, filter)| {
        let accumulator = function.create_groups_accumulator()?;
        Ok(Function { arguments: function.expressions(), filter: filter.clone(), accumulator })
    });
    function.collect()
}

impl Half {
    fn add(&mut self, batch: &RecordBatch) -> Result<()> {
        let _timer = self.metrics.elapsed_compute().timer();
        let Some(rows) = batch.column(self.column).as_dictionary_opt() else {
            return internal_err!("the column was to come as dictionaries");
        };
        self.groups.assign(rows, &mut self.of_rows);
        for Function { arguments, filter, accumulator } in &mut self.functions {
            let array = |expr: &Arc<dyn PhysicalExpr>| expr.evaluate(batch)?.into_array(batch.num_rows());
            let values = arguments.iter().map(array).collect::<Result<Vec<ArrayRef>>>()?;
            let filter = filter.as_ref().map(array).transpose()?;
            let filter = filter.as_ref().map(|filter| filter.as_boolean());
            accumulator.update_batch(&values, &self.of_rows, filter, self.groups.len())?;
        }
        Ok(())
    }

    /// Takes the memory that it needs now. Whether there are many groups, or no memory for them.
    fn is_full(&mut self) -> bool {
        let functions: usize = self.functions.iter().map(|function| function.accumulator.size()).sum();
        let size = functions + self.groups.size() + self.of_rows.capacity() * size_of::<usize>();
        self.groups.len() >= GROUPS_MAX || self.reservation.try_resize(size).is_err()
    }

    /// What there is, one row for each group; afterwards there is nothing. `None` when there was no row.
    fn take(&mut self) -> Result<Option<RecordBatch>> {
        if self.groups.len() == 0 {
            return Ok(None);
        }
        let _timer = self.metrics.elapsed_compute().timer();
        let mut columns: Vec<ArrayRef> = vec![Arc::new(self.groups.take())];
        for mut function in std::mem::replace(&mut self.functions, functions(&self.aggregate)?) {
            columns.extend(function.accumulator.state(EmitTo::All)?);
        }
        self.reservation.free();
        let batch = RecordBatch::try_new(self.aggregate.schema(), columns)?;
        self.metrics.record_output(batch.num_rows());
        Ok(Some(batch))
    }
}
