//! The node that goes step by step.

use std::any::Any;
use std::fmt;
use std::sync::Arc;

use arrow::datatypes::SchemaRef;
use arrow::record_batch::RecordBatch;
use datafusion::common::tree_node::{Transformed, TransformedResult, TreeNode};
use datafusion::common::{Result, internal_err};
use datafusion::execution::memory_pool::{MemoryConsumer, MemoryReservation};
use datafusion::execution::{SendableRecordBatchStream, TaskContext};
use datafusion::physical_expr::equivalence::EquivalenceProperties;
use datafusion::physical_expr::expressions::{DynamicFilterPhysicalExpr, lit};
use datafusion::physical_expr::{Distribution, Partitioning};
use datafusion::physical_plan::distribution_requirements::InputDistributionRequirements;
use datafusion::physical_plan::execution_plan::{
    Boundedness, ChildrenPropertiesMode, EmissionType, ReplaceChildrenOptions,
};
use datafusion::physical_plan::joins::HashJoinExec;
use datafusion::physical_plan::metrics::{BaselineMetrics, ExecutionPlanMetricsSet, MetricsSet, RecordOutput};
use datafusion::physical_plan::stream::RecordBatchStreamAdapter;
use datafusion::physical_plan::{DisplayAs, DisplayFormatType, ExecutionPlan, PlanProperties};
use futures::{StreamExt, stream};

use super::distinct::Distinct;
use super::scan::{Rows, WorkTableExec};
use crate::one_input::no_expressions;
use crate::passing::{Plan, over_children};

/// The rows of `first`, and those that `step` makes of the rows of the step before, until it makes none.
#[derive(Debug)]
pub(super) struct RecursionExec {
    name: String,
    first: Plan,
    step: Plan,
    is_distinct: bool,
    properties: Arc<PlanProperties>,
    metrics: ExecutionPlanMetricsSet,
}

impl RecursionExec {
    pub(super) fn new(name: &str, [first, step]: [Plan; 2], is_distinct: bool, schema: SchemaRef) -> Self {
        let properties = PlanProperties::new(
            EquivalenceProperties::new(schema),
            Partitioning::UnknownPartitioning(1),
            EmissionType::Incremental,
            Boundedness::Bounded,
        );
        let (properties, metrics) = (Arc::new(properties), ExecutionPlanMetricsSet::new());
        Self { name: name.to_owned(), first, step, is_distinct, properties, metrics }
    }
}

impl DisplayAs for RecursionExec {
    fn fmt_as(&self, _: DisplayFormatType, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "RecursionExec: {}, is_distinct={}", self.name, self.is_distinct)
    }
}

impl ExecutionPlan for RecursionExec {
    fn name(&self) -> &'static str {
        "RecursionExec"
    }

    fn properties(&self) -> &Arc<PlanProperties> {
        &self.properties
    }

    fn children(&self) -> Vec<&Arc<dyn ExecutionPlan>> {
        vec![&self.first, &self.step]
    }

    no_expressions!();

    fn maintains_input_order(&self) -> Vec<bool> {
        vec![false, false]
    }

    fn benefits_from_input_partitioning(&self) -> Vec<bool> {
        vec![false, false]
    }

    fn input_distribution_requirements(&self) -> InputDistributionRequirements {
        InputDistributionRequirements::new(vec![Distribution::SinglePartition, Distribution::SinglePartition])
    }

    fn replace_children(
        self: Arc<Self>,
        children: Vec<Arc<dyn ExecutionPlan>>,
        _: ReplaceChildrenOptions,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        let Ok([first, step]) = <[Plan; 2]>::try_from(children) else {
            return internal_err!("a recursion has two inputs");
        };
        let (name, properties) = (self.name.clone(), Arc::clone(&self.properties));
        let metrics = ExecutionPlanMetricsSet::new();
        Ok(Arc::new(Self { name, first, step, is_distinct: self.is_distinct, properties, metrics }))
    }

    fn with_new_children(self: Arc<Self>, children: Vec<Arc<dyn ExecutionPlan>>) -> Result<Arc<dyn ExecutionPlan>> {
        self.replace_children(children, ReplaceChildrenOptions::new(ChildrenPropertiesMode::Recompute))
    }

    fn execute(&self, partition: usize, context: Arc<TaskContext>) -> Result<SendableRecordBatchStream> {
        if partition != 0 {
            return internal_err!("a recursion gives its rows in one part");
        }
        let rows = Arc::new(Rows::default());
        let steps = Steps {
            now: self.first.execute(0, Arc::clone(&context))?,
            made: Vec::new(),
            bytes_made: 0,
            step: reading(&self.step, &self.name, &rows)?.unwrap_or_else(|| Arc::clone(&self.step)),
            rows,
            schema: self.schema(),
            distinct: self.is_distinct.then(|| Distinct::new(self.schema(), &context)).transpose()?,
            memory: MemoryConsumer::new("rows of a recursion").register(context.memory_pool()),
            metrics: BaselineMetrics::new(&self.metrics, partition),
            context,
        };
        let batches = stream::try_unfold(steps, |mut steps| async {
            let batch = steps.next().await?;
            Ok(batch.map(|batch| (batch, steps)))
        });
        Ok(Box::pin(RecordBatchStreamAdapter::new(self.schema(), batches)))
    }

    fn metrics(&self) -> Option<MetricsSet> {
        Some(self.metrics.clone_inner())
    }
}

/// The plan whose scans of the recursion of this name read these rows; `None` where it has none.
fn reading(plan: &Plan, name: &str, rows: &Arc<Rows>) -> Result<Option<Plan>> {
    if let Some(scan) = plan.downcast_ref::<WorkTableExec>() {
        return Ok((scan.name_of_recursion() == name).then(|| Arc::new(scan.of(Arc::clone(rows))) as Plan));
    }
    let mut children: Vec<Plan> = plan.children().into_iter().map(Arc::clone).collect();
    // The steps of a recursion within, of the same name, read its own rows.
    let is_hidden = plan.downcast_ref::<RecursionExec>().is_some_and(|within| within.name == name);
    let reached = if is_hidden { 1 } else { children.len() };
    let mut reads = false;
    for child in &mut children[..reached] {
        if let Some(reading) = reading(child, name, rows)? {
            *child = reading;
            reads = true;
        }
    }
    reads.then(|| over_children(Arc::clone(plan), children)).transpose()
}

/// Whether a plan reads the rows of a step, so that it gives others in the next one.
pub(crate) fn reads_a_step(plan: &Plan) -> bool {
    plan.is::<WorkTableExec>() || plan.children().into_iter().any(reads_a_step)
}

/// A recursion under way.
struct Steps {
    /// The first query, or the step under way.
    now: SendableRecordBatchStream,
    /// What it has made so far.
    made: Vec<RecordBatch>,
    bytes_made: usize,
    /// What is run for each step, over `rows`.
    step: Plan,
    rows: Arc<Rows>,
    schema: SchemaRef,
    /// Where rows come once only.
    distinct: Option<Distinct>,
    /// For the rows of the step before, and for those that are made.
    memory: MemoryReservation,
    metrics: BaselineMetrics,
    context: Arc<TaskContext>,
}

impl Steps {
    async fn next(&mut self) -> Result<Option<RecordBatch>> {
        loop {
            let Some(batch) = self.now.next().await.transpose()? else {
                if self.made.is_empty() {
                    return Ok(None);
                }
                self.begin_next()?;
                continue;
            };
            // What a column may be beyond its type, both queries say in their own way.
            let batch = RecordBatch::try_new(Arc::clone(&self.schema), batch.columns().to_vec())?;
            let batch = match &mut self.distinct {
                Some(distinct) => distinct.only_new(&batch)?,
                None => batch,
            };
            if batch.num_rows() == 0 {
                continue;
            }
            let bytes = batch.get_array_memory_size();
            self.memory.try_grow(bytes)?;
            self.bytes_made += bytes;
            self.made.push(batch.clone());
            (&batch).record_output(&self.metrics);
            return Ok(Some(batch));
        }
    }

    /// Goes on with the rows that were made.
    fn begin_next(&mut self) -> Result<()> {
        self.rows.replace(std::mem::take(&mut self.made));
        self.memory.try_resize(std::mem::take(&mut self.bytes_made))?;
        self.step = anew(&self.step)?;
        self.now = self.step.execute(0, Arc::clone(&self.context))?;
        Ok(())
    }
}

/// The plan, to be run once more: what its nodes gathered, and what joins told the scans, is of the rows of the step before.
fn anew(plan: &Plan) -> Result<Plan> {
    let anew = |node: Plan| {
        let mut fresh = Arc::clone(&node).reset_state()?;
        for filter in node.dynamic_expressions_produced() {
            let Ok(filter) = (filter as Arc<dyn Any + Send + Sync>).downcast::<DynamicFilterPhysicalExpr>() else {
                continue;
            };
            filter.update(lit(true))?;
            // The engine takes it from a join that is run once more, but the scans have it.
            if let Some(join) = fresh.downcast_ref::<HashJoinExec>() {
                fresh = Arc::new(join.builder().build()?.with_dynamic_filter_expr(filter)?);
            }
        }
        Ok(Transformed::yes(fresh))
    };
    Arc::clone(plan).transform_up(anew).data()
}
