//! Rows that a statement computes once however often it reads them: those of a part of WITH that calls a volatile function, those
//! that sub-queries are asked about, and that would be others the second time.
//!
//! All readers have the node, with one number. The first that runs has the rows made, by a task of its own, so that no reader
//! hangs on another one; all of them read from memory, which is charged to the query.

use std::collections::HashMap;
use std::fmt;
use std::hash::{Hash, Hasher};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use arrow::record_batch::RecordBatch;
use async_trait::async_trait;
use datafusion::catalog::Session;
use datafusion::common::{DFSchemaRef, DataFusionError, Result, internal_err};
use datafusion::execution::memory_pool::{MemoryConsumer, MemoryReservation};
use datafusion::execution::{SendableRecordBatchStream, TaskContext};
use datafusion::logical_expr::{
    Expr, Extension, LogicalPlan, UserDefinedLogicalNode, UserDefinedLogicalNodeCore, physical_planning_context,
};
use datafusion::physical_expr::EquivalenceProperties;
use datafusion::physical_plan::execution_plan::{Boundedness, EmissionType};
use datafusion::physical_plan::stream::RecordBatchStreamAdapter;
use datafusion::physical_plan::{
    DisplayAs, DisplayFormatType, Distribution, ExecutionPlan, Partitioning, PlanProperties,
};
use datafusion::physical_planner::{ExtensionPlanner, PhysicalPlanner};
use futures::future::{BoxFuture, Shared};
use futures::{FutureExt, StreamExt, TryStreamExt, stream};
use tokio::task::JoinHandle;

use crate::one_input::{no_expressions, one_input};
use crate::recursion::reads_a_step;

/// The node among the queries of a statement.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd)]
struct Once {
    input: LogicalPlan,
    /// Its readers have it in common.
    number: usize,
}

impl Hash for Once {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.number.hash(state);
    }
}

/// The rows of a plan, once for all that read the node of this number.
pub(super) fn once(input: LogicalPlan, number: usize) -> LogicalPlan {
    LogicalPlan::Extension(Extension { node: Arc::new(Once { input, number }) })
}

/// Whether a plan's uppermost node is such a one.
pub(super) fn is_once(plan: &LogicalPlan) -> bool {
    matches!(plan, LogicalPlan::Extension(Extension { node }) if node.as_any().is::<Once>())
}

impl UserDefinedLogicalNodeCore for Once {
    fn name(&self) -> &'static str {
        "Once"
    }

    fn inputs(&self) -> Vec<&LogicalPlan> {
        vec![&self.input]
    }

    fn schema(&self) -> &DFSchemaRef {
        self.input.schema()
    }

    fn expressions(&self) -> Vec<Expr> {
        Vec::new()
    }

    fn fmt_for_explain(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Once: {}", self.number)
    }

    fn with_exprs_and_inputs(&self, _exprs: Vec<Expr>, mut inputs: Vec<LogicalPlan>) -> Result<Self> {
        match (inputs.pop(), inputs.is_empty()) {
            (Some(input), true) => Ok(Self { input, number: self.number }),
            _ => internal_err!("rows that are computed once have one input"),
        }
    }
}

/// Plans the nodes of one run of a statement.
#[derive(Default)]
pub(super) struct OncePlanner {
    made: Mutex<HashMap<usize, Arc<Made>>>,
}

#[async_trait]
impl ExtensionPlanner for OncePlanner {
    async fn plan_extension(
        &self,
        _planner: &dyn PhysicalPlanner,
        node: &dyn UserDefinedLogicalNode,
        _logical_inputs: &[&LogicalPlan],
        inputs: &[Arc<dyn ExecutionPlan>],
        _session: &dyn Session,
        _context: &physical_planning_context::PhysicalPlanningContext,
    ) -> Result<Option<Arc<dyn ExecutionPlan>>> {
        let (Some(once), [input]) = (node.as_any().downcast_ref::<Once>(), inputs) else { return Ok(None) };
        let made = {
            let mut made = self.made.lock().unwrap_or_else(PoisonError::into_inner);
            Arc::clone(made.entry(once.number).or_default())
        };
        Ok(Some(Arc::new(OnceExec::new(Arc::clone(input), made))))
    }
}

type Rows = Shared<BoxFuture<'static, std::result::Result<Arc<Kept>, Arc<DataFusionError>>>>;

/// The rows, or the work on them.
#[derive(Default)]
struct Made {
    rows: OnceLock<Rows>,
    /// Those of the next step, where a recursion runs its plan once more.
    next: OnceLock<Arc<Made>>,
}

impl fmt::Debug for Made {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Made")
    }
}

struct Kept {
    batches: Vec<RecordBatch>,
    /// Given back with the last reader.
    _memory: MemoryReservation,
}

/// Ends with the statement.
struct Working(JoinHandle<Result<Kept>>);

impl Drop for Working {
    fn drop(&mut self) {
        self.0.abort();
    }
}

impl Made {
    fn rows(&self, input: &Arc<dyn ExecutionPlan>, context: &Arc<TaskContext>) -> Rows {
        let begin = || {
            let (input, context) = (Arc::clone(input), Arc::clone(context));
            let mut working = Working(tokio::spawn(collected(input, context)));
            async move {
                let done = (&mut working.0).await.map_err(|ended| DataFusionError::ExecutionJoin(Box::new(ended)));
                done.and_then(|made| made).map(Arc::new).map_err(Arc::new)
            }
            .boxed()
            .shared()
        };
        self.rows.get_or_init(begin).clone()
    }
}

async fn collected(input: Arc<dyn ExecutionPlan>, context: Arc<TaskContext>) -> Result<Kept> {
    let memory = MemoryConsumer::new("rows that are read more than once").register(context.memory_pool());
    let mut rows = input.execute(0, context)?;
    let mut batches = Vec::new();
    while let Some(batch) = rows.next().await {
        let batch = batch?;
        memory.try_grow(batch.get_array_memory_size())?;
        batches.push(batch);
    }
    Ok(Kept { batches, _memory: memory })
}

/// A reader of the rows.
#[derive(Debug)]
struct OnceExec {
    input: Arc<dyn ExecutionPlan>,
    made: Arc<Made>,
    properties: Arc<PlanProperties>,
}

impl OnceExec {
    fn new(input: Arc<dyn ExecutionPlan>, made: Arc<Made>) -> Self {
        let properties = PlanProperties::new(
            EquivalenceProperties::new(input.schema()),
            Partitioning::UnknownPartitioning(1),
            EmissionType::Final,
            Boundedness::Bounded,
        );
        Self { input, made, properties: Arc::new(properties) }
    }

    /// The same over another input.
    fn over(&self, input: Arc<dyn ExecutionPlan>) -> Result<Self> {
        Ok(Self::new(input, Arc::clone(&self.made)))
    }
}

impl DisplayAs for OnceExec {
    fn fmt_as(&self, _format: DisplayFormatType, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl ExecutionPlan for OnceExec {
    fn name(&self) -> &'static str {
        "OnceExec"
    }

    fn properties(&self) -> &Arc<PlanProperties> {
        &self.properties
    }

    fn required_input_distribution(&self) -> Vec<Distribution> {
        vec![Distribution::SinglePartition]
    }

    fn children(&self) -> Vec<&Arc<dyn ExecutionPlan>> {
        vec![&self.input]
    }

    no_expressions!();

    one_input!();

    /// What is made of a step's rows is made anew for the next one, for all readers together.
    fn reset_state(self: Arc<Self>) -> Result<Arc<dyn ExecutionPlan>> {
        if !reads_a_step(&self.input) {
            return Ok(self);
        }
        let next = self.made.next.get_or_init(Arc::default);
        Ok(Arc::new(Self::new(Arc::clone(&self.input), Arc::clone(next))))
    }

    fn execute(&self, _partition: usize, context: Arc<TaskContext>) -> Result<SendableRecordBatchStream> {
        let rows = self.made.rows(&self.input, &context);
        let batches = stream::once(rows).map_err(DataFusionError::Shared).and_then(|kept| async move {
            let count = kept.batches.len();
            Ok(stream::iter((0..count).map(move |at| Ok(kept.batches[at].clone()))))
        });
        Ok(Box::pin(RecordBatchStreamAdapter::new(self.input.schema(), batches.try_flatten())))
    }
}
