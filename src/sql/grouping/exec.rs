//! The plan node: it stands for the first half of an aggregation, and gives what that would give.

use std::fmt;
use std::sync::Arc;

use datafusion::arrow::array::{ArrayRef, AsArray, BooleanArray, DictionaryArray};
use datafusion::arrow::datatypes::UInt32Type;
use datafusion::arrow::record_batch::RecordBatch;
use datafusion::common::tree_node::TreeNodeRecursion;
use datafusion::common::{Result, internal_err};
use datafusion::execution::memory_pool::{MemoryConsumer, MemoryReservation};
use datafusion::execution::{SendableRecordBatchStream, TaskContext};
use datafusion::logical_expr::{EmitTo, GroupsAccumulator};
use datafusion::physical_expr::PhysicalExpr;
use datafusion::physical_plan::aggregates::AggregateExec;
use datafusion::physical_plan::metrics::{BaselineMetrics, ExecutionPlanMetricsSet, MetricsSet};
use datafusion::physical_plan::stream::RecordBatchStreamAdapter;
use datafusion::physical_plan::{DisplayAs, DisplayFormatType, ExecutionPlan, PlanProperties};
use futures::{StreamExt, stream};
use tablegate_store::table::dictionary_texts;

use super::texts::TextGroups;
use crate::one_input::one_input;

/// With so many groups what was aggregated is given on: so many different texts do not become fewer soon.
const GROUPS_MAX: usize = 1 << 16;

/// Where more than four of five rows had a text of their own by then, those to come are given on as they are. It is where
/// DataFusion does the same (`skip_partial_aggregation_probe_ratio_threshold`).
const fn is_in_vain(groups: usize, rows: usize) -> bool {
    5 * groups > 4 * rows
}

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
    pub(super) fn new(aggregate: Arc<AggregateExec>, input: Arc<dyn ExecutionPlan>, column: usize) -> Self {
        Self { aggregate, input, column, metrics: ExecutionPlanMetricsSet::new() }
    }

    /// The same over another input.
    fn over(&self, input: Arc<dyn ExecutionPlan>) -> Result<Self> {
        Ok(Self::new(Arc::clone(&self.aggregate), input, self.column))
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

    one_input!();

    fn execute(&self, partition: usize, context: Arc<TaskContext>) -> Result<SendableRecordBatchStream> {
        let input = self.input.execute(partition, Arc::clone(&context))?;
        let consumer = MemoryConsumer::new(format!("{}[{partition}]", self.name()));
        let half = Half {
            aggregate: Arc::clone(&self.aggregate),
            column: self.column,
            groups: TextGroups::default(),
            functions: functions(&self.aggregate)?,
            of_rows: Vec::new(),
            rows: 0,
            is_in_vain: false,
            reservation: consumer.register(context.memory_pool()),
            metrics: BaselineMetrics::new(&self.metrics, partition),
        };
        let batches = stream::try_unfold(Some((input, half)), |state| async move {
            let Some((mut input, mut half)) = state else { return Ok(None) };
            while let Some(batch) = input.next().await.transpose()? {
                if half.is_in_vain {
                    return Ok(Some((half.passed_on(&batch)?, Some((input, half)))));
                }
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
    /// How many there were since something was given on.
    rows: usize,
    is_in_vain: bool,
    reservation: MemoryReservation,
    metrics: BaselineMetrics,
}

fn texts_of(batch: &RecordBatch, column: usize) -> Result<&DictionaryArray<UInt32Type>> {
    match batch.column(column).as_dictionary_opt() {
        Some(texts) => Ok(texts),
        None => internal_err!("the column was to come as dictionaries"),
    }
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

impl Function {
    /// Its arguments of each row, and whether it is asked about the row at all.
    fn evaluate(&self, batch: &RecordBatch) -> Result<(Vec<ArrayRef>, Option<BooleanArray>)> {
        let array = |expr: &Arc<dyn PhysicalExpr>| expr.evaluate(batch)?.into_array(batch.num_rows());
        let arguments = self.arguments.iter().map(array).collect::<Result<_>>()?;
        let filter = self.filter.as_ref().map(array).transpose()?;
        Ok((arguments, filter.map(|filter| filter.as_boolean().clone())))
    }
}

impl Half {
    fn add(&mut self, batch: &RecordBatch) -> Result<()> {
        let _timer = self.metrics.elapsed_compute().timer();
        self.groups.assign(texts_of(batch, self.column)?, &mut self.of_rows);
        for function in &mut self.functions {
            let (arguments, filter) = function.evaluate(batch)?;
            function.accumulator.update_batch(&arguments, &self.of_rows, filter.as_ref(), self.groups.len())?;
        }
        self.rows += batch.num_rows();
        Ok(())
    }

    /// Each row as a group.
    fn passed_on(&self, batch: &RecordBatch) -> Result<RecordBatch> {
        let _timer = self.metrics.elapsed_compute().timer();
        let mut columns = vec![dictionary_texts(texts_of(batch, self.column)?)?];
        for function in &self.functions {
            let (arguments, filter) = function.evaluate(batch)?;
            columns.extend(function.accumulator.convert_to_state(&arguments, filter.as_ref())?);
        }
        self.given(columns)
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
        self.is_in_vain = self.groups.len() >= GROUPS_MAX && is_in_vain(self.groups.len(), self.rows);
        self.rows = 0;
        let mut columns: Vec<ArrayRef> = vec![Arc::new(self.groups.take())];
        for mut function in std::mem::replace(&mut self.functions, functions(&self.aggregate)?) {
            columns.extend(function.accumulator.state(EmitTo::All)?);
        }
        self.reservation.free();
        self.given(columns).map(Some)
    }

    fn given(&self, columns: Vec<ArrayRef>) -> Result<RecordBatch> {
        let batch = RecordBatch::try_new(self.aggregate.schema(), columns)?;
        self.metrics.record_output(batch.num_rows());
        Ok(batch)
    }
}

#[cfg(test)]
mod tests {
    use datafusion::arrow::array::{Int64Array, StringArray};
    use datafusion::arrow::datatypes::{DataType, Field, Int64Type, Schema};
    use datafusion::common::tree_node::TreeNode;
    use datafusion::datasource::memory::MemorySourceConfig;
    use datafusion::functions_aggregate::expr_fn::sum as sum_of;
    use datafusion::logical_expr::ExprFunctionExt;
    use datafusion::physical_plan::collect;
    use datafusion::prelude::{SessionConfig, SessionContext, col, lit};

    use super::*;
    use tablegate_store::table::text_for_each_row;

    /// Texts and their numbers, from one number to another, as many to a text.
    fn rows(from: u32, to: u32, of_a_text: u32) -> (StringArray, Int64Array) {
        let texts = (from..to).map(|row| Some(format!("text {}", row / of_a_text))).collect();
        (texts, (from..to).map(i64::from).collect())
    }

    fn batch(texts: ArrayRef, numbers: Int64Array) -> RecordBatch {
        let schema = Schema::new(vec![
            Field::new("text", texts.data_type().clone(), true),
            Field::new("number", DataType::Int64, true),
        ]);
        RecordBatch::try_new(Arc::new(schema), vec![texts, Arc::new(numbers)]).unwrap()
    }

    /// What the first half gives of these rows, by `SELECT text, sum(number) FILTER (WHERE number > 0)`.
    async fn given(inputs: Vec<(StringArray, Int64Array)>) -> Vec<RecordBatch> {
        let as_dictionary =
            |(texts, numbers): (StringArray, Int64Array)| batch(text_for_each_row(Arc::new(texts)).unwrap(), numbers);
        let inputs: Vec<_> = inputs.into_iter().map(as_dictionary).collect();
        let context = SessionContext::new_with_config(SessionConfig::new().with_target_partitions(2));
        let (texts, numbers) = rows(0, 1, 1);
        context.register_batch("t", batch(Arc::new(texts), numbers)).unwrap();
        let positive = sum_of(col("number")).filter(col("number").gt(lit(0_i64))).build().unwrap();
        let grouped = context.table("t").await.unwrap().aggregate(vec![col("text")], vec![positive]).unwrap();
        let plan = grouped.create_physical_plan().await.unwrap();
        let mut first_half = None;
        // The last one that is met is the lowest.
        let find = |node: &Arc<dyn ExecutionPlan>| {
            first_half = node.downcast_ref::<AggregateExec>().cloned().or(first_half.take());
            Ok(TreeNodeRecursion::Continue)
        };
        plan.apply(find).unwrap();
        let input = MemorySourceConfig::try_new_exec(std::slice::from_ref(&inputs), inputs[0].schema(), None).unwrap();
        let half = DictionaryAggregateExec::new(Arc::new(first_half.unwrap()), input, 0);
        collect(Arc::new(half), context.task_ctx()).await.unwrap()
    }

    fn sum(batches: &[RecordBatch]) -> i64 {
        let sums = batches.iter().flat_map(|batch| batch.column(1).as_primitive::<Int64Type>());
        sums.flatten().sum()
    }

    fn counts(batches: &[RecordBatch]) -> Vec<usize> {
        batches.iter().map(RecordBatch::num_rows).collect()
    }

    #[tokio::test]
    async fn where_nearly_all_texts_differ_rows_are_given_on() {
        let many = 70_000_u32;
        let batches = given(vec![rows(0, many, 1), rows(many, many + 3, 3), rows(7, 9, 1)]).await;
        // The input comes in batches of 8,192 rows.
        assert_eq!(counts(&batches), [GROUPS_MAX, 4_464, 3, 2]);
        assert_eq!(batches[2].column(0).as_string::<i32>().value(2), "text 23334");
        assert_eq!(sum(&batches), i64::from((0..many + 3).sum::<u32>()) + 7 + 8);
    }

    #[tokio::test]
    async fn where_many_texts_have_two_rows_each_they_are_aggregated() {
        let batches = given(vec![rows(0, 140_000, 2), rows(0, 4, 2)]).await;
        assert_eq!(counts(&batches), [GROUPS_MAX, 4_464 + 2]);
        assert_eq!(sum(&batches), (0..140_000).sum::<i64>() + 6);
    }
}
